"""Why a relation is, or is not, in the plan: its state, and at least one reason in words without a subject of their own.

A view that stays as it is although something about it changed is told why: its text differs and its meaning does not, or
what changed upstream is nothing that it depends on.
"""

from collections.abc import Mapping
from typing import assert_never

from reconciler.base.names import fold
from reconciler.diff.model import Action, RelationChange, Spared
from reconciler.diff.wording import describe_cause, describe_what_is_spared
from reconciler.plan.explain.model import Sides, State
from reconciler.project.program.model import Read, Relation, Table, View

_STORED = "it is now stored, because an output reads it; its readers are unaffected"
_STORED_NO_MORE = "it is no longer stored, because no output reads it; its readers are unaffected"


def state_and_why(sides: Sides, key: str, before: Relation | None, after: Relation | None) -> tuple[State, tuple[str, ...]]:
    """What the plan says of a relation, and why; at least one reason."""
    if sides.plan is None:
        return State.UNKNOWN, ("the files have errors, so there is no plan; this is the applied definition",)
    changes = sides.changes.get(key, ())
    if not changes and key in sides.plan.diff.local_views:
        action = sides.plan.diff.local_views[key].value
        return State(action), (f"it is {action}; plans list the readers of a LOCAL view, not the view",)
    state = State.UNTOUCHED
    reasons: list[str] = []
    for change in sorted(changes, key=lambda one: one.action is Action.REMOVED):
        reasons += _change_reasons(change, sides, before, after)
        state = State(change.action.value) if state is State.UNTOUCHED else state
    if changes:
        return state, tuple(reasons)
    spared = sides.spared.get(key, ())
    reads = {fold(read.relation): read for read in after.reads} if after is not None else {}
    reasons = [_spared_reason(one, reads) for one in spared]
    if before is not None and after is not None and _text(before) != _text(after):
        reasons.append("its meaning is the same: only layout, comments, letter case or spelling of the text changed")
    told = sorted({change.what for change in sides.metadata.get(key, ())})
    if told:
        reasons.append(f"attributes changed that are no part of its meaning: {', '.join(told)}")
    if before is not None and after is not None and before.is_stored is not after.is_stored:
        reasons.append(_STORED if after.is_stored else _STORED_NO_MORE)
    if after is not None and after.reads and not spared:
        reasons.append("nothing that it reads changed")
    return (State.SPARED if spared else State.UNTOUCHED), tuple(reasons) or ("its definition did not change",)


def _change_reasons(change: RelationChange, sides: Sides, before: Relation | None, after: Relation | None) -> list[str]:
    match change.action:
        case Action.ADDED:
            if sides.applied is None:
                return ["it is new: nothing of this pipeline is applied"]
            if isinstance(before, View) and isinstance(after, View):
                return [f"it is new to its readers: it was a {before.kind_words}, and is a {after.kind_words} now"]
            return ["it is new: nothing of that name and kind is applied"]
        case Action.MODIFIED:
            return [describe_cause(cause) for cause in change.causes]
        case Action.REMOVED:
            if sides.desired is None:
                return [f"the pipeline's files were removed, and with them this {change.kind.value}"]
            return [f"the {change.kind.value} of that name is applied, and the files no longer declare it"]


def _spared_reason(spared: Spared, reads: Mapping[str, Read]) -> str:
    changed = describe_what_is_spared(spared, qualified=False)
    read = reads.get(fold(spared.relation))
    used = f"; it reads {', '.join(read.columns)}" if read is not None and read.columns else ""
    return f"it reads {spared.relation}, {changed}{used}"


def _text(relation: Relation) -> str:
    match relation:
        case Table():
            return relation.declaration.sql
        case View():
            return relation.query
        case _:
            assert_never(relation)
