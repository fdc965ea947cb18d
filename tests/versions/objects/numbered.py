"""A pipeline with an object of each kind, over real Delta tables without Spark, and the numbers that its versions have."""

from pathlib import Path
from typing import Any

from reconciler.environment.target import Target, open_target
from reconciler.registry.model import Head
from reconciler.registry.protocol import HISTORY_COLUMNS, History
from reconciler.service.pipeline import Pipeline
from reconciler.service.project import Project
from reconciler.state.histories import published_rows
from reconciler.testing.recording import RecordingEngine
from tests.acceptance.shop import write_shop
from tests.engine.delta_writer import DeltaWriter

SQL = """\
CREATE TABLE t (id BIGINT, x INT);
CREATE TABLE s (id BIGINT);
CREATE FUNCTION f(x INT) RETURNS INT AS x + 1;
CREATE LOCAL VIEW l AS SELECT id, x FROM t;
CREATE MATERIALIZED VIEW v AS SELECT id, f(x) AS y FROM l;
CREATE VIEW w AS SELECT * FROM v;
"""
OTHER = SQL.replace("f(x) AS y", "f(x + 1) AS y")
THIRD = SQL.replace("f(x) AS y", "f(x + 2) AS y")
ALL = ("function:f", "table:s", "table:t", "view:l", "view:v", "view:w")
EVOLVE = "  evolution: evolve\n"


def open_shop(root: Path, engine: RecordingEngine | None = None) -> Pipeline:
    return Project.open(root, engine=engine or RecordingEngine(DeltaWriter())).pipeline("shop")


def apply(root: Path, sql: str = SQL, more: str = "", metadata: str = "") -> dict[str, int | None]:
    """Apply; the active numbers afterwards, of what was ever there."""
    write_shop(root, sql, more=more)
    path = root / "pipelines/shop/pipeline.yaml"
    path.write_text(path.read_text().replace("  name: shop\n", f"  name: shop\n{metadata}"))
    open_shop(root).apply()
    return active(root)


def target_of(root: Path) -> Target:
    return open_target(root, None)


def head_of(root: Path, pipeline: str = "shop") -> Head:
    stored = target_of(root).registry.head(pipeline)
    assert stored is not None
    return stored.value


def active(root: Path, pipeline: str = "shop") -> dict[str, int | None]:
    """The active numbers by key; the histories must agree with the head."""
    head = head_of(root, pipeline)
    told, rows = told_active(root, pipeline), recorded(root, pipeline)
    by_object: dict[str, list[int]] = {}
    for name, number in rows:
        by_object.setdefault(name, []).append(number)
    assert {one.id for one in head.versions.values()} == set(by_object) == set(told)
    assert len({one.id for one in head.versions.values()}) == len(head.versions)
    for key, one in head.versions.items():
        assert by_object[one.id] == list(range(one.last + 1)), "each number is recorded once, and none is left out"
        assert told[one.id][0] == one.active
        if one.active is not None:
            assert one.active <= one.last
            assert f"{one.id.partition(':')[0]}:{told[one.id][1]}" == key
    return {key: one.active for key, one in head.versions.items()}


def rows_of(root: Path, history: History, pipeline: str = "shop") -> list[dict[str, Any]]:
    """Of what took place, by step."""
    registry, head = target_of(root).registry, head_of(root, pipeline)
    rows = published_rows(registry, head, history, HISTORY_COLUMNS[history])
    return sorted(map(dict, rows), key=lambda row: (int(row["step"]), row["object"]))


def recorded(root: Path, pipeline: str = "shop") -> list[tuple[str, int]]:
    return sorted((row["object"], int(row["number"])) for row in rows_of(root, History.VERSIONS, pipeline))


def told_active(root: Path, pipeline: str = "shop") -> dict[str, tuple[int | None, str]]:
    rows = rows_of(root, History.ACTIVATIONS, pipeline)
    return {row["object"]: (int(row["number"]) if row["number"] else None, row["name"]) for row in rows}


def numbers(**others: int | None) -> dict[str, int | None]:
    """0 for everything of SQL but what is given (by name)."""
    keys = {key.partition(":")[2]: key for key in ALL}
    return dict.fromkeys(ALL, 0) | {keys[name]: number for name, number in others.items()}


def moved(*pairs: str) -> str:
    entries = ", ".join("{{from: {}, to: {}}}".format(*pair.split()) for pair in pairs)
    return f"{EVOLVE}  moved: [{entries}]\n"


RENAMED = SQL.replace("VIEW v", "VIEW vv").replace("FROM v", "FROM vv").replace("TABLE s", "TABLE ss")
