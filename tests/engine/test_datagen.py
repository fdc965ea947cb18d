"""`datagen`: the clock without Spark, and the rows on Spark."""

import time
from collections import Counter
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from reconciler.base.errors import EngineError
from reconciler.base.moments import moment_of_milliseconds
from reconciler.base.places import OnePlace
from reconciler.connectors.catalogue import check_connector
from reconciler.delta.tables import create_table
from reconciler.engine.protocol import ColumnType, Engine, Ingestion, Selection, TableTarget, Transaction
from reconciler.engine.sources import StoredSource
from reconciler.engine.spark.ingest import datagen
from reconciler.engine.spark.ingest.datagen_plan import due, next_rows, plan_at, plans_of

COLUMNS = (
    ColumnType("Id", "BIGINT", nullable=False),
    ColumnType("symbol", "VARCHAR(8)"),
    ColumnType("price", "DECIMAL(8,2)"),
    ColumnType("ratio", "DOUBLE"),
    ColumnType("day", "DATE"),
    ColumnType("at", "TIMESTAMP"),
    ColumnType("small", "TINYINT"),
    ColumnType("flag", "BOOLEAN"),
    ColumnType("note", "STRING"),
    ColumnType("marks", "ARRAY<INT>"),
)


def settings(*plans: dict[str, Any], seed: int = 0, **more: Any) -> dict[str, Any]:
    config = {"seed": seed, **({"plan": list(plans)} if plans else {})}
    return {"transport": {"name": "datagen", "config": config}, **more}


def no_session() -> Any:
    raise AssertionError("Spark was asked for")


class TestTheClock:
    PLANS = plans_of({"plan": [{"limit": 10, "rate": 2}, {"limit": 5}, {"rate": 0.5}]})

    @pytest.mark.parametrize(
        ("seconds", "rows"),
        [(0, 1), (0.4, 1), (0.5, 2), (4.4, 9), (4.5, 10), (4.9, 10), (5, 16), (6.9, 16), (7, 17), (107, 67)],
    )
    def test_rows_become_due_by_the_rate_of_their_plan(self, seconds: float, rows: int) -> None:
        assert due(self.PLANS, seconds) == rows

    def test_a_plan_without_rate_is_due_at_once(self) -> None:
        assert due(plans_of({}), 0) is None
        assert due(plans_of({"plan": [{"limit": 7}]}), 0) == 7

    def test_ranges_end_with_their_plan_and_are_not_too_large(self) -> None:
        assert next_rows(self.PLANS, 0, 100, 1000) == (10, 63)
        assert next_rows(self.PLANS, 10, 100, 1000) == (15, 63)
        assert next_rows(self.PLANS, 15, 100, 1000) == (63, 63)
        assert next_rows(self.PLANS, 15, 100, 10) == (25, 63)
        assert next_rows(self.PLANS, 63, 100, 10) == (63, 63)
        # A clock that was put back takes no row back.
        assert next_rows(self.PLANS, 63, 1, 10) == (63, 3)
        assert next_rows(plans_of({}), 5, 0, 10) == (15, None)

    def test_a_plan_without_end_is_the_last(self) -> None:
        plans = plans_of({"plan": [{"limit": 2}, {}, {"limit": 9}]})

        assert [(plan.first, plan.end) for plan in plans] == [(0, 2), (2, None)]
        assert plan_at(plans, 10**12) == plans[1]
        assert plan_at(plans[:1], 2) is None


