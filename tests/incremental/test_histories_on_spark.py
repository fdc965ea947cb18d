"""What is kept follows what changes, on Spark: what a view gets is what its query gives from scratch, with its types, after
every step. Queries and histories are by chance, the same in every run; the slow suite takes many more."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from random import Random
from typing import Any

import pytest

from reconciler.engine.protocol import Engine
from reconciler.incremental.kept_aggregate import KEPT, columns_of, finishing_query, state_query
from tests.engine.engines import session_of
from tests.incremental.following import follow
from tests.incremental.queries import COLUMNS, Row, history_by, kept_of, query_by
from tests.streams.on_spark import quiet_session

QUICK, MANY = 40, 1_500


class OnSpark:
    """Computes queries on Spark over rows that it is given."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def give(self, name: str, columns: Mapping[str, str | None], rows: Sequence[Row]) -> None:
        nulls = ", ".join(f"CAST(NULL AS {kind}) AS `{column}`" for column, kind in columns.items())
        query = f"SELECT {nulls} WHERE false"
        if rows:
            kinds = [str(kind) for kind in columns.values()]
            values = ", ".join(f"({', '.join(map(_literal, row, kinds))})" for row in rows)
            query = f"SELECT * FROM VALUES {values} AS t({', '.join(f'`{column}`' for column in columns)})"
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
    text = "NULL" if value is None else f"'{value}'" if isinstance(value, str) else str(value)
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


@pytest.mark.slow
def test_what_is_kept_gives_what_many_queries_give(engine: OnSpark) -> None:
    for seed in range(QUICK, QUICK + MANY):
        require_equal(engine, seed, 4)


# The sum and the number of values, by the type of what is averaged: halves of the last place of the result, and next to them.
_AVERAGES: list[tuple[str, str, int]] = [
    (kind, total, count)
    for kind, unit in (
        ("DECIMAL(5,0)", "1"),
        ("DECIMAL(6,1)", "0.1"),
        ("DECIMAL(5,2)", "0.01"),
        ("DECIMAL(18,6)", "0.000001"),
    )
    for total, count in (
        *(
            (str(Decimal(unit) * one), count)
            for one in (1, -1, 2, 5, 7, -13, 99_999)
            for count in (3, 7, 16, 20_000, 80_000)
        ),
        (str(Decimal(unit)), 32_000),
        (str(Decimal(unit) * 3), 6_400_000),
    )
]


def test_averages_of_decimals_are_rounded_as_spark_rounds_them(engine: OnSpark) -> None:
    """Over rows of which one has the whole sum, and all others are zero."""
    found: dict[str, list[tuple[str, str, int]]] = {}
    for kind, total, count in _AVERAGES:
        found.setdefault(kind, []).append((kind, total, count))
    for kind, cases in found.items():
        query = "SELECT g, AVG(w) AS a FROM t GROUP BY g"
        kept = kept_of(query)
        rows = [(at, total, count) for at, (_, total, count) in enumerate(cases)]
        few = [one for one in rows if one[2] <= 100_000]
        engine.give("given", {"g": "STRING", "total": kind, "n": "BIGINT"}, [(str(at), total, n) for at, total, n in few])
        expanded = (
            f"SELECT g, IF(i = 1, total, CAST(0 AS {kind})) AS w FROM given LATERAL VIEW explode(sequence(1, n)) e AS i"
        )
        engine._session.sql(expanded).createOrReplaceTempView("t")
        types = engine.keep(state_query(kept), ())
        assert tuple(types) == columns_of(kept)
        assert sorted(engine.run(finishing_query(kept, types))[1]) == sorted(engine.run(query)[1])
        assert engine.run(finishing_query(kept, types))[0] == engine.run(query)[0]
