"""How a step brings a view up to date: by what changed, where the view has a method and that pays, else from its query.

What is kept of a view (`incremental`) stands where the state of a stream stands: in a staging folder below the view's own,
which the head names (`Placement.state`). So it is pinned, withdrawn and gone back to with the step. A step writes it anew,
as one table, and the view's rows are computed from that.

What is kept says of which query and of which versions of the relations it is (`StreamState.form`). Where these are not the
ones before the step (the view was bootstrapped or changed, an apply or a restore wrote its relations, the folder is gone),
it is computed anew from the relations as they are.

Whatever fails on the way is done again from the view's query, and what fails then is told: nobody sees another message
because of a method, and where it is not certain that a method gives the same, its queries fail. So a view is never
wrong by this, at worst computed twice.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from reconciler.base.digest import digest_json
from reconciler.base.errors import EngineError
from reconciler.base.names import fold
from reconciler.delta.added_files import changed_files
from reconciler.delta.opening import join_location
from reconciler.delta.tables import table_version, typed_columns
from reconciler.engine.protocol import CHANGE_COLUMN, Built, Engine, Source, StoredSource, ViewBuild
from reconciler.incremental.choice import Choose, Size, Sizes
from reconciler.incremental.derive import maintenance
from reconciler.incremental.kept_aggregate import (
    KEPT,
    LAYOUT,
    changed_query,
    changed_source,
    columns_of,
    current_reads,
    finishing_query,
    former_reads,
    former_source,
    state_query,
)
from reconciler.incremental.model import KeptAggregate, Recompute, Way
from reconciler.materialize.stream_sources import Ranges
from reconciler.project.program.model import Program, View
from reconciler.query.reading import Place, sources_for
from reconciler.registry.placements import FormerState, Placement, StreamState
from reconciler.state.folders import staging_folder

_ENDED: Final = frozenset({"X701", "X707"})
"""Where the engine is gone, nothing is tried again."""


@dataclass(frozen=True, slots=True)
class Around:
    """What a step of a view has around it: the folder of the view, where relations stood before the step and stand now, and
    in which versions rows came to tables and streams. `kept` is told when what is kept was written, `check` raises where
    this process lost the pipeline. `choose` says which way to take."""

    location: str
    before: Mapping[str, Placement]
    now: Mapping[str, Placement]
    place_before: Place
    place_now: Place
    came: Ranges
    choose: Choose
    kept: Callable[[], None]
    check: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Brought:
    """What a step made of a view: its staged rows, what is kept of it, and which way it took."""

    built: Built
    state: StreamState | None
    way: Way


def bring_up_to_date(engine: Engine, program: Program, view: View, around: Around, build: ViewBuild, step: int) -> Brought:
    """Compute a view into the staging folder of `build`, which says how it is computed from its query."""
    known = around.before[fold(view.name)].state
    stored = {key: {one.name: one.type for one in placement.columns} for key, placement in around.now.items()}
    method = maintenance(program, view, stored)
    if isinstance(method, Recompute):
        return Brought(engine.build_view(build), None, Way.RECOMPUTED)
    work = _Work(engine, program, view, method, around, known)
    way = work.way()
    if way is Way.RECOMPUTED:
        # What is kept tells the next steps how much that is, though they can't go on from it.
        return Brought(engine.build_view(build), known if work.is_same_definition else None, way)
    state: StreamState | None = None
    try:
        state = work.keep(way, step)
        around.kept()
        return Brought(engine.build_view(work.finishing(build, state)), state, way)
    except EngineError as error:
        if error.code in _ENDED:
            raise
    around.check()
    return Brought(engine.build_view(build), state, Way.GIVEN_UP)


@dataclass(frozen=True, slots=True)
class _Work:
    engine: Engine
    program: Program
    view: View
    method: KeptAggregate
    around: Around
    known: StreamState | None

    @property
    def definition(self) -> str:
        """What is kept, and how it is laid out."""
        return f"kept {LAYOUT}.{digest_json(state_query(self.method))}"

    def form(self, placements: Mapping[str, Placement]) -> str:
        """The definition, and the versions of the relations that it is over."""
        places = {key: [placements[key].location, placements[key].version] for key in self.method.relations}
        return f"{self.definition}:{digest_json(places)}"

    @property
    def is_same_definition(self) -> bool:
        return self.known is not None and self.known.form.partition(":")[0] == self.definition

    def way(self) -> Way:
        known = self.known
        is_current = known is not None and known.form == self.form(self.around.before) and self._is_there(known)
        keys = {fold(read.relation) for read in self.view.reads}
        relations = {key: Size(self.around.now[key].rows, self.around.now[key].bytes) for key in sorted(keys)}
        changed = {key: self._changed_bytes(key) for key in self._changed()} if is_current else {}
        kept = known.bytes if known is not None and self.is_same_definition else None
        return self.around.choose(self.method, Sizes(relations, changed, kept, is_current))

    def keep(self, way: Way, step: int) -> StreamState:
        """Write what is kept after the step."""
        form = self.form(self.around.now)
        folder = staging_folder(self.program.name, "kept", str(step), self.view.name, form, way.value)
        query, sources = self._by_changes() if way is Way.CHANGES else self._anew()
        build = ViewBuild(
            f"{self.view.name} (kept)",
            query,
            (),
            sources,
            join_location(self.around.location, folder),
            dict(sorted(self.program.settings.spark.items())),
        )
        built = self.engine.build_view(build)
        known = self.known
        former = None if known is None else FormerState(known.folder, step - 1, (), known.step)
        return StreamState(folder, step, built.rows, built.bytes, former, form=form)

    def finishing(self, build: ViewBuild, state: StreamState) -> ViewBuild:
        """The view's rows, from what is kept."""
        types = self._types(state)
        kept = StoredSource(KEPT, join_location(self.around.location, state.folder), 0)
        others = sources_for(self.program, self.method.block.elsewhere, self.around.place_now)
        return replace(build, query=finishing_query(self.method, types), sources=(kept, *others))

    def _anew(self) -> tuple[str, tuple[Source, ...]]:
        return state_query(self.method), sources_for(self.program, self.method.relations, self.around.place_now)

    def _by_changes(self) -> tuple[str, tuple[Source, ...]]:
        assert self.known is not None
        changed = self._changed()
        kept = StoredSource(KEPT, join_location(self.around.location, self.known.folder), 0)
        sources: list[Source] = [kept]
        sources += [
            replace(self._now(key), name=changed_source(key), ranges=self._ranges(key), changes=True) for key in changed
        ]
        sources += [replace(self._before(key), name=former_source(key)) for key in former_reads(self.method, changed)]
        sources += sources_for(self.program, current_reads(self.method, changed), self.around.place_now)
        return changed_query(self.method, changed, self._types(self.known), CHANGE_COLUMN), tuple(sources)

    def _types(self, state: StreamState) -> dict[str, str]:
        """The types of the columns of what is kept."""
        found = {one.name: one.type for one in typed_columns(join_location(self.around.location, state.folder), 0)}
        if tuple(found) != columns_of(self.method):
            raise EngineError("X700", f"what is kept of {self.view.name} has other columns")
        return found

    def _is_there(self, state: StreamState) -> bool:
        return table_version(join_location(self.around.location, state.folder)) is not None

    def _changed(self) -> tuple[str, ...]:
        """The relations that changed in this step, of those that decide what is kept."""
        before, now = self.around.before, self.around.now
        return tuple(
            key
            for key in self.method.relations
            if (before[key].location, before[key].version) != (now[key].location, now[key].version)
        )

    def _ranges(self, key: str) -> tuple[tuple[int, int], ...]:
        """Of a table or stream, without the commits that only put files together."""
        came = tuple(self.around.came.get(key, ()))
        return came or ((self.around.before[key].version, self.around.now[key].version),)

    def _changed_bytes(self, key: str) -> int | None:
        ranges = self._ranges(key)
        found = changed_files(self._now(key).location, ranges[0][0], ranges[-1][1])
        return None if found is None else found.earlier.bytes + found.later.bytes

    def _now(self, key: str) -> StoredSource:
        return _stored(self.around.place_now, key)

    def _before(self, key: str) -> StoredSource:
        return _stored(self.around.place_before, key)


def _stored(place: Place, key: str) -> StoredSource:
    found = place(key)
    assert isinstance(found, StoredSource), "a published relation is stored"
    return found
