"""How a step brings a view up to date: by what changed, where the view has a method and that pays, else from its query.

What is kept of a view (`incremental`) stands where the state of a stream stands: in a staging folder below the view's own,
which the head names (`Placement.state`). So it is pinned, withdrawn and gone back to with the step. A step writes it anew,
as one table, and the view's rows are computed from that.

What is kept says of which query and of which versions of the relations it is (`StreamState.form`). Where these are not the
ones before the step (the view was bootstrapped or changed, an apply or a restore wrote its relations, the folder is gone),
it is computed anew from the relations as they are.

Rows that are only added are staged apart, and added to those that the view had as of the step before. So is what changed in
a view without groups, or of the groups that changed: which rows come, and which go.

Whatever fails on the way is done again from the view's query, and what fails then is told: nobody sees another message
because of a method, and where it is not certain that a method gives the same, its queries fail. So a view is never
wrong by this, at worst computed twice.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Final, assert_never

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import digest_json
from reconciler.base.errors import EngineError
from reconciler.base.names import fold
from reconciler.delta.key_ranges import range_of
from reconciler.delta.opening import join_location
from reconciler.delta.short_logs import open_log
from reconciler.delta.tables import table_version, typed_columns
from reconciler.delta.transactions import has_commit_after, has_transaction
from reconciler.engine.protocol import CHANGE_COLUMN, Built, Engine, Source, StoredSource, ViewBuild
from reconciler.incremental import added_rows, changed_groups, changed_rows, kept_aggregate
from reconciler.incremental.choice import Choice, Size, Sizes
from reconciler.incremental.derive import maintenance, stored_reads
from reconciler.incremental.model import (
    ChangedGroups,
    KeptAggregate,
    LinearRows,
    Maintenance,
    Method,
    Recompute,
    Way,
    froms_of,
    read_whole,
)
from reconciler.incremental.needed_rows import KeyRange, Within, needed_rows
from reconciler.materialize.changed_sources import StepChanges, needed_sources
from reconciler.materialize.withdrawing import view_transaction
from reconciler.project.program.model import Program, View
from reconciler.registry.placements import FormerState, Placement, StreamState
from reconciler.state.folders import staging_folder

_ENDED: Final = frozenset({"X701", "X707"})
"""Where the engine is gone, nothing is tried again."""


@dataclass(frozen=True, slots=True)
class Around:
    """What a step of a view has around it: the folder of the view, what changed below it, what says which way to take.
    `kept` is told when what is kept was written, `check` raises where this process lost the pipeline."""

    location: str
    changes: StepChanges
    choice: Choice
    kept: Callable[[], None]
    check: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Brought:
    """What a step made of a view: its staged rows, what is kept of it, and which way it took. `added` is the folder of rows
    that are to be added, `changed` that of rows that come and go (None: the staged rows are all rows). `beside` is one that
    nobody needs any more."""

    built: Built
    state: StreamState | None
    way: Way
    added: str | None = None
    changed: str | None = None
    beside: str | None = None


def bring_up_to_date(engine: Engine, program: Program, view: View, around: Around, build: ViewBuild, step: int) -> Brought:
    """Compute a view into the staging folder of `build`, which says how it is computed from its query."""
    if around.choice.are_small(_sizes(program, view, around.changes).values()):
        return Brought(engine.build_view(build), None, Way.RECOMPUTED)
    method = _method(program, view, around)
    match method:
        case Recompute():
            return Brought(engine.build_view(build), None, Way.RECOMPUTED)
        case KeptAggregate():
            return _by_what_is_kept(_Kept(engine, program, view, around, method), build, step)
        case LinearRows():
            return _by_rows(_Rows(_OwnRows(engine, program, view, around), method), build, step)
        case ChangedGroups():
            return _by_groups(_Groups(_OwnRows(engine, program, view, around), method), build, step)
        case _:
            assert_never(method)


def _method(program: Program, view: View, around: Around) -> Maintenance:
    keys = [key for key in (*stored_reads(program, view), fold(view.name)) if key in around.changes.now]
    return maintenance(program, view, {key: {c.name: c.type for c in around.changes.now[key].columns} for key in keys})


def _by_what_is_kept(work: "_Kept", build: ViewBuild, step: int) -> Brought:
    way = work.way()
    if way is Way.RECOMPUTED:
        # What is kept tells the next steps how much that is, though they can't go on from it.
        return Brought(work.engine.build_view(build), work.known if work.is_same_definition else None, way)
    state: StreamState | None = None
    for attempt in work.attempts(way):
        try:
            state = work.keep(attempt, step)
            work.around.kept()
            return Brought(work.engine.build_view(work.finishing(build, state)), state, attempt)
        except EngineError as error:
            if error.code in _ENDED:
                raise
        work.around.check()
    return Brought(work.engine.build_view(build), state, Way.GIVEN_UP)


def _by_rows(work: "_Rows", build: ViewBuild, step: int) -> Brought:
    own = work.own
    way = own.way(work.method) if own.stands(step) else Way.RECOMPUTED
    if way is not Way.RECOMPUTED:
        folder = staging_folder(own.program.name, way.value, str(step), own.view.name)
        try:
            if way is Way.ADDED:
                return Brought(work.added(build, folder), None, way, added=folder)
            return Brought(work.changed(build, folder), None, way, changed=folder)
        except EngineError as error:
            if error.code in _ENDED:
                raise
        own.around.check()
        way = Way.GIVEN_UP
    return Brought(own.engine.build_view(build), None, way)


def _by_groups(work: "_Groups", build: ViewBuild, step: int) -> Brought:
    own = work.own
    way = own.way(work.method) if own.stands(step) else Way.RECOMPUTED
    if way is Way.RECOMPUTED:
        return Brought(own.engine.build_view(build), None, way)
    keys, folder = (staging_folder(own.program.name, part, str(step), own.view.name) for part in ("keys", way.value))
    try:
        if not work.are_many(work.keys(build, keys)):
            return Brought(work.changed(build, folder, keys), None, way, changed=folder, beside=keys)
        way = Way.RECOMPUTED
    except EngineError as error:
        if error.code in _ENDED:
            raise
        way = Way.GIVEN_UP
    own.around.check()
    return Brought(own.engine.build_view(build), None, way, beside=keys)


def _sizes(program: Program, view: View, changes: StepChanges) -> dict[str, Size]:
    """Of all relations that a view reads, itself or by what is computed in place. Of those of others nothing is known."""
    placements = {key: changes.now.get(key) for key in stored_reads(program, view)}
    return {key: Size(place.rows, place.bytes) if place else Size(None, None) for key, place in placements.items()}


def _needed(method: Method, changes: StepChanges, changed: Collection[str]) -> dict[str, Within]:
    """What the terms of what changed need of what they read, by the names of sources. Subqueries may need all."""
    needed = needed_rows(froms_of(method), changed, changes.changed_keys)
    return {name: within for name, within in needed.items() if name not in read_whole(method)}


@dataclass(frozen=True, slots=True)
class _Kept:
    """A view of which groups are kept."""

    engine: Engine
    program: Program
    view: View
    around: Around
    method: KeptAggregate

    @property
    def known(self) -> StreamState | None:
        return self.around.changes.before[fold(self.view.name)].state

    @property
    def definition(self) -> str:
        """What is kept, and how it is laid out."""
        return f"kept {kept_aggregate.LAYOUT}.{digest_json(kept_aggregate.state_query(self.method))}"

    def form(self, placements: Mapping[str, Placement]) -> str:
        """The definition, and the versions of the relations that it is over."""
        places = {key: [placements[key].location, placements[key].version] for key in self.method.relations}
        return f"{self.definition}:{digest_json(places)}"

    @property
    def is_same_definition(self) -> bool:
        return self.known is not None and self.known.form.partition(":")[0] == self.definition

    def way(self) -> Way:
        known, changes = self.known, self.around.changes
        is_current = known is not None and known.form == self.form(changes.before) and self._is_there(known)
        changed = frozenset(changes.of(self.method.relations))
        kept = known.bytes if known is not None and self.is_same_definition else None
        known_sizes = _sizes(self.program, self.view, changes)
        sizes = Sizes(
            known_sizes,
            changed,
            cache(changes.changed_bytes),
            kept,
            is_current,
            changed_keys=changes.changed_keys,
            needed_bytes=changes.needed_bytes,
        )
        return self.around.choice.way(self.method, sizes)

    def attempts(self, way: Way) -> tuple[Way, ...]:
        """What is tried, in order. Where a least or greatest value may have gone, all that is kept is made anew."""
        return (way, Way.ANEW) if way is Way.CHANGES and self.method.extremes else (way,)

    def keep(self, way: Way, step: int) -> StreamState:
        """Write what is kept after the step."""
        form = self.form(self.around.changes.now)
        folder = staging_folder(self.program.name, "kept", str(step), self.view.name, form, way.value)
        query, sources = self._by_changes() if way is Way.CHANGES else self._anew()
        settings = dict(sorted(self.program.settings.spark.items()))
        staging = join_location(self.around.location, folder)
        built = self.engine.build_view(ViewBuild(f"{self.view.name} (kept)", query, (), sources, staging, settings))
        known = self.known
        former = None if known is None else FormerState(known.folder, step - 1, (), known.step)
        return StreamState(folder, step, built.rows, built.bytes, former, form=form)

    def finishing(self, build: ViewBuild, state: StreamState) -> ViewBuild:
        """The view's rows, from what is kept."""
        query = kept_aggregate.finishing_query(self.method, self._types(state))
        others = self.around.changes.current_sources(self.program, self.method.block.elsewhere)
        return replace(build, query=query, sources=(self._kept_source(state), *others))

    def _anew(self) -> tuple[str, tuple[Source, ...]]:
        sources = self.around.changes.current_sources(self.program, self.method.relations)
        return kept_aggregate.state_query(self.method), sources

    def _by_changes(self) -> tuple[str, tuple[Source, ...]]:
        assert self.known is not None, "there is something that can follow"
        changes = self.around.changes
        changed = changes.of(self.method.relations)
        former, current = kept_aggregate.reads_of_terms(self.method, changed)
        sources = (
            self._kept_source(self.known),
            *changes.changed_sources(changed, only_added=False),
            *changes.former_sources(former),
            *changes.current_sources(self.program, current),
        )
        query = kept_aggregate.changed_query(self.method, changed, self._types(self.known), CHANGE_COLUMN)
        return query, needed_sources(sources, _needed(self.method, changes, changed))

    def _kept_source(self, state: StreamState) -> StoredSource:
        return StoredSource(kept_aggregate.KEPT, join_location(self.around.location, state.folder), 0)

    def _types(self, state: StreamState) -> dict[str, str]:
        """The types of the columns of what is kept."""
        found = {one.name: one.type for one in typed_columns(join_location(self.around.location, state.folder), 0)}
        if tuple(found) != kept_aggregate.columns_of(self.method):
            raise EngineError("X700", f"what is kept of {self.view.name} has other columns")
        return found

    def _is_there(self, state: StreamState) -> bool:
        return table_version(join_location(self.around.location, state.folder)) is not None


