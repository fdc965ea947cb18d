"""Views compared by themselves: query, names of columns, kind, settings, functions. What they read is `compare`'s.

The seed's rule: a view is modified if its query was altered in any way or if its MATERIALIZED attribute was added or
removed. Here altered means: its meaning could have changed (`sql.canonicalise`), or, where that is surely confined to some
output columns, these (`sql.query_difference`). A query that merely follows a declared rename is the same query.
"""

from collections.abc import Callable
from dataclasses import replace

from reconciler.base.dataclass import dataclass
from reconciler.base.declarations import Settings
from reconciler.base.names import fold, is_version, without_version
from reconciler.diff.causes import (
    ColumnNamesChanged,
    FunctionChanged,
    KindChanged,
    Path,
    QueryChanged,
    ReadsChanged,
    RelationRenamed,
    SettingsChanged,
    StorageChanged,
    StreamChanged,
    ViewCause,
    WrittenNamesChanged,
)
from reconciler.diff.extent import ANY_ROW, NOTHING, Extent, OnlyColumns, union, unrepeatable
from reconciler.diff.functions import ChangedCalls
from reconciler.diff.moves import Renames
from reconciler.project.manifest.known_spark_settings import is_harmless
from reconciler.project.manifest.spark_values import shown_value
from reconciler.project.program.model import Program, Read, View
from reconciler.project.program.settings import DEFAULTS, SPARK, differing_settings, minor
from reconciler.project.program.written_names import respelled
from reconciler.project.snapshot.fingerprint import canonical_under
from reconciler.sql.canonicalise import canonical_text
from reconciler.sql.spelling import Spelling


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What both sides of a view stand in: their programs, what was renamed between these, which functions changed, and what
    `settings_cause` gives of them."""

    applied: Program
    desired: Program
    renames: Renames
    calls: ChangedCalls
    settings: SettingsChanged | None


def own_causes(applied: View, desired: View, surroundings: Surroundings) -> tuple[ViewCause, ...]:
    """Every way in which the view differs by itself. `applied` is under desired names (`under_desired_names`)."""
    before, after, renames = surroundings.applied, surroundings.desired, surroundings.renames
    causes: list[ViewCause] = []
    if fold(applied.name) != fold(desired.name):
        causes.append(RelationRenamed(applied.name, desired.name))
    spelling = max(before.spelling, after.spelling)
    query = _query_cause(applied, desired, before, after, renames, spelling)
    changed: ViewCause | None = query
    if applied.stream is not None and desired.stream is not None:
        from reconciler.diff.streams import stream_cause

        changed = stream_cause(applied, desired, renames, is_written_anew=query is not None) or query
    if changed is not None:
        causes.append(changed)
    names = (applied.declaration.column_names, desired.declaration.column_names)
    key_of = _key_of(spelling)
    if [key_of(name) for name in names[0]] != [key_of(name) for name in names[1]]:
        causes.append(ColumnNamesChanged(*names))
    elif applied.has_output and desired.has_output and _only_respelled(applied.column_names, desired.column_names):
        # What an output writes bears the names as spelled: the keys of JSON, a header.
        causes.append(ColumnNamesChanged(applied.column_names, desired.column_names))
    if applied.kind is not desired.kind:
        causes.append(KindChanged(applied.kind, desired.kind))
    elif applied.is_stored is not desired.is_stored and unrepeatable(desired.lineage) != NOTHING:
        causes.append(StorageChanged(desired.is_stored))
    if surroundings.settings is not None:
        causes.append(surroundings.settings)
    paths = [path for call in desired.calls if (path := _changed_call(call, applied, surroundings.calls)) is not None]
    causes += [
        FunctionChanged(
            path.names[0],
            path,
            _is_new(path.names[-1], before),
            _computed_by(desired, without_version(fold(path.names[0]))),
        )
        for path in paths
    ]
    return tuple(causes)


def _changed_call(call: str, applied: View, calls: ChangedCalls) -> Path | None:
    former = next((one for one in applied.calls if without_version(one) == without_version(call)), None)
    return calls.path(former, call)


def _is_new(name: str, before: Program) -> bool:
    return fold(name) not in before.functions and not is_version(name)


def _only_respelled(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    return one != other and [fold(name) for name in one] == [fold(name) for name in other]


def _computed_by(view: View, function: str) -> tuple[str, ...] | None:
    """The output columns that a function (folded) computes, None where it may decide rows."""
    if view.lineage is None or function in view.lineage.rows_functions:
        return None
    # A call that lineage did not meet may be anywhere.
    return tuple(sorted(fold(one.name) for one in view.lineage.outputs if function in one.functions)) or None


def settings_cause(before: Settings, after: Settings) -> SettingsChanged | None:
    """What decides results beside queries and differs, with values where these are known to be no secret."""
    names = differing_settings(before, after)
    if not names:
        return None
    return SettingsChanged(names, tuple(_values(name, before, after) for name in names))


def _values(name: str, applied: Settings, desired: Settings) -> tuple[str, str] | None:
    if name == SPARK:
        return minor(applied.spark_version), minor(desired.spark_version)
    if not is_harmless(name) or name in {*applied.sealed, *desired.sealed}:
        return None
    written = [{**(one.environment or {}), **one.spark} for one in (applied, desired)]
    default = DEFAULTS.get(name, "not set")
    return shown_value(name, written[0].get(name, default)), shown_value(name, written[1].get(name, default))


def _query_cause(
    applied: View, desired: View, before: Program, after: Program, renames: Renames, spelling: Spelling
) -> QueryChanged | None:
    texts = canonical_under(applied, before, spelling), canonical_under(desired, after, spelling)
    if texts[0] == texts[1]:
        return None
    if _follows_renames(applied, desired, before, renames, spelling):
        return None
    # An explicit list of names hides those of the select list, and changes are told by the latter. Where letter case of
    # names counts, an item that is spelled otherwise is another item. Where layout counts, Spark may read other items.
    named = applied.declaration.column_names or desired.declaration.column_names
    if named or spelling is Spelling.LAYOUT_ASIDE or renames.relations or renames.columns:
        return QueryChanged()
    from reconciler.sql.query_difference import changed_outputs

    functions = {without_version(call) for call in (*applied.calls, *desired.calls)}
    columns = changed_outputs(*texts, applied.column_names, desired.column_names, functions)
    return QueryChanged(None if columns is None else tuple(sorted(columns)))


def has_the_same_text(applied: View, desired: View, before: Program, after: Program) -> bool:
    """Whether the canonical texts of the two queries are equal."""
    spelling = max(before.spelling, after.spelling)
    return canonical_under(applied, before, spelling) == canonical_under(desired, after, spelling)


def may_be_respelled(applied: View, desired: View, renames: Renames) -> bool:
    """Whether names of the view's columns that only Spark knows, and which an output may write, may be spelled otherwise
    than before, by the view's own text or by known names of what it reads. `applied` has its own names."""
    before, after = applied.spelled_names, desired.spelled_names
    if after is None:
        return False
    if before is None:
        # No output wrote them, or they were known.
        return bool(applied.column_names)
    if before.text != after.text:
        from reconciler.sql.renaming import renamed_query

        relations = {old: new for new, old in renames.relations.items()}
        columns = {old: new for moved in renames.columns.values() for new, old in moved.items()}
        followed = renamed_query(applied.query, relations, columns) if relations or columns else None
        if followed is None or canonical_text(followed, Spelling.CASE_OF_NAMES) != after.text:
            return True
    return any(
        True
        for key, names in after.columns.items()
        for _ in respelled(before.columns.get(renames.applied_key(key), ()), names)
    )


