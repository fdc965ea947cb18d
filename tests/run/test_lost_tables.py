"""Tables that are gone, older than the registry, or others in their place: nobody says that there are no changes."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from reconciler.base.errors import RegistryError
from reconciler.cli.main import run
from reconciler.service.pipeline import Pipeline
from tests.shops.recorded import PROGRAM, feed, head_of, open_project, recording, rows_of, write_project

WAREHOUSE = "warehouse"
REGISTRY = "warehouse/_registry"


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Applied, with one step done. Copy it; don't change it."""
    root = tmp_path_factory.mktemp("ran") / "shop"
    write_project(root)
    open_project(root).apply()
    feed(root, "left", "1", {"id": 1})
    open_project(root).run_once()
    # What is known of the files now is in the cache: the next plan compiles nothing.
    assert open_project(root).plan().changes_nothing
    return root


@pytest.fixture
def shop(ran: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(ran, tmp_path / "shop"))


def all_are_gone(shop: Path) -> None:
    shutil.rmtree(shop / "warehouse/shop")


def one_is_gone(shop: Path) -> None:
    shutil.rmtree(shop / "warehouse/shop/over_a")


def one_has_no_log(shop: Path) -> None:
    shutil.rmtree(shop / "warehouse/shop/b/_delta_log")


def one_is_older(shop: Path) -> None:
    *_, last = sorted((shop / "warehouse/shop/over_a/_delta_log").glob("*.json"))
    last.unlink()


def others_are_there(shop: Path) -> None:
    shutil.copytree(shop / REGISTRY, shop / "backup")
    shutil.rmtree(shop / WAREHOUSE)
    open_project(shop).apply()
    open_project(shop).run_once()
    shutil.rmtree(shop / REGISTRY)
    shutil.copytree(shop / "backup", shop / REGISTRY)


LOSSES = {
    all_are_gone: "there is no table at .*/shop/a, and 4 more of its tables and views are not as they were",
    one_is_gone: "there is no table at .*/shop/over_a",
    one_has_no_log: "there is no table at .*/shop/b",
    one_is_older: "the table at .*/shop/over_a ends at version 0, and version 1 was published",
    others_are_there: "the table at .*/shop/a is another one: the one that was published is gone, and 4 more ",
}


def plan(pipeline: Pipeline) -> None:
    pipeline.plan()


def apply(pipeline: Pipeline) -> None:
    pipeline.apply()


def run_once(pipeline: Pipeline) -> None:
    pipeline.run_once()


def execute(pipeline: Pipeline) -> None:
    pipeline.execute("INSERT INTO a VALUES (3)")


def prune(pipeline: Pipeline) -> None:
    pipeline.prune(now=lambda: datetime.now(UTC) + timedelta(days=4000))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("what", [plan, apply, run_once, execute, prune])
def test_nothing_is_said_or_done_over_tables_that_are_not_those_of_the_registry(
    shop: Path, loss: Callable[[Path], None], what: Callable[[Pipeline], None]
) -> None:
    loss(shop)
    before = head_of(shop)
    with pytest.raises(RegistryError, match=f"tables of shop are older than the registry: {LOSSES[loss]}") as refusal:
        what(open_project(shop))
    assert refusal.value.code == "G610"
    assert head_of(shop) == before


@pytest.mark.parametrize("loss", LOSSES)
def test_nor_when_the_files_say_something_new(shop: Path, loss: Callable[[Path], None]) -> None:
    loss(shop)
    write_project(shop, PROGRAM.replace("note STRING", "note STRING, more INT"))
    for what in (plan, apply):
        with pytest.raises(RegistryError, match=LOSSES[loss]):
            what(open_project(shop))


def test_the_command_line_says_so_too(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one_is_gone(shop)
    for form in ("text", "json", "mermaid"):
        assert run(["plan", "--repo", str(shop), "--format", form], engine=recording()) == 1
        assert "G610" in capsys.readouterr().err
    assert run(["status", "--repo", str(shop)], engine=recording()) == 0
    assert "G610" in capsys.readouterr().out


def test_what_can_not_be_restored_is_taken_out_and_put_back(shop: Path) -> None:
    one_is_gone(shop)
    view = "CREATE MATERIALIZED VIEW over_a AS SELECT id FROM a;\n"
    assert view in PROGRAM
    write_project(shop, PROGRAM.replace(view, ""))
    open_project(shop).apply()
    write_project(shop)
    open_project(shop).apply()
    assert len(rows_of(shop, "over_a")) == 1
    assert open_project(shop).plan().changes_nothing


def test_a_pipeline_whose_tables_are_gone_is_removed_and_put_back(shop: Path) -> None:
    all_are_gone(shop)
    files = shop / "pipelines/shop"
    files.rename(shop / "away")
    open_project(shop).apply()
    (shop / "away").rename(files)
    open_project(shop).apply()
    open_project(shop).run_once()
    assert rows_of(shop, "a") == [(1,)]


def test_a_copy_of_the_whole_warehouse_is_no_loss(shop: Path) -> None:
    shutil.copytree(shop / WAREHOUSE, shop / "backup")
    feed(shop, "left", "2", {"id": 2})
    open_project(shop).run_once()
    shutil.rmtree(shop / WAREHOUSE)
    shutil.copytree(shop / "backup", shop / WAREHOUSE)
    assert open_project(shop).plan().changes_nothing
    open_project(shop).run_once()
    assert rows_of(shop, "a") == [(1,), (2,)]


def test_a_head_of_an_earlier_version_learns_the_ids_with_the_next_apply(shop: Path) -> None:
    known, registry = ids_of(shop), open_project(shop).target.registry
    assert all(known.values())
    stored = registry.head("shop")
    assert stored is not None
    assert stored.value.published is not None
    without = {key: replace(one, id=None) for key, one in stored.value.published.relations.items()}
    published = replace(stored.value.published, relations=without)
    registry.replace_head(stored.token, replace(stored.value, published=published), "earlier")
    assert set(ids_of(shop).values()) == {None}
    assert open_project(shop).plan().changes_nothing
    write_project(shop, PROGRAM.replace("SELECT id FROM b", "SELECT id + 1 AS id FROM b"))
    open_project(shop).apply()
    assert ids_of(shop) == known


def ids_of(shop: Path) -> dict[str, str | None]:
    published = head_of(shop).published
    assert published is not None
    return {key: one.id for key, one in published.relations.items()}
