"""Several projects whose pipelines are in one warehouse: what one of them does not have was not removed by it."""

from pathlib import Path

import pytest

from reconciler.base.errors import EXIT_DONE, ReconcileError
from reconciler.cli.main import run
from reconciler.service.project import Project
from reconciler.testing.recording import RecordingEngine
from tests.consent.cell import Cell, copy_base

ALLOW = """\
apiVersion: reconciler/v1
kind: Pipeline
metadata: {{name: {name}}}
spec: {{bootstrap_policy: allow}}
"""


def write(project: Path, name: str, warehouse: str = "../../shared") -> None:
    folder = project / "pipelines" / name
    folder.mkdir(parents=True)
    (folder / "pipeline.yaml").write_text(ALLOW.format(name=name))
    (folder / "program.sql").write_text("CREATE TABLE t (id BIGINT);\n")
    environments = f"{{prod: {{warehouse: {warehouse}, branch: main}}}}"
    (project / "reconcile.yaml").write_text(f"default: prod\nenvironments: {environments}\n")


def at(cell: Cell, folder: str) -> Project:
    cell.root = cell.home / "repository" / folder
    return cell.project()


@pytest.fixture(scope="module")
def in_force(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Projects `x` and `y` of one repository, each with a pipeline in force. Copy it; don't change it."""
    cell = copy_base(base, tmp_path_factory.mktemp("beside") / "cell")
    for folder in ("x", "y"):
        write(cell.root / folder, f"of_{folder}")
    cell.commit("two projects")
    for folder in ("x", "y"):
        project = at(cell, folder)
        assert project.pipelines() == (f"of_{folder}",)
        project.pipeline(f"of_{folder}").apply()
    return cell.home


@pytest.fixture
def beside(in_force: Path, tmp_path: Path) -> Cell:
    return copy_base(in_force, tmp_path / "cell")


def test_each_has_its_own_pipelines(beside: Cell) -> None:
    for folder in ("x", "y"):
        project = at(beside, folder)
        assert project.pipelines() == (f"of_{folder}",)
        assert project.pipeline(f"of_{folder}").plan().changes_nothing


@pytest.mark.parametrize("command", ["plan", "apply", "prune"])
def test_what_is_left_alone_is_told(beside: Cell, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    at(beside, "y")
    assert run([command, "--repo", str(beside.root)], RecordingEngine()) == EXIT_DONE
    assert "skipped, because they belong to other projects: of_x" in capsys.readouterr().err


def test_none_removes_what_the_other_has(beside: Cell) -> None:
    before = beside.warehouse()
    pipeline = at(beside, "y").pipeline("of_x")
    for act in (pipeline.plan, pipeline.apply):
        with pytest.raises(
            ReconcileError, match="was applied from the project in folder x, which still has its files"
        ) as refusal:
            act()
        assert refusal.value.code == "A584"
    assert beside.warehouse() == before


def test_what_is_removed_where_it_was_is_removed_from_there(beside: Cell) -> None:
    project = at(beside, "x")
    beside.git("rm", "-q", "-r", "pipelines/of_x")
    beside.commit("no pipelines")
    assert project.pipelines() == ("of_x",)
    assert not project.pipeline("of_x").apply().did_nothing
    assert project.pipelines() == ()


def test_what_went_with_a_project_that_moved_is_removed_from_where_it_went(beside: Cell) -> None:
    at(beside, "")
    write(beside.root / "x", "another")
    beside.commit("another pipeline")
    at(beside, "x").pipeline("another").apply()
    at(beside, "")
    beside.git("mv", "x", "z")
    beside.git("rm", "-q", "-r", "-f", "z/pipelines/another")
    beside.commit("moved, and without one")
    project = at(beside, "z")
    assert project.pipelines() == ("another", "of_x")
    assert project.pipeline("of_x").plan().changes_nothing
    assert not project.pipeline("another").apply().did_nothing


def test_another_repository_leaves_them_alone(beside: Cell, tmp_path: Path) -> None:
    other = Cell(tmp_path / "other")
    other.root.mkdir(parents=True)
    write(other.root, "theirs", str(beside.home / "shared"))
    other.git("init", "-q", "-b", "main")
    other.commit("first")
    assert other.project().pipelines() == ("theirs",)
    other.project().pipeline("theirs").apply()
    assert other.project().pipelines() == ("theirs",)
    assert at(beside, "x").pipelines() == ("of_x",)


def test_a_shallow_copy_of_the_repository_is_no_other_one(beside: Cell, tmp_path: Path) -> None:
    at(beside, "")
    beside.git("rm", "-q", "-r", "x/pipelines")
    beside.commit("removed")
    beside.commit("something else")
    copy = tmp_path / "copy" / "repository"
    copy.parent.mkdir()
    beside.git("clone", "-q", "--depth", "1", f"file://{beside.root}", str(copy))
    project = copy / "x/reconcile.yaml"
    project.write_text(project.read_text().replace("../../shared", str(beside.home / "shared")))
    beside.root = copy / "x"
    assert beside.project().pipelines() == ("of_x",)
