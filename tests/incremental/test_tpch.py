"""The 22 queries of TPC-H: docs/incremental.md says how each is maintained, and it is so; and on Spark what is kept gives
what the query gives, after every step."""

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

from reconciler.engine.protocol import Engine
from reconciler.incremental import kept_aggregate
from reconciler.incremental.changed_rows import changed_rows_query
from reconciler.incremental.kept_aggregate import KEPT
from reconciler.incremental.model import KeptAggregate, LinearRows, Recompute
from reconciler.incremental.terms import changed_source, former_source
from tests.engine.engines import session_of
from tests.incremental import tpch
from tests.streams.on_spark import quiet_session

ROOT = Path(__file__).parents[2]
STEPS = 4


def said(name: str) -> str:
    """What the page says of a query: in which tables changes are followed, or why none are."""
    method = tpch.method(name)
    match method:
        case Recompute(reason):
            return f"by its query: {reason}"
        case KeptAggregate() | LinearRows():
            verb = "groups follow" if isinstance(method, KeptAggregate) else "rows follow"
            fixed = f"; by its query where {', '.join(sorted(method.fixed))} changes" if method.fixed else ""
            return f"{verb} {', '.join(sorted({*method.relations} - method.fixed))}{fixed}"


def test_the_page_says_how_each_is_maintained() -> None:
    page = (ROOT / "docs" / "incremental.md").read_text()
    missing = [line for name in tpch.QUERIES if (line := f"| {name.upper()} | {said(name)} |") not in page]
    assert missing == []


class Following:
    """One query over tables that change, on Spark."""

    def __init__(self, session: Any, tables: dict[str, pa.Table]) -> None:
        self.session, self.tables = session, tables
        for name, rows in tables.items():
            self.show(name, rows)

    def show(self, name: str, rows: pa.Table) -> None:
        self.session.createDataFrame(rows).createOrReplaceTempView(f"`{name}`")

    def rows(self, query: str) -> tuple[list[Any], Counter[str]]:
        frame = self.session.sql(query)
        return frame.dtypes, Counter(repr(tuple(row)) for row in frame.collect())

    def change(self, chance: Random, changed: list[str]) -> None:
        for name in changed:
            now, told = tpch.changed_by_chance(chance, self.tables[name])
            self.show(former_source(name), self.tables[name])
            self.show(changed_source(name), told)
            self.show(name, now)
            self.tables[name] = now

    def keep(self, query: str) -> dict[str, str]:
        frame = self.session.sql(query)
        rows = frame.collect()
        self.session.createDataFrame(rows, frame.schema).createOrReplaceTempView(f"`{KEPT}`")
        return dict(frame.dtypes)


def follow_kept(engine: Following, name: str, method: KeptAggregate) -> int:
    """How many steps were followed; raises AssertionError where one gives other rows than the query."""
    chance, query, followed = Random(name), tpch.query(name), 0
    linear = sorted({*method.relations} - method.fixed)
    types = engine.keep(kept_aggregate.state_query(method))
    for step in range(STEPS):
        changed = linear if not step else sorted(chance.sample(linear, chance.randint(1, len(linear))))
        engine.change(chance, changed)
        try:
            types = engine.keep(kept_aggregate.changed_query(method, changed, types, "__change"))
            followed += 1
        except PySparkException:
            assert method.extremes, name
            types = engine.keep(kept_aggregate.state_query(method))
        assert engine.rows(kept_aggregate.finishing_query(method, types)) == engine.rows(query), f"{name}, step {step}"
    return followed


def follow_rows(engine: Following, name: str, method: LinearRows) -> None:
    """The same for rows that come and go."""
    chance, query = Random(name), tpch.query(name)
    columns, held = engine.rows(query)
    linear = sorted({*method.relations} - method.fixed)
    for step in range(STEPS):
        changed = linear if not step else sorted(chance.sample(linear, chance.randint(1, len(linear))))
        engine.change(chance, changed)
        for *row, copies in engine.session.sql(changed_rows_query(method, changed, columns, "__change")).collect():
            held[repr(tuple(row))] += copies
        assert all(count >= 0 for count in held.values()), f"{name}, step {step}"
        assert (columns, +held) == engine.rows(query), f"{name}, step {step}"


@pytest.fixture(scope="module")
def rows_of_tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pa.Table]:
    return tpch.tables(tmp_path_factory.mktemp("tpch"))


@pytest.mark.slow
@pytest.mark.parametrize("name", tpch.QUERIES)
def test_what_follows_gives_what_the_query_gives(
    name: str, rows_of_tables: dict[str, pa.Table], spark_engine: Engine
) -> None:
    engine = Following(quiet_session(session_of(spark_engine)), dict(rows_of_tables))
    match tpch.method(name):
        case KeptAggregate() as method:
            assert follow_kept(engine, name, method) == STEPS
        case LinearRows() as method:
            follow_rows(engine, name, method)
        case Recompute():
            pytest.skip("it is computed from its query")
