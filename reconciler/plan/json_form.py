"""A plan as JSON (schemas/plan.schema.json), versioned; steps and back, for the journal.

Everything that the plan says is in it, whatever its size. Members are only ever added while the form's name stays.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import Any, get_args

from reconciler.base.digest import JsonObject
from reconciler.base.json_objects import plain, to_json
from reconciler.base.secrets.redaction import masked_as_set, masked_in_code
from reconciler.diff.causes import Cause, ColumnAdded, DefaultChanged, Path
from reconciler.diff.model import approval_diff
from reconciler.diff.wording import describe_cause, describe_difference
from reconciler.plan.changes import rows_of
from reconciler.plan.impact import Impact
from reconciler.plan.model import Hazard, Plan, QueryDifference
from reconciler.plan.policy import describe_demand
from reconciler.plan.words import describe_approval, summarise

FORM = "reconciler/plan/v1"


def plan_to_json(plan: Plan, impact: Impact | None = None, rejections: Sequence[Mapping[str, str]] = ()) -> JsonObject:
    """The plan as a JSON object; `approval_diff` is the seed's diff object, member for member. `impact` is null when
    nobody measured; `rejections` are those that stop the plan: `by`, `at`, `reason` of each."""
    return {
        "form": FORM,
        "pipeline": plan.pipeline,
        "environment": plan.environment,
        "summary": summarise(plan),
        "changes_pending": not plan.is_empty,
        "first_apply": plan.is_first,
        "approval": {
            "needed": plan.needs_approval,
            "rejected": plan.is_rejected,
            "policy": plan.policies.bootstrap.value,
            "reason": describe_approval(plan),
            "denied": plan.is_denied,
            "extra_approvals": plan.extra_approvals,
            "demand": describe_demand(plan.judgements),
        },
        "relations": [
            {
                "action": row.change.action.value,
                "kind": row.change.kind.value,
                "name": row.change.name,
                "renamed_from": row.change.renamed_from,
                "effect": row.effect,
                "fate": row.change.fate.value if row.change.fate is not None else None,
                "causes": [describe_cause(cause) for cause in row.change.causes],
                "cause_details": [cause_to_json(cause) for cause in row.change.causes],
            }
            for row in rows_of(plan)
        ],
        "local_views": [
            {
                "action": change.action.value,
                "name": change.name,
                "causes": [describe_cause(cause) for cause in change.causes],
                "cause_details": [cause_to_json(cause) for cause in change.causes],
            }
            for change in plan.diff.local_changes
        ],
        "functions": [to_json(function, ("causes",)) for function in plan.diff.functions],
        "connectors": [
            {
                "action": change.action.value,
                "direction": change.direction.value,
                "name": change.name,
                "renamed_from": change.renamed_from,
                "address": change.address,
                "applied_address": change.applied_address,
                "differences": [describe_difference(difference) for difference in change.differences],
            }
            for change in plan.diff.connectors
        ],
        "connector_outcomes": [
            {
                "name": outcome.connector,
                "renamed_from": outcome.renamed_from,
                "outcome": outcome.outcome.value,
                "reason": outcome.reason,
            }
            for outcome in plan.connectors
        ],
        "kept": list(plan.kept),
        "spared": [to_json(spared) for spared in plan.diff.spared],
        **_rollbacks(plan),
        **_staged(plan),
        **({"rejections": [dict(one) for one in rejections]} if rejections else {}),
        **({"loosened": [asdict(one) for one in plan.diff.loosened]} if plan.diff.loosened else {}),
        "metadata_changed": plan.diff.metadata_changed,
        "metadata": [asdict(change) for change in plan.diff.metadata],
        "steps": [{**step.to_json(), "description": step.describe()} for step in plan.steps],
        "hazards": [hazard_to_json(hazard) for hazard in plan.hazards],
        "judgements": [
            {
                "code": one.hazard.code,
                "subject": one.hazard.subject,
                "verdict": one.verdict.value,
                "approvals": one.approvals,
                "reason": one.reason,
            }
            for one in plan.judgements
        ],
        "queries": [_query(difference) for difference in plan.queries],
        "impact": plain(asdict(impact)) if impact is not None else None,
        "approval_diff": approval_diff(plan.diff),
        "follows": plan.follows,
        "applied_digest": plan.applied_digest,
        "desired_digest": plan.desired_digest,
        "digest": plan.digest,
    }


def _staged(plan: Plan) -> dict[str, Any]:
    staged = [
        {
            "kind": one.kind,
            "name": one.name,
            "version": f"v{one.number}",
            "step": one.step,
            "outcome": "promoted" if one.is_promoted else "dropped",
        }
        for one in plan.staged
    ]
    return {"staged": staged} if staged else {}


def _rollbacks(plan: Plan) -> dict[str, Any]:
    """Nothing of plans that have to do with none, which are nearly all."""
    held = [
        {"kind": one.kind, "name": one.name, "version": None if one.number is None else f"v{one.number}"}
        for one in plan.rolled_back
    ]
    bound = [to_json(one) for one in plan.bound_calls]
    return {
        **({"rollback": plan.rollback} if plan.rollback else {}),
        **({"rolled_back": held} if held else {}),
        **({"bound_calls": bound} if bound else {}),
    }


def cause_to_json(cause: Cause) -> dict[str, Any]:
    """A cause as {kind, words, …}: its members are those of the value. The origin of what is read is a cause itself."""
    kind, names = _FORMS[type(cause)]
    value: dict[str, Any] = {"kind": kind, "words": describe_cause(cause)}
    for name in names:
        member = getattr(cause, name)
        match member:
            case Path(names=path, passed_over=passed_over):
                value |= {"path": list(path), **({"passed_over": passed_over} if passed_over else {})}
            case _:
                value[name] = cause_to_json(member) if name == "origin" and member is not None else plain(member)
    match cause:
        case ColumnAdded(column=column, default=str(default)):
            [value["default"]] = masked_as_set(column, default)
        case DefaultChanged(column=column, applied=applied, desired=desired):
            masked = masked_as_set(column, applied or "", desired or "")
            value["applied"], value["desired"] = (
                text if of is not None else None for text, of in zip(masked, (applied, desired), strict=True)
            )
        case _:
            pass
    return value


_FORMS: Mapping[type, tuple[str, tuple[str, ...]]] = {
    # `column_added` for ColumnAdded, and the names of its members.
    kind: (re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower(), tuple(member.name for member in fields(kind)))
    for kind in get_args(Cause)
}


def hazard_to_json(hazard: Hazard) -> dict[str, Any]:
    return {"code": hazard.code, "subject": hazard.subject, "message": hazard.message}


def _query(difference: QueryDifference) -> JsonObject:
    applied, desired = masked_in_code(difference.applied, difference.desired)
    return asdict(replace(difference, applied=applied, desired=desired))
