"""Aggregates over tumbling and hopping windows, where these can go on from what they came to (`running_forms`).

What is given is as of `time_windows`. What is remembered is one row for each open window, however many rows came for it.

The state has the keys, `__end`, the end of the window in microseconds, `__count`, how many rows it has, `__early`, how many
of them came before its end, and `__value_<name>` for each aggregate (of an average `__sum_<name>` and
`__count_<name>`). Triggers can be changed over it.

Where no trigger counts, the rows that came can be folded into such windows, too, before a step reads them.
"""

from dataclasses import replace

from reconciler.base.names import quoted
from reconciler.streams.model import AfterWatermark, AggregateOverWindow, CountTrigger, Hopping, Tumbling, WindowClose
from reconciler.streams.queries import FOLDED, Memory, StepInput, StreamQueries
from reconciler.streams.queries.firings import FIRING, ORDINAL, own_numbers
from reconciler.streams.queries.parts import (
    EVENT_TIME,
    NEW,
    TIME,
    listed,
    of_keys,
    order_of,
    partition,
    query,
    relation_alias,
    together,
)
from reconciler.streams.queries.running_forms import Forms, kept_values, results_of
from reconciler.streams.queries.time_windows import (
    EARLY,
    END,
    KNOWN,
    PASSES,
    TOTAL,
    UP_TO_HERE,
    WATERMARK,
    WindowStep,
    plus,
    time_window_queries,
)

_COUNT = "`__count`"
_FROM_START = "`__early`"


def partial_window_queries(
    transformation: AggregateOverWindow,
    window: Tumbling | Hopping,
    forms: Forms,
    read: StepInput,
) -> StreamQueries:
    """The queries of a step. With no state, what is given is that of all rows at once."""
    counts = transformation.trigger not in (AfterWatermark(), WindowClose())
    step = _PartialStep(transformation, window, forms, replace(read, is_folded=read.is_folded and not counts))
    whole = time_window_queries(transformation, window, read.source, None, read.moment)
    output = whole.output if read.state is None else step.output()
    return StreamQueries(output, step.state(), whole.late, EVENT_TIME, step.memory(), None if counts else step.fold())


class _PartialStep(WindowStep):
    """A step that remembers windows in place of rows: to what it is made from, all rows are those that came."""

    def __init__(
        self,
        given: AggregateOverWindow,
        window: Tumbling | Hopping,
        forms: Forms,
        read: StepInput,
    ) -> None:
        super().__init__(given, window, read.source, None, read.moment)
        self.forms, self.remembered, self.is_folded = forms, read.state, read.is_folded
        self.kept = kept_values(forms)
        self.values = [column for column, _ in self.kept]

    def came(self) -> list[tuple[str, str]]:
        """What each row that came adds to each of its windows."""
        early = f"CAST(CASE WHEN COALESCE({WATERMARK} < {END}, TRUE) THEN 1 ELSE 0 END AS BIGINT) AS {_FROM_START}"
        values = [f"{one.of_row} AS {column}" for column, one in self.kept]
        columns = [*self.columns, TIME, END, f"CAST(1 AS BIGINT) AS {_COUNT}", early, *values]
        rows = f"`__panes` AS {relation_alias(self.given.input)}"
        return [
            ("__rows", self.rows()),
            ("__panes", self.panes()),
            ("__came", f"SELECT {listed(columns)}\nFROM {rows}"),
        ]

    def windows(self) -> list[tuple[str, str]]:
        """The windows with what they come to now; `__windows` is the last part."""
        columns = listed([*self.keys, END, _COUNT, _FROM_START, *self.values])
        all_rows = together(
            self.remembered and f"SELECT {columns}\nFROM {quoted(self.remembered)}",
            f"SELECT {columns}\nFROM {quoted(FOLDED) if self.is_folded else '`__came`'}",
        )
        came = [] if self.is_folded else self.came()
        return [*came, ("__all", all_rows), ("__windows", self.grouped("__all"))]

    def grouped(self, rows: str) -> str:
        """Of each window, what these rows of windows come to together."""
        sums = [f"SUM({one}) AS {one}" for one in (_COUNT, _FROM_START)]
        values = [f"{one.combine(column, '')} AS {column}" for column, one in self.kept]
        return (
            f"SELECT {listed([*self.keys, END, *sums, *values])}\nFROM {quoted(rows)}\nGROUP BY {listed([*self.keys, END])}"
        )

    def fold(self) -> str:
        return query(self.came(), self.grouped("__came"))

    def output(self) -> str:
        trigger = self.given.trigger
        if isinstance(trigger, WindowClose):
            closing = f"{self.closes} > {self.before} AND {self.closes} <= {self.after}"
            return self.given_once(closing, "'close'")
        if trigger == AfterWatermark():
            return self.given_once(f"{END} > {self.before} AND {END} <= {self.after}", "'on_time'")
        # What is remembered of a window stands before all rows that come, and counts for as many as it had.
        known = [one if one in self.keys else f"NULL AS {one}" for one in self.columns]
        names = [END, _COUNT, _FROM_START, *self.values]
        all_rows = together(
            self.remembered
            and f"SELECT {listed([*known, *names])}, FALSE AS {NEW}, CAST(NULL AS BIGINT) AS {TIME}\n"
            f"FROM {quoted(self.remembered)}",
            f"SELECT {listed([*self.columns, *names])}, TRUE AS {NEW}, {TIME}\nFROM `__came`",
        )
        window = partition(self.keys, END)
        running = f"OVER ({window} ORDER BY {listed([NEW, TIME, *order_of(self.source)])} {UP_TO_HERE})"
        passes = f"{END} > {self.before} AND {END} <= {self.after} AS {PASSES}"
        counts = [
            f"SUM({_COUNT}) {running} AS {ORDINAL}",
            f"SUM({_COUNT}) OVER ({window}) AS {TOTAL}",
            f"COALESCE(SUM(CASE WHEN NOT {NEW} THEN {_COUNT} END) OVER ({window}), 0) AS {KNOWN}",
            f"SUM({_FROM_START}) OVER ({window}) AS {EARLY}",
        ]
        values = [f"{one.combine(column, running)} AS {column}" for column, one in self.kept]
        rows = f"SELECT {listed([*self.keys, END, passes, *counts, *values])}\nFROM `__all`"
        parts = [*self.came(), ("__all", all_rows), ("__running", rows)]
        counted, passing, _ = self.firings()
        fired = f"LATERAL VIEW explode({own_numbers(counted, passing)}) `__firings` AS {FIRING}"
        columns = self.given_columns(results_of(self.forms), self.label())
        return query(parts, f"SELECT {listed(columns)}\nFROM `__running`\n{fired}")

    def given_once(self, condition: str, label: str) -> str:
        columns = self.given_columns(results_of(self.forms), label)
        return query(self.windows(), f"SELECT {listed(columns)}\nFROM `__windows`\nWHERE {condition}")

    def state(self) -> str:
        columns = listed([*self.keys, END, _COUNT, _FROM_START, *self.values])
        return query(self.windows(), f"SELECT {columns}\nFROM `__windows`\nWHERE {self.closes} > {self.after}")

    def memory(self) -> Memory:
        """The windows of a key are remembered anew with the rows of it that come."""
        trigger = self.given.trigger
        due = plus(END, self.given.allowed_lateness if isinstance(trigger, WindowClose) else 0)
        return Memory(
            (*self.keys, END, _COUNT, _FROM_START, *self.values),
            *of_keys(FOLDED if self.is_folded else self.source.name, self.keys),
            f"{self.closes} - 1",
            due=None if isinstance(trigger, CountTrigger) else (due, due),
        )
