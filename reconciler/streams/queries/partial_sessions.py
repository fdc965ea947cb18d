"""Aggregates over sessions that are given once all rows have come, where they can go on from what they came to
(`running_forms`).

What is given is as of `sessions`. What is remembered is one row for each open session, however many rows came for it.

The state has the keys, `__first` and `__last`, the first and the last event time of the session in microseconds, and
`__value_<name>` for each aggregate (of an average `__sum_<name>` and `__count_<name>`).

The rows that came can be folded into such sessions, too, before a step reads them.
"""

from reconciler.base.names import quoted
from reconciler.streams.model import AggregateOverWindow, Session, WindowClose
from reconciler.streams.queries import FOLDED, LateQueries, Memory, StepInput, StreamQueries
from reconciler.streams.queries.parts import (
    EVENT_TIME,
    LateRows,
    greatest_multiple,
    late_queries,
    listed,
    micros,
    of_keys,
    partition,
    query,
    relation_alias,
    together,
)
from reconciler.streams.queries.running_forms import Forms, kept_values, results_of
from reconciler.streams.queries.sessions import FIRST, LAST, SESSION, SessionStep, session_queries


def partial_session_queries(
    transformation: AggregateOverWindow,
    window: Session,
    forms: Forms,
    read: StepInput,
) -> StreamQueries:
    """The queries of a step. With no state, what is given is that of all rows at once."""
    step = _PartialStep(transformation, window, forms, read)
    whole = session_queries(transformation, window, read.source, None, read.moment)
    output = whole.output if read.state is None else step.output()
    return StreamQueries(output, step.state(), step.late(), EVENT_TIME, step.memory(), step.fold())


class _PartialStep(SessionStep):
    """A step that remembers sessions in place of rows."""

    def __init__(
        self,
        given: AggregateOverWindow,
        window: Session,
        forms: Forms,
        read: StepInput,
    ) -> None:
        super().__init__(given, window, read.source, None, read.moment)
        self.forms, self.remembered, self.is_folded = forms, read.state, read.is_folded
        self.kept = kept_values(forms)
        self.values = [column for column, _ in self.kept]

    def sessions(self) -> list[tuple[str, str]]:
        """All sessions."""
        columns = listed([*self.keys, FIRST, LAST, *self.values])
        came = f"SELECT {columns}\nFROM {quoted(FOLDED)}" if self.is_folded else self.came()
        remembered = self.remembered and f"SELECT {columns}\nFROM {quoted(self.remembered)}"
        return self.joined(together(remembered, came))

    def fold(self) -> str:
        """Rows are grouped twice. Those between two multiples of the gap are in one session, whichever it is: to find these
        needs no order, and leaves few rows to be ordered."""
        columns = listed([*self.keys, FIRST, LAST, *self.values])
        spans, values = self.combined()
        near = (
            f"SELECT {listed([*self.keys, *spans, *values])}\nFROM (\n{self.came()}\n) AS `__came`\n"
            f"GROUP BY {listed([*self.keys, greatest_multiple(FIRST, self.gap)])}"
        )
        return query(self.joined(near), f"SELECT {columns}\nFROM `__sessions`")

    def combined(self) -> tuple[list[str], list[str]]:
        """What sessions that become one come to: its times and its values."""
        values = [f"{one.combine(name, '')} AS {name}" for name, one in self.kept]
        return [f"MIN({FIRST}) AS {FIRST}", f"MAX({LAST}) AS {LAST}"], values

    def came(self) -> str:
        """Each row that came is a session of its own at first."""
        time = micros(self.source)
        of_row = [
            *self.keys,
            f"{time} AS {FIRST}",
            f"{time} AS {LAST}",
            *(f"{one.of_row} AS {name}" for name, one in self.kept),
        ]
        return (
            f"SELECT {listed(of_row)}\nFROM {quoted(self.source.name)} AS "
            f"{relation_alias(self.given.input)}\nWHERE {quoted(self.source.event_time)} IS NOT NULL"
        )

    def joined(self, rows: str) -> list[tuple[str, str]]:
        """Sessions between which there is no break become one; `__sessions` is the last part."""
        columns = [*self.keys, FIRST, LAST, *self.values]
        in_order = f"{partition(self.keys)} ORDER BY {FIRST}"
        reached = f"MAX({LAST}) OVER ({in_order} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
        begins = f"CASE WHEN {FIRST} - {reached} > {self.gap} THEN 1 ELSE 0 END AS `__begins`"
        # The frame takes what begins at the same time together: whichever of it the break was found with.
        numbered = f"SUM(`__begins`) OVER ({in_order} RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS {SESSION}"
        spans, values = self.combined()
        return [
            ("__rows", rows),
            ("__breaks", f"SELECT {listed([*columns, begins])}\nFROM `__rows`"),
            ("__numbered", f"SELECT {listed([*columns, numbered])}\nFROM `__breaks`"),
            (
                "__sessions",
                f"SELECT {listed([*self.keys, SESSION, *spans, *values])}\nFROM `__numbered`\n"
                f"GROUP BY {listed([*self.keys, SESSION])}",
            ),
        ]

    def output(self) -> str:
        closing = f"{self.closes} >= {self.before} AND {self.closes} < {self.after}"
        closes = isinstance(self.given.trigger, WindowClose)
        condition, label = (closing, "'close'") if closes else (self.passes(), "'on_time'")
        columns = self.given_columns(results_of(self.forms), label, LAST)
        return query(self.sessions(), f"SELECT {listed(columns)}\nFROM `__sessions`\nWHERE {condition}")

    def state(self) -> str:
        columns = listed([*self.keys, FIRST, LAST, *self.values])
        return query(self.sessions(), f"SELECT {columns}\nFROM `__sessions`\nWHERE {self.closes} >= {self.after}")

    def late(self) -> LateQueries:
        """The rows that came for closed sessions: no two sessions of a key have a time in common."""
        time = f"unix_micros(`__came`.{quoted(self.source.event_time)})"
        same = [f"`__came`.{key} <=> `__sessions`.{key}" for key in self.keys]
        closed = [f"{time} BETWEEN {FIRST} AND {LAST}", f"{self.closes} < {self.before}"]
        of_closed = (
            f"{quoted(self.source.name)} AS `__came`\nLEFT SEMI JOIN `__sessions` ON {' AND '.join([*same, *closed])}"
        )
        return late_queries(self.sessions(), LateRows(self.source, "TRUE", of_closed), self.untimed())

    def memory(self) -> Memory:
        """The sessions of a key are remembered anew with the rows of it that come: they may have become one."""
        ends = self.closes if isinstance(self.given.trigger, WindowClose) else f"{LAST} + {self.gap}"
        return Memory(
            (*self.keys, FIRST, LAST, *self.values),
            *of_keys(FOLDED if self.is_folded else self.source.name, self.keys),
            self.closes,
            due=(f"{ends} + 1", f"{ends} + 1"),
        )
