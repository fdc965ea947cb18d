"""A version made active again whose rows are kept and current: on real Spark and Delta, through the command line, no job of
Spark reads or writes a row; what outside readers find at the permanent path is what was there before, columns included."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from reconciler.engine.protocol import Engine
from tests.acceptance.command_line import CommandLine
from tests.acceptance.shop import stored_columns, stored_rows, write_shop

pytestmark = [pytest.mark.spark, pytest.mark.both_ways]

TABLE = "CREATE TABLE orders (id BIGINT, customer STRING, price DECIMAL(10,2), at TIMESTAMP_NTZ);\n"
OTHERS = """\
CREATE MATERIALIZED VIEW per_customer AS SELECT customer, COUNT(*) AS n FROM revenue GROUP BY customer;
CREATE MATERIALIZED VIEW apart AS SELECT id FROM orders;
"""
VERSIONS = [
    TABLE + f"CREATE MATERIALIZED VIEW revenue AS {query} GROUP BY customer;\n" + OTHERS
    for query in (
        "SELECT customer, SUM(price) AS revenue, AVG(price) AS average FROM orders",
        "SELECT MAX(at) AS last, customer FROM orders WHERE price > 1",
        "SELECT customer, MAX(at) AS last FROM orders",
    )
]


def jobs() -> int:
    """The number of the last job of this process's Spark. How many there are would not do: old ones go."""
    session = SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
    tracker = session.sparkContext._jsc.sc().statusTracker()
    return max(tracker.getJobIdsForGroup(None))


@pytest.mark.slow
def test_going_back_and_forth_runs_no_job_where_nothing_moved(
    tmp_path: Path, spark_engine: Engine, capsys: pytest.CaptureFixture[str]
) -> None:
    said = CommandLine(tmp_path, capsys, spark_engine)
    found = []
    for number, program in enumerate(VERSIONS):
        write_shop(tmp_path, program)
        said("apply", "shop")
        if number == 0:
            values = "(1, 'Ada', 30.00, TIMESTAMP_NTZ '2026-01-01 00:00:00'), (2, 'Bob', 1.00, NULL)"
            said("execute", "shop", f"INSERT INTO orders VALUES {values}")
        found.append([(stored_columns(tmp_path, one), stored_rows(tmp_path, one)) for one in ("revenue", "per_customer")])
    before = jobs()
    assert before > 0
    for number in (0, 1, 2, 0):
        write_shop(tmp_path, VERSIONS[number])
        told = said("apply", "shop")
        assert f"v{number}'s rows are kept and current; nothing was computed" in told
        assert [(stored_columns(tmp_path, one), stored_rows(tmp_path, one)) for one in ("revenue", "per_customer")] == found[
            number
        ]
    assert jobs() == before

    answer = said("query", "shop", "SELECT * FROM revenue ORDER BY customer")
    assert "30.000000" in answer
    said("execute", "shop", "INSERT INTO orders VALUES (3, 'Ada', 12.00, NULL)")
    assert "42.00" in said("query", "shop", "SELECT * FROM revenue ORDER BY customer")
    # Rows of then are stale now, and are computed.
    write_shop(tmp_path, VERSIONS[2])
    before = jobs()
    assert "kept" not in said("apply", "shop")
    assert jobs() > before
    assert stored_rows(tmp_path, "revenue") is not None
