"""No command works in a warehouse that stands inside another one, or has another one inside."""

from collections.abc import Callable
from pathlib import Path

import pytest

from reconciler.base.errors import ReconcileError
from reconciler.service.project import Project

_YAML = "apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {{name: {0}}}\nspec: {{bootstrap_policy: allow}}\n"


def _write(root: Path, environments: str, **pipelines: str) -> Path:
    root.mkdir(exist_ok=True)
    (root / "reconcile.yaml").write_text(f"default: prod\nenvironments:\n{environments}")
    for name, sql in pipelines.items():
        folder = root / "pipelines" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "pipeline.yaml").write_text(_YAML.format(name))
        (folder / "program.sql").write_text(sql)
    return root


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository whose pipeline is applied in `.reconcile/warehouse`."""
    root = _write(tmp_path / "repo", "  prod: {warehouse: .reconcile/warehouse}\n", shop="CREATE TABLE orders (id BIGINT);")
    with Project.open(root) as project:
        project.pipeline("shop").apply()
    return root


def _refused(act: Callable[[], object]) -> str:
    with pytest.raises(ReconcileError) as caught:
        act()
    assert caught.value.code == "U821"
    return str(caught.value)


@pytest.mark.parametrize(
    "place", [".reconcile", "link", "x/../.reconcile", ".reconcile/warehouse/shop", ".reconcile/warehouse/x/y"]
)
def test_no_environment_around_another_one_is_worked_in(root: Path, tmp_path: Path, place: str) -> None:
    (root / "link").symlink_to(root / ".reconcile")
    other = _write(
        tmp_path / "other", f"  prod: {{warehouse: '{root}/{place}'}}\n", warehouse="CREATE TABLE shop (id BIGINT);"
    )
    assert str(root / ".reconcile" / "warehouse") in _refused(lambda: Project.open(other))
    assert (root / ".reconcile" / "warehouse" / "shop" / "orders" / "_delta_log").is_dir()


def test_an_environment_beside_it_that_is_not_made_yet_is_told_in_the_same_repository(root: Path) -> None:
    _write(root, "  prod: {warehouse: .reconcile/warehouse}\n  lab: {warehouse: .reconcile}\n")
    for name in ("prod", "lab"):
        assert f"environment {name} has its warehouse at" in _refused(lambda name=name: Project.open(root, name))
    _write(root, "  prod: {warehouse: .reconcile/warehouse}\n  lab: {warehouse: .reconcile/lab}\n")
    for name in ("prod", "lab"):
        Project.open(root, name).pipeline("shop").plan()


def test_a_table_whose_folder_holds_a_warehouse_is_not_made(root: Path, tmp_path: Path) -> None:
    """The pipeline would be called as a folder further up, and its table as one below."""
    folder = root.parent
    sql = "CREATE TABLE {0} (id BIGINT);"
    other = _write(tmp_path / "other", f"  prod: {{warehouse: '{folder}'}}\n", repo=sql.format("x"))
    deep = folder / "repo" / "deep"
    with Project.open(other) as project:
        assert str(root / ".reconcile" / "warehouse") in _refused(lambda: project.pipeline("repo").plan())
        (root / ".reconcile").rename(folder / "aside")
        project.pipeline("repo").apply()
        (folder / "aside").rename(deep)
        (other / "pipelines" / "repo" / "program.sql").write_text(sql.format("x") + sql.format("deep"))
        assert str(deep / "warehouse") in _refused(lambda: project.pipeline("repo").plan())
        assert str(deep / "warehouse") in _refused(lambda: project.pipeline("repo").apply())


def test_no_approval_is_forged_from_within(root: Path, tmp_path: Path) -> None:
    registry = root / ".reconcile" / "warehouse" / "_registry"
    approvals = "CREATE TABLE approvals (plan_digest STRING, environment STRING, `by` STRING, `at` STRING, comment STRING);"
    other = _write(tmp_path / "other", f"  prod: {{warehouse: '{registry}'}}\n", shop=approvals)
    _refused(lambda: Project.open(other))
    assert not (registry / "shop" / "approvals").exists()
