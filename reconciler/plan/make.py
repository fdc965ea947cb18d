"""Make a plan: (applied, desired, environment, policies) → Plan.

The steps are `plan.steps`', what becomes of connectors `plan.connectors`', hazards `plan.hazards`'.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from reconciler.base.dataclass import dataclass
from reconciler.base.names import fold
from reconciler.diff.causes import QueryChanged
from reconciler.diff.compare import compare
from reconciler.diff.foreign import ForeignChange
from reconciler.diff.metadata import guards_of_new
from reconciler.diff.model import Action, Diff, Fate
from reconciler.diff.moves import Renames, resolve_moves
from reconciler.diff.weights import BESIDE_THE_MEANING, in_force
from reconciler.plan.bound_calls import bound_calls
from reconciler.plan.connectors import connector_outcomes, say_what_is_sent_again
from reconciler.plan.digest import plan_digest
from reconciler.plan.hazards import NOTHING_ASKED, Asked, find_hazards
from reconciler.plan.hazards.readers import NOTHING_BESIDE, Beside
from reconciler.plan.hazards.types import retyped_columns
from reconciler.plan.model import Hazard, Plan, Policies, QueryDifference, RolledBack
from reconciler.plan.policy import codes_named, judge
from reconciler.plan.steps import plan_steps
from reconciler.project.program.model import Program, empty_program
from reconciler.project.snapshot.model import Snapshot, take_snapshot


def diff_between(
    applied: Snapshot | None, desired: Snapshot | None, foreign: Mapping[str, ForeignChange] = MappingProxyType({})
) -> Diff:
    """What a plan is of. `applied` and `desired` as in `make_plan`; `foreign` are the changes of other pipelines' relations,
    by key."""
    return compare(*_sides(applied, desired), foreign)


def _sides(applied: Snapshot | None, desired: Snapshot | None) -> tuple[Snapshot, Snapshot]:
    known = desired or applied
    if known is None:
        raise ValueError("neither applied nor desired")
    nothing = take_snapshot(empty_program(known.program.settings))
    return applied or nothing, desired or nothing


@dataclass(frozen=True, slots=True)
class Known:
    """What is known besides the two snapshots. `follows` is the digest of the plan that was applied last (None: none was),
    `diff` that of the two snapshots (`diff_between`; None: it is made), with what changed of other pipelines."""

    follows: str | None = None
    diff: Diff | None = None
    beside: Beside = NOTHING_BESIDE


NOTHING_KNOWN: Final = Known()


def make_plan(
    pipeline: str,
    environment: str,
    applied: Snapshot | None,
    desired: Snapshot | None,
    policies: Policies,
    known: Known = NOTHING_KNOWN,
) -> Plan:
    """The plan. `applied` None: nothing is applied; `desired` None: the pipeline's folder is gone. Not both None."""
    follows, diff, beside = known.follows, known.diff, known.beside
    before, after = _sides(applied, desired)
    if diff is None:
        diff = compare(before, after)
    renames = resolve_moves(before.program, after.program).renames
    policy = policies.policy
    asked = Asked(policy.limits, codes_named(policy, pipeline)) if policy is not None else NOTHING_ASKED
    hazards = find_hazards(
        diff,
        before.program,
        after.program,
        removes_pipeline=desired is None,
        beside=beside,
        asked=asked,
    )
    return Plan(
        pipeline=pipeline,
        environment=environment,
        policies=policies,
        follows=follows,
        applied_digest=applied.digest if applied else None,
        desired_digest=desired.digest if desired else None,
        diff=diff,
        steps=plan_steps(diff, before.program, after.program),
        connectors=say_what_is_sent_again(
            connector_outcomes(diff, before.program, after.program, renames, beside.back),
            before.program,
            after.program,
            renames,
            lambda: retyped_columns(diff, before.program, after.program),
        ),
        hazards=hazards,
        judgements=judge(hazards, policies.policy, pipeline),
        kept=_kept(diff, after.program),
        queries=_query_differences(diff, before.program, after.program, renames),
        digest=plan_digest(
            pipeline,
            environment,
            (applied.digest if applied else None, desired.digest if desired else None),
            policies,
            follows,
            _beyond_content(diff, renames, hazards)
            | _guards_of_new(before.program, after.program, renames)
            | _held_changes(before.program, after.program)
            | _settings_of_connectors(before.program, after.program, renames)
            | ({"back": sorted(beside.back)} if beside.back else {}),
        ),
        rolled_back=_rolled_back(after.program) if desired is not None else (),
        rollback=beside.rollback,
        bound_calls=bound_calls(diff, after.program),
    )


