"""Compare two snapshots: (applied, desired) → Diff.

Rules, from the seed on modifying a pipeline:
- A table is modified if types, names or order of its columns changed in any way, its primary key changed, or
  `materialized` or `append_only` was added or removed. It is not modified if only its connectors changed.
- A view is modified if its query changed, or MATERIALIZED was added or removed, or it reads, directly or through other
  views, a relation that is added anew, modified, or of another kind. It is not modified if only its connectors changed.
- Connectors are identified by name within their relation; a renamed one is removed and added.
Beyond the seed: a query is compared by its canonical text; where names can be data (maps, `to_json`), letter case of names
counts; a change of Spark settings that decide results modifies the views; LOCAL views never appear, though their changes
flow on to their readers.
"""

from collections.abc import Callable

from reconciler.diff.connectors import compare_connectors
from reconciler.diff.model import (
    Action,
    Cause,
    ColumnAdded,
    ColumnNamesChanged,
    ColumnRemoved,
    ColumnRetyped,
    ColumnsReordered,
    Diff,
    KindChanged,
    NullabilityChanged,
    PrimaryKeyChanged,
    PropertyChanged,
    QueryChanged,
    ReadsChanged,
    RelationChange,
    RelationKind,
    SettingsChanged,
    TableCause,
    ViewCause,
)
from reconciler.manifest.model import TableDeclaration, ViewKind
from reconciler.names import fold
from reconciler.program.model import Program, Table, View
from reconciler.program.settings import meaning_settings
from reconciler.snapshot.fingerprint import table_content
from reconciler.snapshot.model import Snapshot
from reconciler.sql.canonicalise import canonical_query


def compare(applied: Snapshot, desired: Snapshot) -> Diff:
    """What differs, with causes. Cost: linear in the number of relations and reads."""
    before, after = applied.program, desired.program
    changes: dict[str, RelationChange] = {}
    for key in after.order:
        change = _relation_change(key, applied, desired, changes)
        if change is not None:
            changes[key] = change
    removed = [
        change for key in sorted({*before.tables, *before.views}) if (change := _removal(key, before, after)) is not None
    ]
    local_views = {key: change.action for key, change in changes.items() if _is_local(after, key)} | {
        key: Action.REMOVED for key, view in before.views.items() if view.kind is ViewKind.LOCAL and key not in after.views
    }
    shown = [change for key, change in changes.items() if not _is_local(after, key)]
    return Diff(
        relations=tuple(sorted([*shown, *removed], key=lambda change: (fold(change.name), change.kind, change.action))),
        connectors=compare_connectors(applied, desired),
        local_views=dict(sorted(local_views.items())),
        metadata_changed=applied.record != desired.record,
    )


def _relation_change(
    key: str, applied: Snapshot, desired: Snapshot, changes: dict[str, RelationChange]
) -> RelationChange | None:
    before, after = applied.program, desired.program
    if key in after.tables:
        table = after.tables[key]
        if key not in before.tables:
            return RelationChange(Action.ADDED, RelationKind.TABLE, table.name)
        as_spelled = _names_are_data(before, after)
        if table_content(before.tables[key], as_spelled) == table_content(table, as_spelled):
            return None
        causes: tuple[Cause, ...] = table_causes(before.tables[key], table, as_spelled)
        return RelationChange(Action.MODIFIED, RelationKind.TABLE, table.name, causes)
    view = after.views[key]
    if key not in before.views or (before.views[key].kind is ViewKind.LOCAL) != (view.kind is ViewKind.LOCAL):
        # To its readers a view that becomes LOCAL is gone, and one that ceases to be LOCAL is new.
        return RelationChange(Action.ADDED, RelationKind.VIEW, view.name)
    causes = (*_own_causes(before.views[key], view, before, after), *_read_causes(view, after, changes))
    return RelationChange(Action.MODIFIED, RelationKind.VIEW, view.name, causes) if causes else None


def _removal(key: str, before: Program, after: Program) -> RelationChange | None:
    if key in before.tables:
        if key in after.tables:
            return None
        return RelationChange(Action.REMOVED, RelationKind.TABLE, before.tables[key].name)
    view = before.views[key]
    if view.kind is ViewKind.LOCAL or (key in after.views and after.views[key].kind is not ViewKind.LOCAL):
        return None
    return RelationChange(Action.REMOVED, RelationKind.VIEW, view.name)


