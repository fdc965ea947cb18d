"""Versions in queries, on Spark: `v@v1`, joined with others, as of earlier steps; what is not allowed, and what is gone."""

import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from reconciler import Project
from reconciler.base.errors import NotFound, ReconcileError
from reconciler.engine.protocol import Engine
from reconciler.service.pipeline import Pipeline
from tests.acceptance.shop import write_shop
from tests.served import run

pytestmark = pytest.mark.both_ways

FIRST = """\
CREATE TABLE orders (id BIGINT, price INT);
CREATE MATERIALIZED VIEW total AS SELECT SUM(price) AS total FROM orders;
CREATE VIEW dear AS SELECT id, price FROM orders WHERE price > 10;
CREATE LOCAL VIEW hidden AS SELECT id FROM orders;
CREATE MATERIALIZED VIEW dear_ones AS SELECT COUNT(*) AS n FROM dear;
"""
SECOND = FIRST.replace("SUM(price) AS total", "SUM(price) * 2 AS total, COUNT(*) AS n").replace("price > 10", "price > 100")
READS = "  versions: {reads: true}\n"

Apply = Callable[..., Pipeline]


def applying(root: Path, engine: Engine) -> Apply:
    def apply_program(program: str, more: str = READS) -> Pipeline:
        write_shop(root, program, more=more)
        pipeline = Project.open(root, engine=engine).pipeline("shop")
        pipeline.apply()
        return pipeline

    return apply_program


@pytest.fixture
def apply(tmp_path: Path, spark_engine: Engine) -> Apply:
    return applying(tmp_path, spark_engine)


def build(apply: Apply) -> Pipeline:
    """total v0 holds (30), then v1 (60, 2) and, after one more order, (1060, 3); dear v0 and v1 are computed in place."""
    shop = apply(FIRST)
    shop.execute("INSERT INTO orders VALUES (1, 10), (2, 20)")
    apply(SECOND)
    shop.execute("INSERT INTO orders VALUES (3, 500)")
    return shop


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory, spark_engine: Engine) -> Path:
    """A repository that no test changes."""
    root = tmp_path_factory.mktemp("versions")
    build(applying(root, spark_engine))
    return root


@pytest.fixture
def copied(root: Path, tmp_path: Path) -> Path:
    """A repository to change."""
    return Path(shutil.copytree(root, tmp_path / "copy"))


@pytest.fixture
def shop(root: Path, spark_engine: Engine) -> Pipeline:
    return Project.open(root, engine=spark_engine).pipeline("shop")


def rows(pipeline: Pipeline, sql: str, at_step: int | None = None) -> list[dict[str, object]]:
    return list(pipeline.query(sql, at_step))


def test_a_version_that_is_not_active_holds_what_it_held_last(shop: Pipeline) -> None:
    assert rows(shop, "SELECT * FROM total@v0") == [{"total": 30}]
    answer = shop.answer("SELECT * FROM `total@v0`")
    assert (answer.step, answer.versions) == (3, {"total@v0": 1})


def test_the_active_version_is_the_relation(shop: Pipeline) -> None:
    answer = shop.answer("SELECT * FROM total@v1")
    assert list(answer.rows.as_dictionaries()) == rows(shop, "SELECT * FROM total") == [{"total": 1060, "n": 3}]
    assert answer.versions == {"total@v1": 3}


def test_versions_are_joined_with_each_other_and_with_what_is(shop: Pipeline) -> None:
    sql = "SELECT o.total AS old, n.total AS new, count(orders.id) AS n FROM total@v0 o, Total@v1 n, orders GROUP BY ALL"
    assert rows(shop, sql) == [{"old": 30, "new": 1060, "n": 3}]


def test_a_view_that_is_computed_in_place_is_so_from_what_it_read_then(shop: Pipeline) -> None:
    assert rows(shop, "SELECT id FROM dear@v0") == [{"id": 2}]
    assert rows(shop, "SELECT id FROM dear@v1") == [{"id": 3}]
    both = "SELECT a.id AS a, b.id AS b, (SELECT count(*) FROM orders) AS n FROM dear@v0 a CROSS JOIN dear@v1 b"
    assert rows(shop, both) == [{"a": 2, "b": 3, "n": 3}]


