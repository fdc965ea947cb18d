"""What names mean: which table or view, and which of its columns, a version was written for, and what has that name now.

A definition says what it reads by the names of its time. Since then names may have moved on (`moved`): columns of a table
trade them, or what is new takes one that another has given up. Such a definition would be computed over other columns than
it was written for, and nobody would see it.

- What has a name is told apart from it: an object by its id, a column by what it is called for good (`ObjectVersions`). The
  head has both as of now, a history as of any step.
- A version means what its names meant at the last published step at which it was active, or mean now if it is active.
- What was dropped and made again under its own name is what it was, as its versions go on, too.
- Where something that a version reads has another name, and another thing has its name, the version is refused by whoever
  would compute it: it is defined anew, or the names are given back.

Costs nothing where nothing was ever renamed.
"""

from collections.abc import Iterable, Mapping, Set
from dataclasses import replace

from reconciler.base.dataclass import dataclass
from reconciler.base.errors import NotFound
from reconciler.base.names import fold, is_version
from reconciler.diff.moves import Renames, resolve_moves
from reconciler.environment.target import Target
from reconciler.project.program.model import Program
from reconciler.project.snapshot.objects import object_key
from reconciler.registry.model import Head, ObjectVersions
from reconciler.registry.protocol import History, Registry
from reconciler.sql.lineage import ALL_COLUMNS
from reconciler.state.histories import FORMERLY, known_versions, published_rows, versions_at
from reconciler.state.step_history import published_state
from reconciler.versions.looking import ObjectVersion


def renamed_columns(columns: Mapping[str, str], renames: Mapping[str, str], declared: Iterable[str]) -> dict[str, str]:
    """`ObjectVersions.columns` of a table, once columns of it have other names (`renames`: folded new name → old one).
    `declared` are the folded columns that it has then."""
    after = {**columns, **{new: columns.get(old, old) for new, old in renames.items()}}
    given_up = {*renames.values()} - {*renames}
    for name in given_up:
        after.pop(name, None)
    taken = {*after.values(), *(after.get(name, name) for name in {*declared} - given_up)}
    for name in sorted(given_up):
        # Whatever takes the name from now on is another column.
        after[name] = _free(name, taken)
        taken.add(after[name])
    return dict(sorted((name, known) for name, known in after.items() if name != known))


def new_id(key: str, taken: Set[str]) -> str:
    """The id of an object that is new under this key."""
    return _free(key, taken)


def _free(name: str, taken: Set[str]) -> str:
    number, found = 2, name
    while found in taken:
        found, number = f"{name}/{number}", number + 1
    return found


def names_after(known: Mapping[str, ObjectVersions], renames: Renames, desired: Program) -> dict[str, ObjectVersions]:
    """The objects under the names that they have once a program is applied."""
    moved = {old: new for new, old in renames.relations.items()}
    found: dict[str, ObjectVersions] = {}
    for key, one in known.items():
        kind, _, name = key.partition(":")
        if name in moved and kind in ("table", "view"):
            found[f"{kind}:{moved[name]}"] = one
        else:
            found.setdefault(key, one)
    for name, columns in renames.columns.items():
        key = object_key("table", name)
        if key in found:
            declared = [fold(column.name) for column in desired.tables[name].columns]
            found[key] = replace(found[key], columns=renamed_columns(found[key].columns, columns, declared))
    ids = {one.id for one in known.values()}
    for name, relation in desired.relations.items():
        key = object_key(relation.relation_kind, name)
        if key not in found and not is_version(name):
            found[key] = found.get(f"{FORMERLY}:{key}") or ObjectVersions(new_id(key, ids), 0, 0)
    return found


def was_ever_renamed(registry: Registry, head: Head, versions: Mapping[str, ObjectVersions]) -> bool:
    """Whether any object of a pipeline, or any column of its tables, ever had another name."""
    if any(one.columns or one.id != key for key, one in versions.items()):
        return True
    return bool(registry.last_rows(History.RENAMES, head.pipeline, ("step",), "step", 1, None))


@dataclass(frozen=True, slots=True)
class _Span:
    """At which steps a version was active last; None for the end: it still is."""

    begin: int
    end: int | None


