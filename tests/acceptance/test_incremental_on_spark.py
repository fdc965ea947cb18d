"""Views over a large table that follow what changes, by the command line on real Spark and Delta: what they hold is what
their queries give, which way each took is told, and nothing of it is a change of the pipeline."""

from pathlib import Path

import pytest

from reconciler.delta.arrow_rows import plain_table
from reconciler.engine.protocol import Engine
from tests.acceptance.command_line import CommandLine
from tests.acceptance.shop import stored_rows, write_shop

pytestmark = [pytest.mark.spark, pytest.mark.both_ways]

QUERIES = {
    "all_prices": "SELECT array_sort(collect_list(price)) AS prices FROM orders",
    "cheap": "SELECT id, customer, CAST(price AS DOUBLE) AS price FROM orders WHERE price < 10",
    "spread": "SELECT id % 3000 AS part, STDDEV(price) AS price, COUNT(DISTINCT id) AS ids FROM orders GROUP BY id % 3000",
    "either": "SELECT id FROM orders WHERE price < 5 UNION SELECT id FROM orders WHERE customer = 'c1'",
    "latest": (
        "SELECT id % 3000 AS part, id, price FROM orders "
        "QUALIFY row_number() OVER (PARTITION BY id % 3000 ORDER BY id DESC, price) = 1"
    ),
    "middle": "SELECT customer, id, percentile(price, 0.5) AS price FROM orders GROUP BY id, customer",
    "revenue": (
        "SELECT customer, COUNT(*) AS orders, SUM(price) AS revenue, AVG(price) AS mean, AVG(id) AS id FROM orders "
        "GROUP BY customer HAVING COUNT(*) > 1"
    ),
    "whole": "SELECT SUM(price * (1 - price / 1000)) AS less, COUNT(price) AS prices FROM orders WHERE id % 2 = 0",
}
PROGRAM = "CREATE TABLE orders (id BIGINT, customer STRING, price DECIMAL(10,2));\n" + "".join(
    f"CREATE MATERIALIZED VIEW {name} AS {query};\n" for name, query in QUERIES.items()
)
MANY = "SELECT id, CONCAT('c', id % 7), CAST(id % 1000 AS DECIMAL(10,2)) / 8 FROM range(30000)"


@pytest.fixture
def said(tmp_path: Path, spark_engine: Engine, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    """The pipeline, with many rows in its table."""
    write_shop(tmp_path, PROGRAM)
    command = CommandLine(tmp_path, capsys, spark_engine)
    command("apply", "shop")
    told = command("execute", "shop", f"INSERT INTO orders {MANY}")
    assert (
        told
        == "orders: 30000 row(s); brought up to date: all_prices, cheap, either, latest, middle, revenue, spread, whole\n"
    )
    return command


def files_of(said: CommandLine, view: str) -> set[str]:
    """The files of a view's table."""
    table = plain_table(str(next((said.root / "warehouse").glob(f"**/{view}"))))
    assert table is not None
    return {file.path for file in table.files}


def require_right(said: CommandLine) -> None:
    """Each view holds what its query gives, to the last digit."""
    for name, query in QUERIES.items():
        wanted = said("query", "shop", f"SELECT * FROM ({query}) AS wanted ORDER BY ALL", "--format", "json")
        found = said("query", "shop", f"SELECT * FROM {name} ORDER BY ALL", "--format", "json")
        assert found == wanted, name


def test_views_over_a_large_table_follow_what_changes(said: CommandLine) -> None:
    told = said("execute", "shop", "INSERT INTO orders VALUES (1, 'c1', 0.05), (2, NULL, NULL), (4, 'new', 7.77)")
    anew = "what is kept computed anew"
    told_of = "cheap (rows added), either ({0}), latest ({0}), middle ({0}), revenue ({1}), spread ({0}), whole ({1})"
    changes = "by what changed"
    assert told == f"orders: 3 row(s); brought up to date: all_prices, {told_of.format(changes, anew)}\n"
    require_right(said)
    told = said("execute", "shop", "INSERT INTO orders VALUES (6, 'new', 0.01), (8, NULL, -3.10), (9, 'c1', NULL)")
    ways = told_of.format(changes, changes)
    assert told == f"orders: 3 row(s); brought up to date: all_prices, {ways}\n"
    require_right(said)
    files = files_of(said, "cheap")
    told = said("execute", "shop", "DELETE FROM orders WHERE customer = 'new'")
    ways = ways.replace("rows added", changes)
    assert told == f"orders: 2 row(s); brought up to date: all_prices, {ways}\n"
    require_right(said)
    assert files & files_of(said, "cheap"), "files without rows that go stay"
    rows = stored_rows(said.root, "revenue")
    assert rows is not None
    assert "new" not in {row[0] for row in rows}, "a group of which no row is left is gone"
    explained = said("explain", "shop", "revenue")
    assert "by what changes in orders: counts and sums by customer are kept" in explained
    assert "it remembers 8 rows" in explained
    assert "by its query, computed again: COLLECT_LIST has no rule" in said("explain", "shop", "all_prices")
    assert "the groups by id % 3000 of which rows change are computed anew" in said("explain", "shop", "spread")
    assert "by what changes in orders: rows are added and taken out" in said("explain", "shop", "cheap")
    assert "no changes" in said("plan", "shop")
