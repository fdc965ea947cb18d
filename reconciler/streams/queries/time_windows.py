"""Aggregates over tumbling and hopping windows.

A window of rows with equal keys closes when the watermark reaches its end and the allowed lateness: it takes no row any
more, and is never given again.
- A row is late when all its windows are closed, or it has no event time. What comes for a window that is closed is left out
  of that window, and is not counted while another window takes the row.
- `window_close` fires once, when the window closes.
- `after_watermark` fires `on_time`, when the watermark reaches the end; before that, `early` with each so-many-th row of the
  window, and after it, `late` with each so-many-th row that came since. Without a trigger for them, late rows are never
  given. A window that gives only what is new (discarding) does not fire when nothing is.
- A count trigger alone fires with each so-many-th row of the window, and at no other time. What came after its last firing
  is not given when the window closes; the same holds for a `late` trigger.
- One step may fire `early` several times, and `on_time` after that. Rows of one step are all judged by the watermark that
  the step before left: they come before the end of their window, or all after it.

The state has the rows of the windows that are open, in all their columns, with `__step` and the watermark (`__watermark`,
NULL: none yet) that they met. Triggers and aggregates can be changed over it.
"""

from reconciler.base.names import quoted
from reconciler.streams.model import AfterWatermark, AggregateOverWindow, CountTrigger, Hopping, Tumbling, WindowClose
from reconciler.streams.queries import Holds, Input, LateQueries, Memory, Moment, StreamQueries
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
    TIME,
    LateRows,
    after,
    before,
    greatest_multiple,
    keys_in,
    late_queries,
    least_multiple,
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

END = "`__end`"
STEP = "`__step`"
WATERMARK = "`__watermark`"
PASSES = "`__passes`"
UP_TO_HERE = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
TOTAL, KNOWN, EARLY = "`__total`", "`__known`", "`__early`"


def time_window_queries(
    transformation: AggregateOverWindow, window: Tumbling | Hopping, source: Input, state: str | None, moment: Moment
) -> StreamQueries:
    """The queries of a step."""
    step = WindowStep(transformation, window, source, state, moment)
    return StreamQueries(step.output(), step.state(), step.late(), EVENT_TIME, step.memory())


