"""How a stream goes on by one step: from the rows that its inputs got, and from what it remembers, to the rows that it
gives, and to what it remembers then.

Both are computed as views are, from pinned sources into staging folders, by the queries of `streams.queries`. What is
remembered is a log (`queries.log`): a step writes one folder, and the head names the folders that belong to the step, so
that one that is repeated, withdrawn or gone back to finds its own. Which of them a step puts together, so that they stay
few, `left_alone` says. A stream that was bootstrapped remembers nothing yet, nor does one a folder of which is gone: its
state is computed by its next step, from the rows that its inputs had before that step, which are those that it was
bootstrapped from. The first step by another definition that goes on writes all of it anew.

Where many rows came, and can be put together before anything else (`StreamQueries.fold`), they are read once for that; what
is given and what is remembered are computed from the few that this gives.

How far event time has come, `stream_times` says. The query that counts late rows is asked only where one may have come.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import digest_json
from reconciler.base.errors import EngineError
from reconciler.base.names import fold
from reconciler.delta.added_files import added_files
from reconciler.delta.opening import join_location
from reconciler.delta.tables import table_version
from reconciler.engine.protocol import Built, Engine, Selection, ViewBuild
from reconciler.engine.sources import FunctionSource, LogSource, Needed, Source, StoredSource
from reconciler.materialize.apply_effects import remove
from reconciler.materialize.late_letters import letters_query, why_late
from reconciler.materialize.stream_keys import MANY_ROWS, is_due, keys_seen
from reconciler.materialize.stream_sources import Ranges, added_place, changing, with_changes
from reconciler.materialize.stream_times import EventTimes, later
from reconciler.project.program.model import Program, Stream, View
from reconciler.query.reading import Place, functions_for, sources_for
from reconciler.registry.placements import FormerState, KeysSeen, StateSegment, StreamState
from reconciler.state.folders import staging_folder
from reconciler.streams.model import AssignWatermarks
from reconciler.streams.queries import FOLDED, NO_WATERMARK, Memory, Moment, StreamQueries
from reconciler.streams.queries.keys_seen import keys_seen_query
from reconciler.streams.queries.log import DUE, DUE_LAST, Log
from reconciler.streams.queries.parts import unquoted
from reconciler.streams.queries.write import stream_queries

LOG: Final = "__log_all"
LAST: Final = "__log_last"
"""Under which names the queries of a stream read what it remembers, and that part of it which they put together."""

LAYOUT: Final = "1"
"""Of what the log adds to the columns of a state. What another layout has written is computed anew."""

FEW_ROWS: Final = 2_000
"""So few are written at each step: to read them again takes no longer than to find them."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where a step of a stream reads: its own folder, the relations as they stood before the step and as they stand now, and
    what came to them. `letters`: where the pipeline's dead letters are."""

    location: str
    before: Place
    now: Place
    came: Ranges
    letters: str


@dataclass(frozen=True, slots=True)
class StreamStep:
    """What one step of a stream gave: the rows in the staging folder `folder` (`output` is their build), what it remembers,
    and how many rows came too late; `letters` is the folder below the dead letters in which these are staged (None: they
    are not kept). `lost`: what it remembered was gone, and was computed from the rows that there were."""

    folder: str
    output: ViewBuild
    built: Built
    state: StreamState
    late: int
    letters: str | None
    lost: bool