class NamesSince:
    """Tells whether what versions name is still what they named, once a program follows what is applied."""

    def __init__(self, target: Target, head: Head, applied: Program | None, desired: Program) -> None:
        self._target = target
        self._head = head
        self._desired = desired
        self._known = known_versions(target.registry, head)
        renames = resolve_moves(applied, desired).renames if applied is not None and desired.moves else Renames()
        self._now = names_after(self._known, renames, desired)
        self._moves = bool(renames.relations or renames.columns)
        self._at: dict[int, Mapping[str, ObjectVersions]] = {}

    def misread(self, version: ObjectVersion) -> str | None:
        """What a version reads that is called otherwise by now, while something else has its name, in words; of a table's
        version, a column that is called otherwise. None where there is nothing."""
        found = version.found
        if found.kind == "table":
            columns = {fold(str(one["name"])) for one in version.content.get("columns", ())}
            return self._misread_table(version, columns) if self._may_differ() else None
        reads = {fold(name): columns for name, columns in version.content.get("reads", {}).items() if not is_version(name)}
        own = {name: columns for name, columns in reads.items() if "." not in name}
        if own and self._may_differ():
            then = self._then(version)
            for name, columns in sorted(own.items()):
                other = _other(name, columns, then, self._now, self._desired)
                if other is not None:
                    return other
        for name, columns in sorted(reads.items()):
            other = self._misread_of_others(version, name, columns) if "." in name else None
            if other is not None:
                return other
        return None

    def _misread_table(self, version: ObjectVersion, columns: Set[str]) -> str | None:
        then = {one.id: one for one in self._then(version).values()}.get(version.found.versions.id)
        key, now = next(
            ((key, one) for key, one in self._now.items() if one.id == version.found.versions.id), (version.found.name, None)
        )
        if then is None or now is None:
            return None
        name = key.partition(":")[2]
        return next((text for one in sorted(columns) if (text := _other_column(name, one, then, now, set()))), None)

    def _misread_of_others(self, version: ObjectVersion, name: str, columns: Iterable[str]) -> str | None:
        pipeline, _, relation = name.partition(".")
        stored = self._target.registry.head(pipeline)
        if stored is None or stored.value.published is None:
            return None
        head = stored.value
        now = known_versions(self._target.registry, head)
        if not was_ever_renamed(self._target.registry, head, now):
            return None
        step = self._step_of(version, pipeline)
        if step is None:
            # Where nothing tells, names were those that objects have had from the beginning.
            then: Mapping[str, ObjectVersions] = {one.id: ObjectVersions(one.id, 0, 0) for one in now.values()}
        else:
            then = now if step >= stored.value.published.step else versions_at(self._target.registry, head, step)
        return _other(relation, columns, then, now, None, f"{pipeline}.")

    def _may_differ(self) -> bool:
        return self._moves or was_ever_renamed(self._target.registry, self._head, self._now)

    def _then(self, version: ObjectVersion) -> Mapping[str, ObjectVersions]:
        end = self._span(version).end
        if end is None:
            return self._known
        if end not in self._at:
            self._at[end] = versions_at(self._target.registry, self._head, end)
        return self._at[end]

    def _span(self, version: ObjectVersion) -> _Span:
        columns, number = ("number", "step"), str(version.summary.number)
        rows = published_rows(
            self._target.registry, self._head, History.ACTIVATIONS, columns, object=version.found.versions.id
        )
        spans = [index for index, row in enumerate(rows) if row["number"] == number]
        if not spans:
            # It was staged, and never active.
            return _Span(version.summary.step, version.summary.step)
        begin = int(rows[spans[-1]]["step"])
        return _Span(begin, None if spans[-1] + 1 == len(rows) else int(rows[spans[-1] + 1]["step"]) - 1)

    def _step_of(self, version: ObjectVersion, pipeline: str) -> int | None:
        """At which step of another pipeline a version read it last; None where that is not known."""
        span = self._span(version)
        if span.end is None:
            foreign = self._head.published.foreign if self._head.published is not None else {}
        else:
            try:
                foreign = published_state(self._target.registry, self._head, span.begin, span.end).foreign
            except NotFound:
                return None
        return foreign[pipeline].step if pipeline in foreign else None


def _other(
    name: str,
    columns: Iterable[str],
    then: Mapping[str, ObjectVersions],
    now: Mapping[str, ObjectVersions],
    desired: Program | None,
    whose: str = "",
) -> str | None:
    """What a relation or one of these columns was called, where that is the name of something else."""
    before, after = _relation(then, name), _relation(now, name)
    if before is None or after is None:
        return None
    if before[1].id != after[1].id:
        today = next((key for key, one in now.items() if one.id == before[1].id and one.active is not None), None)
        if today is None and before[0] != after[0] == after[1].id:
            return None  # a view that was made in place of a table, or the other way round
        called = f"which is now {whose}{today.partition(':')[2]}" if today is not None else "which no longer exists"
        return f"the former {whose}{name}, {called}, and another {after[0].partition(':')[0]} now has its name"
    if not before[0].startswith("table:"):
        return None
    table = desired.tables.get(name) if desired is not None else None
    declared = {fold(column.name) for column in table.columns} if table is not None else set()
    read = {fold(column) for column in columns}
    if ALL_COLUMNS in read:
        read |= declared | {*before[1].columns, *after[1].columns}
    texts = (_other_column(f"{whose}{name}", one, before[1], after[1], declared) for one in sorted(read))
    return next((f"{text}, and another column now has its name" for text in texts if text), None)


def _other_column(table: str, column: str, then: ObjectVersions, now: ObjectVersions, declared: Set[str]) -> str | None:
    known = then.column_id(column)
    if known == now.column_id(column):
        return None
    names = sorted(name for name in declared or {*now.columns, known} if now.column_id(name) == known)
    called = f"which is now {table}.{names[0]}" if names else "which no longer exists"
    return f"the former column {table}.{column}, {called}"


def _relation(versions: Mapping[str, ObjectVersions], name: str) -> tuple[str, ObjectVersions] | None:
    found = [(key, versions[key]) for kind in ("table", "view") if (key := object_key(kind, name)) in versions]
    found.sort(key=lambda pair: pair[1].active is None)
    return found[0] if found else None
