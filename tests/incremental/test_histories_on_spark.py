"""What is kept follows what changes, on Spark: what a view gets is what its query gives from scratch, with its types, after
every step. Queries and histories are by chance, the same in every run; the slow suite takes many more."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from random import Random
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Row as Struct

from reconciler.engine.protocol import Engine
from reconciler.incremental.added_rows import added_query
from reconciler.incremental.changed_rows import changed_rows_query
from reconciler.incremental.kept_aggregate import KEPT, columns_of, finishing_query, state_query
from reconciler.incremental.model import KeptAggregate, LinearRows
from reconciler.incremental.terms import changed_source
from reconciler.sql.block_model import NotKept
from reconciler.sql.linear_blocks import linear_blocks
from reconciler.sql.surroundings import USUAL
from tests.cells import mostly_slow
from tests.engine.engines import session_of
from tests.incremental.following import follow, follow_added, follow_changed, follow_groups, follow_summary
from tests.incremental.queries import (
    COLUMNS,
    Row,
    first_of_many_by,
    grouped_query_by,
    growing_history_by,
    history_by,
    history_of_many_groups_by,
    kept_of,
    layered_query_by,
    linear_query_by,
    query_by,
    summarised_query_by,
)
from tests.streams.on_spark import quiet_session

QUICK, MANY = 2, 400


class OnSpark:
    """Computes queries on Spark over rows that it is given."""

    failing = PySparkException
    holds_back = False

    def __init__(self, session: Any) -> None:
        self._session = session

    def give(self, name: str, columns: Mapping[str, str | None], rows: Sequence[Row]) -> None:
        nulls = ", ".join(f"CAST(NULL AS {kind}) AS `{column}`" for column, kind in columns.items())
        query = f"SELECT {nulls} WHERE false"
        if any(isinstance(value, Struct) for row in rows for value in row):
            schema = ", ".join(f"`{column}` {kind}" for column, kind in columns.items())
            self._session.createDataFrame(list(rows), schema).createOrReplaceTempView(f"`{name}`")
            return
        if rows:
            kinds = [str(kind) for kind in columns.values()]
            values = ", ".join(f"({', '.join(map(_literal, row, kinds))})" for row in rows)
            query = f"SELECT * FROM VALUES {values} AS t({', '.join(f'`{column}`' for column in columns)})"
        self.show(name, query)

    def show(self, name: str, query: str) -> None:
        """The rows of a query under a name."""
        self._session.sql(query).createOrReplaceTempView(f"`{name}`")

    def run(self, query: str) -> tuple[Any, list[Row]]:
        frame = self._session.sql(query)
        return frame.dtypes, [tuple(row) for row in frame.collect()]

    def keep(self, query: str, names: Sequence[str]) -> Mapping[str, str]:
        frame = self._session.sql(query)
        rows = frame.collect()
        self._session.createDataFrame(rows, frame.schema).createOrReplaceTempView(f"`{KEPT}`")
        assert not names or tuple(names) == tuple(frame.columns)
        return dict(frame.dtypes)


def _literal(value: Any, kind: str) -> str:
    text = "NULL" if value is None else f"'{value}'" if isinstance(value, str | float) else str(value)
    return f"CAST({text} AS {kind})"


@pytest.fixture(scope="module")
def engine(spark_engine: Engine) -> OnSpark:
    return OnSpark(quiet_session(session_of(spark_engine)))


def require_equal(engine: OnSpark, seed: int, steps: int) -> None:
    chance = Random(f"on spark {seed}")
    query = query_by(chance, has_decimals=True)
    follow(engine, query, list(history_by(chance, steps)), COLUMNS)


def test_what_is_kept_gives_what_the_query_gives(engine: OnSpark) -> None:
    for seed in range(QUICK):
        require_equal(engine, seed, 2)


def require_equal_summaries(engine: OnSpark, seed: int) -> int:
    """How often summaries followed."""
    chance = Random(f"summaries on spark {seed}")
    query, first = summarised_query_by(chance, has_decimals=True), first_of_many_by(chance)
    found = follow_summary(engine, query, list(history_by(chance, 2)), COLUMNS, chance.randint(0, 3))
    some = follow_summary(engine, first, list(history_of_many_groups_by(chance, 2)), COLUMNS, chance.randint(0, 6))
    return (found or 0) + (some or 0)


def test_summaries_of_what_is_kept_give_what_the_query_gives(engine: OnSpark) -> None:
    assert sum(require_equal_summaries(engine, seed) for seed in range(QUICK)) >= QUICK


@pytest.mark.slow
def test_summaries_of_what_is_kept_give_what_many_queries_give(engine: OnSpark) -> None:
    for seed in range(MANY // 2):
        require_equal_summaries(engine, seed)


HALF_JOINS = [
    "SELECT t.g, COUNT(*) AS n, SUM(t.v) AS s FROM t LEFT SEMI JOIN u ON t.k = u.k GROUP BY t.g",
    "SELECT a.g, AVG(a.v) AS m FROM t AS a LEFT ANTI JOIN u AS b ON a.k = b.k AND b.f > 0 WHERE a.v < 3 GROUP BY a.g",
    "SELECT a.g, COUNT(*) AS n FROM t a LEFT SEMI JOIN u ON a.k = u.k AND u.f < 9 JOIN t b ON b.v = a.v GROUP BY a.g",
    "SELECT COUNT(DISTINCT v) AS n FROM t LEFT ANTI JOIN u ON t.k = u.k",
]
"""SQLite, which follows the other histories, has none of these joins."""


def require_equal_behind_half_joins(engine: OnSpark, query: str, seed: int, steps: int) -> None:
    follow(engine, query, list(history_by(Random(f"half joins {seed}"), steps)), COLUMNS)


@pytest.mark.parametrize("query", mostly_slow(HALF_JOINS, *HALF_JOINS[1:3]))
def test_what_is_behind_a_semi_join_follows_both_sides(query: str, engine: OnSpark) -> None:
    kept = kept_of(query)
    assert isinstance(kept, KeptAggregate)
    assert not kept.fixed
    require_equal_behind_half_joins(engine, query, 0, 2)


@pytest.mark.slow
@pytest.mark.parametrize("query", HALF_JOINS)
def test_many_histories_of_what_is_behind_a_semi_join(query: str, engine: OnSpark) -> None:
    for seed in range(1, 30):
        require_equal_behind_half_joins(engine, query, seed, 3)


def require_equal_added(engine: OnSpark, seed: int) -> None:
    chance = Random(f"added on spark {seed}")
    query = linear_query_by(chance, has_right_joins=True)
    follow_added(engine, query, list(growing_history_by(chance, 2)), COLUMNS)


def test_rows_that_are_added_make_the_result_of_the_query(engine: OnSpark) -> None:
    for seed in range(QUICK):
        require_equal_added(engine, seed)


def require_equal_changed(engine: OnSpark, seed: int) -> None:
    chance = Random(f"changed on spark {seed}")
    query = linear_query_by(chance, has_right_joins=True, has_floats=True)
    follow_changed(engine, query, list(history_by(chance, 3)), COLUMNS)


def test_rows_that_come_and_go_make_the_result_of_the_query(engine: OnSpark) -> None:
    for seed in range(QUICK):
        require_equal_changed(engine, seed)


def test_all_branches_of_union_all_decide_which_types_its_columns_have(engine: OnSpark) -> None:
    """Spark makes dates of the texts for the second branch, before it makes times of these for the third."""
    columns: dict[str, dict[str, str | None]] = {"a": {"s": "STRING"}, "b": {"d": "DATE"}, "c": {"at": "TIMESTAMP"}}
    query = "SELECT s AS x FROM a UNION ALL SELECT d FROM b UNION ALL SELECT at FROM c"
    blocks = linear_blocks(query, columns, USUAL)
    assert not isinstance(blocks, NotKept)
    rows = [("2021-01-01 10:00:00",)]
    for name, kinds in columns.items():
        engine.give(name, kinds, rows if name == "a" else [])
    engine.give(changed_source("a"), columns["a"], rows)
    names, wanted = engine.run(query)
    assert engine.run(added_query(LinearRows(query, blocks), ["a"], names))[1] == wanted
    engine.give(changed_source("a"), {**columns["a"], "__change": "STRING"}, [(*rows[0], "insert")])
    changed = engine.run(changed_rows_query(LinearRows(query, blocks), ["a"], names, "__change"))[1]
    assert changed == [(*wanted[0], 1)]


def require_equal_groups(engine: OnSpark, seed: int) -> None:
    chance = Random(f"groups on spark {seed}")
    query = (layered_query_by if seed % 2 else grouped_query_by)(chance, on_spark=True)
    follow_groups(engine, query, list(history_by(chance, 3)), COLUMNS)


def test_groups_that_are_computed_anew_make_the_result_of_the_query(engine: OnSpark) -> None:
    for seed in range(QUICK):
        require_equal_groups(engine, seed)


@pytest.mark.slow
def test_groups_that_are_computed_anew_make_the_results_of_many_queries(engine: OnSpark) -> None:
    for seed in range(MANY):
        require_equal_groups(engine, seed)


@pytest.mark.slow
def test_rows_that_come_and_go_make_the_results_of_many_queries(engine: OnSpark) -> None:
    for seed in range(MANY):
        require_equal_changed(engine, seed)


@pytest.mark.slow
def test_rows_that_are_added_make_the_results_of_many_queries(engine: OnSpark) -> None:
    for seed in range(MANY):
        require_equal_added(engine, seed)


@pytest.mark.slow
def test_what_is_kept_gives_what_many_queries_give(engine: OnSpark) -> None:
    for seed in range(MANY):
        require_equal(engine, seed, 4)


TOTALS = ("1", "-1", "2", "5", "7", "-13", "99999")
COUNTS = (1, 3, 7, 16, 32, 640, 20_000)
UNITS = {"DECIMAL(5,0)": "1", "DECIMAL(6,1)": "0.1", "DECIMAL(5,2)": "0.01", "DECIMAL(18,6)": "0.000001"}


@pytest.mark.parametrize("kind", mostly_slow(tuple(UNITS), "DECIMAL(6,1)"))
def test_averages_of_decimals_are_rounded_as_spark_rounds_them(engine: OnSpark, kind: str) -> None:
    """Also on halves of the last place: over groups of which one row has the whole sum, and the others have zero."""
    cases = [(Decimal(total) * Decimal(UNITS[kind]), count) for total in TOTALS for count in COUNTS]
    rows = [(str(at), total, count) for at, (total, count) in enumerate(cases)]
    engine.give("given", {"g": "STRING", "total": kind, "n": "BIGINT"}, rows)
    first = f"IF(i = 1, total, CAST(0 AS {kind}))"
    engine.show("t", f"SELECT g, {first} AS w FROM given LATERAL VIEW explode(sequence(1, n)) e AS i")
    query = "SELECT g, AVG(w) AS a FROM t GROUP BY g"
    kept = kept_of(query)
    types = engine.keep(state_query(kept), columns_of(kept))
    found, wanted = engine.run(finishing_query(kept, types)), engine.run(query)
    assert found[0] == wanted[0]
    assert sorted(found[1]) == sorted(wanted[1])
    assert len(found[1]) == len(cases)


def test_what_is_not_certain_fails_over_what_is_kept(engine: OnSpark) -> None:
    kept = kept_of("SELECT AVG(v) AS a FROM t")
    engine.give("t", {"v": "BIGINT"}, [(2**53,), (1,)])
    types = engine.keep(state_query(kept), columns_of(kept))
    with pytest.raises(PySparkException, match="what is kept does not surely give"):
        engine.run(finishing_query(kept, types))
    engine.give("t", {"v": "BIGINT"}, [(2**62,), (-(2**62),), (2**62,)])
    with pytest.raises(PySparkException, match="ARITHMETIC_OVERFLOW"):
        engine.run(state_query(kept))
