"""Streams of all types on Spark: what is given has the types that Spark's own aggregates have, and states keep theirs."""

from pathlib import Path
from typing import Any

import pytest

from reconciler.engine.protocol import Engine
from reconciler.streams.model import (
    Accumulation,
    AfterWatermark,
    AggregateOverWindow,
    Count,
    CountTrigger,
    Deduplicate,
    Hopping,
    OuterCachingJoin,
    Previous,
    RunningAggregate,
    Session,
    Sort,
    Stateful,
    inputs_of,
)
from reconciler.streams.queries import NO_WATERMARK, Input, Moment
from reconciler.streams.queries.log import Log
from reconciler.streams.queries.running_forms import running_problem
from reconciler.streams.queries.write import stream_queries
from tests.cells import mostly_slow
from tests.engine.engines import session_of
from tests.streams.on_spark import quiet_session

AGGREGATES = (
    "count(*)",
    "sum({})",
    "avg({})",
    "min({})",
    "max({})",
    "first({})",
    "last({})",
    "sum({}) FILTER (WHERE number > 2)",
)
NUMBERS = ("TINYINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(10,2)", "DECIMAL(38,18)", "DECIMAL(24,6)", "DECIMAL(3,3)")
ODD = {
    "number": ("INT", "number"),
    "a map": ("MAP<STRING,INT>", "map('n', number)"),
    "va`riant": ("VARIANT", "parse_json(concat('{\"n\":', number, '}'))"),
    "nested": ("STRUCT<a:ARRAY<INT>,m:MAP<STRING,INT>>", "named_struct('a', array(number), 'm', map('n', number))"),
    "bytes": ("BINARY", "encode(CAST(number AS STRING), 'UTF-8')"),
    "day": ("DATE", "date_add(DATE'2020-01-01', number)"),
    "select": (None, "CAST(number AS STRING)"),
    "before": ("INT", "number"),
    "after": ("INT", "number"),
    "current_date": ("INT", "number"),
    "wide": ("DECIMAL(38,10)", "CAST(number AS DECIMAL(38,10))"),
}


@pytest.fixture(scope="module")
def session(spark_engine: Engine) -> Any:
    return quiet_session(session_of(spark_engine))


def test_running_aggregates_are_those_of_spark(session: Any) -> None:
    """Each aggregate of each type, in one step and in two, and by Spark's window function over all rows."""
    values = [
        (step, time, None if time == 4 else time) for step, times in ((1, range(8)), (2, range(8, 14))) for time in times
    ]
    typed = ", ".join(f"CAST(number / 3 AS {kind}) AS `v{place}`" for place, kind in enumerate(NUMBERS[:-1]))
    last = len(NUMBERS) - 1
    session.createDataFrame(values, "step INT, time INT, number INT").createOrReplaceTempView("numbers")
    typed = f"number, {typed}, CAST(number / 100 AS {NUMBERS[-1]}) AS `v{last}`"
    rows = f"SELECT step, 'k' AS k, timestamp_micros(time) AS ts, {typed}"
    session.sql(f"{rows} FROM numbers").createOrReplaceTempView("all_rows")
    columns = (("k", "STRING"), ("ts", "TIMESTAMP"), ("number", "INT"), *((f"v{n}", kind) for n, kind in enumerate(NUMBERS)))
    aggregates = tuple(
        (f"a{place}_{n}", aggregate.format(f"v{n}"))
        for n in range(len(NUMBERS))
        for place, aggregate in enumerate(AGGREGATES)
        if running_problem(aggregate.format(f"v{n}"), columns) is None
    )
    assert len(aggregates) == len(AGGREGATES) * len(NUMBERS) - 1
    names = ", ".join(name for name, _ in columns)
    of = RunningAggregate("numbers_added", ("k",), aggregates, 100)
    found, types = [], set()
    for step in (1, 2):
        session.sql(f"SELECT {names} FROM all_rows WHERE step = {step}").createOrReplaceTempView("numbers_added")
        moment = Moment(step, NO_WATERMARK if step == 1 else "5", "5")
        log = None if step == 1 else Log("numbers_kept", "numbers_kept")
        queries = stream_queries(of, (Input("numbers_added", columns, "ts"),), log, moment)
        output, state = session.sql(queries.output), session.sql(queries.state)
        found += output.collect()
        types |= {output.schema.simpleString(), state.schema.simpleString()}
        session.createDataFrame(state.collect(), state.schema).createOrReplaceTempView("numbers_kept")
    over = "OVER (PARTITION BY k ORDER BY ts ROWS UNBOUNDED PRECEDING)"
    whole = ", ".join(f"{expression} {over} AS {name}" for name, expression in aggregates)
    wanted = session.sql(f"SELECT {names}, {whole} FROM all_rows")
    assert sorted(found, key=lambda row: row["ts"]) == sorted(wanted.collect(), key=lambda row: row["ts"])
    assert len(types) == 2
    assert wanted.schema.simpleString() in types


