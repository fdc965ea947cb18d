"""Two first applies of one pipeline at the same moment: one does it, the other finds it done; none speaks of lost data."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from reconciler import Project
from reconciler.base.errors import LeaseHeld, ReconcileError
from reconciler.registry.delta import DeltaRegistry
from reconciler.registry.model import Head, Stored
from reconciler.testing.recording import RecordingEngine
from tests.acceptance.shop import write_shop
from tests.engine.delta_writer import DeltaWriter

PROGRAM = "CREATE TABLE t (id BIGINT);\nCREATE MATERIALIZED VIEW v AS SELECT id FROM t;\n"


class Overtaken(DeltaRegistry):
    """The registry, whose first answer about a head is out of date when it arrives."""

    def __init__(self, warehouse: str, meanwhile: Callable[[], object]) -> None:
        super().__init__(warehouse)
        self._meanwhile: Callable[[], object] | None = meanwhile

    def head(self, pipeline: str) -> Stored[Head] | None:
        found = super().head(pipeline)
        meanwhile, self._meanwhile = self._meanwhile, None
        if meanwhile is not None:
            meanwhile()
        return found


def opened(root: Path) -> Project:
    return Project.open(root, engine=RecordingEngine(DeltaWriter()))


@pytest.fixture
def overtaken(tmp_path: Path) -> Project:
    write_shop(tmp_path, PROGRAM)
    project = opened(tmp_path)
    registry = Overtaken(project.target.warehouse, opened(tmp_path).pipeline("shop").apply)
    return Project(replace(project.target, registry=registry), RecordingEngine(DeltaWriter()))


def test_the_second_apply_finds_it_done(overtaken: Project) -> None:
    result = overtaken.pipeline("shop").apply()
    assert result.did_nothing
    head = overtaken.target.registry.head("shop")
    assert head is not None
    assert {key: one.active for key, one in head.value.versions.items()} == {"table:t": 0, "view:v": 0}


def test_a_plan_says_who_was_faster(overtaken: Project) -> None:
    with pytest.raises(LeaseHeld) as caught:
        overtaken.pipeline("shop").plan()
    assert caught.value.code == "A503"
    assert overtaken.pipeline("shop").plan().changes_nothing


def test_data_that_nobody_knows_is_still_said_to_be_there(tmp_path: Path) -> None:
    write_shop(tmp_path, PROGRAM)
    opened(tmp_path).pipeline("shop").apply()
    (tmp_path / "warehouse" / "_registry").rename(tmp_path / "lost")
    with pytest.raises(ReconcileError) as caught:
        opened(tmp_path).pipeline("shop").plan()
    assert caught.value.code == "A505"
