"""What changed in the relations of a view in one step, and the sources by which queries of `incremental` read it."""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from reconciler.base.dataclass import dataclass
from reconciler.base.names import fold
from reconciler.delta.added_files import added_files, changed_files
from reconciler.delta.arrow_rows import plain_table
from reconciler.delta.key_ranges import ends_of_rows, files_between, least_and_greatest
from reconciler.delta.known_changes import KnownChanges, known_changes
from reconciler.engine.protocol import Between, ViewBuild
from reconciler.engine.sources import InlineSource, LinkedSource, Source, StoredSource
from reconciler.incremental.in_place import views_in_place
from reconciler.incremental.linked_reads import LinkedRead, TermReads
from reconciler.incremental.needed_rows import KeyRange, Within
from reconciler.incremental.terms import changed_source, former_source
from reconciler.materialize.stream_sources import Ranges
from reconciler.project.program.model import Program, View
from reconciler.query.reading import Place, sources_for
from reconciler.registry.placements import Placement
from reconciler.sql.lineage import ALL_COLUMNS

_Found = TypeVar("_Found")


class LookedUp:
    """What was looked up of relations in a step, for all of its views."""

    def __init__(self) -> None:
        self._found: dict[Hashable, Any] = {}

    def once(self, asked: Hashable, look: Callable[[], _Found]) -> _Found:
        """What was looked up when the same was asked before, or is now."""
        if asked not in self._found:
            self._found[asked] = look()
        found: _Found = self._found[asked]
        return found


@dataclass(frozen=True, slots=True)
class StepChanges:
    """Where relations stood before the step and stand now, by key, and in which versions rows came to tables and streams."""

    before: Mapping[str, Placement]
    now: Mapping[str, Placement]
    place_before: Place
    place_now: Place
    came: Ranges
    looked_up: LookedUp

    def of(self, relations: Collection[str]) -> tuple[str, ...]:
        """Those of the relations that changed."""
        return tuple(
            key
            for key in relations
            if (self.before[key].location, self.before[key].version) != (self.now[key].location, self.now[key].version)
        )

    def changed_bytes(self, key: str) -> int | None:
        """The size of the files that a relation got, and of those that it has no more; less where it is known that fewer of
        their rows changed. None: that can't be told."""
        ranges, now = self._ranges(key), self.now[key]
        location = _stored(self.place_now, key).location

        def look() -> int | None:
            found, known = changed_files(location, ranges[0][0], ranges[-1][1]), known_changes(location, ranges)
            files = [] if found is None else [found.earlier.bytes + found.later.bytes]
            return min([*files, *([] if known is None else [_bytes_of(known, now)])], default=None)

        return self.looked_up.once(("changed", location, ranges), look)

    def added_bytes(self, key: str) -> int | None:
        """The size of the files that a relation got, where it surely got rows and nothing else happened to it."""
        now, ranges = _stored(self.place_now, key), self._ranges(key)

        def look() -> int | None:
            found = added_files(now.location, now.version, ranges)
            return None if found is None else found.bytes

        return self.looked_up.once(("added", now.location, now.version, ranges), look)

    def changed_keys(self, key: str, column: str) -> KeyRange | None:
        """Between what the values of a column lie, of whole numbers or dates, of all rows of a relation that came or went.
        None: that can't be told, or is too much to look at."""
        ranges, location = self._ranges(key), _stored(self.place_now, key).location

        def look() -> KeyRange | None:
            known = known_changes(location, ranges)
            if known is not None:
                ends = ends_of_rows(known.schema, (known.went, known.came), column)
            else:
                found = changed_files(location, ranges[0][0], ranges[-1][1])
                ends = least_and_greatest((found.earlier, found.later), column) if found is not None else None
            return KeyRange(*ends) if ends is not None else None

        return self.looked_up.once(("keys", location, ranges, column), look)

    def needed_bytes(self, key: str, within: Within) -> int | None:
        """The size of the files of a relation that may have rows within these ranges. None: that can't be told."""
        now = _stored(self.place_now, key)

        def look() -> int | None:
            table = plain_table(now.location, now.version)
            return None if table is None else sum(file.bytes for file in files_between(table, _between(now, within)))

        return self.looked_up.once(("needed", now.location, now.version, frozenset(within.items())), look)

    def changed_sources(self, changed: Collection[str], *, only_added: bool) -> list[Source]:
        """What changed in relations. `only_added`: only rows came, and nothing says so of each."""
        return [
            replace(_stored(self.place_now, key), name=changed_source(key), ranges=self._ranges(key), changes=not only_added)
            for key in changed
        ]

    def former_sources(self, relations: Collection[str]) -> list[Source]:
        """Relations as they were before the step."""
        return [replace(_stored(self.place_before, key), name=former_source(key)) for key in relations]

    def current_sources(self, program: Program, relations: Collection[str]) -> tuple[Source, ...]:
        """Relations as they are now, under their own names."""
        return sources_for(program, relations, self.place_now)

    def _ranges(self, key: str) -> tuple[tuple[int, int], ...]:
        """Of a table or stream, without the commits that only put files together."""
        return tuple(self.came.get(key, ())) or ((self.before[key].version, self.now[key].version),)


def needed_sources(sources: Sequence[Source], needed: Mapping[str, Within]) -> tuple[Source, ...]:
    """The sources of a query, each with which of its rows the query needs; `needed` is by their names. Where a view is
    computed where it is read, it may need any row."""
    if any(isinstance(one, InlineSource) for one in sources):
        return tuple(sources)
    return tuple(
        replace(one, needed=_between(one, needed.get(fold(one.name), {}))) if isinstance(one, StoredSource) else one
        for one in sources
    )


def with_terms(build: ViewBuild, program: Program, view: View, terms: Sequence[TermReads]) -> ViewBuild:
    """A build whose query is a sum of terms of a view: what each reads, and which columns the view looks at."""
    if not terms or any(isinstance(one, InlineSource) for one in build.sources):
        return build
    used: dict[str, set[str]] = {}
    for one in (view, *views_in_place(program, view)):
        for read in one.reads:
            used.setdefault(fold(read.relation), set()).update(read.columns)
    sources = tuple(_with_used(one, used) if isinstance(one, StoredSource) else one for one in build.sources)
    links = tuple(tuple(_link(one) for one in term) for term in terms)
    return replace(build, sources=sources, terms=links)


def _link(read: LinkedRead) -> LinkedSource:
    return LinkedSource(read.name, read.via, read.pairs, read.is_whole, read.with_null, read.conditions, read.narrows)


def _with_used(source: StoredSource, used: Mapping[str, Collection[str]]) -> StoredSource:
    relation = fold(source.name).removeprefix(former_source(""))
    columns = used.get(relation)
    if columns is None or ALL_COLUMNS in columns or source.ranges is not None or source.added:
        return source
    return replace(source, used=tuple(sorted(columns)))


def _between(source: StoredSource, within: Within) -> tuple[Between, ...]:
    """What is needed of a source by columns that it has at its version."""
    to_come = {fold(column.name) for column in source.added}
    return tuple(Between(name, one.least, one.greatest) for name, one in within.items() if name not in to_come)


def _bytes_of(changes: KnownChanges, now: Placement) -> int:
    """What so many rows take in files of the relation. Held in memory, they take several times as much."""
    if not now.rows or now.bytes is None:
        return changes.bytes
    return round(now.bytes * changes.rows / now.rows)


def _stored(place: Place, key: str) -> StoredSource:
    found = place(key)
    assert isinstance(found, StoredSource), "a published relation is stored"
    return found
