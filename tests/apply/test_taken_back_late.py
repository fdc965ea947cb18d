"""An apply that dies while it writes the last of its history, before the head switches, and is taken back: nothing that is
told of a pipeline tells of it, and what comes after it is told as if it had never been."""

from dataclasses import replace
from pathlib import Path

import pytest

from reconciler.base.errors import EngineError
from reconciler.registry.delta import DeltaRegistry
from reconciler.registry.model import Head, Stored
from reconciler.service.project import Project
from reconciler.testing.recording import RecordingEngine
from tests.acceptance.faults import Crash
from tests.engine.delta_writer import DeltaWriter

YAML = "apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {name: shop}\nspec: {bootstrap_policy: allow}\n"
FIRST = "CREATE TABLE t (a BIGINT);\n"
SECOND = FIRST + "CREATE TABLE u (b BIGINT);\n"
THIRD = FIRST + "CREATE VIEW w AS SELECT a + 1 AS b FROM t;\n"


class Dying(DeltaRegistry):
    """The process dies where the head is to switch: all rows of history are written."""

    def replace_head(self, token: int | None, head: Head, write_id: str) -> Stored[Head]:
        before = self.head(head.pipeline)
        if head.journal is None and before is not None and before.value.journal is not None:
            raise Crash("before the switch")
        return super().replace_head(token, head, write_id)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path, FIRST)
    (tmp_path / "reconcile.yaml").write_text("environments: {dev: {warehouse: .reconcile/warehouse}}\n")
    return tmp_path


def write(root: Path, program: str) -> None:
    folder = root / "pipelines" / "shop"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pipeline.yaml").write_text(YAML)
    (folder / "program.sql").write_text(program)


def project(root: Path) -> Project:
    return Project.open(root, engine=RecordingEngine(DeltaWriter()))


def die_and_be_taken_back(root: Path) -> None:
    dying = project(root)
    dying.target = replace(dying.target, registry=Dying(dying.target.warehouse))
    with pytest.raises(Crash):
        dying.pipeline("shop").apply()
    upgraded = project(root)
    upgraded.target = replace(upgraded.target, spark_version="9.9.9")
    with pytest.raises(EngineError) as refused:
        upgraded.pipeline("shop").apply()
    assert refused.value.code == "X780"


def told(root: Path) -> list[tuple[int, str]]:
    return [(one.number, one.record) for one in project(root).pipeline("shop").history()]


@pytest.mark.parametrize("is_first", [False, True], ids=["a later one", "the first one"])
def test_what_is_taken_back_is_told_of_nowhere(root: Path, is_first: bool) -> None:
    known: list[tuple[int, str]] = []
    if not is_first:
        project(root).pipeline("shop").apply()
        known = told(root)
        assert len(known) == 1
    write(root, SECOND)
    die_and_be_taken_back(root)
    assert told(root) == known
    write(root, THIRD)
    pipeline = project(root).pipeline("shop")
    pipeline.apply()
    head = pipeline.target.registry.head("shop")
    assert head is not None
    published, applied = head.value.published, head.value.applied
    assert published is not None
    assert applied is not None
    assert told(root) == [*known, (len(known) + 1, applied.record)]
    pipeline.execute("INSERT INTO t VALUES (1)")
    pipeline = project(root).pipeline("shop")
    assert sorted(pipeline.read_step(["t"], published.step).relations) == ["t"]
    assert [one.number for one in pipeline.versions("w").versions] == [0]
