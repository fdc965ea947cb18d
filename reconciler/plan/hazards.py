"""Hazards: what a reviewer must not miss, found by small analysers with permanent codes (docs/errors.md).

Each analyser looks at one kind of loss or surprise and gives zero or more hazards; the plan shows them all, sorted.
"""

from collections.abc import Callable, Iterator

from reconciler.connectors.transport import Direction
from reconciler.diff.model import Action, Diff, RelationKind, names_of
from reconciler.names import fold
from reconciler.plan.model import Hazard
from reconciler.program.model import Program


def find_hazards(diff: Diff, applied: Program, desired: Program, *, removes_pipeline: bool) -> tuple[Hazard, ...]:
    """All hazards of a diff, sorted by code and subject."""
    found = [hazard for analyse in _ANALYSERS for hazard in analyse(diff, applied, desired)]
    relations = {*applied.tables, *applied.views}
    if relations and (removes_pipeline or not relations & {*desired.tables, *desired.views}):
        found.append(Hazard("H906", applied.name, "everything that this pipeline has is removed"))
    return tuple(sorted(found, key=lambda hazard: (hazard.code, fold(hazard.subject))))


def _tables_removed(diff: Diff, applied: Program, desired: Program) -> Iterator[Hazard]:
    for name in names_of(diff, Action.REMOVED, RelationKind.TABLE):
        yield Hazard("H901", name, f"table {name} is removed and its rows are deleted")


def _tables_cleared(diff: Diff, applied: Program, desired: Program) -> Iterator[Hazard]:
    for name in names_of(diff, Action.MODIFIED, RelationKind.TABLE):
        refilled = any(
            fold(connector.relation) == fold(name) and connector.direction is Direction.INPUT
            for connector in desired.connectors.values()
        )
        then = "its connectors read it in again" if refilled else "and no connector fills it again"
        yield Hazard("H902", name, f"table {name} is modified: its rows are deleted, {then}")


def _views_removed(diff: Diff, applied: Program, desired: Program) -> Iterator[Hazard]:
    for name in names_of(diff, Action.REMOVED, RelationKind.VIEW):
        yield Hazard("H903", name, f"view {name} is removed; whoever reads it loses it")


def _inputs_read_again(diff: Diff, applied: Program, desired: Program) -> Iterator[Hazard]:
    modified = {fold(name) for name in names_of(diff, Action.MODIFIED, RelationKind.TABLE)}
    for change in diff.connectors:
        if change.action is not Action.MODIFIED or change.direction is not Direction.INPUT:
            continue
        table = desired.tables.get(fold(change.name.partition(".")[0]))
        if table is None or fold(table.name) in modified or table.primary_key:
            continue
        yield Hazard(
            "H904",
            change.name,
            f"connector {change.name} starts over while table {table.name} keeps its rows and has no primary key: "
            "rows that it reads again will be there twice",
        )


def _sinks_left_stale(diff: Diff, applied: Program, desired: Program) -> Iterator[Hazard]:
    modified = {fold(name) for name in names_of(diff, Action.MODIFIED, RelationKind.VIEW)}
    for connector in sorted(desired.connectors.values(), key=lambda connector: fold(connector.qualified_name)):
        if connector.direction is Direction.OUTPUT and fold(connector.relation) in modified:
            yield Hazard(
                "H905",
                connector.qualified_name,
                f"the sink of {connector.qualified_name} holds rows of the old {connector.relation} and gets the new "
                "contents in full: clear it first",
            )


_ANALYSERS: tuple[Callable[[Diff, Program, Program], Iterator[Hazard]], ...] = (
    _tables_removed,
    _tables_cleared,
    _views_removed,
    _inputs_read_again,
    _sinks_left_stale,
)
