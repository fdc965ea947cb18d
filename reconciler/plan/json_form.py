"""A plan as JSON (schemas/plan.schema.json), versioned; steps and back, for the journal."""

from dataclasses import asdict
from typing import Any, assert_never

from reconciler.diff.model import RelationKind, approval_diff
from reconciler.diff.wording import describe_cause, describe_difference
from reconciler.digest import JsonObject
from reconciler.plan.model import (
    BootstrapView,
    ClearTable,
    ColumnSource,
    CommitSnapshot,
    CreateTable,
    DropRelation,
    EvolveTable,
    ExtendTable,
    Plan,
    PublishTable,
    PublishView,
    RenameRelation,
    Step,
)
from reconciler.plan.words import describe_approval, describe_effect, describe_step, summarise

FORM = "reconciler/plan/v1"


def plan_to_json(plan: Plan) -> JsonObject:
    """The plan as a JSON object; `approval_diff` is the seed's diff object, member for member."""
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
        },
        "relations": [
            {
                "action": change.action.value,
                "kind": change.kind.value,
                "name": change.name,
                "effect": describe_effect(plan, change),
                "causes": [describe_cause(cause) for cause in change.causes],
            }
            for change in plan.diff.relations
        ],
        "connectors": [
            {
                "action": change.action.value,
                "direction": change.direction.value,
                "name": change.name,
                "differences": [describe_difference(difference) for difference in change.differences],
            }
            for change in plan.diff.connectors
        ],
        "connector_outcomes": [
            {"name": outcome.connector, "outcome": outcome.outcome.value, "reason": outcome.reason}
            for outcome in plan.connectors
        ],
        "kept": list(plan.kept),
        "steps": [{**step_to_json(step), "description": describe_step(step)} for step in plan.steps],
        "hazards": [asdict(hazard) for hazard in plan.hazards],
        "queries": [asdict(difference) for difference in plan.queries],
        "approval_diff": approval_diff(plan.diff),
        "follows": plan.follows,
        "applied_digest": plan.applied_digest,
        "desired_digest": plan.desired_digest,
        "digest": plan.digest,
    }


def step_to_json(step: Step) -> dict[str, Any]:
    """A step as {kind, …}."""
    match step:
        case CreateTable():
            return {"kind": "create_table", "relation": step.table}
        case BootstrapView():
            return {"kind": "bootstrap_view", "relation": step.view, "reads": list(step.reads)}
        case ClearTable():
            return {"kind": "clear_table", "relation": step.table}
        case EvolveTable():
            columns = [asdict(column) for column in step.columns]
            return {"kind": "evolve_table", "relation": step.table, "applied": step.applied, "columns": columns}
        case ExtendTable():
            return {"kind": "extend_table", "relation": step.table, "columns": list(step.columns)}
        case PublishTable():
            return {"kind": "publish_table", "relation": step.table}
        case PublishView():
            return {"kind": "publish_view", "relation": step.view}
        case RenameRelation():
            kind = step.kind.value
            return {"kind": "rename_relation", "relation": step.desired, "applied": step.applied, "relation_kind": kind}
        case DropRelation():
            return {"kind": "drop_relation", "relation": step.relation, "relation_kind": step.kind.value}
        case CommitSnapshot():
            return {"kind": "commit_snapshot"}
        case _:
            assert_never(step)


def step_from_json(value: JsonObject) -> Step:
    """The step of its JSON object. Raises ValueError for a kind that this version does not know."""
    match value["kind"]:
        case "create_table":
            return CreateTable(value["relation"])
        case "bootstrap_view":
            return BootstrapView(value["relation"], tuple(value["reads"]))
        case "clear_table":
            return ClearTable(value["relation"])
        case "evolve_table":
            columns = tuple(ColumnSource(**column) for column in value["columns"])
            return EvolveTable(value["relation"], value["applied"], columns)
        case "extend_table":
            return ExtendTable(value["relation"], tuple(value["columns"]))
        case "publish_table":
            return PublishTable(value["relation"])
        case "publish_view":
            return PublishView(value["relation"])
        case "rename_relation":
            return RenameRelation(value["applied"], value["relation"], RelationKind(value["relation_kind"]))
        case "drop_relation":
            return DropRelation(value["relation"], RelationKind(value["relation_kind"]))
        case "commit_snapshot":
            return CommitSnapshot()
        case unknown:
            raise ValueError(f"unknown step kind {unknown!r}")
