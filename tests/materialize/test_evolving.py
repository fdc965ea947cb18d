"""Rows that outlive a change of their table, and names that change: over real Delta tables, without Spark. The process dies
at every boundary of every kind of step, and whoever comes next ends where an undisturbed apply does."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from reconciler.base.errors import EngineError, ReconcileError
from reconciler.engine.protocol import TableBuild
from reconciler.registry.codec import head_from_json, head_to_json
from reconciler.registry.model import Head
from reconciler.service.pipeline import Pipeline
from reconciler.service.project import Project
from reconciler.testing.crashes import POINTS, Crash, crash_at
from reconciler.testing.recording import RecordingEngine
from tests.acceptance.shop import contents, stored_columns, stored_rows
from tests.cells import mostly_slow
from tests.engine.delta_writer import DeltaWriter

YAML = """\
apiVersion: reconciler/v1
kind: Pipeline
metadata: {name: shop}
spec:
  bootstrap_policy: allow
  evolution: evolve
"""
FILES = """\
  connectors:
    - name: %s
      table: %s
      transport: {name: file_input, config: {path: in}}
      format: {name: json}
"""
BEFORE = """\
CREATE TABLE wider (id INT, gone STRING, qty INT);
CREATE TABLE longer (id BIGINT);
CREATE TABLE old_name (id BIGINT NOT NULL);
CREATE TABLE again (id BIGINT);
CREATE MATERIALIZED VIEW over_wider AS SELECT id, qty FROM wider;
CREATE MATERIALIZED VIEW old_view AS SELECT id FROM longer;
CREATE MATERIALIZED VIEW other AS SELECT id FROM longer;
"""
AFTER = """\
CREATE TABLE wider (quantity INT, id BIGINT, note STRING);
CREATE TABLE longer (id BIGINT, added STRING DEFAULT 'x');
CREATE TABLE new_name (id BIGINT);
CREATE TABLE fresh (id BIGINT);
CREATE TABLE again_too (id BIGINT);
CREATE MATERIALIZED VIEW over_wider AS SELECT id, quantity AS qty FROM wider;
CREATE MATERIALIZED VIEW new_view AS SELECT id FROM longer;
CREATE MATERIALIZED VIEW renamed_other AS SELECT id + 1 AS id FROM longer;
CREATE MATERIALIZED VIEW sees_added AS SELECT added FROM longer;
"""
MOVED = """\
  moved:
    - {from: wider.qty, to: wider.quantity}
    - {from: old_name, to: new_name}
    - {from: again, to: again_too}
    - {from: old_view, to: new_view}
    - {from: other, to: renamed_other}
    - {from: again.files, to: again_too.arriving}