class WindowStep:
    """What is known of a step, and the texts that are made of it."""

    def __init__(
        self, given: AggregateOverWindow, window: Tumbling | Hopping, source: Input, state: str | None, moment: Moment
    ) -> None:
        self.given, self.window, self.source, self.known, self.moment = given, window, source, state, moment
        self.every = window.every if isinstance(window, Hopping) else window.size
        self.keys = keys_in(source, given.keys)
        self.columns = names_of(source)
        self.before, self.after = before(moment), after(moment)
        self.closes = plus(END, given.allowed_lateness)

    def rows(self, times: bool = True) -> str:
        """The rows that are remembered and those that came in time, with their event time."""
        time = [f"{micros(self.source)} AS {TIME}"] if times else []
        came = [f"CAST({self.moment.step} AS BIGINT) AS {STEP}", f"CAST({self.moment.before} AS BIGINT) AS {WATERMARK}"]
        return together(
            self.known and f"SELECT {listed([*self.columns, STEP, WATERMARK, *time])}\nFROM {quoted(self.known)}",
            f"SELECT {listed([*self.columns, *came, *time])}\n"
            f"FROM {quoted(self.source.name)}\nWHERE {quoted(self.source.event_time)} IS NOT NULL",
        )

    def panes(self) -> str:
        """Each row once for each window that it is in and that was not closed."""
        columns = listed([*self.columns, STEP, WATERMARK, TIME])
        if isinstance(self.window, Tumbling):
            end, view = f"{greatest_multiple(TIME, self.every)} + {self.window.size}", ""
        else:
            end = f"`__start` + {self.window.size}"
            first, last = f"{TIME} - {self.window.size - 1}", greatest_multiple(TIME, self.every)
            starts = f"sequence({last}, {first}, CAST(-{self.every} AS BIGINT))"
            view = f"\nLATERAL VIEW explode({starts}) `__starts` AS `__start`"
        in_windows = f"SELECT {columns}, {end} AS {END}\nFROM `__rows`{view}"
        # No subquery may stand in what is exploded: the watermark may be one.
        passes = f"{END} > {self.before} AND {END} <= {self.after} AS {PASSES}"
        return (
            f"SELECT {columns}, {END}, {passes}\nFROM (\n{in_windows}\n) AS `__in_windows`\n"
            f"WHERE {self.closes} > {self.before}"
        )

    def output(self) -> str:
        parts = [("__rows", self.rows()), ("__panes", self.panes())]
        trigger = self.given.trigger
        if isinstance(trigger, WindowClose):
            return query(parts, self.fired_once("__panes", f"{self.closes} <= {self.after}", "'close'"))
        if trigger == AfterWatermark():
            return query(parts, self.fired_once("__panes", PASSES, "'on_time'"))
        parts.append(("__placed", self.placed()))
        running = running_values(self.given, f"{partition(self.keys, END)} ORDER BY {ORDINAL} {UP_TO_HERE}")
        if running is None:
            parts.append(("__fired", self.fired()))
            return query(parts, self.given_rows("__fired", "", self.label(), FIRING, EARLY))
        counts = [END, PASSES, ORDINAL, TOTAL, KNOWN, EARLY]
        rows = f"`__placed` AS {relation_alias(self.given.input)}"
        parts.append(("__running", f"SELECT {listed([*self.keys, *counts, *running])}\nFROM {rows}"))
        counted, passes, _ = self.firings()
        fired = f"LATERAL VIEW explode({own_numbers(counted, passes)}) `__firings` AS {FIRING}"
        values = [value_column(name) for name, _ in self.given.aggregates]
        return query(parts, f"SELECT {listed(self.given_columns(values, self.label()))}\nFROM `__running`\n{fired}")

    def fired_once(self, rows: str, condition: str, label: str) -> str:
        return self.given_rows(rows, f"\nWHERE {condition}", label)

    def given_rows(self, rows: str, condition: str, label: str, *more: str) -> str:
        """The aggregates over the rows of each firing."""
        columns = self.given_columns([written(expression) for _, expression in self.given.aggregates], label)
        return (
            f"SELECT {listed(columns)}\nFROM {quoted(rows)} AS {relation_alias(self.given.input)}{condition}\n"
            f"GROUP BY {listed([*self.keys, END, *more])}"
        )

    def given_columns(self, values: list[str], label: str) -> list[str]:
        names = [name for name, _ in self.given.aggregates]
        return [
            *self.keys,
            f"timestamp_micros({END} - {self.window.size}) AS `window_start`",
            f"timestamp_micros({END}) AS `window_end`",
            *(f"{value} AS {quoted(name)}" for value, name in zip(values, names, strict=True)),
            f"{label} AS `firing`",
            f"timestamp_micros({END} - 1) AS {quoted(EVENT_TIME)}",
        ]

    def placed(self) -> str:
        """The rows of each window in order, with how many there are, were before this step, and came before its end."""
        window = partition(self.keys, END)
        order = [STEP, TIME, *order_of(self.source)]
        columns = [
            *self.columns,
            END,
            PASSES,
            # The count of a row is an INT; those that it is compared with are not.
            f"CAST(ROW_NUMBER() OVER ({window} ORDER BY {listed(order)}) AS BIGINT) AS {ORDINAL}",
            f"COUNT(*) OVER ({window}) AS {TOTAL}",
            f"COUNT(CASE WHEN {STEP} < {self.moment.step} THEN 1 END) OVER ({window}) AS {KNOWN}",
            f"COUNT(CASE WHEN COALESCE({WATERMARK} < {END}, TRUE) THEN 1 END) OVER ({window}) AS {EARLY}",
        ]
        return f"SELECT {listed(columns)}\nFROM `__panes`"

    def fired(self) -> str:
        columns = listed([*self.columns, END, EARLY, FIRING])
        all_numbers = numbers(self.given.accumulation, *self.firings())
        return f"SELECT {columns}\nFROM `__placed`\nLATERAL VIEW explode({all_numbers}) `__firings` AS {FIRING}"

    def firings(self) -> tuple[list[Counted], Passing | None, str]:
        """What fires in this step, and whether a row was not given before. `on_time` and `late` never happen in one step,
        nor `early` and `late`."""
        trigger = self.given.trigger
        if isinstance(trigger, CountTrigger):
            given = greatest_multiple(KNOWN, trigger.rows)
            counted = Counted(f"({given} + {trigger.rows})", TOTAL, trigger.rows)
            return [counted], None, f"{ORDINAL} > {given}"
        assert isinstance(trigger, AfterWatermark)
        counts: list[Counted] = []
        given_early = given_late = "0"
        if trigger.early is not None:
            every = trigger.early.rows
            given_early = greatest_multiple(KNOWN, every)
            counts.append(Counted(f"({given_early} + {every})", EARLY, every))
        if trigger.late is not None:
            every = trigger.late.rows
            given_late = greatest_multiple(f"GREATEST({KNOWN} - {EARLY}, 0)", every)
            counts.append(Counted(f"({EARLY} + {given_late} + {every})", TOTAL, every))
        pending = f"{ORDINAL} > CASE WHEN {END} > {self.before} THEN {given_early} ELSE {EARLY} + {given_late} END"
        return counts, Passing(PASSES, EARLY), pending

    def label(self) -> str:
        if isinstance(self.given.trigger, CountTrigger):
            return "'count'"
        return f"CASE WHEN pmod({FIRING}, 2) = 1 THEN 'on_time' WHEN {FIRING} <= 2 * {EARLY} THEN 'early' ELSE 'late' END"

    def last_closes(self) -> str:
        """When the last window of a row closes."""
        return plus(
            f"{greatest_multiple(micros(self.source), self.every)} + {self.window.size}", self.given.allowed_lateness
        )

    def first_end(self) -> str:
        """When the first window of a row ends."""
        return f"{least_multiple(f'{micros(self.source)} - {self.window.size - 1}', self.every)} + {self.window.size}"

    def memory(self) -> Memory:
        """Rows are added. Those of windows that the watermark passes are needed; of a trigger that counts, all of the keys
        that come."""
        trigger, columns = self.given.trigger, (*self.columns, STEP, WATERMARK)
        lateness = self.given.allowed_lateness if isinstance(trigger, WindowClose) else 0
        last_end = f"{greatest_multiple(micros(self.source), self.every)} + {self.window.size}"
        return Memory(
            columns,
            *of_keys(self.source.name, self.keys),
            f"{self.last_closes()} - 1",
            due=None if isinstance(trigger, CountTrigger) else (plus(self.first_end(), lateness), plus(last_end, lateness)),
            holds=Holds.ALL,
            needs_keys=not (isinstance(trigger, WindowClose) or trigger == AfterWatermark()),
        )

    def state(self) -> str:
        columns = listed([*self.columns, STEP, WATERMARK])
        return query(
            [("__rows", self.rows(times=False))],
            f"SELECT {columns}\nFROM `__rows`\nWHERE {self.last_closes()} > {self.after}",
        )

    def late(self) -> LateQueries:
        return late_queries((), LateRows(self.source, f"NOT COALESCE({self.last_closes()} > {self.before}, FALSE)"))


def plus(expression: str, number: int) -> str:
    return f"{expression} + {number}" if number else expression
