"""A version staged and promoted on real Spark and Delta, through the command line: promoting runs no job of Spark, and what
outside readers find at the permanent path switches from the one to the other."""

from decimal import Decimal
from pathlib import Path

import pytest

from reconciler.engine.protocol import Engine
from tests.acceptance.command_line import CommandLine
from tests.acceptance.shop import stored_columns, stored_rows, write_shop
from tests.acceptance.test_kept_rows import jobs

pytestmark = [pytest.mark.spark, pytest.mark.both_ways]

PROGRAM = """\
CREATE TABLE orders (id BIGINT, customer STRING, price DECIMAL(10,2));
CREATE TABLE apart (id BIGINT);
CREATE MATERIALIZED VIEW revenue AS SELECT {query} FROM orders GROUP BY customer;
CREATE MATERIALIZED VIEW best AS SELECT MAX(revenue) AS best FROM revenue;
"""
NOW = PROGRAM.format(query="customer, SUM(price) AS revenue")
# The type stays: another one would make a version of `best`, too.
NEXT = PROGRAM.format(query="customer, CAST(SUM(price) * 2 AS DECIMAL(20,2)) AS revenue, COUNT(*) AS n")
READS = "  versions: {reads: true}\n"


def test_staged_looked_at_and_promoted_without_a_job(
    tmp_path: Path, spark_engine: Engine, capsys: pytest.CaptureFixture[str]
) -> None:
    said = CommandLine(tmp_path, capsys, spark_engine)
    write_shop(tmp_path, NOW, more=READS)
    said("apply", "shop")
    said("execute", "shop", "INSERT INTO orders VALUES (1, 'Ada', 30.00), (2, 'Ada', 12.00), (3, 'Bob', 1.00)")
    serving = stored_rows(tmp_path, "revenue")
    write_shop(tmp_path, NEXT, more=READS)
    assert "shop: staged: revenue@v1" in said("apply", "shop", "--no-promote")
    assert stored_rows(tmp_path, "revenue") == serving
    # What serves moves on beside it, where nothing of what was staged is read.
    said("execute", "shop", "INSERT INTO apart VALUES (1)")
    told = said("query", "shop", "SELECT * FROM revenue@v1 ORDER BY customer")
    assert "84.00" in told
    assert "revenue@v1 as of step 1" in told
    assert "42.00" in said("query", "shop", "SELECT revenue FROM revenue ORDER BY 1 DESC LIMIT 1")
    before = jobs()
    told = said("promote", "revenue@v1")
    assert told.count("as staged at step 1: nothing computed") == 2
    assert jobs() == before
    assert stored_columns(tmp_path, "revenue") == ["customer", "revenue", "n"]
    assert stored_rows(tmp_path, "revenue") == [("Ada", Decimal("84.00"), 2), ("Bob", Decimal("2.00"), 1)]
    assert stored_rows(tmp_path, "best") == [(Decimal("84.00"),)]
    said("execute", "shop", "INSERT INTO orders VALUES (4, 'Bob', 100.00)")
    assert "202.00" in said("query", "shop", "SELECT * FROM best")


# In every run: tests/acceptance/test_staging.py, without Spark.
@pytest.mark.slow
def test_where_what_it_reads_moved_on_it_is_computed_again(
    tmp_path: Path, spark_engine: Engine, capsys: pytest.CaptureFixture[str]
) -> None:
    said = CommandLine(tmp_path, capsys, spark_engine)
    write_shop(tmp_path, NOW, more=READS)
    said("apply", "shop")
    said("execute", "shop", "INSERT INTO orders VALUES (1, 'Ada', 30.00), (2, 'Ada', 12.00), (3, 'Bob', 1.00)")
    write_shop(tmp_path, NOW.replace("SUM(price)", "CAST(MAX(price) AS DECIMAL(20,2))"), more=READS)
    assert "shop: staged: revenue@v1" in said("apply", "shop", "--no-promote")
    said("execute", "shop", "INSERT INTO orders VALUES (5, 'Bob', 1000.00)")
    before = jobs()
    assert "recomputed" in said("apply", "shop")
    assert jobs() > before
    assert "1000.00" in said("query", "shop", "SELECT * FROM best")
