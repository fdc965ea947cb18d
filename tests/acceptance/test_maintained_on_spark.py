"""Versions that are kept up to date, on real Spark and Delta, by the command line: two versions of one view served at once
while rows come, changed places without a job, and read by whoever opens the permanent paths."""

from pathlib import Path

import pytest

from reconciler.engine.protocol import Engine
from tests.acceptance.command_line import CommandLine
from tests.acceptance.shop import stored_rows, write_shop
from tests.acceptance.test_kept_rows import jobs

pytestmark = [pytest.mark.spark, pytest.mark.both_ways]

TABLE = "CREATE TABLE orders (id BIGINT, customer STRING, price DECIMAL(10,2), at TIMESTAMP, local TIMESTAMP_NTZ);\n"
JOINED = "`revenue@v0` o JOIN revenue n USING (customer)"
BELOW = f"CREATE MATERIALIZED VIEW both AS SELECT o.customer, o.revenue, n.cents FROM {JOINED};\n"
FIRST, SECOND = (
    TABLE + f"CREATE MATERIALIZED VIEW revenue AS SELECT {query} FROM orders GROUP BY customer;\n"
    for query in (
        "customer, SUM(price) AS revenue, MAX(at) AS last, MAX(local) AS last_one, named_struct('n', COUNT(*)) AS counted",
        "customer, CAST(SUM(price) * 100 AS BIGINT) AS cents",
    )
)
READS = "  versions: {reads: true}\n"
MAINTAINED = READS + "  views: {revenue: {versions: {v0: {maintain: true}}}}\n"


@pytest.fixture
def said(tmp_path: Path, spark_engine: Engine, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    """The first version, with rows in it."""
    write_shop(tmp_path, FIRST, "allow", READS)
    command = CommandLine(tmp_path, capsys, spark_engine)
    command("apply", "shop")
    rows = ("(1, 'Ada', 30.00, {0}, {1})", "(2, 'Ada', 12.50, {0}, {1})", "(3, 'Bob', 5.00, {0}, {1})")
    times = "TIMESTAMP '2026-01-31 12:00:00.123456'", "TIMESTAMP_NTZ '2026-01-31 12:00:00.123456'"
    command("execute", "shop", f"INSERT INTO orders VALUES {', '.join(rows).format(*times)}")
    return command


def of_bob(said: CommandLine, relation: str) -> list[object]:
    """The first figure of Bob, as another reader of Delta finds it."""
    rows = stored_rows(said.root, relation)
    assert rows is not None
    return [row[1] for row in rows if row[0] == "Bob"]


@pytest.mark.slow
def test_both_are_served_while_rows_come_and_change_places_without_a_job(said: CommandLine) -> None:
    before = stored_rows(said.root, "revenue")
    write_shop(said.root, SECOND + BELOW, "allow", MAINTAINED)
    assert "bootstrap revenue@v0 from orders (2 rows; v0's rows are kept and current; nothing was computed)" in said(
        "apply", "shop"
    )
    assert stored_rows(said.root, "revenue-v0") == before
    said("execute", "shop", "INSERT INTO orders VALUES (4, 'Bob', 7.00, NULL, NULL), (5, 'Eve', 1.00, NULL, NULL)")
    answer = said(
        "query", "shop", "SELECT o.revenue, n.cents FROM revenue@v0 o JOIN revenue n USING (customer) ORDER BY cents"
    )
    assert [line.split() for line in answer.splitlines()[2:5]] == [["1.00", "100"], ["12.00", "1200"], ["42.50", "4250"]]
    assert "12.00" in said("query", "shop", "SELECT revenue, cents FROM both WHERE customer = 'Bob'")
    # The view below both follows the one that changes.
    write_shop(said.root, SECOND, "allow", MAINTAINED)
    said("apply", "shop")
    kept, ran = stored_rows(said.root, "revenue-v0"), jobs()
    assert "v0's rows are kept and current; nothing was computed" in said("rollback", "revenue")
    assert jobs() == ran
    assert stored_rows(said.root, "revenue") == kept
    assert "no changes" in said("plan", "shop")
    said("execute", "shop", "INSERT INTO orders VALUES (6, 'Bob', 1.00, NULL, NULL)")
    assert of_bob(said, "revenue") == of_bob(said, "revenue-v0")
    assert [str(one) for one in of_bob(said, "revenue")] == ["13.00"]
    assert "13.00" in said("query", "shop", "SELECT revenue, counted.n, last FROM revenue WHERE customer = 'Bob'")