def go_on(engine: Engine, program: Program, view: View, places: Places, known: StreamState | None, step: int) -> StreamStep:
    """Compute the step of that number of a stream. Nothing of it is published."""
    work = _Work(engine, program, view, _stream(view))
    folder, kept = (staging_folder(program.name, what, str(step), view.name) for what in ("step", "state"))
    before = known
    lost = before is not None and not all(
        table_version(join_location(places.location, one)) is not None for one in before.folders
    )
    if before is None or lost or not work.can_read(before):
        known_mark = None if before is None else before.watermark
        folder_of_first = staging_folder(program.name, "first state", str(step), view.name)
        before = work.first_state(places, folder_of_first, step, known_mark)
    # A stream that assigns event time may have another name since.
    known_times = work.times.before(places.before, before)
    added = added_place(places.now, places.came, changing(program, work.stream))
    came_times = work.times.came(added, places.came)
    reached = work.times.after(known_times, came_times, added)
    # Where values have a watermark of their own, one that comes for the first time may be far behind: none goes back.
    passed = later(before.watermark, work.stream.watermark(known_times.greatest))
    now = later(passed, work.stream.watermark(reached.greatest))
    is_rewritten = before.form != work.form
    row_count = work.rows(added)
    stay = () if is_rewritten else left_alone(before.segments, row_count)
    joined = before.segments[len(stay) :]
    log = Log(LOG, LAST if joined and not is_rewritten else None, is_rewritten)
    moment = Moment(step, _literal(passed), _literal(now))
    queries = work.queries(log, moment)
    came = rows = work.sources(added)
    folded = None
    if queries.fold is not None and row_count is not None and row_count >= MANY_ROWS:
        folded = join_location(places.location, staging_folder(program.name, "folded", str(step), view.name))
        engine.build_view(work.build(queries.fold, rows, folded))
        came, queries = (StoredSource(FOLDED, folded, 0),), work.queries(log, moment, is_folded=True)
    needed = None if is_rewritten else work.needed(queries.memory, (passed, now))
    locations = tuple(join_location(places.location, one) for one in before.folders)
    remembers = LogSource(LOG, locations, needed)
    output = work.build(queries.output, (*came, remembers), join_location(places.location, folder))
    built = engine.build_view(output)
    last = () if log.last is None else (LogSource(LAST, locations[len(stay) :]),)
    state = engine.build_view(work.build(queries.state, (*came, remembers, *last), join_location(places.location, kept)))
    sources = (*rows, *came, remembers) if folded is not None else (*rows, remembers)
    late = work.count(queries.late.count, sources) if work.times.may_be_late(came_times, passed) else 0
    letters = None
    if late and work.stream.keeps_late:
        letters = staging_folder(program.name, "late", str(step), view.name)
        assert not isinstance(work.stream.transformation, AssignWatermarks)
        why = why_late(work.stream.transformation)
        query = letters_query(view.name, step, queries.late.rows, _literal(passed), why)
        engine.build_view(work.build(query, sources, join_location(places.letters, letters)))
    if folded is not None:
        with suppress(EngineError):  # on an object store; a prune removes it
            remove(engine, folded)
    seen = before.keys
    if is_due(seen, step, row_count):
        seen = work.keys_seen(rows, step)
    remembered = StreamState(
        kept,
        step,
        sum(one.rows for one in stay) + state.rows,
        sum(one.bytes for one in stay) + state.bytes,
        # No step ever remembered by what was computed for this one.
        _former(joined, before.step if before is known else step - 1),
        reached.greatest,
        before.late + late,
        work.form,
        stay,
        seen,
        reached.by_value,
        now,
    )
    return StreamStep(folder, output, built, remembered, late, letters, lost)


def left_alone(segments: Sequence[StateSegment], row_count: int | None) -> tuple[StateSegment, ...]:
    """The segments of a log that a step leaves as they are; the others it puts together with what it writes. Each is larger
    than all that follow it: so there are few, and each row is written anew a few times only, however many steps there are.

    As many rows as came, `row_count`, may be written by this step. Where it writes more, the next one sees that."""
    rows = max(FEW_ROWS, row_count or 0)
    stay = len(segments)
    for place in reversed(range(len(segments))):
        if segments[place].rows <= rows:
            stay = place
        rows += segments[place].rows
    return tuple(segments[:stay])


def _former(left: Sequence[StateSegment], until: int) -> FormerState | None:
    """The folders that a state does without, by which a stream remembered until that step."""
    if not left:
        return None
    folders = [one.folder for one in left]
    return FormerState(folders[0], until, tuple(folders[1:]), min(one.step for one in left))


