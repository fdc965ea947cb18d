"""Errors of the engine about a view or function begin with the place where that is declared, wherever they are raised."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from reconciler.base.errors import Declared, EngineError
from reconciler.engine.protocol import Built, Rows, Selection, ViewBuild
from reconciler.service.project import Project
from reconciler.testing.recording import RecordingEngine
from tests.engine.delta_writer import DeltaWriter

YAML = """\
apiVersion: reconciler/v1
kind: Pipeline
metadata: {name: shop}
spec: {bootstrap_policy: allow, sql: [tables.sql, views/all.sql]}
"""
TABLES = "CREATE TABLE t (id BIGINT);\n"
VIEWS = """\
-- What is sold.

  CREATE VIEW plain AS SELECT id FROM t;
CREATE MATERIALIZED VIEW sold AS
SELECT id FROM t;
"""


@dataclass(slots=True)
class Refusing(RecordingEngine):
    """Refuses to compute views and to select, about something."""

    about: Declared | None = None
    code: str = "X703"

    def build_view(self, build: ViewBuild) -> Built:
        if self.about is not None:
            raise EngineError(self.code, f"view {build.view}: no", "change it", self.about)
        return RecordingEngine.build_view(self, build)

    def select(self, selection: Selection) -> Rows:
        if self.about is not None:
            raise EngineError(self.code, "reading plain: no", None, self.about)
        return RecordingEngine.select(self, selection)


@pytest.fixture
def engine() -> Refusing:
    return Refusing(DeltaWriter())


def _project(root: Path, engine: Refusing, views: str = VIEWS) -> Project:
    folder = root / "pipelines" / "shop"
    (folder / "views").mkdir(parents=True, exist_ok=True)
    (folder / "pipeline.yaml").write_text(YAML)
    (folder / "tables.sql").write_text(TABLES)
    (folder / "views" / "all.sql").write_text(views)
    return Project.open(root, engine=engine)


def _told(project: Project) -> EngineError:
    with pytest.raises(EngineError) as raised:
        project.pipeline("shop").apply()
    return raised.value


def test_an_apply_says_where_the_view_stands(tmp_path: Path, engine: Refusing) -> None:
    engine.about = Declared("view", "SOLD")
    error = _told(_project(tmp_path, engine))
    assert error.message == "pipelines/shop/views/all.sql:4:1: view sold: no"
    assert (error.code, error.hint, str(error)) == ("X703", "change it", error.message)


def test_a_step_says_where_the_view_stands(tmp_path: Path, engine: Refusing) -> None:
    _project(tmp_path, engine).pipeline("shop").apply()
    engine.about = Declared("view", "sold")
    with pytest.raises(EngineError) as raised:
        Project.open(tmp_path, engine=engine).pipeline("shop").execute("INSERT INTO t VALUES (1)")
    assert raised.value.message == "pipelines/shop/views/all.sql:4:1: view sold: no"


def test_a_query_says_where_a_view_that_it_reads_stands(tmp_path: Path, engine: Refusing) -> None:
    _project(tmp_path, engine).pipeline("shop").apply()
    engine.about = Declared("view", "plain")
    with pytest.raises(EngineError) as raised:
        Project.open(tmp_path, engine=engine).pipeline("shop").query("SELECT * FROM plain")
    assert raised.value.message == "pipelines/shop/views/all.sql:3:3: reading plain: no"


@pytest.mark.parametrize("about", [Declared("view", "gone"), Declared("function", "sold")])
def test_what_stands_in_no_file_has_no_place(tmp_path: Path, engine: Refusing, about: Declared) -> None:
    engine.about = about
    assert _told(_project(tmp_path, engine)).message == "view sold: no"


def test_a_full_disk_is_no_matter_of_the_view(tmp_path: Path, engine: Refusing) -> None:
    engine.about, engine.code = Declared("view", "sold"), "X709"
    assert _told(_project(tmp_path, engine)).message == "view sold: no"


def test_files_that_are_broken_hide_no_error(tmp_path: Path, engine: Refusing) -> None:
    _project(tmp_path, engine).pipeline("shop").apply()
    engine.about = Declared("view", "sold")
    (tmp_path / "pipelines" / "shop" / "pipeline.yaml").write_text("spec: [")
    with pytest.raises(EngineError) as raised:
        Project.open(tmp_path, engine=engine).pipeline("shop").execute("INSERT INTO t VALUES (1)")
    assert raised.value.message == "view sold: no"