def _names_are_data(applied: Program, desired: Program) -> bool:
    """Whether spelling is meaning on either side. Both sides are compared by one rule, so that a first map or a first
    `to_json` in a program makes no other table or view look changed."""
    return applied.names_are_data or desired.names_are_data


def table_causes(applied: Table, desired: Table, as_spelled: bool = False) -> tuple[TableCause, ...]:
    """Every way in which a table's declaration differs; `as_spelled`: letter case of column names counts."""
    key_of = _spelling(as_spelled)
    before = {key_of(column.name): column for column in applied.columns}
    after = {key_of(column.name): column for column in desired.columns}
    causes: list[TableCause] = []
    causes += [ColumnRemoved(column.name, column.type) for key, column in before.items() if key not in after]
    causes += [ColumnAdded(column.name, column.type) for key, column in after.items() if key not in before]
    kept = [key for key in after if key in before]
    for key in kept:
        if before[key].type != after[key].type:
            causes.append(ColumnRetyped(after[key].name, before[key].type, after[key].type))
        if before[key].nullable != after[key].nullable:
            causes.append(NullabilityChanged(after[key].name, before[key].nullable, after[key].nullable))
    if [key for key in before if key in after] != kept:
        causes.append(ColumnsReordered(tuple(c.name for c in applied.columns), tuple(c.name for c in desired.columns)))
    if [fold(name) for name in applied.primary_key] != [fold(name) for name in desired.primary_key]:
        causes.append(PrimaryKeyChanged(applied.primary_key, desired.primary_key))
    return (*causes, *_property_causes(applied.declaration, desired.declaration))


def _property_causes(applied: TableDeclaration, desired: TableDeclaration) -> list[TableCause]:
    pairs = (
        ("materialized", applied.materialized, desired.materialized),
        ("append_only", applied.append_only, desired.append_only),
    )
    return [PropertyChanged(name, before, after) for name, before, after in pairs if before != after]


def _own_causes(applied: View, desired: View, before: Program, after: Program) -> tuple[ViewCause, ...]:
    causes: list[ViewCause] = []
    as_spelled = _names_are_data(before, after)
    if _canonical(applied, before, as_spelled) != _canonical(desired, after, as_spelled):
        causes.append(QueryChanged())
    names = (applied.declaration.column_names, desired.declaration.column_names)
    key_of = _spelling(as_spelled)
    if [key_of(name) for name in names[0]] != [key_of(name) for name in names[1]]:
        causes.append(ColumnNamesChanged(*names))
    if applied.kind is not desired.kind:
        causes.append(KindChanged(applied.kind, desired.kind))
    settings = (meaning_settings(before.settings.spark), meaning_settings(after.settings.spark))
    if settings[0] != settings[1]:
        differing = {name for name in {*settings[0], *settings[1]} if settings[0].get(name) != settings[1].get(name)}
        causes.append(SettingsChanged(tuple(sorted(differing))))
    return tuple(causes)


def _canonical(view: View, program: Program, as_spelled: bool) -> str:
    return view.canonical if program.names_are_data is as_spelled else canonical_query(view.query, as_spelled)


def _spelling(as_spelled: bool) -> Callable[[str], str]:
    return str if as_spelled else fold


def _read_causes(view: View, after: Program, changes: dict[str, RelationChange]) -> tuple[ViewCause, ...]:
    causes: list[ViewCause] = []
    for read in view.reads:
        upstream = changes.get(fold(read.relation))
        if upstream is None:
            continue
        first = upstream.causes[0] if upstream.causes else None
        if isinstance(first, ReadsChanged):
            causes.append(ReadsChanged(upstream.name, read.columns, (upstream.name, *first.path), first.origin))
        else:
            causes.append(ReadsChanged(upstream.name, read.columns, (upstream.name,), first))
    return tuple(causes)


def _is_local(program: Program, key: str) -> bool:
    return key in program.views and program.views[key].kind is ViewKind.LOCAL
