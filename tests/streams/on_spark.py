"""Steps of streams on Spark: the queries of each step over the rows that came and the state that the step before left.

Event times of rows are microseconds in Python, and TIMESTAMP in Spark; so are all timestamps that come back.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from reconciler.streams.model import Stateful, inputs_of
from reconciler.streams.queries import NO_WATERMARK, Input, Moment, StreamQueries
from reconciler.streams.queries.write import stream_queries
from tests.streams.reference import Row

COLUMNS = (("h", "INT"), ("k", "STRING"), ("ts", "TIMESTAMP"), ("v", "INT"))
"""The columns of all inputs: which history a row belongs to, a key, the event time, a value."""

_STATE = "remembered"


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


def step_on_spark(
    session: Any,
    of: Stateful,
    inputs: Sequence[Sequence[Row]],
    step: int,
    before: int | None,
    after: int | None,
    columns: Columns = COLUMNS,
) -> StepOnSpark:
    """One step; they begin with 1. What it remembers is what the next one finds."""
    for name, rows in zip(inputs_of(of), inputs, strict=True):
        give(session, name, rows, columns)
    moment = Moment(step, *(NO_WATERMARK if mark is None else str(mark) for mark in (before, after)))
    return _carried_out(session, stream_queries(of, inputs_for(of, columns), None if step == 1 else _STATE, moment))


def _carried_out(session: Any, queries: StreamQueries) -> StepOnSpark:
    output, state = session.sql(queries.output), session.sql(queries.state)
    rows = rows_of(output)
    ((late,),) = session.sql(queries.late).collect()
    kept = state.collect()
    session.createDataFrame(kept, state.schema).createOrReplaceTempView(_STATE)
    return StepOnSpark(rows, late, len(kept), (output.schema.simpleString(), state.schema.simpleString()))


def definition_on_spark(
    session: Any, of: Stateful, inputs: Sequence[Sequence[Row]], after: int | None
) -> list[tuple[Any, ...]]:
    """The rows that the definition gives over all rows at once: its watermark is a query."""
    for name, rows in zip(inputs_of(of), inputs, strict=True):
        give(session, name, rows)
    session.sql(f"SELECT CAST({'NULL' if after is None else after} AS BIGINT) AS now").createOrReplaceTempView("watermarks")
    moment = Moment(1, after="(SELECT MAX(`now`) FROM `watermarks`)")
    return rows_of(session.sql(stream_queries(of, inputs_for(of), None, moment).output))