@dataclass(frozen=True, slots=True)
class _Work:
    engine: Engine
    program: Program
    view: View
    stream: Stream

    @property
    def times(self) -> EventTimes:
        return EventTimes(self.engine, self.program, self.stream)

    def first_state(self, places: Places, folder: str, step: int, known_mark: int | None) -> StreamState:
        """What a stream remembers that was bootstrapped from the relations as they stood before the step. `known_mark` is a
        watermark that it had by then."""
        reached = self.times.before(places.before, None)
        watermark = later(known_mark, self.stream.watermark(reached.greatest))
        queries = self.queries(None, Moment(0, after=_literal(watermark)))
        staging = join_location(places.location, folder)
        built = self.engine.build_view(self.build(queries.state, self.sources(places.before), staging))
        return StreamState(
            folder,
            step,
            built.rows,
            built.bytes,
            greatest=reached.greatest,
            form=self.form,
            by_value=reached.by_value,
            watermark=watermark,
        )

    @property
    def form(self) -> str:
        """The layout of the log, and the definition by which it is written."""
        columns = self.queries(None, Moment(0)).memory.columns
        return f"{LAYOUT}.{digest_json(columns)}:{digest_json(repr(self.stream.transformation))}"

    def can_read(self, state: StreamState) -> bool:
        """Whether a state was written in the layout that is read."""
        return state.form.partition(":")[0] == self.form.partition(":")[0]

    def queries(self, log: Log | None, moment: Moment, is_folded: bool = False) -> StreamQueries:
        assert not isinstance(self.stream.transformation, AssignWatermarks)
        return stream_queries(self.stream.transformation, self.stream.inputs, log, moment, is_folded)

    def needed(self, memory: Memory, watermarks: tuple[int | None, int | None]) -> Needed | None:
        """Which rows of the log a step needs between two watermarks; None where that can't be told by columns."""
        came = []
        for name, keys in memory.came if memory.needs_keys else ():
            stored = self._stored(name, [unquoted(key) for key in keys])
            if stored is None:
                return None
            came.append(stored)
        passed, now = watermarks
        return Needed(
            tuple(tuple(map(unquoted, columns)) for columns in memory.keys) if memory.needs_keys else (),
            tuple(came),
            None if memory.due is None or now is None else (DUE, DUE_LAST),
            passed,
            now,
            by_row=memory.holds.is_added_to,
        )

    def _stored(self, name: str, columns: list[str]) -> tuple[str, tuple[str, ...]] | None:
        """The stored relation that has these columns of an input; None where they are computed."""
        view = self.program.views.get(fold(name))
        if view is None or view.is_stored:
            return name, tuple(columns)
        assigned = view.stream.transformation if view.stream is not None else None
        if not isinstance(assigned, AssignWatermarks) or fold(assigned.column or "") in map(fold, columns):
            return None
        return assigned.input, tuple(columns)

    def sources(self, place: Place) -> tuple[Source, ...]:
        return with_changes(self.program, sources_for(self.program, self._inputs(), place))

    def build(self, query: str, sources: tuple[Source, ...], staging: str) -> ViewBuild:
        settings = dict(sorted(self.program.settings.spark.items()))
        return ViewBuild(self.view.name, query, (), sources, staging, settings, self._functions(), "stream")

    def count(self, query: str, sources: tuple[Source, ...]) -> int:
        """The number that a query gives."""
        rows: Any = self.engine.select(Selection(query, sources, self.program.settings.spark, self._functions())).rows
        return int(rows[0][0] or 0)

    def rows(self, added: Place) -> int | None:
        """How many rows came to what gives the rows of a stream; None where that can't be told."""
        found = 0
        for source in map(added, self.stream.bases):
            if isinstance(source, StoredSource):
                files = added_files(source.location, source.version, source.ranges) if source.ranges else None
                if source.ranges and (files is None or files.rows is None):
                    return None
                found += files.rows or 0 if files is not None else 0
        return found

    def keys_seen(self, sources: tuple[Source, ...], step: int) -> KeysSeen:
        """How the rows that came are divided among keys."""
        assert not isinstance(self.stream.transformation, AssignWatermarks)
        query = keys_seen_query(self.stream.transformation, self.stream.inputs)
        asked = Selection(query, sources, self.program.settings.spark, self._functions())
        rows: Any = self.engine.select(asked).rows
        return keys_seen(rows[0], self.stream.transformation.keys, step)

    def _inputs(self) -> list[str]:
        return [one.name for one in self.stream.inputs]

    def _functions(self) -> tuple[FunctionSource, ...]:
        return functions_for(self.program, self.view.calls, self._inputs())


def _stream(view: View) -> Stream:
    assert view.stream is not None
    return view.stream


def _literal(value: int | None) -> str:
    return NO_WATERMARK if value is None else f"CAST({value} AS BIGINT)"