def _follows_renames(applied: View, desired: View, before: Program, renames: Renames, spelling: Spelling) -> bool:
    """Whether the desired query is the applied one with declared renames carried out: then it reads the same columns of
    the same relations, its columns descend from the same ones and have the same names."""
    relations = {old: new for new, old in renames.relations.items()}
    columns: dict[str, str] = {}
    read = {fold(one.relation) for one in desired.reads}
    for table, moved in renames.columns.items():
        if table not in read:
            continue
        for new, old in moved.items():
            if columns.setdefault(old, new) != new:
                return False
            if _stands_elsewhere(desired, before, renames, table, {old, new}):
                return False
    if not relations and not columns:
        return False
    from reconciler.sql.renaming import renamed_query, shows_names

    if columns and shows_names(desired.query):
        return False
    followed = renamed_query(applied.query, relations, columns)
    if followed is None or canonical_text(followed, spelling) != canonical_text(desired.query, spelling):
        return False
    names = [fold(name) for name in applied.column_names], [fold(name) for name in desired.column_names]
    same_lineage = applied.lineage is not None and applied.lineage == desired.lineage
    return bool(names[1]) and names[0] == names[1] and applied.reads == desired.reads and same_lineage


def _stands_elsewhere(view: View, before: Program, renames: Renames, table: str, names: set[str]) -> bool:
    """Whether another relation that the view reads has, or may have, a column of one of these names: then a word in the
    query may mean that one."""
    for read in view.reads:
        key = fold(read.relation)
        if key == table:
            continue
        relation = before.relation(renames.applied_key(key))
        known = relation.column_names if relation is not None else ()
        if not known or not names.isdisjoint(map(fold, known)):
            return True
    return False


