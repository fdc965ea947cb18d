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
from types import MappingProxyType

from reconciler.base.declarations import RelationKind, ViewKind
from reconciler.base.names import fold
from reconciler.diff.causes import (
    ColumnNamesChanged,
    FunctionChanged,
    QueryChanged,
    ReadsChanged,
    RelationRenamed,
    SettingsChanged,
    StreamChanged,
    ViewCause,
    WrittenNamesChanged,
)
from reconciler.diff.connectors import compare_connectors
from reconciler.diff.extent import ANY_ROW, OnlyColumns, flow, reshaped, union, unrepeatable
from reconciler.diff.foreign import ForeignChange, unknown_change
from reconciler.diff.functions import changed_calls, compare_functions
from reconciler.diff.metadata import compare_metadata
from reconciler.diff.model import Action, ConnectorChange, Diff, Fate, FunctionChange, RelationChange
from reconciler.diff.moves import Renames, resolve_moves
from reconciler.diff.read_causes import ChangedReader, Found, read_causes
from reconciler.diff.recorded import Told
from reconciler.diff.safeguards import safeguards_loosened
from reconciler.diff.tables import clearing_causes, judge_rows, table_causes, table_extent
from reconciler.diff.views import (
    Surroundings,
    has_the_same_text,
    may_be_respelled,
    own_causes,
    own_extent,
    settings_cause,
    under_desired_names,
)
from reconciler.project.program.model import Program, View
from reconciler.project.snapshot.fingerprint import table_content
from reconciler.project.snapshot.model import Snapshot


def compare(applied: Snapshot, desired: Snapshot, foreign: Mapping[str, ForeignChange] = MappingProxyType({})) -> Diff:
    """What differs, with causes. `foreign` are the changes of other pipelines' relations, by key. Cost: linear in the number
    of relations and reads."""
    before, after = applied.program, desired.program
    renames = resolve_moves(before, after).renames
    functions = compare_functions(applied, desired)
    found = _compare_relations(applied, desired, renames, functions, foreign)
    successors = {renames.applied_key(key): key for key in after.relations}
    removed = [
        change
        for key in sorted(before.relations)
        if (change := _removal(key, before, after, successors.get(key))) is not None
    ]
    local_views = {key: change.action for key, change in found.changes.items() if _is_local(after, key)} | {
        key: Action.REMOVED for key, view in before.views.items() if view.is_local and key not in successors
    }
    local_changes = [change for key, change in found.changes.items() if _is_local(after, key)]
    local_changes += [
        RelationChange(Action.REMOVED, before.views[key].relation_kind, before.views[key].name)
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
) -> Found:
    before, after = applied.program, desired.program
    calls = changed_calls(applied, desired, functions)
    surroundings = Surroundings(before, after, renames, calls, settings_cause(before.settings, after.settings))
    found = Found()
    for key, relation in after.foreign.items():
        known = before.foreign.get(key)
        own = before.views.get(renames.applied_key(key)) if known is None else None
        if own is not None:
            # A version that was kept up to date, and is read now as it was when it was active last.
            found.changes[key] = RelationChange(Action.REMOVED, own.relation_kind, own.name)
            found.extents[key] = ANY_ROW
        if known is not None and known.meaning != relation.meaning:
            change = foreign.get(key) or unknown_change(relation)
            found.changes[key], found.extents[key] = change.change, change.extent
            if change.clearing is not None:
                found.clearing[key] = change.clearing
    for key in after.order:
        if key in after.tables:
            _compare_table(key, before, after, renames, found)
        else:
            _compare_view(key, surroundings, found)
    return found


def _compare_table(key: str, before: Program, after: Program, renames: Renames, found: Found) -> None:
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