ALL_ROWS = "array_join(sort_array(collect_list(number)), ',')"
DISCARDING = Accumulation.DISCARDING
OF_ODD_TYPES: list[Stateful] = [
    AggregateOverWindow("odd", ("k",), Hopping(4, 2), (("n", ALL_ROWS),), AfterWatermark(CountTrigger(2)), DISCARDING),
    AggregateOverWindow("odd", ("k",), Session(2), (("n", "max(odd.number)"),), AfterWatermark(CountTrigger(2)), DISCARDING),
    AggregateOverWindow("odd", ("k",), Count(2), (("n", ALL_ROWS),), CountTrigger(1), expiry=5),
    OuterCachingJoin("odd", "other", ("k",), 2),
    RunningAggregate("odd", ("k",), (("n", "count(odd.`a map`)"), ("f", "first(`va``riant`)")), 5),
    Sort("odd", ("k",)),
    Deduplicate("odd", ("k",), 5),
    Previous("odd", ("k",), (("m", "`a map`"), ("v", "`va``riant`"), ("n", "odd.nested.a[0]")), 2, 5),
]


@pytest.mark.parametrize(
    "of",
    mostly_slow(OF_ODD_TYPES, OF_ODD_TYPES[0], OF_ODD_TYPES[3]),
    ids=lambda of: f"{type(of).__name__} {type(getattr(of, 'window', None)).__name__}",
)
def test_columns_of_all_types(session: Any, of: Stateful, tmp_path: Path) -> None:
    columns = (("k", "STRING"), ("ts", "TIMESTAMP"), *((name, kind) for name, (kind, _) in ODD.items()))
    odd = ", ".join(f"{expression} AS `{name.replace('`', '``')}`" for name, (_, expression) in ODD.items())
    types, given = set(), 0
    for step, times in ((1, (1, 2, 4)), (2, (3, 7, 8)), (3, ())):
        session.createDataFrame([(time,) for time in times], "number INT").createOrReplaceTempView("numbers")
        for name in inputs_of(of):
            session.sql(f"SELECT 'k' AS k, timestamp_micros(number) AS ts, {odd} FROM numbers").createOrReplaceTempView(name)
        inputs = tuple(Input(name, columns, "ts") for name in inputs_of(of))
        before = (NO_WATERMARK, "2", "4")[step - 1]
        queries = stream_queries(
            of, inputs, None if step == 1 else Log("odd_kept", "odd_kept"), Moment(step, before, str((2, 4, 30)[step - 1]))
        )
        output, state = session.sql(queries.output), session.sql(queries.state)
        given += len(output.collect())
        types |= {("output", output.schema.simpleString()), ("state", state.schema.simpleString())}
        state.write.parquet(str(tmp_path / str(step)))
        session.read.parquet(str(tmp_path / str(step))).createOrReplaceTempView("odd_kept")
    assert len(types) == 2
    assert given > 0
    assert session.table("odd_kept").count() == 0
