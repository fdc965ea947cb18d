"""Types of views' columns, as far as a version of a view is also what its columns are.

- Of a view with rows of its own, Spark has told the types when it was computed. Nobody else can know them, so an apply
  settles which version a view has when all is computed, in the commit that switches.
- A view that is computed where it is read has the types of what its columns descend from: those of tables' columns, and of
  views that have rows. When it can't be told which these are, those of all that it reads.
- What is not known is no difference, but for a view that reads what has another type now.

A version that somebody names (a pin, a rollback, one that is kept up to date) is what it was, or an error (A590): see
`require_recorded_types`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeAlias

from reconciler.base.digest import JsonObject
from reconciler.base.errors import EngineError, ReconcileError
from reconciler.base.names import fold, is_version
from reconciler.diff.model import Action, Diff, Fate
from reconciler.engine.stored import ColumnType
from reconciler.project.program.model import Program, View
from reconciler.project.snapshot.model import Snapshot
from reconciler.project.snapshot.objects import VersionedObject, object_key, versioned_objects
from reconciler.registry.model import Head, ObjectVersions
from reconciler.registry.placements import Placement
from reconciler.registry.protocol import Registry
from reconciler.sql.lineage import ALL_COLUMNS
from reconciler.state.histories import known_versions
from reconciler.versions.recorded import Likeness, Recorded, recorded_versions

Types: TypeAlias = Mapping[str, str]
"""By folded name of a column, its type; of a view without rows, by `relation.column` of what it descends from."""


class _Descents:
    """By view of a program, the columns of stored relations (both folded; all columns as ALL_COLUMNS) that its columns
    descend from. Views that read each other in long chains are gone through once, when the first is asked for: of those
    with rows, nobody asks."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._found: dict[str, frozenset[tuple[str, str]]] | None = None

    def of(self, name: str) -> frozenset[tuple[str, str]]:
        """What the columns of a view (folded) descend from."""
        if self._found is None:
            self._found = self._all()
        return self._found[name]

    def _all(self) -> dict[str, frozenset[tuple[str, str]]]:
        found: dict[str, frozenset[tuple[str, str]]] = {}
        views = self._program.views
        for key in self._program.order:
            if key not in views:
                continue
            stored: set[tuple[str, str]] = set()
            through: set[str] = set()
            for relation, column in _sources(views[key]):
                if relation in views and not views[relation].is_stored:
                    # Of all that it gives: which of its columns is meant changes little.
                    through.add(relation)
                else:
                    stored.add((relation, column))
            found[key] = frozenset(stored).union(*(found[one] for one in through))
        return found


def with_types(
    registry: Registry,
    head: Head,
    versions: Mapping[str, ObjectVersions],
    desired: Snapshot | None,
    placements: Mapping[str, Placement],
) -> Mapping[str, ObjectVersions]:
    """The versions of all objects, once it is known which types the columns of views have (`placements`)."""
    if desired is None:
        return versions
    program = desired.program
    descents = _Descents(program)
    views = _to_look_at(registry, head, versions, program, placements, descents)
    if not views:
        return versions
    objects = versioned_objects(program, frozenset(object_key("view", view) for view in views))
    recorded = recorded_versions(registry, head, {versions[key].id for key in objects})
    found = dict(versions)
    for key, one in objects.items():
        now = _types_now(program, key.partition(":")[2], placements, descents)
        known = recorded.get(versions[key].id, [])
        like = Likeness(registry, head, program, one, versions[key].id)
        number = _number(versions[key], known, like, now, has_moved=views[key.partition(":")[2]])
        found[key] = replace(versions[key], active=number, last=max(number, versions[key].last))
    return dict(sorted(found.items()))


def inputs_of(
    program: Program, objects: Mapping[str, VersionedObject], placements: Mapping[str, Placement]
) -> dict[str, JsonObject]:
    """By key, what the columns of views without rows of their own descend from, with its types: what the history keeps."""
    descents = _Descents(program)
    return {
        key: dict(_types_now(program, name, placements, descents))
        for key in objects
        if (name := key.partition(":")[2]) in program.views and key.startswith("view:") and not program.is_stored(name)
    }


def require_recorded_types(
    registry: Registry,
    head: Head,
    versions: Mapping[str, ObjectVersions],
    program: Program,
    view: str,
    columns: Iterable[ColumnType],
) -> None:
    """Raise EngineError (A590) where a view that is to have a version by its number was computed with other types than this
    one was recorded with, unless it has had these before: then no change of now has brought them."""
    name, _, number = fold(view).partition("@v")
    key = object_key("view", name)
    wanted = int(number) if number else _number_wanted(program, key)
    if wanted is None or key not in versions:
        return
    now = {fold(one.name): one.type for one in columns}
    published = head.published.relations.get(fold(view)) if head.published is not None else None
    before = head.versions.get(key)
    if before is not None and before.active != wanted and not number:
        published = None  # these are of another version
    if published is not None and {fold(one.name): one.type for one in published.columns} == now:
        return
    object_id = versions[key].id
    found = [one for one in recorded_versions(registry, head, {object_id}).get(object_id, []) if one.number == wanted]
    then = _recorded_types(found[0].content) if found else {}
    other = sorted(column for column, kind in now.items() if then.get(column, kind) != kind)
    if other:
        shown = ", ".join(f"{column} is {now[column]} and was {then[column]}" for column in other)
        message = f"{view}: its query can't give version v{wanted} now: {shown}"
        raise EngineError("A590", message, "change back the types of the columns that it reads, or remove the version")


