"""A mistake of ours in the middle of an apply, which no engine foresees: it is made each time, so the apply is taken back
and the pipeline goes on as it was."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from reconciler.engine.protocol import Built, ViewBuild
from reconciler.service.project import Project
from reconciler.testing.recording import RecordingEngine
from tests.engine.delta_writer import DeltaWriter
from tests.shops.lineitem import PROGRAM


@dataclass(slots=True)
class Mistaken(RecordingEngine):
    """An engine that stumbles over any view."""

    def build_view(self, build: ViewBuild) -> Built:
        raise ValueError("nobody thought of that")


def test_an_apply_that_stumbles_is_taken_back(root: Path) -> None:
    program = root / "pipelines/shop/program.sql"
    program.write_text(PROGRAM.replace("SELECT part FROM", "SELECT part, id FROM") + "CREATE TABLE more (x INT);\n")
    with Project.open(root, engine=Mistaken(DeltaWriter())) as project:
        with pytest.raises(ValueError, match="nobody thought of that"):
            project.pipeline("shop").apply()
        stored = project.target.registry.head("shop")
        assert stored is not None
        assert stored.value.journal is None
    program.write_text(PROGRAM + "CREATE TABLE other (x INT);\n")
    with Project.open(root, engine=RecordingEngine(DeltaWriter())) as project:
        assert not project.pipeline("shop").apply().finished
        assert project.pipeline("shop").plan().changes_nothing