@dataclass(frozen=True, slots=True)
class _OwnRows:
    """A view whose own rows follow: what is asked of its table."""

    engine: Engine
    program: Program
    view: View
    around: Around

    @property
    def placement(self) -> Placement:
        return self.around.changes.before[fold(self.view.name)]

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        return tuple((one.name, one.type) for one in self.placement.columns)

    def stands(self, step: int) -> bool:
        """Whether the table of the view holds the rows of the step before, or has those of this one already: nobody else
        wrote it."""
        if not has_commit_after(self.around.location, self.placement.version):
            return True
        table = open_log(self.around.location)
        return table is not None and has_transaction(table, view_transaction(step), self.around.location)

    def way(self, method: LinearRows | ChangedGroups) -> Way:
        changes = self.around.changes
        changed = frozenset(changes.of(method.relations))
        only_came = isinstance(method, LinearRows) and method.beside.isdisjoint(changed)
        only_came = only_came and all(changes.added_bytes(key) is not None for key in changed)
        sizes = Sizes(
            _sizes(self.program, self.view, changes),
            changed,
            cache(changes.added_bytes if only_came else changes.changed_bytes),
            None,
            # Heads of early versions had no columns.
            bool(self.columns) and (only_came or self.engine.may_change_rows(self.around.location)),
            self.placement.bytes,
            self.placement.rows,
            only_came,
            changes.changed_keys,
            changes.needed_bytes,
        )
        return self.around.choice.way(method, sizes)

    def staged(self, build: ViewBuild, query: str, folder: str, sources: Sequence[Source]) -> Built:
        """Compute a query into a folder of the view."""
        staging = join_location(self.around.location, folder)
        return self.engine.build_view(replace(build, query=query, column_names=(), sources=tuple(sources), staging=staging))


