"""Compare two snapshots: (applied, desired) → Diff.

Rules, from the seed on modifying a pipeline:
- A table is modified if types, names or order of its columns changed in any way, its primary key changed, or
  `materialized` or `append_only` was added or removed (`tables`). It is not modified if only its connectors changed.
- A view is modified if its query changed, or MATERIALIZED was added or removed (`views`), or as a side effect of a change
  upstream. It is not modified if only its connectors changed.
- Connectors are identified by name within their relation; a renamed one is removed and added (`connectors`).

Beyond the seed:
- A query is compared by its canonical text; where names can be data (maps, `to_json`), letter case of names counts; a
  change of Spark settings that decide results, or of a function that it calls, modifies a view.
- A change upstream modifies a view only if it reads a changed column or a changed row set (`extent`); one that reads the
  relation and is untouched all the same is `spared`, and the diff says why. When unsure: modified.
- A relation of another kind, or added anew under a name that is read, changes any row for its readers.
- `moved` (`moves`) makes two names one: nothing is removed or added for a rename.
- A relation of another pipeline is a change upstream like any other. How far it reaches, whoever compared the two states of
  that pipeline says (`foreign`); where nobody does and its meaning differs, any row.
- LOCAL views never appear, though their changes flow on to their readers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from reconciler.base.declarations import ViewKind
from reconciler.base.names import fold
from reconciler.diff.connectors import compare_connectors
from reconciler.diff.extent import (
    ANY_ROW,
    NOTHING,
    AnyRow,
    Extent,
    OnlyColumns,
    QueryText,
    flow,
    may_be_captured,
    may_resolve_otherwise,
    reshaped,
    union,
    unrepeatable,
    uses_places,
)
from reconciler.diff.foreign import ForeignChange, unknown_change
from reconciler.diff.functions import ChangedCalls, changed_calls, compare_functions
from reconciler.diff.metadata import compare_metadata
from reconciler.diff.model import (
    Action,
    Cause,
    ColumnAdded,
    ColumnNamesChanged,
    ColumnRemoved,
    ColumnRetyped,
    ConnectorChange,
    DefaultChanged,
    Diff,
    Fate,
    FunctionChange,
    FunctionChanged,
    LatenessChanged,
    NullabilityChanged,
    Path,
    QueryChanged,
    ReadsChanged,
    RelationChange,
    RelationKind,
    RelationRenamed,
    SettingsChanged,
    Spared,
    TableCause,
    ViewCause,
    WrittenNamesChanged,
)
from reconciler.diff.moves import Renames, resolve_moves
from reconciler.diff.recorded import Told
from reconciler.diff.safeguards import safeguards_loosened
from reconciler.diff.tables import clearing_causes, judge_rows, table_causes, table_extent
from reconciler.diff.views import has_the_same_text, may_be_respelled, own_causes, own_extent, under_desired_names
from reconciler.project.program.model import Program, Read, View
from reconciler.project.snapshot.fingerprint import table_content
from reconciler.project.snapshot.model import Snapshot
from reconciler.sql.scopes import ALL_COLUMNS


@dataclass(slots=True)
class _Found:
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


def compare(applied: Snapshot, desired: Snapshot, foreign: Mapping[str, ForeignChange] = MappingProxyType({})) -> Diff:
    """What differs, with causes. `foreign` are the changes of other pipelines' relations, by key. Cost: linear in the number
    of relations and reads."""
    before, after = applied.program, desired.program
    renames = resolve_moves(before, after).renames
    functions = compare_functions(applied, desired)
    found = _compare_relations(applied, desired, renames, functions, foreign)
    successors = {renames.applied_key(key): key for key in (*after.tables, *after.views)}
    removed = [
        change
        for key in sorted({*before.tables, *before.views})
        if (change := _removal(key, before, after, successors.get(key))) is not None
    ]
    local_views = {key: change.action for key, change in found.changes.items() if _is_local(after, key)} | {
        key: Action.REMOVED for key, view in before.views.items() if view.kind is ViewKind.LOCAL and key not in successors
    }
    local_changes = [change for key, change in found.changes.items() if _is_local(after, key)]
    local_changes += [
        RelationChange(Action.REMOVED, RelationKind.VIEW, before.views[key].name)
        for key, action in local_views.items()
        if action is Action.REMOVED
    ]
    shown = [change for key, change in found.changes.items() if not _is_local(after, key) and key not in after.foreign]
    spared = sorted(found.spared, key=lambda one: (fold(one.view), fold(one.relation)))
    connectors = compare_connectors(applied, desired, renames)
    return Diff(
        relations=tuple(sorted([*shown, *removed], key=lambda change: (fold(change.name), change.kind, change.action))),
        connectors=connectors,
        local_views=dict(sorted(local_views.items())),
        metadata_changed=applied.record != desired.record,
        functions=functions,
        spared=tuple(one for one in spared if not _is_local(after, fold(one.view))),
        local_changes=tuple(sorted(local_changes, key=lambda change: (fold(change.name), change.action))),
        local_spared=tuple(one for one in spared if _is_local(after, fold(one.view))),
        metadata=(
            compare_metadata(
                before, after, _told([*shown, *removed, *local_changes], functions, connectors, renames), renames
            )
            if applied.record != desired.record
            else ()
        ),
        loosened=safeguards_loosened(before, after, renames),
    )


def _told(
    relations: Sequence[RelationChange],
    functions: Sequence[FunctionChange],
    connectors: Sequence[ConnectorChange],
    renames: Renames,
) -> Told:
    """What the diff tells of by itself. A view that changes only because of what it uses may be written otherwise, too."""
    found = [change for change in relations if not _is_affected_only(change)]
    changes: list[RelationChange | FunctionChange | ConnectorChange] = [*found, *functions, *connectors]
    return Told(
        changed=frozenset(fold(change.name) for change in changes),
        new_or_gone=frozenset(fold(change.name) for change in changes if change.action is not Action.MODIFIED),
        renamed={old: new for new, old in renames.relations.items()},
        read=frozenset(
            fold(cause.relation) for change in relations for cause in change.causes if isinstance(cause, ReadsChanged)
        ),
    )


def _is_affected_only(change: RelationChange) -> bool:
    causes = change.causes
    return bool(causes) and all(isinstance(one, ReadsChanged | FunctionChanged | SettingsChanged) for one in causes)


def relation_changes(
    applied: Snapshot, desired: Snapshot, foreign: Mapping[str, ForeignChange] = MappingProxyType({})
) -> dict[str, ForeignChange]:
    """Every relation (by its desired key) of which anything may differ for whoever reads it, as its readers see it."""
    renames = resolve_moves(applied.program, desired.program).renames
    found = _compare_relations(applied, desired, renames, compare_functions(applied, desired), foreign)
    return {
        key: ForeignChange(found.changes[key], extent, found.clearing.get(key))
        for key, extent in sorted(found.extents.items())
        if key not in desired.program.foreign
    }


def _compare_relations(
    applied: Snapshot,
    desired: Snapshot,
    renames: Renames,
    functions: tuple[FunctionChange, ...],
    foreign: Mapping[str, ForeignChange],
) -> _Found:
    before, after = applied.program, desired.program
    calls = changed_calls(applied, desired, functions)
    found = _Found()
    for key, relation in after.foreign.items():
        known = before.foreign.get(key)
        if known is not None and known.meaning != relation.meaning:
            change = foreign.get(key) or unknown_change(relation)
            found.changes[key], found.extents[key] = change.change, change.extent
            if change.clearing is not None:
                found.clearing[key] = change.clearing
    for key in after.order:
        if key in after.tables:
            _compare_table(key, before, after, renames, found)
        else:
            _compare_view(key, before, after, renames, calls, found)
    return found


def _compare_table(key: str, before: Program, after: Program, renames: Renames, found: _Found) -> None:
    table = after.tables[key]
    old = before.tables.get(renames.applied_key(key))
    if old is None:
        found.changes[key] = RelationChange(Action.ADDED, RelationKind.TABLE, table.name)
        found.extents[key] = ANY_ROW
        return
    spelling = max(before.spelling, after.spelling)
    if table_content(old, before.settings, spelling) == table_content(table, after.settings, spelling):
        return
    causes = table_causes(old, table, (before.settings, after.settings), spelling, renames.columns.get(key))
    fate = judge_rows(causes, table, after.evolution_of(key))
    renamed_from = old.name if fold(old.name) != key else None
    found.changes[key] = RelationChange(Action.MODIFIED, RelationKind.TABLE, table.name, causes, fate, renamed_from)
    found.extents[key] = table_extent(causes, fate, spelling)
    if fate is Fate.CLEARED:
        found.clearing[key] = clearing_causes(causes, table, after.evolution_of(key))


def _compare_view(
    key: str,
    before: Program,
    after: Program,
    renames: Renames,
    calls: ChangedCalls,
    found: _Found,
) -> None:
    view = after.views[key]
    old = before.views.get(renames.applied_key(key))
    if old is None:
        found.changes[key] = RelationChange(Action.ADDED, RelationKind.VIEW, view.name)
        found.extents[key] = ANY_ROW
        return
    if may_be_respelled(old, view, renames) or (
        view.spelled_names is not None and any(fold(read.relation) in found.respelled for read in view.reads)
    ):
        found.respelled.add(key)
    old = under_desired_names(old, renames, after)
    own = own_causes(old, view, before, after, renames, calls)
    spelling = max(before.spelling, after.spelling)
    upstream = {name: found.extents[name] for read in view.reads if (name := fold(read.relation)) in found.extents}
    written_anew = any(isinstance(one, _OF_THE_TEXT) for one in own)
    same_text = bool(upstream) and has_the_same_text(old, view, before, after)
    reads, spared, any_row = _read_causes(old, view, after, upstream, found, written_anew=written_anew, same_text=same_text)
    causes: tuple[ViewCause, ...] = (*own, *reads)
    is_computed = any(not isinstance(cause, RelationRenamed) for cause in causes)
    if key in found.respelled and old.is_stored and view.is_stored and not is_computed:
        # Whatever else changes it has it computed again, too.
        own = (*own, WrittenNamesChanged())
        causes = (*causes, own[-1])
    if not causes:
        found.spared += spared
        return
    computed = [cause for cause in causes if not isinstance(cause, RelationRenamed)]
    extent = ANY_ROW if any_row else union(own_extent(own, spelling), flow(view, upstream))
    if reads:
        extent = union(extent, reshaped(old, view))
    if _places(old, view) != _places(view, old):
        extent = union(extent, OnlyColumns(frozenset(), reordered=True))
    if computed and (old.is_stored or view.is_stored):
        again = unrepeatable(view.lineage)
        if isinstance(extent, OnlyColumns) and isinstance(again, OnlyColumns):
            found.computed_again[key] = again.names - extent.names
        extent = union(extent, again)
    renamed_from = old.name if fold(old.name) != key else None
    fate = Fate.RECOMPUTED if computed else Fate.KEPT
    if (old.kind is ViewKind.LOCAL) != (view.kind is ViewKind.LOCAL):
        # To who reads from outside, a view that becomes LOCAL is gone, and one that ceases to be LOCAL is new. To the views
        # that read it, it is what it was.
        found.changes[key] = RelationChange(Action.ADDED, RelationKind.VIEW, view.name)
    else:
        found.changes[key] = RelationChange(Action.MODIFIED, RelationKind.VIEW, view.name, causes, fate, renamed_from)
    found.extents[key] = extent


_OF_THE_TEXT = (QueryChanged, ColumnNamesChanged)
_OF_A_COLUMN = (ColumnAdded, ColumnRemoved, ColumnRetyped, NullabilityChanged, DefaultChanged, LatenessChanged)
_IN_COLUMNS = (QueryChanged, FunctionChanged)


def _places(view: View, other: View) -> list[str]:
    """The columns of a view that another has too, in order."""
    known = {fold(name) for name in other.column_names}
    return [fold(name) for name in view.column_names if fold(name) in known]


def _read_causes(
    old: View,
    view: View,
    after: Program,
    upstream: Mapping[str, Extent],
    found: _Found,
    *,
    written_anew: bool,
    same_text: bool,
) -> tuple[tuple[ViewCause, ...], list[Spared], bool]:
    """Why what the view reads makes it another, and what it reads that changed without doing so. `written_anew`: its text
    is another, and says by itself why it gives other columns; `same_text`: its query is written as before. The last:
    whether any row may differ, whatever lineage says."""
    if not upstream:
        return (), [], False
    before = {fold(read.relation): read.columns for read in old.reads}
    text = QueryText(view.query)
    is_unsure = old.lineage is None or view.lineage is None
    # A text that now resolves otherwise (`*` over other columns, or in another order) is another query.
    names = [fold(name) for name in old.column_names], [fold(name) for name in view.column_names]
    turned = not written_anew and (names[0] != names[1] or reshaped(old, view) != NOTHING)
    causes: list[ViewCause] = []
    spared: list[Spared] = []
    any_row = is_unsure and any(extent != NOTHING for extent in upstream.values())
    for read in view.reads:
        key = fold(read.relation)
        extent = upstream.get(key)
        if extent is None:
            continue
        columns = _changed_columns(read, before.get(key, ()), extent)
        if isinstance(extent, OnlyColumns) and _reaches_any_row(
            extent,
            text,
            read,
            before.get(key, ()),
            _column_count(after, key),
            is_unsure=is_unsure,
            same_text=same_text,
        ):
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


def _reaches_any_row(
    extent: OnlyColumns,
    text: QueryText,
    read: Read,
    before: tuple[str, ...],
    column_count: int | None,
    *,
    is_unsure: bool,
    same_text: bool,
) -> bool:
    """Whether a change of some columns of what is read may reach any row of who reads it: by their places, or by names that
    mean something else now. `before` are the columns that it used until now, `column_count` how many there are."""
    if extent.reordered and uses_places(text, read, column_count):
        return True
    if may_be_captured(text, extent):
        return True
    if not same_text:
        return False
    return (is_unsure and extent != NOTHING) or may_resolve_otherwise(text, (*read.columns, *before), extent)


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


def _removal(key: str, before: Program, after: Program, successor: str | None) -> RelationChange | None:
    """What is no more. `successor` is the desired relation of that name, or of the name that it was moved to."""
    if key in before.tables:
        if successor in after.tables:
            return None
        return RelationChange(Action.REMOVED, RelationKind.TABLE, before.tables[key].name)
    view = before.views[key]
    goes_on = successor is not None and successor in after.views and not _is_local(after, successor)
    if view.kind is ViewKind.LOCAL or goes_on:
        return None
    return RelationChange(Action.REMOVED, RelationKind.VIEW, view.name)


def _is_local(program: Program, key: str) -> bool:
    return key in program.views and program.views[key].kind is ViewKind.LOCAL
