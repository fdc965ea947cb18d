"""Why a change of what a view reads makes it another view, or why it does not.

- A view is changed by what it reads only if it reads a changed column or a changed row set. When unsure, it is.
- A text that resolves otherwise now (`*` over other columns, or in another order) is another query.
- Of several causes upstream a reader is told the one that says most about the columns that it reads.
"""

from collections.abc import Mapping
from dataclasses import field

from reconciler.base.dataclass import dataclass
from reconciler.base.names import fold
from reconciler.diff.causes import (
    Cause,
    ColumnAdded,
    ColumnRemoved,
    ColumnRetyped,
    DefaultChanged,
    FunctionChanged,
    LatenessChanged,
    NullabilityChanged,
    Path,
    QueryChanged,
    ReadsChanged,
    RelationRenamed,
    TableCause,
    ViewCause,
)
from reconciler.diff.extent import (
    NOTHING,
    AnyRow,
    Extent,
    OnlyColumns,
    QueryText,
    may_be_captured,
    may_resolve_otherwise,
    reshaped,
    uses_places,
)
from reconciler.diff.model import RelationChange, Spared
from reconciler.project.program.model import Program, Read, View
from reconciler.sql.lineage import ALL_COLUMNS

_OF_A_COLUMN = (ColumnAdded, ColumnRemoved, ColumnRetyped, NullabilityChanged, DefaultChanged, LatenessChanged)
_IN_COLUMNS = (QueryChanged, FunctionChanged)


@dataclass(slots=True)
class Found:
    """What is found while relations are gone through in dependency order, by desired key."""

    changes: dict[str, RelationChange] = field(default_factory=dict)
    extents: dict[str, Extent] = field(default_factory=dict)
    clearing: dict[str, tuple[TableCause, ...]] = field(default_factory=dict)
    """Of tables that are cleared: the causes of that, which their readers are told."""
    computed_again: dict[str, frozenset[str]] = field(default_factory=dict)
    """Of views that are computed anew: the columns that nothing changed, and that need not come out the same."""
    spared: list[Spared] = field(default_factory=list)
    respelled: set[str] = field(default_factory=set)
    """The views whose columns only Spark knows how to spell, where it may spell them otherwise than before."""


@dataclass(frozen=True, slots=True)
class ChangedReader:
    """A view before (under desired names) and now, with what changed of the relations that it reads, by key.
    `is_written_anew`: its text is another, and says by itself why it gives other columns; `has_same_text`: its query is
    written as before."""

    old: View
    view: View
    upstream: Mapping[str, Extent]
    is_written_anew: bool
    has_same_text: bool

    @property
    def is_unsure(self) -> bool:
        """Whether the lineage of the view, before or now, is not surely known."""
        return self.old.lineage is None or self.view.lineage is None


def read_causes(reader: ChangedReader, after: Program, found: Found) -> tuple[tuple[ViewCause, ...], list[Spared], bool]:
    """Why what a view reads makes it another view; what it reads that changed without doing so; and whether any row of it
    may differ, whatever lineage says."""
    old, view, upstream = reader.old, reader.view, reader.upstream
    if not upstream:
        return (), [], False
    before = {fold(read.relation): read.columns for read in old.reads}
    text = QueryText(view.query)
    # A text that now resolves otherwise (`*` over other columns, or in another order) is another query.
    turned = not reader.is_written_anew and (_names_differ(old, view) or reshaped(old, view) != NOTHING)
    causes: list[ViewCause] = []
    spared: list[Spared] = []
    any_row = reader.is_unsure and any(extent != NOTHING for extent in upstream.values())
    for read in view.reads:
        key = fold(read.relation)
        extent = upstream.get(key)
        if extent is None:
            continue
        columns = _changed_columns(read, before.get(key, ()), extent)
        used = _Used(read, before.get(key, ()), _column_count(after, key))
        if isinstance(extent, OnlyColumns) and _reaches_any_row(extent, text, used, reader):
            any_row = True
            columns = columns or read.columns
        if columns is None and turned:
            assert isinstance(extent, OnlyColumns)
            columns = tuple(column for column in read.columns if fold(column) in extent.renamed) or read.columns
        if columns is None:
            assert isinstance(extent, OnlyColumns)
            again = found.computed_again.get(key, frozenset())
            spared.append(Spared(view.name, read.relation, tuple(sorted(extent.names - again)), tuple(sorted(again))))
        else:
            causes.append(_reads_changed(found.changes[key], columns, found.clearing.get(key)))
    return tuple(causes), spared, any_row


def _names_differ(old: View, view: View) -> bool:
    names = old.column_names, view.column_names
    return names[0] != names[1] and [fold(name) for name in names[0]] != [fold(name) for name in names[1]]


@dataclass(frozen=True, slots=True)
class _Used:
    """What a view uses of a relation: its read now, the columns that it used until now, and how many there are, if that is
    known."""

    read: Read
    before: tuple[str, ...]
    column_count: int | None


def _reaches_any_row(extent: OnlyColumns, text: QueryText, used: _Used, reader: ChangedReader) -> bool:
    """Whether a change of some columns of what is read may reach any row of the reader: by the places of columns, or by
    names that mean something else now."""
    if extent.reordered and uses_places(text, used.read, used.column_count):
        return True
    if may_be_captured(text, extent):
        return True
    if not reader.has_same_text:
        return False
    if reader.is_unsure and extent != NOTHING:
        return True
    return may_resolve_otherwise(text, (*used.read.columns, *used.before), extent)


def _column_count(program: Program, key: str) -> int | None:
    """How many columns a relation has, if that is known."""
    if key in program.tables:
        return len(program.tables[key].columns)
    if key in program.foreign:
        return len(program.foreign[key].columns)
    return len(program.views[key].column_names) or None


def _changed_columns(read: Read, before: tuple[str, ...], extent: Extent) -> tuple[str, ...] | None:
    """The columns read (now or before) that may differ; None when no column that is read does."""
    match extent:
        case AnyRow():
            return read.columns
        case OnlyColumns():
            if ALL_COLUMNS in read.columns or ALL_COLUMNS in before:
                return read.columns if extent.names or extent.renamed else None
            now = tuple(column for column in read.columns if fold(column) in extent.names)
            return now or (tuple(column for column in before if fold(column) in extent.names) or None)


def _reads_changed(
    upstream: RelationChange, columns: tuple[str, ...], clearing: tuple[TableCause, ...] | None
) -> ReadsChanged:
    cause = _telling_cause(upstream.causes if clearing is None else clearing, {fold(column) for column in columns})
    if isinstance(cause, ReadsChanged):
        return ReadsChanged(upstream.name, columns, cause.path.after(upstream.name), cause.origin)
    return ReadsChanged(upstream.name, columns, Path((upstream.name,)), cause)


def _telling_cause(of: tuple[Cause, ...], columns: set[str]) -> Cause | None:
    """Of the causes of a change, the one that says most to a reader of these columns: the first that is about one of them,
    else the first that is about rows or values at all."""
    causes = [cause for cause in of if not isinstance(cause, RelationRenamed)]
    about = [
        cause
        for cause in causes
        if (isinstance(cause, _OF_A_COLUMN) and fold(cause.column) in columns)
        or (isinstance(cause, _IN_COLUMNS) and not columns.isdisjoint(cause.columns or ()))
    ]
    others = [
        cause
        for cause in causes
        if not isinstance(cause, _OF_A_COLUMN) and not (isinstance(cause, _IN_COLUMNS) and cause.columns is not None)
    ]
    return next(iter([*about, *others, *causes]), None)