@dataclass(frozen=True, slots=True)
class _Rows:
    """A view to which rows come as they come to what it reads, and from which they go as they go there."""

    own: _OwnRows
    method: LinearRows

    def added(self, build: ViewBuild, folder: str) -> Built:
        """Stage the rows that come to the view."""
        changed = self.own.around.changes.of(self.method.relations)
        query = added_rows.added_query(self.method, changed, self.own.columns)
        return self.own.staged(build, query, folder, self._sources(changed, only_added=True))

    def changed(self, build: ViewBuild, folder: str) -> Built:
        """Stage the rows that come to it and go from it, each once with how many copies of it."""
        changed = self.own.around.changes.of(self.method.relations)
        query = changed_rows.changed_rows_query(self.method, changed, self.own.columns, CHANGE_COLUMN)
        return self.own.staged(build, query, folder, self._sources(changed, only_added=False))

    def _sources(self, changed: Sequence[str], *, only_added: bool) -> tuple[Source, ...]:
        changes = self.own.around.changes
        former, current = added_rows.reads_of_terms(self.method, changed)
        sources = (
            *changes.changed_sources(changed, only_added=only_added),
            *changes.former_sources(former),
            *changes.current_sources(self.own.program, current),
        )
        return needed_sources(sources, _needed(self.method, changes, changed))


