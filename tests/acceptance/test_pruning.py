"""Pruning on Spark, through the command line: what stays reads as before, what went is gone and says so."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reconciler.delta.opening import open_table
from reconciler.engine.protocol import Engine
from tests.acceptance.shop import write_shop
from tests.served import run

pytestmark = [pytest.mark.spark, pytest.mark.both_ways]

FIRST = """\
CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, price INT);
CREATE MATERIALIZED VIEW total AS SELECT SUM(price) AS total FROM orders;
CREATE VIEW dear AS SELECT id FROM orders WHERE price > 10;
"""
SECOND = FIRST.replace("SUM(price)", "SUM(price) * 2").replace("> 10", "> 15")
THIRD = FIRST.replace("SUM(price)", "SUM(price) * 3")
MORE = "  versions: {reads: true}\n  retention: {versions: 0, steps: 0s}\n"

Call = Callable[..., Any]


@pytest.fixture
def call(tmp_path: Path, spark_engine: Engine, capsys: pytest.CaptureFixture[str]) -> Call:
    """Words of a command; what it prints, of `query` the rows."""

    def typed(*words: str, code: int = 0) -> Any:
        capsys.readouterr()
        more = ("--format", "json") if words[0] == "query" and code == 0 else ()
        assert run([*words, *more, "--repo", str(tmp_path)], spark_engine) == code
        printed = capsys.readouterr()
        return json.loads(printed.out) if more else printed.out + printed.err

    return typed


def files(root: Path, relation: str) -> set[str]:
    return {path.name for path in (root / "warehouse/shop" / relation).rglob("*.parquet") if "_delta_log" not in path.parts}


def files_of(root: Path, relation: str, *versions: int) -> set[str]:
    found = set()
    for version in versions:
        table = open_table(str(root / "warehouse/shop" / relation), version)
        assert table is not None
        found |= {Path(path).name for path in table.get_add_actions(flatten=True)["path"].to_pylist()}
    return found


@pytest.mark.slow
def test_what_stays_reads_as_before_and_what_went_is_gone(call: Call, tmp_path: Path) -> None:
    def apply(program: str, more: str = MORE) -> None:
        write_shop(tmp_path, program, more=more)
        call("apply", "shop")

    apply(FIRST)
    call("execute", "shop", "INSERT INTO orders VALUES (1, 10), (2, 20)")
    apply(SECOND)
    call("execute", "shop", "INSERT INTO orders VALUES (1, 11), (3, 500)")
    call("checkpoint", "create", "shop", "--name", "then")
    then = call("query", "shop", "SELECT * FROM total")["rows"]
    call("execute", "shop", "DELETE FROM orders WHERE id = 3")
    apply(THIRD)
    call("execute", "shop", "INSERT INTO orders VALUES (4, 1), (2, 21)")
    call("versions", "alias", "dear@first", "v0")
    call("versions", "alias", "total@first", "v0")
    now = {name: call("query", "shop", f"SELECT * FROM {name} ORDER BY 1")["rows"] for name in ("orders", "total", "dear")}
    first = {name: call("query", "shop", f"SELECT * FROM {name}")["rows"] for name in ("total@first", "dear@v0")}
    before = files(tmp_path, "total"), files(tmp_path, "orders")

    assert "checkpoint then" in call("prune", "shop", "--dry-run")
    assert (files(tmp_path, "total"), files(tmp_path, "orders")) == before
    told = json.loads(call("prune", "shop", "--format", "json").partition("\nshop")[0])

    assert told["pipelines"][0]["pruned"] == []
    assert files(tmp_path, "total") == files_of(tmp_path, "total", 1, 3, 4, 6)
    assert {name: call("query", "shop", f"SELECT * FROM {name} ORDER BY 1")["rows"] for name in now} == now
    assert {name: call("query", "shop", f"SELECT * FROM {name}")["rows"] for name in first} == first
    assert "X736" in call("query", "shop", "SELECT * FROM total", "--at-step", "2", code=1)
    assert "nothing to prune" in call("prune", "shop")
    assert "no changes" in call("plan", "shop")

    call("checkpoint", "create", "shop", "--name", "last")
    apply(THIRD, MORE.replace("0s", "0s, checkpoints: 0s"))
    call("versions", "unalias", "total@first")
    call("prune", "shop")
    assert call("versions", "list", "total").count("pruned") == 2
    assert "X735" in call("query", "shop", "SELECT * FROM total@v0", code=1)
    assert "X735" in call("versions", "diff", "total@v1", "total@v2", "--data", code=1)
    assert "pruned on" in call("checkpoint", "restore", "shop", "then", code=1)
    assert call("query", "shop", "SELECT * FROM dear@first")["rows"] == first["dear@v0"]
    assert {name: call("query", "shop", f"SELECT * FROM {name} ORDER BY 1")["rows"] for name in now} == now
    assert "no changes" in call("plan", "shop")

    apply(THIRD, MORE + "  views: {total: {version: v1}}\n")
    assert call("query", "shop", "SELECT * FROM total")["rows"] != then
    assert call("query", "shop", "SELECT * FROM total@v1")["rows"] == call("query", "shop", "SELECT * FROM total")["rows"]
    call("execute", "shop", "INSERT INTO orders VALUES (5, 5)")
    assert call("query", "shop", "SELECT count(*) AS n FROM orders")["rows"] == [{"n": 4}]