def own_extent(causes: tuple[ViewCause, ...], spelling: Spelling) -> Extent:
    """What of the view its own causes may change for whoever reads it. `spelling`: whether letter case of names counts."""
    extent: Extent = NOTHING
    for cause in causes:
        match cause:
            case StreamChanged(goes_on=True):
                # What it gave stays as it is, and that is all that its readers have read.
                pass
            case QueryChanged(columns=None) | StreamChanged() | FunctionChanged(columns=None) | SettingsChanged():
                return ANY_ROW
            case QueryChanged(columns=columns) | FunctionChanged(columns=columns):
                extent = union(extent, OnlyColumns(frozenset(columns or ())))
            case ColumnNamesChanged():
                extent = union(extent, _names_extent(cause, spelling))
            case WrittenNamesChanged() | KindChanged() | StorageChanged() | RelationRenamed() | ReadsChanged():
                pass
    return extent


def _names_extent(cause: ColumnNamesChanged, spelling: Spelling) -> Extent:
    if len(cause.applied) != len(cause.desired):
        return ANY_ROW
    key_of = _key_of(spelling)
    pairs = zip(cause.applied, cause.desired, strict=True)
    return OnlyColumns(frozenset(fold(name) for pair in pairs if key_of(pair[0]) != key_of(pair[1]) for name in pair))


def _key_of(spelling: Spelling) -> Callable[[str], str]:
    """By what columns' names are compared."""
    return str if spelling else fold


def under_desired_names(view: View, renames: Renames, desired: Program) -> View:
    """An applied view as it would be had the declared renames been carried out: reads and lineage name what they name
    under its desired name, in desired's spelling."""
    relations = {old: new for new, old in renames.relations.items()}
    columns = {
        (renames.applied_key(relation), old): new
        for relation, moved in renames.columns.items()
        for new, old in moved.items()
    }
    if not relations and not columns:
        return view

    def source(one: tuple[str, str]) -> tuple[str, str]:
        return relations.get(one[0], one[0]), columns.get(one, one[1])

    def read(one: Read) -> Read:
        key = fold(one.relation)
        target = desired.relation(relations.get(key, key))
        name = target.name if target is not None else one.relation
        moved = {old: new for (relation, old), new in columns.items() if relation == key}
        spelled = {fold(c.name): c.name for c in desired.tables[fold(name)].columns} if fold(name) in desired.tables else {}
        read_columns = [spelled[moved[fold(c)]] if fold(c) in moved else c for c in one.columns]
        return Read(name, tuple(sorted(read_columns, key=lambda c: (fold(c), c))))

    reads = tuple(sorted(map(read, view.reads), key=lambda one: fold(one.relation)))
    if view.lineage is None:
        return replace(view, reads=reads)
    outputs = tuple(replace(one, sources=tuple(sorted(map(source, one.sources)))) for one in view.lineage.outputs)
    return replace(
        view, reads=reads, lineage=replace(view.lineage, outputs=outputs, rows=tuple(sorted(map(source, view.lineage.rows))))
    )
