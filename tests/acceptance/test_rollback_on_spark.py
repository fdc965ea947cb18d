"""Rollbacks on real Spark and Delta, by the command line: at once where rows are kept and current, computed where they are
not, the same for whoever opens the permanent path, and whole after a death at any point of the switch."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from reconciler import Project
from reconciler.engine.protocol import Engine
from reconciler.testing.crashes import Crash, crash_at
from tests.acceptance.command_line import CommandLine
from tests.acceptance.shop import stored_columns, stored_rows, write_shop
from tests.acceptance.test_kept_rows import jobs
from tests.cells import mostly_slow

pytestmark = [pytest.mark.spark, pytest.mark.both_ways]

TABLE = "CREATE TABLE orders (id BIGINT, customer STRING, price DECIMAL(10,2));\n"
BELOW = "CREATE MATERIALIZED VIEW customers AS SELECT COUNT(*) AS n, MAX(revenue) AS most FROM revenue;\n"
PROGRAMS = [
    TABLE + f"CREATE MATERIALIZED VIEW revenue AS SELECT {query} FROM orders GROUP BY customer;\n" + BELOW
    for query in ("customer, SUM(price) AS revenue", "CAST(SUM(price) * 100 AS BIGINT) AS revenue, customer")
]


def contents(root: Path) -> dict[str, Any]:
    """What a reader of Delta that is not ours finds at the permanent paths."""
    return {name: (stored_columns(root, name), stored_rows(root, name)) for name in ("revenue", "customers")}


@pytest.fixture(scope="module")
def applied(tmp_path_factory: pytest.TempPathFactory, spark_engine: Engine) -> tuple[Path, dict[str, Any]]:
    """Two versions were applied, over the same rows; what the first one held."""
    root = tmp_path_factory.mktemp("applied")
    write_shop(root, PROGRAMS[0])
    pipeline = Project.open(root, engine=spark_engine).pipeline("shop")
    pipeline.apply()
    pipeline.execute("INSERT INTO orders VALUES (1, 'Ada', 30.00), (2, 'Ada', 12.50), (3, 'Bob', 5.00)")
    before = contents(root)
    write_shop(root, PROGRAMS[1])
    pipeline.apply()
    return root, before


@pytest.fixture
def before(applied: tuple[Path, dict[str, Any]]) -> dict[str, Any]:
    return applied[1]


@pytest.fixture
def said(
    applied: tuple[Path, dict[str, Any]], tmp_path: Path, spark_engine: Engine, capsys: pytest.CaptureFixture[str]
) -> CommandLine:
    shutil.copytree(applied[0], tmp_path / "shop")
    return CommandLine(tmp_path / "shop", capsys, spark_engine)


def test_it_takes_no_job_and_stays(said: CommandLine, before: dict[str, Any]) -> None:
    after, ran = contents(said.root), jobs()
    assert "v0's rows are kept and current; nothing was computed" in said("rollback", "revenue")
    assert contents(said.root) == before
    planned = said("plan", "shop")
    assert "no changes" in planned
    assert "rolled back: view revenue to v0" in planned
    assert "nothing to do" in said("apply", "shop")
    assert "active (rolled back)" in said("versions", "list", "revenue")
    assert "end of the rollback" in said("rollback", "--end", "revenue")
    assert contents(said.root) == after
    assert jobs() == ran
    said("rollback", "--pipeline", "shop", "--to", "1")
    assert contents(said.root) == before
    assert jobs() == ran
    answer = said("query", "shop", "SELECT r.revenue, c.n FROM revenue r CROSS JOIN customers c WHERE r.customer = 'Ada'")
    assert "42.50" in answer


@pytest.mark.slow
def test_rows_that_are_stale_are_computed_from_the_tables_as_they_stand(said: CommandLine, before: dict[str, Any]) -> None:
    said("execute", "shop", "INSERT INTO orders VALUES (4, 'Eve', 1.00)")
    ran = jobs()
    assert "kept" not in said("rollback", "revenue").partition("shop: ")[2]
    assert jobs() > ran
    found = contents(said.root)
    assert found["revenue"][0] == before["revenue"][0]
    assert {tuple(map(str, row)) for row in found["revenue"][1]} == {("Ada", "42.50"), ("Bob", "5.00"), ("Eve", "1.00")}
    assert "no changes" in said("plan", "shop")
    said("execute", "shop", "DELETE FROM orders WHERE customer = 'Ada'")
    assert {row[0] for row in contents(said.root)["revenue"][1]} == {"Bob", "Eve"}


@pytest.mark.parametrize(
    "boundary",
    mostly_slow(["bootstrap_view:effected", "publish_view:effected", "publish_view:effected#2"], "publish_view:effected"),
)
def test_killed_on_the_way_it_ends_the_same(
    boundary: str, said: CommandLine, before: dict[str, Any], spark_engine: Engine
) -> None:
    name, _, occurrence = boundary.partition("#")
    ran, here = jobs(), Project.open(said.root, engine=spark_engine).pipeline("shop")
    with pytest.raises(Crash):
        here.observed(boundary=crash_at(name, int(occurrence or "1"))).rollback("revenue")
    assert "finished an earlier apply" in said("rollback", "revenue")
    assert contents(said.root) == before
    assert jobs() == ran
    assert "no changes" in said("plan", "shop")
