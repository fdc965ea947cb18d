"""Aggregates over sessions.

Rows of a key are in one session when no break between them in event time is longer than the gap. A session reaches from its
first event time to its last one and the gap, both included; so the watermark passes its end when it is greater, and the
session closes when the watermark is greater than its end and the allowed lateness.
- A step puts its rows into sessions with each other and with what is remembered, before any of them fires. A row whose
  session is closed by the watermark before the step is late; it is in one then only with late ones. A row that comes in
  time may make one session of two.
- A trigger counts rows since the session fired last: of sessions that became one, the rows that neither had fired with are
  counted together. If they are more than enough already, the next row fires.
- A row comes early when the end that its session has with the rows up to it is not passed yet, else late. So a session whose
  end was passed, and which grows beyond the watermark, gets early rows again, and fires `on_time` again when its new end is
  passed.
- A firing's `window_start` and `window_end` are those of the session with the rows up to the firing.
- All else is as of `time_windows`: what is fired when, and what is never given.

The state has the rows of the sessions that are open, in all their columns, with `__pending`: whether the session has not
fired since the row came, and `__last`: the last event time of the session in microseconds.
"""

from reconciler.base.names import quoted
from reconciler.streams.model import Accumulation, AfterWatermark, AggregateOverWindow, CountTrigger, Session, WindowClose
from reconciler.streams.queries import Input, LateQueries, Memory, Moment, StreamQueries
from reconciler.streams.queries.firings import (
    FIRING,
    ORDINAL,
    Counted,
    Passing,
    numbers,
    own_numbers,
    running_values,
    value_column,
)
from reconciler.streams.queries.parts import (
    EVENT_TIME,
    NEW,
    TIME,
    LateRows,
    after,
    before,
    keys_in,
    late_queries,
    listed,
    micros,
    names_of,
    of_keys,
    order_of,
    partition,
    query,
    relation_alias,
    together,
    written,
)

_PENDING = "`__pending`"
PASSES = "`__passes`"
SESSION = "`__session`"
FIRST, LAST, _KNOWN_LAST = "`__first`", "`__last`", "`__known_last`"
_CAME, _CAME_LATE, _WAITING = "`__came`", "`__came_late`", "`__waiting`"
_LATE_FIRST, _EARLY_FIRST, _EARLY_WAITING = "`__late_first`", "`__early_first`", "`__early_waiting`"
_UP_TO_HERE = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
_NOT_FIRED = -9_000_000_000_000_000_000
"""Before all rows."""


def session_queries(
    transformation: AggregateOverWindow, window: Session, source: Input, state: str | None, moment: Moment
) -> StreamQueries:
    """The queries of a step."""
    step = SessionStep(transformation, window, source, state, moment)
    return StreamQueries(step.output(), step.state(), step.late(), EVENT_TIME, step.memory())