def _compare_view(key: str, surroundings: Surroundings, found: Found) -> None:
    before, after, renames = surroundings.applied, surroundings.desired, surroundings.renames
    view = after.views[key]
    old = before.views.get(renames.applied_key(key))
    if old is None:
        found.changes[key] = RelationChange(Action.ADDED, view.relation_kind, view.name)
        found.extents[key] = ANY_ROW
        return
    if may_be_respelled(old, view, renames) or (
        view.spelled_names is not None and any(fold(read.relation) in found.respelled for read in view.reads)
    ):
        found.respelled.add(key)
    old = under_desired_names(old, renames, after)
    own = own_causes(old, view, surroundings)
    spelling = max(before.spelling, after.spelling)
    upstream = {name: found.extents[name] for read in view.reads if (name := fold(read.relation)) in found.extents}
    reader = ChangedReader(
        old,
        view,
        upstream,
        is_written_anew=any(isinstance(one, _OF_THE_TEXT) for one in own),
        has_same_text=bool(upstream) and has_the_same_text(old, view, before, after),
    )
    reads, spared, any_row = read_causes(reader, after, found)
    if reads and view.kind is ViewKind.STREAM:
        # Nobody wrote its query: where its definition says what it said, it follows what the stream reads.
        own = tuple(one for one in own if not isinstance(one, QueryChanged))
    causes: tuple[ViewCause, ...] = (*own, *reads)
    is_computed = any(not isinstance(cause, RelationRenamed) for cause in causes)
    if key in found.respelled and old.is_stored and view.is_stored and not is_computed:
        # Whatever else changes it has it computed again, too.
        own = (*own, WrittenNamesChanged())
        causes = (*causes, own[-1])
    if not causes:
        found.spared += spared
        return
    computed = [cause for cause in causes if not _keeps_rows(cause)]
    extent = ANY_ROW if any_row else union(own_extent(own, spelling), flow(view, upstream))
    if reads:
        extent = union(extent, reshaped(old, view))
    if old.column_names != view.column_names and _places(old, view) != _places(view, old):
        extent = union(extent, OnlyColumns(frozenset(), reordered=True))
    if computed and view.kind is ViewKind.STREAM:
        # What it gives depends on the steps in which rows came.
        extent = ANY_ROW
    if computed and (old.is_stored or view.is_stored):
        again = unrepeatable(view.lineage)
        if isinstance(extent, OnlyColumns) and isinstance(again, OnlyColumns):
            found.computed_again[key] = again.names - extent.names
        extent = union(extent, again)
    renamed_from = old.name if fold(old.name) != key else None
    fate = Fate.RECOMPUTED if computed else Fate.KEPT
    if old.is_local is not view.is_local:
        # To who reads from outside, a view that becomes LOCAL is gone, and one that ceases to be LOCAL is new. To the views
        # that read it, it is what it was.
        found.changes[key] = RelationChange(Action.ADDED, view.relation_kind, view.name)
    else:
        found.changes[key] = RelationChange(Action.MODIFIED, view.relation_kind, view.name, causes, fate, renamed_from)
    found.extents[key] = extent


def _keeps_rows(cause: ViewCause) -> bool:
    """Whether a view's rows stay as they are for all that this cause says."""
    return isinstance(cause, RelationRenamed) or (isinstance(cause, StreamChanged) and cause.goes_on)


_OF_THE_TEXT = (QueryChanged, ColumnNamesChanged)


def _places(view: View, other: View) -> list[str]:
    """The columns of a view that another has too, in order."""
    known = {fold(name) for name in other.column_names}
    return [fold(name) for name in view.column_names if fold(name) in known]


def _removal(key: str, before: Program, after: Program, successor: str | None) -> RelationChange | None:
    """What is no more. `successor` is the desired relation of that name, or of the name that it was moved to."""
    if key in before.tables:
        if successor in after.tables:
            return None
        return RelationChange(Action.REMOVED, RelationKind.TABLE, before.tables[key].name)
    view = before.views[key]
    goes_on = successor is not None and successor in after.views and not _is_local(after, successor)
    if view.is_local or goes_on:
        return None
    return RelationChange(Action.REMOVED, view.relation_kind, view.name)


def _is_local(program: Program, key: str) -> bool:
    return key in program.views and program.views[key].is_local
