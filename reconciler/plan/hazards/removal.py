"""What is removed: tables with their rows (H901), views (H903), everything (H906), a large share (H910).

A relation that has another name now (`moved`) is not removed.
"""

from collections.abc import Iterator

from reconciler.base.declarations import ViewKind
from reconciler.base.names import fold
from reconciler.diff.causes import (
    KindChanged,
)
from reconciler.diff.model import (
    Action,
    Diff,
    RelationKind,
    names_of,
)
from reconciler.plan.hazards.alike import one_of
from reconciler.plan.model import Hazard
from reconciler.project.manifest.verdicts import Limits
from reconciler.project.program.model import Program, Table

_FEW = 4
"""Of fewer relations every removal is a large share, and says nothing."""


def tables_removed(diff: Diff, applied: Program, desired: Program) -> Iterator[Hazard]:
    """H901. A table with the same columns that is added by the same plan may be meant to be the same one."""
    added: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for name in names_of(diff, Action.ADDED, RelationKind.TABLE):
        table = desired.tables[fold(name)]
        added.setdefault(_columns(table), []).append(table.name)
    for name in names_of(diff, Action.REMOVED, RelationKind.TABLE):
        message = f"table {name} is removed and its rows are deleted"
        alike = added.get(_columns(applied.tables[fold(name)]))
        if alike:
            message += f"; if it was renamed to {one_of(alike)}, declare that under moved, and they are kept"
        yield Hazard("H901", name, message)


def _columns(table: Table) -> tuple[tuple[str, str], ...]:
    return tuple((fold(column.name), column.type) for column in table.columns)


def views_removed(diff: Diff, applied: Program, desired: Program) -> Iterator[Hazard]:
    """H903. A view that is no longer stored loses those who read its path."""
    for name in names_of(diff, Action.REMOVED, RelationKind.VIEW):
        yield Hazard("H903", name, f"view {name} is removed; its readers lose it")
    for change in diff.relations:
        for cause in change.causes:
            if isinstance(cause, KindChanged) and cause.applied is ViewKind.MATERIALIZED:
                message = f"view {change.name} is no longer stored; readers of its path lose it"
                yield Hazard("H903", change.name, message)


def everything_removed(diff: Diff, applied: Program, desired: Program, *, removes_pipeline: bool) -> Iterator[Hazard]:
    """H906: nothing is left of what is applied."""
    relations = {*applied.tables, *applied.views}
    going_on = {*desired.tables, *desired.views, *(fold(change.renamed_from or "") for change in diff.relations)}
    if relations and (removes_pipeline or not relations & going_on):
        yield Hazard("H906", applied.name, "all tables and views of this pipeline are removed")


def large_share_removed(diff: Diff, applied: Program, limits: Limits) -> Iterator[Hazard]:
    """H910: more than the share that policy sets of the tables and views that others can see."""
    total = len(applied.tables) + sum(view.kind is not ViewKind.LOCAL for view in applied.views.values())
    removed = sum(change.action is Action.REMOVED for change in diff.relations)
    if total >= _FEW and removed > limits.removed_share * total:
        yield Hazard("H910", applied.name, f"{removed} of the {total} tables and views of this pipeline are removed")