def _beyond_content(diff: Diff, renames: Renames, hazards: tuple[Hazard, ...]) -> dict[str, Any]:
    """What decides the steps without being part of what either side means: declared renames, and rows that outlive a
    change of their table. An approval to keep rows must not serve for deleting them. And what is protected, so that a plan
    which breaks that is another than the same one once the protection is gone; and who loses what, so that an approval given
    before a reader was named does not serve after, and who writes where an output does; and the safeguards that are
    loosened, since snapshots mean the same without them."""
    kept = {
        fold(change.name): change.fate.value
        for change in diff.relations
        if change.fate in (Fate.EVOLVED, Fate.EXTENDED, Fate.KEPT)
    }
    renamed = {
        "relations": dict(renames.relations),
        "columns": {relation: dict(columns) for relation, columns in renames.columns.items()},
        "connectors": dict(renames.connectors),
    }
    protected = sorted(fold(hazard.subject) for hazard in hazards if hazard.code == "H911")
    found = {
        "kept": kept,
        "renamed": renamed if any(renamed.values()) else {},
        "protected": protected,
        "readers": _touched_others(hazards, "H915"),
        "writers": _touched_others(hazards, "H939"),
        "loosened": [[one.safeguard.value, fold(one.subject), one.applied, one.desired] for one in diff.loosened],
    }
    return {name: part for name, part in found.items() if part}


def _touched_others(hazards: tuple[Hazard, ...], code: str) -> dict[str, list[str]]:
    return {fold(hazard.subject): list(hazard.others) for hazard in hazards if hazard.code == code}


def _guards_of_new(applied: Program, desired: Program, renames: Renames) -> dict[str, Any]:
    """What guards new tables and views. So an approval of one that is protected does not serve once it is not."""
    found = [[fold(one.subject), one.what, one.desired] for one in guards_of_new(applied, desired, renames)]
    return {"guards": found} if found else {}


def _held_changes(applied: Program, desired: Program) -> dict[str, Any]:
    """What is rolled back, or not any more. A file that says the same means another thing: it is not held. So an approval of
    one does not serve for the other."""
    before, after = applied.settings.held, desired.settings.held
    changed = sorted(key for key in {*before, *after} if before.get(key) != after.get(key))
    found = {key: None if (held := after.get(key)) is None else [held.number] for key in changed}
    return {"held": found} if found else {}


def _settings_of_connectors(applied: Program, desired: Program, renames: Renames) -> dict[str, Any]:
    """What decides which rows arrive and are sent without being part of what a connector means, as `[connector, setting,
    value]`: where another value is in force than before, or, of a connector that is new, than if nothing were said. So an
    approval of a plan does not serve once such a setting is another."""
    found: list[list[Any]] = []
    for key, connector in sorted(desired.connectors.items()):
        after = connector.settings
        former = applied.connectors.get(renames.applied_connector(key))
        if former is not None and former.settings == after:
            continue
        before = (
            former.settings if former is not None else {"transport": after.get("transport"), "format": after.get("format")}
        )
        for name in BESIDE_THE_MEANING:
            # Whom a connector that stays waits for, whoever's labels say so, is among what is loosened.
            if former is not None and name == "labels":
                continue
            if in_force(before, name) != in_force(after, name):
                found.append([key, name, in_force(after, name)])
    return {"settings": found} if found else {}


def _rolled_back(program: Program) -> tuple[RolledBack, ...]:
    keys = [(key, *key.split(":", 1)) for key in sorted(program.settings.held)]
    return tuple(RolledBack(kind, name, program.settings.held[key].number) for key, kind, name in keys)


def _kept(diff: Diff, desired: Program) -> tuple[str, ...]:
    changed = {fold(change.name) for change in diff.relations}
    names = (one.name for key, one in desired.relations.items() if key not in changed and not one.is_local)
    return tuple(sorted(names, key=fold))


def _query_differences(diff: Diff, applied: Program, desired: Program, renames: Renames) -> tuple[QueryDifference, ...]:
    modified = [
        fold(change.name)
        for change in (*diff.relations, *diff.local_changes)
        if change.action is Action.MODIFIED and any(isinstance(cause, QueryChanged) for cause in change.causes)
    ]
    return tuple(
        QueryDifference(desired.views[key].name, applied.views[renames.applied_key(key)].query, desired.views[key].query)
        for key in modified
        # Nobody wrote the query of a stream.
        if desired.views[key].stream is None and applied.views[renames.applied_key(key)].stream is None
    )
