"""What whoever reads from outside finds changed: H907 and H914.

H907: a view's readers find other columns there. From outside read its output connectors, and whoever opens the Delta table
of a materialized view. The columns that they know must stand where they stood, under their names and with their types; what
is added after them disturbs nobody. Readers within the pipeline are checked when it is compiled. Which types changed, as
far as that is surely known, `types` says.

H914: the Delta table of a relation that stays gets a feature that its readers must know. A reader that does not know it
can't open the table any more, whatever columns it asks for. Of the types that a table may declare, TIMESTAMP_NTZ is one
that asks for it. Only tables are looked at: types of views are not known without Spark.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from reconciler.base.declarations import RelationKind, ViewKind
from reconciler.base.names import fold
from reconciler.connectors.transport import Direction
from reconciler.diff.causes import ColumnRetyped
from reconciler.diff.model import Action, Diff
from reconciler.plan.hazards.types import retyped_columns
from reconciler.plan.model import Hazard
from reconciler.project.program.model import Program, Table


def public_columns_changed(diff: Diff, applied: Program, desired: Program) -> Iterator[Hazard]:
    """H907. A view whose columns are not known without Spark is passed over."""
    retyped = retyped_columns(diff, applied, desired)
    for change in diff.relations:
        if change.kind is RelationKind.TABLE or change.action is not Action.MODIFIED:
            continue
        before = applied.views.get(fold(change.renamed_from or change.name))
        after = desired.views.get(fold(change.name))
        if before is None or after is None or not before.column_names or not after.column_names:
            continue
        what = _disturbed(before.column_names, after.column_names) or _other_types(retyped.get(fold(after.name), {}))
        if what is None:
            continue
        readers = _outputs(applied, before.name, desired, after.name)
        if before.kind is ViewKind.MATERIALIZED and after.kind is ViewKind.MATERIALIZED:
            readers.append("readers of its Delta table")
        if readers:
            yield Hazard("H907", after.name, f"{change.kind.value} {after.name} {what}; this may break {_listed(readers)}")


def _other_types(columns: Mapping[str, ColumnRetyped]) -> str | None:
    words = [f"{name} was {cause.applied} and is {cause.desired}" for name, cause in sorted(columns.items())]
    return f"has other column types: {', '.join(words)}" if words else None


def _disturbed(before: tuple[str, ...], after: tuple[str, ...]) -> str | None:
    """What a reader who knows the columns of `before` finds changed, in words."""
    if before == after:
        return None
    old, new = [fold(name) for name in before], [fold(name) for name in after]
    if new[: len(old)] == old:
        return None
    kept = frozenset(new)
    lost = [name for name, key in zip(before, old, strict=True) if key not in kept]
    if lost:
        return f"no longer has {'columns' if len(lost) > 1 else 'column'} {', '.join(lost)}"
    known = frozenset(old)
    if [key for key in new if key in known] == old:
        # Some at the end are after all that was there, and stand in nobody's way.
        last = max(place for place, key in enumerate(new) if key in known)
        added = [name for name, key in zip(after[:last], new, strict=False) if key not in known]
        return f"has {', '.join(added)} before columns that were there: ({', '.join(before)}) is now ({', '.join(after)})"
    return f"has its columns in another order: ({', '.join(before)}) is now ({', '.join(after)})"


def _outputs(applied: Program, before: str, desired: Program, after: str) -> list[str]:
    """The outputs of the view that stay, as they are called now. One that goes reads nothing any more, a new one
    nothing yet."""
    old = {
        fold(one.name)
        for one in applied.connectors.values()
        if one.direction is Direction.OUTPUT and fold(one.relation) == fold(before)
    }
    return [
        one.qualified_name
        for _, one in sorted(desired.connectors.items())
        if one.direction is Direction.OUTPUT and fold(one.relation) == fold(after) and fold(one.name) in old
    ]


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


_ASKING: Final = "TIMESTAMP_NTZ"


def features_added(diff: Diff, applied: Program, desired: Program) -> Iterator[Hazard]:
    """H914."""
    for change in diff.relations:
        if change.kind is not RelationKind.TABLE or change.action is not Action.MODIFIED:
            continue
        before = applied.tables.get(fold(change.renamed_from or change.name))
        after = desired.tables.get(fold(change.name))
        if before is not None and after is not None and _asks(after) and not _asks(before):
            what = f"table {change.name} gets its first {_ASKING}"
            message = f"{what}: a Delta reader without support for it can't open the table"
            yield Hazard("H914", change.name, message)


def _asks(table: Table) -> bool:
    return any(_ASKING in column.type for column in table.columns)