def test_a_version_at_a_past_step(shop: Pipeline) -> None:
    assert rows(shop, "SELECT * FROM total@v1", 2) == [{"total": 60, "n": 2}]
    assert rows(shop, "SELECT * FROM total@v0", 2) == [{"total": 30}]
    assert rows(shop, "SELECT * FROM total@v0", 0) == [{"total": None}]
    with pytest.raises(NotFound) as caught:
        rows(shop, "SELECT * FROM total@v1", 1)
    assert caught.value.code == "A522"
    assert "was not active at step 1" in caught.value.message


def test_a_version_that_came_back_goes_on(copied: Path, spark_engine: Engine) -> None:
    shop = applying(copied, spark_engine)(FIRST)
    shop.execute("INSERT INTO orders VALUES (4, 1)")
    assert rows(shop, "SELECT * FROM total@v0") == [{"total": 531}]
    assert rows(shop, "SELECT * FROM total@v1") == [{"total": 1060, "n": 3}]


@pytest.mark.parametrize(
    ("sql", "code", "said"),
    [
        ("SELECT * FROM total@v7", "A522", "there are v0, v1"),
        ("SELECT * FROM total@latest", "A522", "there are v0, v1"),
        ("SELECT * FROM totl@v0", "A520", "did you mean 'total'?"),
        ("SELECT * FROM `other.total@v0`", "X722", "total@v0"),
        ("SELECT * FROM hidden@v0", "X722", "is LOCAL"),
    ],
)
def test_what_is_no_version(shop: Pipeline, sql: str, code: str, said: str) -> None:
    with pytest.raises(ReconcileError) as caught:
        rows(shop, sql)
    assert caught.value.code == code
    assert said in f"{caught.value.message} {caught.value.hint}"


def test_it_has_to_be_allowed(apply: Apply) -> None:
    shop = apply(FIRST, "")
    with pytest.raises(ReconcileError) as caught:
        rows(shop, "SELECT * FROM total@v0")
    assert caught.value.code == "A524"
    assert "spec.versions.reads" in str(caught.value.hint)
    plan = apply(FIRST).plan()
    assert plan.changes_nothing
    assert rows(shop, "SELECT * FROM total@v0") == [{"total": None}]


def test_the_command_says_as_of_which_step(root: Path, spark_engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run(["query", "shop", "SELECT * FROM total@v0", "--repo", str(root)], spark_engine) == 0
    printed = capsys.readouterr()
    assert "(1 row, step 3)" in printed.out
    assert "total@v0 as of step 1" in printed.err
    assert run(["query", "shop", "SELECT * FROM total@v0", "--repo", str(root), "--format", "json"], spark_engine) == 0
    assert json.loads(capsys.readouterr().out) == {"step": 3, "versions": {"total@v0": 1}, "rows": [{"total": 30}]}


def test_rows_that_are_gone_are_said_to_be(copied: Path, spark_engine: Engine) -> None:
    shop = Project.open(copied, engine=spark_engine).pipeline("shop")
    head = shop.target.registry.head("shop")
    assert head is not None
    assert head.value.published is not None
    folder = copied / "warehouse" / head.value.published.relations["total"].location
    for path in folder.rglob("*.parquet"):
        if "_delta_log" not in path.parts:
            path.unlink()
    with pytest.raises(ReconcileError) as caught:
        rows(shop, "SELECT * FROM total@v0")
    assert caught.value.code == "X730"
    assert "total@v0 can't be read at step 1" in caught.value.message


def test_what_was_replaced_long_ago_is_read(copied: Path, spark_engine: Engine) -> None:
    """Delta by itself refuses what was replaced more than a week ago, though its files are there."""
    shop = Project.open(copied, engine=spark_engine).pipeline("shop")
    long_ago = time.time() - 400 * 86400
    for log in copied.rglob("total/_delta_log"):
        for number, path in enumerate(sorted(log.iterdir())):
            os.utime(path, (long_ago + number, long_ago + number))
    assert rows(shop, "SELECT * FROM total@v0") == [{"total": 30}]
    assert rows(shop, "SELECT * FROM total", 2) == [{"total": 60, "n": 2}]
