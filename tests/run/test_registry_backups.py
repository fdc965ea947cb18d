"""A registry that was restored from a backup while the tables went on is told apart, before anything is touched."""

import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from reconciler.base.errors import RegistryError
from reconciler.delta.tables import table_version
from reconciler.service.pipeline import Pipeline
from reconciler.testing.crashes import Crash, crash_at
from tests.shops.recorded import PROGRAM, feed, head_of, open_project, rows_of, write_project

REGISTRY = "warehouse/_registry"


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Applied, with one step done and a checkpoint of it. Copy it; don't change it."""
    root = tmp_path_factory.mktemp("ran") / "shop"
    write_project(root)
    open_project(root).apply()
    feed(root, "left", "1", {"id": 1})
    open_project(root).run_once()
    open_project(root).checkpoint("good")
    return root


@pytest.fixture
def shop(ran: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(ran, tmp_path / "shop"))


def back_up(shop: Path) -> None:
    shutil.copytree(shop / REGISTRY, shop / "backup")


def restore_registry(shop: Path) -> None:
    shutil.rmtree(shop / REGISTRY)
    shutil.copytree(shop / "backup", shop / REGISTRY)


def went_on_and_came_back(shop: Path, how: Callable[[Path], None]) -> None:
    back_up(shop)
    how(shop)
    restore_registry(shop)


def a_file(shop: Path) -> None:
    feed(shop, "left", "2", {"id": 2})
    open_project(shop).run_once()
    (shop / "in/left/2.json").unlink()


def a_statement(shop: Path) -> None:
    open_project(shop).execute("INSERT INTO b VALUES (2, 'two')")


def run(pipeline: Pipeline) -> None:
    pipeline.run_once()


def execute(pipeline: Pipeline) -> None:
    pipeline.execute("INSERT INTO a VALUES (3)")


def apply(pipeline: Pipeline) -> None:
    pipeline.apply()


def restore(pipeline: Pipeline) -> None:
    pipeline.restore("good")


def prune(pipeline: Pipeline) -> None:
    pipeline.prune(now=lambda: datetime.now(UTC) + timedelta(days=4000))


@pytest.mark.parametrize("how", [a_file, a_statement])
@pytest.mark.parametrize("what", [run, execute, apply, restore, prune])
def test_nothing_is_made_with_a_registry_that_is_older_than_the_tables(
    shop: Path, how: Callable[[Path], None], what: Callable[[Pipeline], None]
) -> None:
    went_on_and_came_back(shop, how)
    feed(shop, "left", "3", {"id": 3})
    if what is apply:
        write_project(shop, PROGRAM.replace("note STRING", "note STRING, more INT"))
    before = head_of(shop), table_version(str(shop / "warehouse/shop/a")), table_version(str(shop / "warehouse/shop/b"))
    with pytest.raises(
        RegistryError, match=r"the registry is older than the tables: \w+ of shop has rows of step 2"
    ) as refusal:
        what(open_project(shop))
    assert refusal.value.code == "G609"
    assert before == (
        head_of(shop),
        table_version(str(shop / "warehouse/shop/a")),
        table_version(str(shop / "warehouse/shop/b")),
    )


def test_nor_is_a_step_finished_that_was_left_open_in_it(shop: Path) -> None:
    feed(shop, "left", "2", {"id": 2})
    with pytest.raises(Crash):
        open_project(shop).observed(boundary=crash_at("step:intended")).run_once()

    def twice(root: Path) -> None:
        open_project(root).run_once()
        feed(root, "left", "3", {"id": 3})
        open_project(root).run_once()

    went_on_and_came_back(shop, twice)
    with pytest.raises(RegistryError, match="has rows of step 3, but the registry knows no step after 2"):
        open_project(shop).run_once()


def test_a_step_that_was_done_since_is_found_done(shop: Path) -> None:
    feed(shop, "left", "2", {"id": 2})
    with pytest.raises(Crash):
        open_project(shop).observed(boundary=crash_at("step:intended")).run_once()
    went_on_and_came_back(shop, lambda root: run(open_project(root)))
    open_project(shop).run_once()
    assert rows_of(shop, "a") == [(1,), (2,)]


@pytest.mark.parametrize("boundary", ["step:intended", "view:effected", "step:before"])
def test_a_step_that_was_put_back_is_no_sign_of_it(shop: Path, boundary: str) -> None:
    feed(shop, "left", "2", {"id": 2})
    with pytest.raises(Crash):
        open_project(shop).observed(boundary=crash_at(boundary)).run_once()
    open_project(shop).run_once()
    open_project(shop).restore("good")
    open_project(shop).run_once()
    assert rows_of(shop, "a") == [(1,), (2,)]