@dataclass(frozen=True, slots=True)
class _Groups:
    """A view of which the groups that changed are computed anew."""

    own: _OwnRows
    method: ChangedGroups

    def keys(self, build: ViewBuild, folder: str) -> Built:
        """Stage the keys of the groups that changed."""
        changes = self.own.around.changes
        changed = changes.of(self.method.relations)
        former, current = changed_groups.reads_of_terms(self.method, changed)
        sources = (
            *changes.changed_sources(changed, only_added=False),
            *changes.former_sources(former),
            *changes.current_sources(self.own.program, current),
        )
        query = changed_groups.keys_query(self.method, changed)
        return self.own.staged(build, query, folder, needed_sources(sources, _needed(self.method, changes, changed)))

    def are_many(self, keys: Built) -> bool:
        """Whether so many groups changed that all of them are better computed at once."""
        return keys.rows > self.own.around.choice.share_of_groups * (self.own.placement.rows or 0)

    def changed(self, build: ViewBuild, folder: str, keys: str) -> Built:
        """Stage the rows that come to the view and go from it, once the groups with these keys are computed anew."""
        own = self.own
        location = join_location(own.around.location, keys)
        sources = (
            StoredSource(changed_groups.KEYS, location, 0),
            StoredSource(changed_groups.OWN, own.around.location, own.placement.version),
            *own.around.changes.current_sources(own.program, self.method.relations),
        )
        query = changed_groups.changed_groups_query(self.method, own.columns)
        return own.staged(build, query, folder, needed_sources(sources, self._within(location)))

    def _within(self, keys: str) -> dict[str, dict[str, KeyRange]]:
        """Between what the keys lie that are columns, of what has these columns."""
        block = self.method.block
        found: dict[str, dict[str, KeyRange]] = {}
        for at, (item, column) in enumerate(zip(block.items, block.columns, strict=True)):
            ends = range_of(keys, changed_groups.key_column(at)) if column is not None else None
            if column is None or ends is None:
                continue
            found.setdefault(changed_groups.OWN, {})[fold(self.own.columns[item][0])] = KeyRange(*ends)
            relation = block.relations[column[0]].relation
            if [use.relation for use in block.relations].count(relation) == 1 and relation not in block.fixed:
                found.setdefault(relation, {})[column[1]] = KeyRange(*ends)
        return found
