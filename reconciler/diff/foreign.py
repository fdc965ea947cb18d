"""What changed of other pipelines' relations, as a pipeline that reads them sees it.

A pipeline knows what another's relation meant when its own program was applied. Whoever can look up both states of the
other pipeline compares them (`compare.relation_changes`), and gives the change to the comparison of the reader: how far it
reaches there is told by columns and lineage, as for a change within one pipeline.

Rules:
- Where what it meant can't be looked up any more, any row may differ.
- What means something else only in how it is named or written (a rename that its pipeline declares) changes no row.
- Where names are data to the reader, a column that is spelled otherwise is another one, whatever names are to the pipeline
  that it is of.
- Names on the way to where a change began are those of the other pipeline, and get its name.
"""

from dataclasses import replace

from reconciler.base.dataclass import dataclass
from reconciler.base.declarations import ForeignRelation, RelationKind
from reconciler.base.names import fold
from reconciler.diff.causes import Cause, ColumnNamesChanged, MeaningChanged, ReadsChanged, TableCause
from reconciler.diff.extent import ANY_ROW, NOTHING, Extent, OnlyColumns, union
from reconciler.diff.model import Action, RelationChange
from reconciler.project.program.written_names import respelled


@dataclass(frozen=True, slots=True)
class ForeignChange:
    """A relation that changed, how far that reaches for its readers, and of a table that is cleared, why."""

    change: RelationChange
    extent: Extent
    clearing: tuple[TableCause, ...] | None = None


def unknown_change(relation: ForeignRelation) -> ForeignChange:
    """The change of a relation of which nothing more is known than that there was one."""
    change = RelationChange(
        Action.MODIFIED, RelationKind(relation.kind), relation.qualified_name, (MeaningChanged(),), renamed_from=None
    )
    return ForeignChange(change, ANY_ROW)


def changed_in_name_only(relation: ForeignRelation) -> ForeignChange:
    """The change of a relation that holds what it held."""
    return replace(unknown_change(relation), extent=NOTHING)


def with_respelled(found: ForeignChange, before: ForeignRelation, after: ForeignRelation) -> ForeignChange:
    """The change as a reader sees it to whom names are data: with the columns whose names have another letter case."""
    names = tuple(name for name, _ in before.columns), tuple(name for name, _ in after.columns)
    changed = frozenset(fold(name) for _, name in respelled(*names))
    if not changed:
        return found
    causes = tuple(cause for cause in found.change.causes if not isinstance(cause, MeaningChanged))
    change = replace(found.change, causes=(*causes, ColumnNamesChanged(*names)))
    return replace(found, change=change, extent=union(found.extent, OnlyColumns(changed)))


def seen_from_outside(pipeline: str, relation: ForeignRelation, found: ForeignChange) -> ForeignChange:
    """The change of a pipeline's relation under the names that other pipelines have for it. What was removed and made again
    has changed for good, and says nothing of what it was."""
    causes = tuple(_qualified(pipeline, cause) for cause in found.change.causes) or (MeaningChanged(),)
    change = replace(found.change, name=relation.qualified_name, causes=causes, renamed_from=None)
    return replace(found, change=change)


def _qualified(pipeline: str, cause: Cause) -> Cause:
    if not isinstance(cause, ReadsChanged):
        return cause
    names = tuple(name if "." in name else f"{pipeline}.{name}" for name in cause.path.names)
    origin = cause.origin if cause.origin is not None else MeaningChanged()
    return replace(cause, relation=names[0], path=replace(cause.path, names=names), origin=origin)
