"""VARIANT columns, end to end on Spark: declared, filled, read by views, stored in Delta, changed."""

import json
from pathlib import Path
from typing import Any

import pytest

from reconciler.engine.protocol import Engine
from tests.served import run

pytestmark = [pytest.mark.spark, pytest.mark.both_ways]

YAML = """\
apiVersion: reconciler/v1
kind: Pipeline
metadata: {name: shop}
spec: {bootstrap_policy: allow, evolution: evolve}
"""
PROGRAM = """\
CREATE TABLE events (id BIGINT NOT NULL PRIMARY KEY, v VARIANT);
CREATE TABLE bag (v VARIANT, parts ARRAY<VARIANT>);
CREATE FUNCTION size_of(v VARIANT) RETURNS INT AS length(to_json(v));
CREATE MATERIALIZED VIEW orders AS SELECT id, v:Order::INT AS upper, v:order::INT AS lower FROM events;
CREATE MATERIALIZED VIEW kept AS SELECT id, v AS whole, v:list AS list, size_of(v) AS size FROM events;
CREATE MATERIALIZED VIEW counted AS SELECT to_json(v) AS v, count(*) AS n FROM bag GROUP BY to_json(v);
"""


@pytest.fixture
def reconcile(tmp_path: Path, spark_engine: Engine, capsys: pytest.CaptureFixture[str]) -> Any:
    folder = tmp_path / "pipelines" / "shop"
    folder.mkdir(parents=True)
    (folder / "pipeline.yaml").write_text(YAML)
    (folder / "program.sql").write_text(PROGRAM)

    def call(*arguments: str, expect: int = 0) -> str:
        capsys.readouterr()
        code = run([*arguments, "--repo", str(tmp_path)], spark_engine)
        captured = capsys.readouterr()
        assert code == expect, captured.out + captured.err
        return captured.out

    return call


def test_a_variant_is_kept_read_and_changed(reconcile: Any, tmp_path: Path) -> None:
    def rows(sql: str) -> list[list[Any]]:
        found = json.loads(reconcile("query", "shop", sql, "--format", "json"))["rows"]
        return [list(one.values()) for one in found]

    reconcile("apply", "shop")
    one, two = '{"Order": 1, "order": 2, "list": [1, "1", null]}', '"a text"'
    reconcile("execute", "shop", f"INSERT INTO events SELECT 1, parse_json('{one}') UNION ALL SELECT 2, parse_json('{two}')")
    reconcile("execute", "shop", "INSERT INTO events VALUES (3, NULL), (4, CAST(5 AS VARIANT))")
    assert rows("SELECT id, upper, lower FROM orders WHERE id = 1") == [[1, 1, 2]]
    assert rows("SELECT id, to_json(whole) AS w, to_json(list) AS l, size FROM kept ORDER BY id") == [
        [1, '{"Order":1,"list":[1,"1",null],"order":2}', '[1,"1",null]', 41],
        [2, '"a text"', None, 8],
        [3, None, None, None],
        [4, "5", None, 1],
    ]
    assert [[one[0], json.loads(one[1])["order"]] for one in rows("SELECT id, whole FROM kept WHERE id = 1")] == [[1, 2]]

    # A row with the key of another takes its place; a view that holds VARIANTs follows.
    reconcile("execute", "shop", "INSERT INTO events SELECT 1, parse_json('{}')")
    assert rows("SELECT to_json(whole) FROM kept WHERE id = 1") == [["{}"]]

    # Without a key, a delete takes one of two equal copies.
    reconcile("execute", "shop", f"INSERT INTO bag SELECT parse_json('{one}'), array(parse_json('1')) FROM range(2)")
    reconcile("execute", "shop", "DELETE FROM bag WHERE v:Order::INT = 2")
    assert rows("SELECT n FROM counted") == [[2]]
    reconcile("execute", "shop", "DELETE FROM bag WHERE v:Order::INT = 1")
    assert rows("SELECT n FROM counted") == []
    assert "  no changes\n" in reconcile("plan", "shop", "--detailed-exitcode")

    # Letter case after a colon is data, and a new VARIANT column keeps the rows that are there.
    program = tmp_path / "pipelines" / "shop" / "program.sql"
    changed = PROGRAM.replace("v:order::INT AS lower", "v:Order::INT AS lower").replace(
        "v VARIANT);", "v VARIANT, w VARIANT);"
    )
    program.write_text(changed)
    assert "orders" in reconcile("plan", "shop")
    reconcile("apply", "shop")
    reconcile("execute", "shop", f"INSERT INTO events SELECT 5, NULL, parse_json('{one}')")
    assert rows("SELECT id, to_json(v) AS v, w:order::INT AS w FROM events WHERE id IN (1, 5) ORDER BY id") == [
        [1, "{}", None],
        [5, None, 2],
    ]
