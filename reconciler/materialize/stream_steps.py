"""How a stream goes on by one step: from the rows that its inputs got, and from what it remembers, to the rows that it
gives, and to what it remembers then.

Both are computed as views are, from pinned sources into staging folders, by the queries of `streams.queries`. What is
remembered stays in its folder: the head names it, and a step that is repeated, withdrawn or gone back to finds what belongs
to it. A stream that was bootstrapped remembers nothing yet, nor does one whose folder a restore no longer found: its state
is computed by its next step, from the rows that its inputs had before that step, which are those that it was bootstrapped
from.

Event times are read from the files that came, where this process surely reads them; else the engine is asked. The query that
counts late rows is asked only where one may have come.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from reconciler.delta.added_files import Extremes, added_files, extremes
from reconciler.delta.opening import join_location
from reconciler.delta.tables import table_version
from reconciler.engine.protocol import Built, EmptySource, Engine, FunctionSource, Selection, Source, StoredSource, ViewBuild
from reconciler.project.program.model import Clock, Program, Stream, View
from reconciler.query.reading import Place, functions_for, sources_for
from reconciler.registry.placements import FormerState, StreamState
from reconciler.state.folders import staging_folder
from reconciler.streams.model import AssignWatermarks
from reconciler.streams.queries import NO_WATERMARK, Moment, StreamQueries
from reconciler.streams.queries.write import stream_queries

STATE: Final = "__state"
"""Under which name the queries of a stream read what it remembers."""

MOST_BYTES: Final = 64 << 20
"""Of files whose event times this process reads."""

Ranges: TypeAlias = Mapping[str, Sequence[tuple[int, int]]]
"""In which versions rows came to a relation (folded) in this step: after the first one of each, up to the second."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where a step of a stream reads: its own folder, the relations as they stood before the step and as they stand now, and
    what came to them."""

    location: str
    before: Place
    now: Place
    came: Ranges


@dataclass(frozen=True, slots=True)
class StreamStep:
    """What one step of a stream gave: the rows in the staging folder `folder` (`output` is their build), what it remembers,
    and how many rows came too late. `lost`: what it remembered was gone, and was computed from the rows that there were."""

    folder: str
    output: ViewBuild
    built: Built
    state: StreamState
    late: int
    lost: bool


def go_on(engine: Engine, program: Program, view: View, places: Places, known: StreamState | None, step: int) -> StreamStep:
    """Compute the step of that number of a stream. Nothing of it is published."""
    work = _Work(engine, program, view, _stream(view))
    folder, kept = (staging_folder(program.name, what, str(step), view.name) for what in ("step", "state"))
    before = known
    lost = before is not None and table_version(join_location(places.location, before.folder)) is None
    if before is None or lost:
        before = work.first_state(places, staging_folder(program.name, "first state", str(step), view.name), step)
    # A stream that assigns event time may have another name since.
    known_times = {**work.greatest(places.before, before.greatest), **before.greatest}
    added = added_place(places.now, places.came)
    times = {clock.assigned: work.times(clock, added, places.came.get(clock.table, ())) for clock in work.stream.clocks}
    greatest = {key: most for key in times if (most := _greatest(known_times.get(key), times[key].greatest)) is not None}
    passed = work.stream.watermark(known_times)
    queries = work.queries(STATE, Moment(step, _literal(passed), _literal(work.stream.watermark(greatest))))
    sources = (*work.sources(added), StoredSource(STATE, join_location(places.location, before.folder), 0))
    output = work.build(queries.output, sources, join_location(places.location, folder))
    built = engine.build_view(output)
    state = engine.build_view(work.build(queries.state, sources, join_location(places.location, kept)))
    late = work.count(queries.late, sources) if work.may_be_late(times, passed) else 0
    former = FormerState(before.folder, before.step)
    remembered = StreamState(kept, step, state.rows, state.bytes, former, greatest, before.late + late)
    return StreamStep(folder, output, built, remembered, late, lost)


def added_place(place: Place, came: Ranges) -> Place:
    """Pins relations as `place` does, but of each only the rows that came to it."""

    def added(key: str) -> StoredSource | EmptySource:
        source = place(key)
        return replace(source, ranges=tuple(came.get(key, ()))) if isinstance(source, StoredSource) else source

    return added


@dataclass(frozen=True, slots=True)
class _Work:
    engine: Engine
    program: Program
    view: View
    stream: Stream

    def first_state(self, places: Places, folder: str, step: int) -> StreamState:
        """What a stream remembers that was bootstrapped from the relations as they stood before the step."""
        greatest = self.greatest(places.before, {})
        queries = self.queries(None, Moment(0, after=_literal(self.stream.watermark(greatest))))
        staging = join_location(places.location, folder)
        self.engine.build_view(self.build(queries.state, self.sources(places.before), staging))
        return StreamState(folder, step, 0, 0, greatest=greatest)

    def greatest(self, place: Place, known: Mapping[str, int]) -> dict[str, int]:
        """The greatest event time of all rows of each clock's table, by `Clock.assigned`, but for clocks that are known."""
        found = {
            clock.assigned: self.times(clock, place, None).greatest
            for clock in self.stream.clocks
            if clock.assigned not in known
        }
        return {key: value for key, value in found.items() if value is not None}

    def queries(self, state: str | None, moment: Moment) -> StreamQueries:
        assert not isinstance(self.stream.transformation, AssignWatermarks)
        return stream_queries(self.stream.transformation, self.stream.inputs, state, moment)

    def sources(self, place: Place) -> tuple[Source, ...]:
        return sources_for(self.program, self._inputs(), place)

    def build(self, query: str, sources: tuple[Source, ...], staging: str) -> ViewBuild:
        settings = dict(sorted(self.program.settings.spark.items()))
        return ViewBuild(self.view.name, query, (), sources, staging, settings, self._functions())

    def count(self, query: str, sources: tuple[Source, ...]) -> int:
        """The number that a query gives."""
        rows: Any = self.engine.select(Selection(query, sources, self.program.settings.spark, self._functions())).rows
        return int(rows[0][0] or 0)

    def may_be_late(self, times: Mapping[str, Extremes], passed: int | None) -> bool:
        """Whether a row may have come too late; `passed` is the watermark before the step. Of rows of other streams, only
        the query knows the event times."""
        reads_streams = not {clock.table for clock in self.stream.clocks}.issuperset(self.stream.bases)
        return reads_streams or any(
            one.missing > 0 or (passed is not None and one.least is not None and one.least < passed)
            for one in times.values()
        )

    def times(self, clock: Clock, place: Place, ranges: Sequence[tuple[int, int]] | None) -> Extremes:
        """The event times of the rows that came to a clock's table in these ranges of versions; None: of all its rows."""
        source = place(clock.table)
        if isinstance(source, StoredSource):
            if ranges is not None and not ranges:
                return Extremes(None, None, 0)
            added = added_files(source.location, source.version, ranges)
            known = None if added is None or added.bytes > MOST_BYTES else extremes(added, clock.column)
            if known is not None:
                return known
        assigned = self.program.views[clock.assigned]
        column = f"`{clock.column}`"
        values = f"min(unix_micros({column})), max(unix_micros({column})), count_if({column} IS NULL)"
        sources = sources_for(self.program, [assigned.name], place)
        functions = functions_for(self.program, assigned.calls, [assigned.name])
        asked = Selection(f"SELECT {values} FROM `{assigned.name}`", sources, self.program.settings.spark, functions)
        rows: Any = self.engine.select(asked).rows
        return Extremes(*rows[0])

    def _inputs(self) -> list[str]:
        return [one.name for one in self.stream.inputs]

    def _functions(self) -> tuple[FunctionSource, ...]:
        return functions_for(self.program, self.view.calls, self._inputs())


def _stream(view: View) -> Stream:
    assert view.stream is not None
    return view.stream


def _literal(value: int | None) -> str:
    return NO_WATERMARK if value is None else f"CAST({value} AS BIGINT)"


def _greatest(before: int | None, now: int | None) -> int | None:
    return max((value for value in (before, now) if value is not None), default=None)
