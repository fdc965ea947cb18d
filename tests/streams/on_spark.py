"""Steps of streams on Spark: the queries of each step over the rows that came and the state that the step before left.

Event times of rows are microseconds in Python, and TIMESTAMP in Spark; so are all timestamps that come back.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, TypeAlias

from pyspark.sql.types import StructField, StructType

from reconciler.streams.model import Stateful, inputs_of
from reconciler.streams.queries import FOLDED, NO_WATERMARK, Holds, Input, Moment, StreamQueries
from reconciler.streams.queries.log import UNTIL, WRITTEN, Log
from reconciler.streams.queries.write import stream_queries
from tests.streams.histories import FOLLOW
from tests.streams.reference import Row

COLUMNS = (("h", "INT"), ("user", "STRING"), ("ts", "TIMESTAMP"), ("v", "INT"))
"""The columns of all inputs: which history a row belongs to, a key, the event time, a value."""

_LOG, _LAST = "remembered", "remembered_last"


@dataclass
class StepOnSpark:
    """What a step gave: rows in no order, how many were late, how many rows are remembered, and the types of both."""

    rows: list[tuple[Any, ...]]
    late: int
    remembered: int
    types: tuple[str, str]


Columns: TypeAlias = tuple[tuple[str, str], ...]


def inputs_for(of: Stateful, columns: Columns = COLUMNS) -> tuple[Input, ...]:
    return tuple(Input(name, columns, "ts") for name in inputs_of(of))


def quiet_session(session: Any) -> Any:
    """A session of its own for small queries."""
    own = session.newSession()
    own.conf.set("spark.sql.shuffle.partitions", "1")
    own.conf.set("spark.sql.session.timeZone", "UTC")
    own.conf.set("spark.sql.adaptive.enabled", "false")
    own.sql(FOLLOW)
    return own


def give(session: Any, name: str, rows: Sequence[Row], columns: Columns = COLUMNS) -> None:
    """The rows as a relation."""
    in_micros = ", ".join(f"{column} {'BIGINT' if kind == 'TIMESTAMP' else kind}" for column, kind in columns)
    values = [tuple(row[column] for column, _ in columns) for row in rows]
    session.createDataFrame(values, in_micros).createOrReplaceTempView(f"{name}_in_micros")
    taken = ", ".join(f"timestamp_micros({one}) AS {one}" if kind == "TIMESTAMP" else one for one, kind in columns)
    session.sql(f"SELECT {taken} FROM {name}_in_micros").createOrReplaceTempView(name)


def rows_of(frame: Any) -> list[tuple[Any, ...]]:
    """The rows of a frame, timestamps as microseconds."""
    columns = [f"unix_micros(`{name}`) AS `{name}`" if kind == "timestamp" else f"`{name}`" for name, kind in frame.dtypes]
    return [tuple(row) for row in frame.selectExpr(*columns).collect()]


class StreamOnSpark:
    """A stream from step to step, which begin with 1. What a step writes down the next ones find, in segments that are put
    together by chance, as are the rows that come; what is remembered is written anew now and then, as for a definition that
    goes on."""

    def __init__(self, session: Any, of: Stateful, columns: Columns = COLUMNS) -> None:
        self._session, self._of, self._columns = session, of, columns
        self._segments: list[list[Any]] = []
        self._chance = Random(repr(of))
        self._schema: Any = None
        self._is_changed = False

    def go_on_as(self, of: Stateful) -> None:
        """With another definition, which takes on what is remembered."""
        self._of, self._is_changed = of, True

    def step(self, inputs: Sequence[Sequence[Row]], step: int, before: int | None, after: int | None) -> StepOnSpark:
        """One step, with the rows that each input got."""
        for name, rows in zip(inputs_of(self._of), inputs, strict=True):
            give(self._session, name, rows, self._columns)
        moment = Moment(step, *(NO_WATERMARK if mark is None else str(mark) for mark in (before, after)))
        together = 0 if step == 1 else self._chance.choice((0, 0, 1, len(self._segments)))
        is_rewritten = step > 1 and (self._chance.random() < 0.1 or self._is_changed)
        self._is_changed = False
        log = None
        if step > 1:
            self._show(_LOG, self._segments)
            self._show(_LAST, self._segments[len(self._segments) - together :])
            log = Log(_LOG, _LAST if together else None, is_rewritten)
        queries = self._folded(stream_queries(self._of, inputs_for(self._of, self._columns), log, moment), log, moment)
        output, state = self._session.sql(queries.output), self._session.sql(queries.state)
        given = rows_of(output)
        ((late,),) = self._session.sql(queries.late.count).collect()
        assert self._session.sql(queries.late.rows).count() == late
        # A step may be sure of a value that another one lacks.
        self._schema = StructType([StructField(one.name, one.dataType) for one in state.schema])
        kept = 0 if is_rewritten else len(self._segments) - together
        self._segments = [*self._segments[:kept], state.collect()]
        return StepOnSpark(given, late, self._remembered(queries, after), (_typed(output), _typed(state)))

    def _folded(self, queries: StreamQueries, log: Log | None, moment: Moment) -> StreamQueries:
        """Queries that read the rows that came put together, where that can be done; by chance."""
        if queries.fold is None or log is None or self._chance.random() < 0.5:
            return queries
        folded = self._session.sql(queries.fold)
        self._session.createDataFrame(folded.collect(), folded.schema).createOrReplaceTempView(FOLDED)
        return stream_queries(self._of, inputs_for(self._of, self._columns), log, moment, is_folded=True)

    def _show(self, name: str, segments: list[list[Any]]) -> None:
        rows = [row for segment in segments for row in segment]
        self._session.createDataFrame(rows, self._schema).createOrReplaceTempView(name)

    def _remembered(self, queries: StreamQueries, after: int | None) -> int:
        """How many rows of the log are remembered."""
        rows = [row for segment in self._segments for row in segment]
        latest: dict[Any, int] = {}
        for row in rows:
            key = self._key(row)
            latest[key] = max(latest.get(key, 0), row[WRITTEN])
        live = [row for row in rows if after is None or row[UNTIL] >= after]
        if queries.memory.holds is Holds.GREATEST:
            return len({self._key(row) for row in live})
        return sum(queries.memory.holds is Holds.ALL or row[WRITTEN] == latest[self._key(row)] for row in live)

    def _key(self, row: Any) -> tuple[Any, ...]:
        known = row.asDict()
        sides = (f"__{known['__side']}_",) if "__side" in known else ("",)
        return tuple(known[f"{side}{name}"] for side in sides for name in self._of.keys)


def _typed(frame: Any) -> str:
    text: str = frame.schema.simpleString()
    return text


def definition_on_spark(
    session: Any, of: Stateful, inputs: Sequence[Sequence[Row]], after: int | None
) -> list[tuple[Any, ...]]:
    """The rows that the definition gives over all rows at once: its watermark is a query."""
    for name, rows in zip(inputs_of(of), inputs, strict=True):
        give(session, name, rows)
    session.sql(f"SELECT CAST({'NULL' if after is None else after} AS BIGINT) AS now").createOrReplaceTempView("watermarks")
    moment = Moment(1, after="(SELECT MAX(`now`) FROM `watermarks`)")
    return rows_of(session.sql(stream_queries(of, inputs_for(of), None, moment).output))