class TestDiscover:
    def test_a_limit_ends_the_input(self) -> None:
        wanted = settings({"limit": 5})

        found = datagen.discover(no_session, wanted, None)

        assert found is not None
        assert (found.range, found.end_of_input, found.backlog) == ({"from": 0, "to": 5}, True, {"rows": 5})
        assert (found.since, found.waiting_since) == (None, None), "only the look made them due"
        assert (found.position["rows"], found.position["complete"]) == (5, True)
        assert datagen.discover(no_session, wanted, found.position) is None

    def test_a_rate_goes_by_the_clock_since_the_first_look(self) -> None:
        wanted = settings({"rate": 10, "limit": 100})
        first = datagen.discover(no_session, wanted, None)
        assert first is not None
        assert (first.range, first.end_of_input) == ({"from": 0, "to": 1}, False)
        assert datagen.discover(no_session, wanted, {**first.position, "started": time.time_ns() // 1_000_000}) is None

        second_ago = {**first.position, "started": time.time_ns() // 1_000_000 - 2000}
        second = datagen.discover(no_session, wanted, second_ago)
        assert second is not None
        assert second.range["from"] == 1
        assert 21 <= second.range["to"] < 60
        # Row 1 was due a tenth of a second after the start.
        assert second.since == second.waiting_since == moment_of_milliseconds(second_ago["started"] + 100)
        long_ago = datagen.discover(no_session, wanted, {**first.position, "started": 0})
        assert long_ago is not None
        assert (long_ago.range["to"], long_ago.end_of_input) == (100, True)

    def test_a_batch_has_no_more_than_asked_for(self) -> None:
        found = datagen.discover(no_session, settings(max_batch_size=7), None)

        assert found is not None
        assert (found.range, found.backlog) == ({"from": 0, "to": 7}, {})


@pytest.mark.parametrize(
    ("plans", "codes"),
    [
        ([{"limit": 0}], ["C408"]),
        ([{"rate": 0}], ["C408"]),
        ([], ["C409"]),
        ([{}, {"limit": 1}], ["C416"]),
        ([{"fields": {"a": {"range": [5, 5]}}}], ["C416"]),
        ([{"fields": {"a": {"range": [1, 5], "values": [1]}}}], ["C416"]),
        ([{"fields": {"a": {"strategy": "incremental"}}}], ["C406"]),
        ([{"fields": {"a": {"null_percentage": 101}}}], ["C408"]),
        ([{"workers": 3}], ["C403"]),
    ],
)
def test_plans_that_mean_nothing_are_refused(plans: list[dict[str, Any]], codes: list[str]) -> None:
    given = {"transport": {"name": "datagen", "config": {"plan": plans}}}

    assert [problem.code for problem in check_connector(given, OnePlace(None))] == codes


@pytest.mark.spark
class TestRows:
    @pytest.fixture
    def target(self, tmp_path: Path) -> TableTarget:
        target = TableTarget("stocks", str(tmp_path / "stocks"), COLUMNS)
        create_table(target.location, COLUMNS, Transaction("create", 1))
        return target

    def made(self, engine: Engine, into: TableTarget, wanted: dict[str, Any], *ranges: tuple[int, int]) -> list[Any]:
        """The rows of some ranges, each written in a step of its own."""
        version = 0
        for number, (first, until) in enumerate(ranges, start=1):
            range_ = {"from": first, "to": until}
            transaction = Transaction(f"ingest/{first}", number)
            version = engine.ingest(Ingestion(into, "stocks.made", wanted, range_, transaction)).version
        source = StoredSource(into.name, into.location, version)
        return list(engine.select(Selection(f"SELECT * FROM {into.name} ORDER BY id", (source,), {})).rows)

    def test_without_a_plan_every_column_counts(self, spark_engine: Engine, target: TableTarget) -> None:
        rows = self.made(spark_engine, target, settings(), (0, 300))

        assert [row[0] for row in rows] == list(range(300))
        assert rows[299][1:4] == ("299", Decimal("299.00"), 299.0)
        assert rows[1][4] == date(1970, 1, 2)
        assert rows[299][5] == datetime(1970, 1, 1, 0, 0, 0, 299_000, tzinfo=UTC)
        assert (rows[127][6], rows[128][6]) == (127, 0)
        assert [row[7] for row in rows[:3]] == [False, True, False]
        assert {row[9] for row in rows} == {None}

    def test_fields_say_what_stands_in_columns(self, spark_engine: Engine, target: TableTarget) -> None:
        fields = {
            "ID": {"range": [10, 10_000]},
            "symbol": {"values": ["AAPL", "GOOGL", None]},
            "price": {"strategy": "uniform", "range": [100, 200]},
            "ratio": {"strategy": "uniform"},
            "day": {"range": ["2024-08-28", "2024-08-30"]},
            "at": {"range": ["2024-08-28T00:00:00Z", "2024-08-28T00:00:02Z"], "scale": 1000},
            "small": {"strategy": "zipf", "range": [1, 11], "e": 1.5},
            "flag": {"strategy": "uniform", "null_percentage": 50},
            "note": {"strategy": "email"},
            "marks": {"strategy": "uniform", "values": [[1, 2], []]},
        }
        wanted = settings({"limit": 1000, "fields": fields})

        rows = self.made(spark_engine, target, wanted, (0, 1000))

        assert [row[0] for row in rows] == list(range(10, 1010))
        assert [row[1] for row in rows[:4]] == ["AAPL", "GOOGL", None, "AAPL"]
        assert all(Decimal(100) <= row[2] <= Decimal(200) for row in rows)
        assert 145 < sum(row[2] for row in rows) / 1000 < 155
        assert all(0 <= row[3] < 1 for row in rows)
        assert [row[4].isoformat() for row in rows[:3]] == ["2024-08-28", "2024-08-29", "2024-08-28"]
        assert [row[5].second for row in rows[:3]] == [0, 1, 0]
        ranks = Counter(row[6] for row in rows)
        assert set(ranks) <= set(range(1, 11))
        assert ranks[1] > ranks[2] > ranks[5] > 0
        assert 400 < sum(row[7] is None for row in rows) < 600
        assert all(row[8].endswith("@example.com") for row in rows)
        assert {tuple(row[9]) for row in rows} == {(1, 2), ()}

    def test_a_row_depends_on_its_number_and_the_seed_alone(self, spark_engine: Engine, tmp_path: Path) -> None:
        fields = {name: {"strategy": "uniform"} for name in ("symbol", "price", "ratio", "day", "at", "small", "flag")}
        fields["note"] = {"strategy": "words", "range": [1, 4], "null_percentage": 10}
        found = []
        for number, (seed, ranges) in enumerate([(1, [(0, 50)]), (1, [(0, 7), (7, 8), (8, 50)]), (2, [(0, 50)])]):
            target = TableTarget("stocks", str(tmp_path / str(number)), COLUMNS)
            create_table(target.location, COLUMNS, Transaction("create", 1))
            found.append(self.made(spark_engine, target, settings({"fields": fields}, seed=seed), *ranges))

        assert found[0] == found[1]
        assert sum(one == other for one, other in zip(found[0], found[2], strict=True)) == 0

    @pytest.mark.parametrize(
        "field",
        [
            {"nope": {}},
            {"Id": {"strategy": "word"}},
            {"day": {"range": ["soon", "later"]}},
            {"day": {"range": ["2025-01-02", "2025-01-01"]}},
            {"marks": {"strategy": "uniform"}},
            {"note": {"strategy": "words", "range": [0, 5000]}},
        ],
    )
    def test_what_a_column_can_not_be_is_refused(
        self, field: dict[str, Any], spark_engine: Engine, target: TableTarget
    ) -> None:
        with pytest.raises(EngineError) as raised:
            self.made(spark_engine, target, settings({"fields": field}), (0, 3))

        assert raised.value.code == "X716"
        assert next(iter(field)) in raised.value.message