def require_other_columns(head: Head, desired: Program, diff: Diff) -> None:
    """Raise ReconcileError (A526) for a view that is to have a version by its number, where what is applied means the same
    and is another version: only what it reads can give it the types of then."""
    changes = {fold(one.name): one for one in (*diff.relations, *diff.local_changes) if one.action is not Action.REMOVED}
    for name, view in desired.views.items():
        wanted = None if is_version(name) else _number_wanted(desired, object_key("view", name))
        change = changes.get(name)
        former = change.renamed_from if change is not None else None
        now = head.versions.get(object_key("view", former or name))
        if wanted is None or now is None or now.active in (None, wanted):
            continue
        if change is None or change.fate is Fate.KEPT:
            shown = f"{desired.name}.{view.name}"
            raise ReconcileError(
                "A526",
                f"{shown}@v{wanted} can't be active: it has the definition of v{now.active}, but columns of other types",
                "change back the types of the columns that it reads; to see them: reconcile versions diff "
                f"{shown}@v{wanted} {shown}@v{now.active}",
            )


def _number_wanted(program: Program, key: str) -> int | None:
    """The number of the version that somebody says an object is to have."""
    held = program.settings.held.get(key)
    pin = program.settings.pins.get(key.partition(":")[2])
    return pin.number if pin is not None else held.number if held is not None else None


def _to_look_at(
    registry: Registry,
    head: Head,
    versions: Mapping[str, ObjectVersions],
    program: Program,
    placements: Mapping[str, Placement],
    descents: _Descents,
) -> dict[str, bool]:
    """The views (folded) whose types may be others than those of the version that they are to have; and whether types are
    known to have moved, whatever was recorded."""
    known = {one.id: (key, one) for key, one in known_versions(registry, head).items()}
    published = head.published.relations if head.published is not None else {}
    moved = _moved_columns(versions, known, published, placements)
    found: dict[str, bool] = {}
    for name in program.views:
        one = versions.get(object_key("view", name))
        if is_version(name) or one is None or one.active is None or one.id not in known:
            continue
        before = known[one.id][1]
        if before.active == one.active:
            if _reaches(program, name, moved, descents):
                found[name] = True
        elif one.active <= before.last:
            found[name] = False
    return found


def _moved_columns(
    versions: Mapping[str, ObjectVersions],
    known: Mapping[str, tuple[str, ObjectVersions]],
    published: Mapping[str, Placement],
    placements: Mapping[str, Placement],
) -> frozenset[tuple[str, str]]:
    """The columns of stored relations (both folded) that have another type than before."""
    found: set[tuple[str, str]] = set()
    for key, one in versions.items():
        name = key.partition(":")[2]
        if one.active is None or one.id not in known or name not in placements:
            continue
        before = published.get(known[one.id][0].partition(":")[2])
        if before is None or key.startswith("function:"):
            continue
        types = {fold(column.name): column.type for column in before.columns}
        for column in placements[name].columns:
            if types.get(fold(column.name), column.type) != column.type:
                found.add((name, fold(column.name)))
    return frozenset(found)


def _reaches(program: Program, name: str, moved: frozenset[tuple[str, str]], descents: _Descents) -> bool:
    if not moved:
        return False
    if program.is_stored(name):
        return any(relation == name for relation, _ in moved)
    return any(
        (relation, column) in moved or (column == ALL_COLUMNS and any(one == relation for one, _ in moved))
        for relation, column in descents.of(name)
    )


def _number(versions: ObjectVersions, recorded: Iterable[Recorded], like: Likeness, now: Types, *, has_moved: bool) -> int:
    """The number of the version that a view has with these types."""
    assert versions.active is not None
    known = {one.number: one for one in recorded}
    active = known.get(versions.active)
    if active is None or _agrees(active, now, has_moved):
        return versions.active
    same = [one.number for one in known.values() if _agrees(one, now, must_be_known=True) and like.holds(one)]
    return max(same, default=versions.last + 1)


def _agrees(recorded: Recorded, now: Types, must_be_known: bool) -> bool:
    then = _recorded_types(recorded.content)
    if must_be_known and not all(name in then for name in now):
        return False
    return all(then.get(name, kind) == kind for name, kind in now.items())


def _recorded_types(content: JsonObject) -> dict[str, str]:
    if "inputs" in content:
        return dict(content["inputs"])
    return {fold(str(one["name"])): str(one["type"]) for one in content.get("columns", []) if one.get("type")}


def _types_now(
    program: Program,
    name: str,
    placements: Mapping[str, Placement],
    descents: _Descents,
) -> dict[str, str]:
    """The types by which a version of a view is told."""
    if program.is_stored(name):
        columns = placements[name].columns if name in placements else ()
        return {fold(one.name): one.type for one in columns}
    found: dict[str, str] = {}
    for relation, column in sorted(descents.of(name)):
        types = _column_types(program, relation, placements)
        wanted = types if column == ALL_COLUMNS else {column: types[column]} if column in types else {}
        found |= {f"{relation}.{one}": kind for one, kind in wanted.items()}
    return found


def _column_types(program: Program, relation: str, placements: Mapping[str, Placement]) -> dict[str, str]:
    if relation in placements:
        return {fold(one.name): one.type for one in placements[relation].columns}
    foreign = program.foreign.get(relation)
    return {fold(name): kind for name, kind in foreign.columns if kind} if foreign is not None else {}


def _sources(view: View) -> set[tuple[str, str]]:
    if view.lineage is None:
        return {(fold(read.relation), fold(column)) for read in view.reads for column in read.columns}
    return {(relation, fold(column)) for output in view.lineage.outputs for relation, column in output.sources}