class SessionStep:
    """What is known of a step, and the texts that are made of it."""

    def __init__(
        self, given: AggregateOverWindow, window: Session, source: Input, state: str | None, moment: Moment
    ) -> None:
        self.given, self.gap, self.source, self.known = given, window.gap, source, state
        self.keys = keys_in(source, given.keys)
        self.columns = names_of(source)
        self.before, self.after = before(moment), after(moment)
        self.closes = f"{LAST} + {self.gap + given.allowed_lateness}"
        trigger = given.trigger
        self.early = trigger.rows if isinstance(trigger, CountTrigger) else None
        self.late_count: int | None = None
        if isinstance(trigger, AfterWatermark):
            self.early = trigger.early.rows if trigger.early is not None else None
            self.late_count = trigger.late.rows if trigger.late is not None else None

    def sessions(self) -> list[tuple[str, str]]:
        """All rows, with the session of each and its first and last event time."""
        columns = [*self.columns, _PENDING, NEW, TIME]
        rows = together(
            self.known
            and f"SELECT {listed([*self.columns, _PENDING])}, FALSE AS {NEW}, {micros(self.source)} AS {TIME}\n"
            f"FROM {quoted(self.known)}",
            f"SELECT {listed(self.columns)}, TRUE AS {_PENDING}, TRUE AS {NEW}, {micros(self.source)} AS {TIME}\n"
            f"FROM {quoted(self.source.name)}\nWHERE {quoted(self.source.event_time)} IS NOT NULL",
        )
        breaks = f"{TIME} - LAG({TIME}) OVER ({partition(self.keys)} ORDER BY {TIME}) > {self.gap}"
        # The frame takes rows of equal event time together: whichever of them the break was found with.
        up_to = f"{partition(self.keys)} ORDER BY {TIME} RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
        numbered = f"SUM(`__begins`) OVER ({up_to})"
        window = partition(self.keys, SESSION)
        spans = [
            f"MIN({TIME}) OVER ({window}) AS {FIRST}",
            f"MAX({TIME}) OVER ({window}) AS {LAST}",
            f"COALESCE(MAX(CASE WHEN NOT {NEW} THEN {TIME} END) OVER ({window}), {TIME}) AS {_KNOWN_LAST}",
        ]
        return [
            ("__rows", rows),
            ("__breaks", f"SELECT {listed(columns)}, CASE WHEN {breaks} THEN 1 ELSE 0 END AS `__begins`\nFROM `__rows`"),
            ("__numbered", f"SELECT {listed(columns)}, {numbered} AS {SESSION}\nFROM `__breaks`"),
            ("__sessions", f"SELECT {listed([*columns, SESSION, *spans])}\nFROM `__numbered`"),
        ]

    def output(self) -> str:
        parts = self.sessions()
        last = f"GREATEST(MAX({TIME}), MAX({_KNOWN_LAST}))"
        trigger = self.given.trigger
        if isinstance(trigger, WindowClose):
            closing = f"\nWHERE {self.closes} >= {self.before} AND {self.closes} < {self.after}"
            return query(parts, self.given_rows("__sessions", closing, "'close'", last))
        if trigger == AfterWatermark() and self.given.accumulation is Accumulation.ACCUMULATING:
            passing = f"\nWHERE {self.passes()}"
            return query(parts, self.given_rows("__sessions", passing, "'on_time'", last))
        parts += self.counted()
        label = "'count'"
        if isinstance(trigger, AfterWatermark):
            late = f"{FIRING} <= 2 * {_CAME_LATE}"
            label = f"CASE WHEN pmod({FIRING}, 2) = 1 THEN 'on_time' WHEN {late} THEN 'late' ELSE 'early' END"
        running = running_values(self.given, f"{partition(self.keys, SESSION)} ORDER BY {ORDINAL} {_UP_TO_HERE}")
        if running is None:
            fired = listed([*self.columns, SESSION, TIME, FIRST, _KNOWN_LAST, _CAME_LATE, FIRING])
            all_numbers = numbers(self.given.accumulation, *self.firings(), _PENDING)
            firings = f"LATERAL VIEW explode({all_numbers}) `__firings` AS {FIRING}"
            parts.append(("__fired", f"SELECT {fired}\nFROM `__counted`\n{firings}"))
            return query(parts, self.given_rows("__fired", "", label, last, FIRING, _CAME_LATE))
        counts = [TIME, FIRST, LAST, _KNOWN_LAST, ORDINAL, _CAME, _CAME_LATE, _LATE_FIRST, _EARLY_FIRST, PASSES]
        rows = f"`__counted` AS {relation_alias(self.given.input)}"
        parts.append(("__running", f"SELECT {listed([*self.keys, *counts, *running])}\nFROM {rows}"))
        firings = f"LATERAL VIEW explode({own_numbers(*self.firings())}) `__firings` AS {FIRING}"
        columns = self.given_columns(
            [value_column(name) for name, _ in self.given.aggregates], label, f"GREATEST({TIME}, {_KNOWN_LAST})"
        )
        return query(parts, f"SELECT {listed(columns)}\nFROM `__running`\n{firings}")

    def given_rows(self, rows: str, condition: str, label: str, last: str, *more: str) -> str:
        """The aggregates over the rows of each firing."""
        columns = self.given_columns([written(expression) for _, expression in self.given.aggregates], label, last)
        return (
            f"SELECT {listed(columns)}\nFROM {quoted(rows)} AS {relation_alias(self.given.input)}{condition}\n"
            f"GROUP BY {listed([*self.keys, SESSION, FIRST, *more])}"
        )

    def given_columns(self, values: list[str], label: str, last: str) -> list[str]:
        names = [name for name, _ in self.given.aggregates]
        end = f"timestamp_micros({last} + {self.gap})"
        return [
            *self.keys,
            f"timestamp_micros({FIRST}) AS `window_start`",
            f"{end} AS `window_end`",
            *(f"{value} AS {quoted(name)}" for value, name in zip(values, names, strict=True)),
            f"{label} AS `firing`",
            f"{end} AS {quoted(EVENT_TIME)}",
        ]

    def passes(self) -> str:
        return f"{LAST} + {self.gap} >= {self.before} AND {LAST} + {self.gap} < {self.after}"

    def counted(self) -> list[tuple[str, str]]:
        """The rows of the open sessions are counted off, those that came in this step from 1, and those that are remembered
        up to 0. Then what fires is known, in the order of late rows, early rows, and the passing of the end."""
        window = partition(self.keys, SESSION)
        columns = [*self.columns, _PENDING, SESSION, TIME, FIRST, LAST, _KNOWN_LAST]
        came_late = f"{NEW} AND GREATEST({_KNOWN_LAST}, {TIME}) + {self.gap} < {self.before}"
        count = f"ROW_NUMBER() OVER ({partition(self.keys, SESSION, NEW)} ORDER BY {listed([TIME, *order_of(self.source)])})"
        remembered = f"COUNT(CASE WHEN NOT {NEW} THEN 1 END) OVER ({window})"
        counts = [
            f"{count} - CASE WHEN {NEW} THEN CAST(0 AS BIGINT) ELSE {remembered} END AS {ORDINAL}",
            f"COUNT(CASE WHEN {NEW} THEN 1 END) OVER ({window}) AS {_CAME}",
            f"{self._late_rows(came_late, window)} AS {_CAME_LATE}",
            f"COUNT(CASE WHEN {_PENDING} AND NOT {NEW} THEN 1 END) OVER ({window}) AS {_WAITING}",
        ]
        placed = f"SELECT {listed([*columns, *counts])}\nFROM `__sessions`\nWHERE {self.closes} >= {self.before}"
        columns += [ORDINAL, _CAME, _CAME_LATE, _WAITING]
        first = f"GREATEST(CAST(1 AS BIGINT), {self.late_count} - {_WAITING})" if self.late_count else f"{_CAME_LATE} + 1"
        # No subquery may stand in what is exploded: the watermark may be one.
        late = f"SELECT {listed(columns)}, {first} AS {_LATE_FIRST}, {self.passes()} AS {PASSES}\nFROM `__placed`"
        columns += [_LATE_FIRST, PASSES]
        waiting = self._left(_LATE_FIRST, _CAME_LATE, self.late_count, f"{_WAITING} + {_CAME_LATE}")
        early = f"SELECT {listed(columns)}, {waiting} AS {_EARLY_WAITING}\nFROM `__late`"
        columns.append(_EARLY_WAITING)
        first = (
            f"{_CAME_LATE} + GREATEST(CAST(1 AS BIGINT), {self.early} - {_EARLY_WAITING})" if self.early else f"{_CAME} + 1"
        )
        all_known = f"SELECT {listed(columns)}, {first} AS {_EARLY_FIRST}\nFROM `__early`"
        return [("__placed", placed), ("__late", late), ("__early", early), ("__counted", all_known)]

    def _late_rows(self, came_late: str, window: str) -> str:
        """A count trigger alone knows no late rows."""
        if isinstance(self.given.trigger, CountTrigger):
            return "CAST(0 AS BIGINT)"
        return f"COUNT(CASE WHEN {came_late} THEN 1 END) OVER ({window})"

    @staticmethod
    def _left(first: str, last: str, every: int | None, unfired: str) -> str:
        """How many rows a trigger has counted since it fired, after those up to `last`; `unfired` if it did not fire."""
        if every is None:
            return unfired
        return f"CASE WHEN {first} <= {last} THEN pmod({last} - {first}, {every}) ELSE {unfired} END"

    def firings(self) -> tuple[list[Counted], Passing | None]:
        """What fires in this step."""
        counts = []
        if self.late_count is not None:
            counts.append(Counted(_LATE_FIRST, _CAME_LATE, self.late_count))
        if self.early is not None:
            counts.append(Counted(_EARLY_FIRST, _CAME, self.early))
        return counts, Passing(PASSES, _CAME) if isinstance(self.given.trigger, AfterWatermark) else None

    def state(self) -> str:
        remains = f"WHERE {self.closes} >= {self.after}"
        parts = self.sessions()
        if isinstance(self.given.trigger, WindowClose):
            return query(parts, f"SELECT {listed([*self.columns, _PENDING, LAST])}\nFROM `__sessions`\n{remains}")
        # The row that the session fired with last in this step.
        fired = f"CAST({_NOT_FIRED} AS BIGINT)"
        if self.late_count is not None:
            last = f"{_CAME_LATE} - {self._left(_LATE_FIRST, _CAME_LATE, self.late_count, '0')}"
            fired = f"CASE WHEN {_LATE_FIRST} <= {_CAME_LATE} THEN {last} ELSE {fired} END"
        if self.early is not None:
            last = f"{_CAME} - {self._left(_EARLY_FIRST, _CAME, self.early, '0')}"
            fired = f"CASE WHEN {_EARLY_FIRST} <= {_CAME} THEN {last} ELSE {fired} END"
        if isinstance(self.given.trigger, AfterWatermark):
            fired = f"CASE WHEN {PASSES} THEN {_CAME} ELSE {fired} END"
        pending = f"{_PENDING} AND {ORDINAL} > {fired} AS {_PENDING}"
        kept = f"SELECT {listed([*self.columns, pending, LAST])}\nFROM `__counted`\n{remains}"
        return query([*parts, *self.counted()], kept)

    def memory(self) -> Memory:
        """The rows of a key stand for those that were remembered of it: its sessions may have become one."""
        ends = self.closes if isinstance(self.given.trigger, WindowClose) else f"{LAST} + {self.gap}"
        return Memory(
            (*self.columns, _PENDING, LAST),
            *of_keys(self.source.name, self.keys),
            self.closes,
            due=None if isinstance(self.given.trigger, CountTrigger) else (f"{ends} + 1", f"{ends} + 1"),
        )

    def late(self) -> LateQueries:
        closed = LateRows(self.source, f"{NEW} AND {self.closes} < {self.before}", "`__sessions`")
        return late_queries(self.sessions(), closed, self.untimed())

    def untimed(self) -> LateRows:
        """Rows without event time are in no session."""
        return LateRows(self.source, f"{quoted(self.source.event_time)} IS NULL")
