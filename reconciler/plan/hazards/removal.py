"""What is removed, and what loses its rows.

Removed are tables with their rows (H901), views (H903), everything (H906), a large share (H910), columns of tables that
keep their rows, with their values (H913). What has another name now (`moved`) is not removed. A table or column that the
same plan adds and that is like one that goes may be meant to be the same one: the message says how to declare that.

H902: a modified table loses its rows. One whose rows are kept, as they are or under new columns, is no hazard.

H911: a protected relation loses its rows. Protected is what was applied as protected, or is desired so: whoever deletes the
entry, the file or the folder takes no protection away by it. A view that is no longer materialized loses its stored rows,
too. So does a table that gets another pipeline's rows by a restore, also where both programs are the same.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from reconciler.base.declarations import RelationKind, ViewKind
from reconciler.base.names import fold
from reconciler.connectors.transport import Direction
from reconciler.diff.causes import ColumnAdded, ColumnRemoved, KindChanged
from reconciler.diff.model import Action, Diff, Fate, RelationChange, names_of
from reconciler.plan.model import Hazard
from reconciler.project.manifest.verdicts import Limits
from reconciler.project.program.model import Program, Table

_SHOWN: Final = 5
_FEW: Final = 4
"""Of fewer relations every removal is a large share, and says nothing."""


def tables_removed(diff: Diff, applied: Program, desired: Program) -> Iterator[Hazard]:
    """H901. A table is like another one that has the same columns."""
    added: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for name in names_of(diff, Action.ADDED, RelationKind.TABLE):
        table = desired.tables[fold(name)]
        added.setdefault(_columns(table), []).append(table.name)
    for name in names_of(diff, Action.REMOVED, RelationKind.TABLE):
        message = f"table {name} is removed and its rows are deleted"
        alike = added.get(_columns(applied.tables[fold(name)]))
        if alike:
            message += f"; if it was renamed to {_one_of(alike)}, declare that under moved, and they are kept"
        yield Hazard("H901", name, message)


def _columns(table: Table) -> tuple[tuple[str, str], ...]:
    return tuple((fold(column.name), column.type) for column in table.columns)


def views_removed(diff: Diff, applied: Program, desired: Program) -> Iterator[Hazard]:
    """H903. A view that is no longer stored loses those who read its path."""
    for kind in (RelationKind.VIEW, RelationKind.STREAM):
        for name in names_of(diff, Action.REMOVED, kind):
            yield Hazard("H903", name, f"{kind.value} {name} is removed; its readers lose it")
    for change in diff.relations:
        for cause in change.causes:
            if isinstance(cause, KindChanged) and cause.applied is ViewKind.MATERIALIZED:
                message = f"view {change.name} is no longer stored; readers of its path lose it"
                yield Hazard("H903", change.name, message)


def everything_removed(diff: Diff, applied: Program, desired: Program, *, removes_pipeline: bool) -> Iterator[Hazard]:
    """H906: nothing is left of what is applied."""
    going_on = {*desired.relations, *(fold(change.renamed_from or "") for change in diff.relations)}
    if applied.relations and (removes_pipeline or going_on.isdisjoint(applied.relations)):
        yield Hazard("H906", applied.name, "all tables and views of this pipeline are removed")


def large_share_removed(diff: Diff, applied: Program, limits: Limits) -> Iterator[Hazard]:
    """H910: more than the share that policy sets of the tables and views that others can see."""
    total = sum(not relation.is_local for relation in applied.relations.values())
    removed = sum(change.action is Action.REMOVED for change in diff.relations)
    if total >= _FEW and removed > limits.removed_share * total:
        yield Hazard("H910", applied.name, f"{removed} of the {total} tables and views of this pipeline are removed")


def columns_dropped(diff: Diff, applied: Program, desired: Program) -> Iterator[Hazard]:
    """H913. A column is like another one of the same type."""
    for change in diff.relations:
        if change.kind is not RelationKind.TABLE or change.action is not Action.MODIFIED or is_cleared(change):
            continue
        added: dict[str, list[str]] = {}
        for cause in change.causes:
            if isinstance(cause, ColumnAdded):
                added.setdefault(cause.type, []).append(cause.column)
        for cause in change.causes:
            if not isinstance(cause, ColumnRemoved):
                continue
            message = f"column {cause.column} of table {change.name} is removed: its values are deleted"
            alike = added.get(cause.type)
            if alike:
                message += f"; if it was renamed to {_one_of(alike)}, declare that under moved, and they are kept"
            yield Hazard("H913", change.name, message)


def _one_of(names: Sequence[str]) -> str:
    """What may be what goes, as far as there are few: `a or b or one of 7 others`. Where thousands trade places, not each
    names them all."""
    if len(names) <= _SHOWN:
        return " or ".join(names)
    return f"{' or '.join(names[:_SHOWN])} or one of {len(names) - _SHOWN} others"


def is_cleared(change: RelationChange) -> bool:
    """Whether a change deletes the rows of a table that stays. When it does not say what becomes of them, they are lost."""
    is_modified_table = change.kind is RelationKind.TABLE and change.action is Action.MODIFIED
    return is_modified_table and change.fate in (None, Fate.CLEARED)


def tables_cleared(diff: Diff, applied: Program, desired: Program) -> Iterator[Hazard]:
    """H902."""
    inputs = {fold(one.relation) for one in desired.connectors.values() if one.direction is Direction.INPUT}
    for name in (change.name for change in diff.relations if is_cleared(change)):
        then = "and its connectors read the input again" if fold(name) in inputs else "and no connector fills it again"
        yield Hazard("H902", name, f"table {name} is modified: its rows are deleted, {then}")


def protection_broken(diff: Diff, applied: Program, desired: Program) -> Iterator[Hazard]:
    """H911."""
    protected = _protected(applied, desired)
    for change in diff.relations:
        if protected.isdisjoint({fold(change.name), fold(change.renamed_from or change.name)}):
            continue
        subject = f"{change.kind.value} {change.name} is protected, and"
        if change.action is Action.REMOVED:
            yield Hazard("H911", change.name, f"{subject} is removed")
        elif is_cleared(change):
            yield Hazard("H911", change.name, f"{subject} its rows are deleted")
        elif any(isinstance(cause, KindChanged) and cause.applied is ViewKind.MATERIALIZED for cause in change.causes):
            yield Hazard("H911", change.name, f"{subject} its stored rows are dropped")


def protected_rows_replaced(applied: Program, desired: Program, rows_of: str, told: frozenset[str]) -> Iterator[Hazard]:
    """Tables that stay, and whose rows are replaced by those of another pipeline, `rows_of`. Of `told`, which lose their own
    rows by the diff, that is said already."""
    protected = _protected(applied, desired)
    for key, table in sorted(desired.tables.items()):
        if key in applied.tables and key in protected and table.name not in told:
            yield Hazard(
                "H911", table.name, f"table {table.name} is protected, and its rows are replaced by those of {rows_of}"
            )


def _protected(applied: Program, desired: Program) -> frozenset[str]:
    return frozenset(map(fold, (*applied.settings.protected, *desired.settings.protected)))