"""
KINDS = (
    "create_table",
    "evolve_table",
    "bootstrap_view",
    "extend_table",
    "publish_table",
    "publish_view",
    "rename_relation",
    "commit_snapshot",
)


def write(root: Path, yaml: str, program: str) -> None:
    folder = root / "pipelines" / "shop"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pipeline.yaml").write_text(yaml)
    (folder / "program.sql").write_text(program)
    (root / "reconcile.yaml").write_text("default: dev\nenvironments:\n  dev: {warehouse: warehouse}\n")


def opened(root: Path, engine: RecordingEngine | None = None) -> Pipeline:
    return Project.open(root, engine=engine or RecordingEngine(DeltaWriter())).pipeline("shop")


def head(root: Path) -> Head:
    stored = opened(root).target.registry.head("shop")
    assert stored is not None
    return stored.value


def state(root: Path) -> dict[str, Any]:
    found = head(root)
    assert found.published is not None
    assert found.applied is not None
    relations = {key: (p.location, p.version, p.rows, p.columns) for key, p in found.published.relations.items()}
    return {"relations": relations, "positions": found.positions, "digest": found.applied.digest, "journal": found.journal}


def locations(root: Path) -> Mapping[str, str]:
    published = head(root).published
    assert published is not None
    return {key: placement.location for key, placement in published.relations.items()}


@pytest.fixture(scope="module")
def baseline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("baseline")
    write(root, YAML + FILES % ("files", "again"), BEFORE)
    (root / "in").mkdir()
    (root / "in" / "a.json").write_text('{"id": 1}\n{"id": 2}\n')
    pipeline = opened(root)
    pipeline.apply()
    pipeline.execute("INSERT INTO wider VALUES (1, 'a', 10), (2, 'b', NULL)")
    pipeline.execute("INSERT INTO longer VALUES (5), (6)")
    pipeline.execute("INSERT INTO old_name VALUES (7)")
    pipeline.run_once()
    return root


@pytest.fixture
def shop(baseline: Path, tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    shutil.copytree(baseline, root)
    write(root, YAML + FILES % ("arriving", "again_too") + MOVED, AFTER)
    return root


@pytest.fixture(scope="module")
def undisturbed(baseline: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    root = tmp_path_factory.mktemp("undisturbed") / "shop"
    shutil.copytree(baseline, root)
    write(root, YAML + FILES % ("arriving", "again_too") + MOVED, AFTER)
    opened(root).apply()
    return {"state": state(root), "contents": contents(root)}


def test_the_scenario_takes_these_kinds_of_step(shop: Path) -> None:
    plan = opened(shop).plan()
    assert {step.to_json()["kind"] for step in plan.steps} == set(KINDS)
    assert [step.describe() for step in plan.steps if "table" in step.describe()] == [
        "create table fresh",
        "evolve table new_name",
        "evolve table wider: quantity from qty; note is NULL",
        "extend table longer by added",
        "publish table new_name",
        "publish table wider",
        "rename table again to again_too",
        "rename table old_name to new_name",
    ]


def test_rows_and_positions_are_kept_under_their_new_names(shop: Path, undisturbed: dict[str, Any]) -> None:
    files = {path.name for path in (shop / "warehouse/shop/longer").glob("*.parquet")}
    opened(shop).apply()
    assert stored_rows(shop, "wider") == [(10, 1, None), (None, 2, None)]
    assert stored_columns(shop, "wider") == ["quantity", "id", "note"]
    assert stored_rows(shop, "longer") == [(5, None), (6, None)]
    assert {path.name for path in (shop / "warehouse/shop/longer").glob("*.parquet")} == files
    assert {key: place for key, place in locations(shop).items() if key not in ("wider", "longer", "over_wider")} == {
        "again_too": "shop/again",
        "fresh": "shop/fresh",
        "new_name": "shop/old_name",
        "new_view": "shop/old_view",
        "renamed_other": "shop/other",
        "sees_added": "shop/sees_added",
    }
    assert stored_rows(shop, "old_name") == [(7,)]
    assert list(head(shop).positions) == ["again_too.arriving"]
    assert state(shop) == undisturbed["state"]
    assert opened(shop).plan().changes_nothing

    (shop / "in" / "b.json").write_text('{"id": 3}\n')
    opened(shop).run_once()
    assert stored_rows(shop, "again") == [(1,), (2,), (3,)]
    opened(shop).execute("INSERT INTO longer (id) VALUES (9)")
    assert stored_rows(shop, "longer") == [(5, None), (6, None), (9, "x")]


def test_what_comes_after_a_rename_finds_the_folder_by_the_new_name(shop: Path) -> None:
    opened(shop).apply()
    later = AFTER.replace("new_name (id BIGINT)", "new_name (id BIGINT, n INT)") + "CREATE TABLE old_name (other STRING);"
    write(shop, YAML + FILES % ("arriving", "again_too"), later)
    opened(shop).apply()
    assert stored_columns(shop, "old_name") == ["id", "n"]
    assert stored_rows(shop, "old_name") == [(7, None)]
    assert stored_columns(shop, "old_name-2") == ["other"]
    assert locations(shop)["old_name"] == "shop/old_name-2"
    opened(shop).execute("INSERT INTO old_name VALUES ('y')")
    assert stored_rows(shop, "old_name-2") == [("y",)]
    write(shop, YAML, "CREATE TABLE old_name (other STRING);")
    opened(shop).apply()
    assert sorted(path.name for path in (shop / "warehouse" / "shop").iterdir()) == ["old_name-2"]
    write(shop, YAML, "CREATE TABLE old_name (other STRING); CREATE TABLE new_name (id INT);")
    opened(shop).apply()
    assert locations(shop) == {"old_name": "shop/old_name-2", "new_name": "shop/new_name"}
    assert stored_rows(shop, "old_name-2") == [("y",)]


def test_data_where_a_second_folder_would_be_is_not_taken(shop: Path) -> None:
    opened(shop).apply()
    shutil.copytree(shop / "warehouse/shop/longer", shop / "warehouse/shop/old_name-2")
    write(shop, YAML + FILES % ("arriving", "again_too"), AFTER + "CREATE TABLE old_name (other STRING);")
    with pytest.raises(ReconcileError) as raised:
        opened(shop).apply()
    assert raised.value.code == "A505"
    assert "old_name-2" in raised.value.message


@pytest.mark.parametrize(
    "boundary",
    mostly_slow(
        [
            *(f"{kind}:{point}" for kind in KINDS for point in POINTS),
            "evolve_table:effected#2",
            "publish_table:effected#2",
            "rename_relation:effected#4",
        ],
        *(f"{kind}:effected" for kind in KINDS),
    ),
)
def test_an_apply_killed_there_and_applied_again_ends_the_same(
    boundary: str, shop: Path, undisturbed: dict[str, Any]
) -> None:
    name, _, occurrence = boundary.partition("#")
    with pytest.raises(Crash):
        opened(shop).observed(boundary=crash_at(name, int(occurrence or "1"))).apply()
    opened(shop).apply()
    assert state(shop) == undisturbed["state"]
    assert contents(shop) == undisturbed["contents"]
    assert opened(shop).plan().changes_nothing
    log = shop / "warehouse/shop/longer/_delta_log"
    assert len([path for path in log.iterdir() if "metaData" in path.read_text()]) == 2


def test_an_engine_that_refuses_to_evolve_leaves_everything_as_it_was(shop: Path) -> None:
    class Refusing(RecordingEngine):
        def build_table(self, build: TableBuild) -> Any:
            if build.table == "wider":
                raise EngineError("X712", "no")
            return super().build_table(build)

    before, found = contents(shop), state(shop)
    with pytest.raises(EngineError):
        opened(shop, Refusing(DeltaWriter())).apply()
    assert contents(shop) == before
    assert state(shop) == found
    assert not [path for path in (shop / "warehouse/shop").glob("*/v-*") if path.parent.name in ("wider", "old_name")]
    opened(shop).apply()
    assert stored_rows(shop, "wider") == [(10, 1, None), (None, 2, None)]


def test_a_view_that_reads_a_column_to_come_reads_null_there(shop: Path) -> None:
    engine = RecordingEngine(DeltaWriter())
    opened(shop, engine).apply()
    (build,) = [call for call in engine.calls if getattr(call, "view", None) == "sees_added"]
    (source,) = build.sources
    assert engine._contents(source).rows == ((5, None), (6, None))


def test_a_head_of_an_older_version_has_no_former_names(shop: Path) -> None:
    with pytest.raises(Crash):
        opened(shop).observed(boundary=crash_at("create_table:before")).apply()
    found = head(shop)
    assert found.journal is not None
    assert dict(found.journal.formerly) == {"again_too.arriving": "again.files"}
    assert head_from_json(json.loads(json.dumps(head_to_json(found))), "here") == found
    old = json.loads(json.dumps(head_to_json(found)))
    del old["journal"]["formerly"]
    read = head_from_json(old, "here").journal
    assert read is not None
    assert read.formerly == {}
