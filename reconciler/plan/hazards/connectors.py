"""What moves between the pipeline and the world: rows that come in twice (H904), sinks that keep old ones (H905)."""

from collections.abc import Iterator

from reconciler.connectors.catalogue import on_bootstrap
from reconciler.connectors.transport import Direction
from reconciler.diff.model import Action, Diff, Fate, RelationKind
from reconciler.names import fold
from reconciler.plan.hazards.clearing import is_cleared
from reconciler.plan.model import Hazard
from reconciler.program.model import Program


def inputs_read_again(diff: Diff, applied: Program, desired: Program) -> Iterator[Hazard]:
    """H904: a connector that starts over, into a table that keeps its rows and has no key to find them by."""
    cleared = {fold(change.name) for change in diff.relations if is_cleared(change)}
    for change in diff.connectors:
        if change.action is not Action.MODIFIED or change.direction is not Direction.INPUT or not change.differences:
            continue
        table = desired.tables.get(fold(change.name.partition(".")[0]))
        if table is None or fold(table.name) in cleared or table.primary_key:
            continue
        yield Hazard(
            "H904",
            change.name,
            f"connector {change.name} starts over while table {table.name} keeps its rows and has no primary key: "
            "rows that it reads again will be there twice",
        )


def sinks_left_stale(diff: Diff, applied: Program, desired: Program) -> Iterator[Hazard]:
    """H905: an output that went on before the view was computed anew, and is not told what is gone. A new output's sink
    is not known to hold anything."""
    computed = {
        fold(change.name)
        for change in diff.relations
        if change.kind is RelationKind.VIEW and change.action is Action.MODIFIED and change.fate is not Fate.KEPT
    }
    changes = {fold(change.name): change for change in diff.connectors if change.action is not Action.REMOVED}
    for key, connector in sorted(desired.connectors.items()):
        change = changes.get(key)
        if connector.direction is not Direction.OUTPUT or fold(connector.relation) not in computed:
            continue
        if change is not None and change.action is Action.ADDED:
            continue
        name, view = connector.qualified_name, connector.relation
        mode = "full" if change is not None and change.differences else on_bootstrap(connector.settings)
        if mode == "full":
            message = f"the sink of {name} holds rows of the old {view} and gets the new contents in full: clear it first"
            yield Hazard("H905", name, message)
        elif mode == "silent":
            message = f"the sink of {name} keeps rows of the old {view} and gets nothing of the new contents"
            yield Hazard("H905", name, message)
