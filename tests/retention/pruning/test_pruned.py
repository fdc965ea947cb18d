"""Pruning: what goes from the disk, for which retention, and what is told of it."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from reconciler.base.errors import EngineError, ReconcileError
from reconciler.state.events import Event
from tests.acceptance.command_line import CommandLine
from tests.acceptance.shop import write_shop
from tests.retention.pruning.shop import READS, THIRD, Shop, files_at, kept, pruned


def test_what_is_pruned_is_gone_and_says_so_and_all_else_is_as_it_was(shop: Shop) -> None:
    now = {name: shop.rows(name) for name in ("orders", "total", "dear")}
    assert {shop.read(name) for name in ("total@v0", "total@v1", "dear@v0")} == {"read"}
    before = shop.files()

    would = shop.prune(dry_run=True)
    assert shop.files() == before
    assert shop.states() == {0: "", 1: "", 2: "active"}
    done = shop.prune()

    assert pruned(done) == pruned(would) == ["dear@v0", "total@v0", "total@v1"]
    assert {one.bytes > 0 for one in done.folders} == {True}
    assert done.bytes["view:total", 0] > 0
    placement = shop.head.published.relations["total"] if shop.head.published else None
    assert placement is not None
    assert shop.files() == set(files_at(shop, placement.version)), "nothing but the rows that are published is left"
    assert {name: shop.rows(name) for name in now} == now
    assert shop.states() == {0: "pruned", 1: "pruned", 2: "active"}
    for name in ("total@v0", "total@v1", "dear@v0"):
        with pytest.raises(ReconcileError) as caught:
            shop.rows(name)
        assert (caught.value.code, "(retention: versions: 0)" in caught.value.message) == ("X735", True)
        assert "pin it" in str(caught.value.hint)
    with pytest.raises(EngineError) as refused:
        shop.rows("total", 3)
    assert (refused.value.code, "pruned" in refused.value.message) == ("X736", True)
    assert shop.pipeline.version("total@v0").sql.startswith("CREATE MATERIALIZED VIEW total")
    assert shop.pipeline.plan().changes_nothing
    assert shop.prune().is_empty
    assert [one.event for one in shop.pipeline.events()].count(Event.PRUNED) == 1
    shop.insert(4)
    assert len(shop.rows("total")) == 1


def test_without_a_retention_versions_stay_and_old_steps_go(built: Path, tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    shutil.copytree(built, shop.root)
    shop.apply(THIRD, READS)
    shop.insert(4)
    assert shop.prune(days=6).is_empty
    before = {name: shop.rows(name) for name in ("total@v0", "total@v1", "dear@v0", "total")}
    done = shop.prune(days=8)
    assert (pruned(done), done.decision.first_step) == ([], 7)
    assert kept(done) == dict.fromkeys(("total@v0", "total@v1", "dear@v0"), ("retention",))
    assert {name: shop.rows(name) for name in before} == before
    # The first step of v1 was not its last one.
    assert (shop.read("total", 2), shop.read("total", 3)) == ("X736", "read")


def test_steps_stay_for_as_long_as_retention_says(shop: Shop) -> None:
    shop.apply(THIRD, READS + "  retention: {versions: 0, steps: 30d}\n")
    assert shop.prune(days=29).is_empty
    assert kept(shop.prune(days=29, dry_run=True))["total@v0"] == ("steps",)
    assert {shop.read("total", step) for step in range(6)} == {"read"}


def test_retention_is_metadata_and_applies_once_it_is_applied(shop: Shop) -> None:
    write_shop(shop.root, THIRD, more=READS + "  views: {total: {retention: {versions: 1, keep: 2d}}}\n")
    plan = shop.pipeline.plan()
    assert (plan.is_empty, plan.changes_nothing) == (True, False)
    told = {(one.subject, one.what): (one.applied, one.desired) for one in plan.diff.metadata}
    assert told == {
        ("shop", "retention"): ("versions: 0, steps: 1h", "none"),
        ("total", "retention"): ("none", "versions: 1, keep: 2d"),
    }
    assert pruned(shop.prune(days=9, dry_run=True)) == ["dear@v0", "total@v0", "total@v1"]
    shop.pipeline.apply()
    assert shop.states() == {0: "", 1: "", 2: "active"}
    assert pruned(shop.prune(days=9, dry_run=True)) == ["total@v0"]


@pytest.fixture
def run(shop: Shop, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    return CommandLine(shop.root, capsys)


def test_the_command_line(shop: Shop, run: Callable[..., str]) -> None:
    shop.apply(THIRD, READS + "  retention: {versions: 0, steps: 0s}\n")
    shop.pipeline.put_alias("total@stable", "v0")
    shop.insert(4)
    told = run("prune", "shop", "--dry-run").splitlines()
    assert [line.split()[:2] for line in told[:5]] == [
        ["WHAT", "VERSION"],
        ["-----", "-" * 8],
        ["prune", "dear@v0"],
        ["prune", "total@v1"],
        ["keep", "total@v0"],
    ]
    assert told[4].endswith("alias stable")
    assert told[3].endswith("versions: 0")
    assert "would go" in told[5]
    assert "steps can be read from 7 on (steps: 0s)" in told[6]
    found = json.loads(run("prune", "--format", "json"))
    (one,) = found["pipelines"]
    assert [row["name"] + "@" + row["version"] for row in one["pruned"]] == ["dear@v0", "total@v1"]
    assert [row["why"] for row in one["kept"]] == [["alias stable"]]
    assert sum(folder["bytes"] for folder in one["folders"]) > 0
    assert "shop: nothing to prune" in run("prune")
    listed = run("versions", "list", "total").splitlines()
    assert [line.split()[-1] for line in listed[2:]] == ["active", "pruned", "stable"]
    (first, *_) = json.loads(run("versions", "list", "dear", "--format", "json"))["versions"]
    assert first["pruned"]["retention"] == "versions: 0"
    said = run("query", "shop", "SELECT * FROM total@v1", code=1)
    assert "X735: shop.total@v1 can't be read: its rows were pruned on" in said
    assert "X735" in run("versions", "diff", "total@v1", "total@v2", "--data", code=1)
    assert "no changes" in run("plan", "shop")
