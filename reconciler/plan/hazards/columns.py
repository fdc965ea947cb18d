"""H907: whoever reads a view from outside finds other columns there.

From outside read its output connectors, and whoever opens the Delta table of a materialized view. The columns that they
know must stand where they stood, under their names and with their types; what is added after them disturbs nobody. Readers
within the pipeline are checked when it is compiled.

Types of a view are known to Spark alone, and what a plan says must not depend on guesses. So a type counts as changed only
where the column is that of a table, handed on as it is, and the table declares another type for it.
"""

from collections.abc import Iterator, Mapping

from reconciler.connectors.transport import Direction
from reconciler.diff.model import Action, ColumnRetyped, Diff, RelationKind
from reconciler.manifest.model import ViewKind
from reconciler.names import fold
from reconciler.plan.model import Hazard
from reconciler.program.model import Program, View
from reconciler.sql.plain_columns import plain_columns
from reconciler.sql.query import parse_query


def public_columns_changed(diff: Diff, applied: Program, desired: Program) -> Iterator[Hazard]:
    """See the module. A view whose columns are not known without Spark is passed over."""
    retyped = _retyped(diff, applied, desired)
    for change in diff.relations:
        if change.kind is not RelationKind.VIEW or change.action is not Action.MODIFIED:
            continue
        before = applied.views.get(fold(change.renamed_from or change.name))
        after = desired.views.get(fold(change.name))
        if before is None or after is None or not before.column_names or not after.column_names:
            continue
        what = _disturbed(before.column_names, after.column_names) or _other_types(retyped.get(fold(after.name), {}))
        readers = _outputs(applied, before.name, desired, after.name)
        if before.kind is ViewKind.MATERIALIZED and after.kind is ViewKind.MATERIALIZED:
            readers.append("whoever opens its table")
        if what and readers:
            yield Hazard("H907", after.name, f"view {after.name}, which {_listed(readers)} may read, {what}")


def _retyped(diff: Diff, applied: Program, desired: Program) -> dict[str, dict[str, ColumnRetyped]]:
    """By relation, its columns that surely have another type than before. Views are parsed only below a table of which
    that is so."""
    changes = {fold(change.name): change for change in diff.relations if change.action is Action.MODIFIED}
    found: dict[str, dict[str, ColumnRetyped]] = {}
    for key in desired.order:
        change = changes.get(key)
        if change is not None and key in desired.tables:
            columns = {fold(cause.column): cause for cause in change.causes if isinstance(cause, ColumnRetyped)}
        elif change is not None or diff.local_views.get(key) is Action.MODIFIED:
            old = fold(change.renamed_from or change.name) if change is not None else key
            columns = _handed_on(applied.views.get(old), desired.views[key], found)
        else:
            continue
        if columns:
            found[key] = columns
    return found


def _handed_on(
    before: View | None, after: View, found: Mapping[str, Mapping[str, ColumnRetyped]]
) -> dict[str, ColumnRetyped]:
    if before is None or not any(fold(read.relation) in found for read in after.reads):
        return {}
    old, new = _sources(before), _sources(after)
    return {
        column: ColumnRetyped(column, found[relation][name].applied, found[relation][name].desired)
        for column, (relation, name) in new.items()
        if old.get(column) == (relation, name) and name in found.get(relation, {})
    }


def _sources(view: View) -> dict[str, tuple[str, str]]:
    """The relation and column that each output column is, of those that are handed on; all folded."""
    if view.lineage is None or view.declaration.column_names:
        return {}
    plain = plain_columns(parse_query(view.query), view.column_names)
    return {
        fold(output.name): output.sources[0]
        for output in view.lineage.outputs
        # One source of another name is a struct, of which the column is a field.
        if len(output.sources) == 1 and plain.get(fold(output.name)) == output.sources[0][1]
    }


def _other_types(columns: Mapping[str, ColumnRetyped]) -> str | None:
    words = [f"{name} was {cause.applied} and is {cause.desired}" for name, cause in sorted(columns.items())]
    return f"has other types: {', '.join(words)}" if words else None


def _disturbed(before: tuple[str, ...], after: tuple[str, ...]) -> str | None:
    """What a reader who knows the columns of `before` finds changed, in words."""
    old, new = [fold(name) for name in before], [fold(name) for name in after]
    if new[: len(old)] == old:
        return None
    lost = [name for name, key in zip(before, old, strict=True) if key not in new]
    if lost:
        return f"no longer has {'columns' if len(lost) > 1 else 'column'} {', '.join(lost)}"
    return f"has its columns at other places: ({', '.join(before)}) is now ({', '.join(after)})"


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
