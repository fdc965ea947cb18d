"""A table without a key gets a file each step. A run puts them together by itself: what is published is the version that has
fewer files, and everything else is as if they were not. Over real Delta tables, without Spark."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from reconciler.base.errors import EngineError
from reconciler.delta.tables import statistics
from reconciler.engine.by_size import EngineBySize
from reconciler.engine.protocol import ViewBuild
from reconciler.engine.sources import StoredSource
from reconciler.registry.placements import Placement
from reconciler.service.pipeline import Pipeline
from reconciler.service.project import Project
from reconciler.testing.recording import RecordingEngine
from tests.acceptance.faults import Fault, Faults, Style, run_with
from tests.engine.delta_writer import DeltaWriter

MANY = 4
PROGRAM = """\
CREATE TABLE log (line VARCHAR);
CREATE MATERIALIZED VIEW lines AS SELECT line FROM log;
"""
YAML = """\
apiVersion: reconciler/v1
kind: Pipeline
metadata: {name: shop}
spec:
  bootstrap_policy: allow
  connectors:
    - {name: lines, table: log, transport: {name: file_input, config: {path: source}}, format: {name: json}}
    - {name: more, table: log, transport: {name: file_input, config: {path: more}}, format: {name: json}}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    folder = root / "pipelines" / "shop"
    folder.mkdir(parents=True)
    (folder / "program.sql").write_text(PROGRAM)
    (folder / "pipeline.yaml").write_text(YAML)
    (root / "reconcile.yaml").write_text("default: dev\nenvironments:\n  dev: {warehouse: warehouse}\n")
    for name in ("source", "more"):
        (root / name).mkdir()
    shop(root).apply()
    return root


def engine(spark: RecordingEngine | None = None, settings: Mapping[str, str] | None = None) -> EngineBySize:
    return EngineBySize(spark or RecordingEngine(DeltaWriter()), lambda: settings or {}, many_files=MANY)


def shop(root: Path, by: EngineBySize | None = None) -> Pipeline:
    return Project.open(root, engine=by or engine()).pipeline("shop")


def put(root: Path, number: int, folder: str = "source") -> None:
    (root / folder / f"{number:03}.json").write_text(json.dumps({"line": f"{folder} {number}"}) + "\n")


def step(root: Path, number: int, by: EngineBySize | None = None) -> None:
    put(root, number)
    assert shop(root, by).run_once().step_count == 1


def placement(root: Path) -> Placement:
    stored = shop(root).target.registry.head("shop")
    assert stored is not None
    assert stored.value.published is not None
    return stored.value.published.relations["log"]


def location(root: Path) -> str:
    return str(root / "warehouse" / placement(root).location)


def lines(root: Path, version: int | None = None) -> list[Any]:
    return sorted(DeltaWriter().read(location(root), placement(root).version if version is None else version).rows)


def expected(*numbers: int) -> list[tuple[str]]:
    return [(f"source {number}",) for number in numbers]


def test_files_stay_few_and_what_is_published_has_all_rows(root: Path) -> None:
    counts = []
    for number in range(1, 10):
        step(root, number)
        published = placement(root)
        found = statistics(location(root))
        assert found is not None
        assert found.version == published.version, "nothing stands behind what is published"
        assert (found.rows, found.bytes) == (published.rows, published.bytes) == (number, found.bytes)
        assert lines(root) == expected(*range(1, number + 1))
        counts.append(found.files)

    assert counts == [1, 2, 3, 1, 2, 3, 1, 2, 3]


def test_earlier_steps_are_read_as_they_were(root: Path) -> None:
    versions = {}
    for number in range(1, 6):
        step(root, number)
        versions[number] = placement(root).version

    assert versions == {1: 1, 2: 2, 3: 3, 4: 5, 5: 6}
    for number, version in versions.items():
        assert lines(root, version) == expected(*range(1, number + 1))


def test_views_read_what_was_put_together(root: Path) -> None:
    for number in range(1, MANY):
        step(root, number)
    spark = RecordingEngine(DeltaWriter())

    step(root, MANY, engine(spark))

    (build,) = [call for call in spark.calls if isinstance(call, ViewBuild)]
    (source,) = [one for one in build.sources if isinstance(one, StoredSource)]
    assert source.version == placement(root).version == MANY + 1


def test_two_inputs_of_one_table_in_one_step(root: Path) -> None:
    for number in range(1, 3):
        step(root, number)
    for folder in ("source", "more"):
        put(root, 3, folder)
    assert shop(root).run_once().step_count == 1

    assert placement(root).version == 5, "two writes, and one commit after the second"
    assert lines(root) == [("more 3",), *expected(1, 2, 3)]


def test_a_statement_puts_them_together_too(root: Path) -> None:
    for number in range(1, MANY):
        step(root, number)
    spark = RecordingEngine(DeltaWriter())
    asked = []

    class Asked(EngineBySize):
        def compact(self, compaction: Any) -> int | None:
            asked.append(compaction)
            return super().compact(compaction)

    shop(root, Asked(spark, dict, many_files=MANY)).execute("INSERT INTO log VALUES ('by hand')")

    (one,) = asked
    assert one.version == placement(root).version
    assert one.transaction.application == "reconcile/step/statement/compaction"


def test_a_step_that_is_withdrawn_afterwards_leaves_nothing_of_it(root: Path) -> None:
    for number in range(1, MANY):
        step(root, number)
    before = placement(root)
    put(root, MANY)

    with pytest.raises(EngineError):
        run_with(root, "shop", engine(), Faults(Fault("build_view", 1, Style.LOST)))

    assert placement(root) == before
    found = statistics(location(root))
    assert found is not None
    assert (found.rows, found.files) == (MANY - 1, MANY - 1)
    assert shop(root).run_once().step_count == 1
    assert lines(root) == expected(*range(1, MANY + 1))
    found = statistics(location(root))
    assert found is not None
    assert found.files == 1


@pytest.mark.parametrize("settings", [{"spark.sql.parquet.compression.codec": "zstd"}])
def test_where_settings_say_how_files_are_written_they_stay(root: Path, settings: dict[str, str]) -> None:
    for number in range(1, MANY):
        step(root, number)
    found = statistics(location(root))
    assert found is not None
    spark = RecordingEngine(DeltaWriter())

    step(root, MANY, engine(spark, settings))

    # The recording engine writes all rows anew.
    assert placement(root).version == found.version + 1
