"""How far event time has come for a stream: by each clock, and by each value that has a watermark of its own.

Event times are read from the files that came, where this process surely reads them; else the engine is asked.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from reconciler.base.dataclass import dataclass
from reconciler.base.errors import EngineError
from reconciler.base.names import quoted
from reconciler.delta.added_files import Extremes, added_files, extremes
from reconciler.engine.protocol import Engine, Selection
from reconciler.engine.sources import StoredSource
from reconciler.materialize.stream_sources import Ranges, with_changes
from reconciler.project.program.model import Clock, Program, Stream, View
from reconciler.query.reading import Place, functions_for, sources_for
from reconciler.registry.placements import StreamState
from reconciler.streams.queries.parts import listed

MOST_VALUES: Final = 1_000
"""So many values can have a watermark of their own: each step's head has that of each."""

MOST_BYTES: Final = 64 << 20
"""Of files whose event times this process reads."""


_TO_THE_MICROSECOND: Final = (
    "map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSSXXX', "
    "'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timeZone', 'UTC')"
)
"""How times are written, so that two that differ are two values."""


@dataclass(frozen=True, slots=True)
class Reached:
    """How far event time has come by each clock, and by each value that has a watermark of its own (see `StreamState`)."""

    greatest: dict[str, int]
    by_value: dict[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class EventTimes:
    """The event times of the rows that a stream reads. Raises EngineError X759 where too many values have a watermark."""

    engine: Engine
    program: Program
    stream: Stream

    def before(self, place: Place, state: StreamState | None) -> Reached:
        """How far event time has come by what a stream remembers; for clocks that it does not know, by all rows of their
        tables."""
        greatest: dict[str, int | None] = {}
        by_value: dict[str, Mapping[str, int]] = {}
        for clock in self.stream.clocks:
            key = clock.assigned
            if clock.per is not None:
                known = None if state is None else state.by_value.get(key)
                by_value[key] = self._values(clock, place) if known is None else known
                greatest[key] = clock.least(by_value[key])
            else:
                time = None if state is None else state.greatest.get(key)
                greatest[key] = self._extremes(clock, place, None).greatest if time is None else time
        return Reached({key: value for key, value in greatest.items() if value is not None}, by_value)

    def came(self, added: Place, ranges: Ranges) -> dict[str, Extremes]:
        """The event times of the rows that came in these ranges of versions, by `Clock.assigned`."""
        return {one.assigned: self._extremes(one, added, ranges.get(one.table, ())) for one in self.stream.clocks}

    def after(self, before: Reached, came: Mapping[str, Extremes], added: Place) -> Reached:
        """How far event time has come with the rows that came; `came` has their event times by clock."""
        greatest: dict[str, int | None] = {}
        by_value: dict[str, Mapping[str, int]] = {}
        for clock in self.stream.clocks:
            key = clock.assigned
            if clock.per is None:
                greatest[key] = later(before.greatest.get(key), came[key].greatest)
                continue
            values = dict(before.by_value[key])
            for value, time in self._values(clock, added).items() if came[key].greatest is not None else ():
                values[value] = max(time, values.get(value, time))
            self._require_few(clock, len(values))
            by_value[key], greatest[key] = values, clock.least(values)
        return Reached({key: value for key, value in greatest.items() if value is not None}, by_value)

    def may_be_late(self, times: Mapping[str, Extremes], passed: int | None) -> bool:
        """Whether a row may have come too late; `passed` is the watermark before the step. Of rows of other streams, only
        the query knows the event times."""
        reads_streams = not {clock.table for clock in self.stream.clocks}.issuperset(self.stream.bases)
        return reads_streams or any(
            one.missing > 0 or (passed is not None and one.least is not None and one.least < passed)
            for one in times.values()
        )

    def _extremes(self, clock: Clock, place: Place, ranges: Sequence[tuple[int, int]] | None) -> Extremes:
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
        column = quoted(clock.column)
        values = f"min(unix_micros({column})), max(unix_micros({column})), count_if({column} IS NULL)"
        return Extremes(*self._asked(f"SELECT {values} FROM {quoted(assigned.name)}", assigned, place)[0])

    def _values(self, clock: Clock, place: Place) -> dict[str, int]:
        """The greatest event time of each value that has a watermark of its own, by the value as JSON."""
        assigned = self.program.views[clock.assigned]
        columns, time = listed(map(quoted, clock.per or ())), quoted(clock.column)
        value = f"to_json(struct({columns}), {_TO_THE_MICROSECOND})"
        query = (
            f"SELECT {value}, max(unix_micros({time})) FROM {quoted(assigned.name)}\n"
            f"WHERE {time} IS NOT NULL GROUP BY {columns} LIMIT {MOST_VALUES + 1}"
        )
        found: dict[str, int] = {}
        rows: Any = self._asked(query, assigned, place)
        for value, greatest in rows:
            found[value] = max(greatest, found.get(value, greatest))
        self._require_few(clock, len(rows))
        return found

    def _require_few(self, clock: Clock, values: int) -> None:
        if values > MOST_VALUES:
            columns = " and ".join(clock.per or ())
            message = f"stream {self.program.views[clock.assigned].name!r}: {columns} has more than {MOST_VALUES:,} values"
            hint = "name columns with fewer values in `per`: each of them has a watermark of its own"
            raise EngineError("X759", message, hint)

    def _asked(self, query: str, assigned: View, place: Place) -> Any:
        """The rows of a query over what gives rows their event time."""
        sources = with_changes(self.program, sources_for(self.program, [assigned.name], place))
        functions = functions_for(self.program, assigned.calls, [assigned.name])
        return self.engine.select(Selection(query, sources, self.program.settings.spark, functions)).rows


def later(before: int | None, now: int | None) -> int | None:
    """The later of two times. None: there is none yet."""
    return max((value for value in (before, now) if value is not None), default=None)
