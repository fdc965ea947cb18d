"""Versions that are kept up to date, by the command line over real Delta tables, with the recording engine: what they hold,
who reads them, and what becomes of them."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from reconciler import Project
from reconciler.apply.rolling_back import roll_back
from reconciler.environment.session import Session
from reconciler.testing.crashes import POINTS, Crash, crash_at
from reconciler.testing.recording import RecordingEngine
from reconciler.versions.looking import versioned_name
from reconciler.versions.rollbacks import rollback_of
from tests.acceptance.maintaining_shop import FIRST, MAINTAINED, READER, SECOND, Shop, apply_first, apply_second, program
from tests.acceptance.shop import open_shop, stored_rows
from tests.acceptance.versioned_shop import READS
from tests.cells import mostly_slow
from tests.engine.delta_writer import DeltaWriter

pytestmark = pytest.mark.both_ways


@pytest.fixture(scope="module")
def applied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first program, applied, with rows."""
    root = tmp_path_factory.mktemp("applied")
    apply_first(root)
    return root


@pytest.fixture
def shop(applied: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shop:
    shutil.copytree(applied, tmp_path / "shop")
    return Shop(tmp_path / "shop", capsys)


@pytest.fixture
def first(applied: Path, tmp_path: Path) -> Callable[..., list[tuple[object, ...]] | None]:
    """What `total` holds by its first definition, once these rows came."""

    def rows(*inserted: str) -> list[tuple[object, ...]] | None:
        copy = tmp_path / "first"
        shutil.copytree(applied, copy)
        pipeline = open_shop(copy, RecordingEngine(DeltaWriter()))
        for one in inserted:
            pipeline.execute(f"INSERT INTO orders VALUES {one}")
        found = stored_rows(copy, "total")
        shutil.rmtree(copy)
        return found

    return rows


@pytest.fixture(scope="module")
def applied_twice(applied: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The second program, with version 0 of `total` kept up to date. Copy it; don't change it."""
    root = Path(shutil.copytree(applied, tmp_path_factory.mktemp("applied-twice") / "shop"))
    apply_second(root)
    return root


@pytest.fixture
def maintained(applied_twice: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shop:
    return Shop(Path(shutil.copytree(applied_twice, tmp_path / "shop")), capsys)


def test_a_change_may_keep_the_version_before_it_up_to_date(shop: Shop) -> None:
    shop.write(SECOND)
    plan = shop("plan", "shop")
    assert "+ view total@v0: bootstrapped" in plan
    assert "~ view total: bootstrapped" in plan
    said = shop("apply", "shop")
    assert "bootstrap total@v0 from orders (1 row; v0's rows are kept and current; nothing was computed)" in said
    assert shop.built() == ["total"]
    assert "no changes" in shop("plan", "shop")
    assert shop.states()["v1"] == "active"
    assert shop.states()["v0"] == "maintained"
    versions = json.loads(shop("versions", "list", "total", "--format", "json"))["versions"]
    assert {one["version"]: (one["active"], one["maintained"]) for one in versions} == {
        "v0": (False, True),
        "v1": (True, False),
    }


First = Callable[..., list[tuple[object, ...]] | None]


def test_it_follows_every_step_at_a_path_of_its_own(maintained: Shop, first: First) -> None:
    active = stored_rows(maintained.root, "total")
    assert stored_rows(maintained.root, "total-v0") == first() != active
    said = maintained("execute", "shop", "INSERT INTO orders VALUES (3, 30)")
    assert "brought up to date: total, total@v0" in said
    assert stored_rows(maintained.root, "total-v0") == first("(3, 30)") != first()
    assert stored_rows(maintained.root, "total") not in (active, first("(3, 30)"))
    assert maintained.read("total@v0") == first("(3, 30)")
    said = maintained("query", "shop", "SELECT * FROM total@v0")
    assert "(1 row, step 3)" in said
    assert "as of step" not in said


def test_an_alias_reads_it_too_and_an_earlier_step_what_it_held_then(maintained: Shop, first: First) -> None:
    maintained("versions", "alias", "total@report", "v0")
    maintained("execute", "shop", "INSERT INTO orders VALUES (3, 30)")
    assert maintained.read("total@report") == first("(3, 30)")
    # At its first step as a view of its own, and when it was the active version.
    assert maintained.read("total@v0", "--at-step", "2") == first()
    assert maintained.read("total@v0", "--at-step", "1") == first()


def test_a_view_reads_it_as_it_is_kept(maintained: Shop) -> None:
    maintained.write(SECOND + READER)
    plan = maintained("plan", "shop")
    assert "bootstrap both from" in plan
    assert "H940" not in plan
    maintained("apply", "shop")
    assert maintained.location("both", "total@v0") == "total-v0"
    before = stored_rows(maintained.root, "both")
    maintained("execute", "shop", "INSERT INTO orders VALUES (3, 30)")
    assert maintained.location("both", "total@v0") == "total-v0"
    assert stored_rows(maintained.root, "both") != before


def test_a_view_that_read_its_rows_as_they_were_reads_them_as_they_are(shop: Shop) -> None:
    shop.write(SECOND, READS)
    shop("apply", "shop")
    shop.write(SECOND + READER, READS)
    assert "H940" in shop("plan", "shop")
    shop("apply", "shop")
    assert shop.location("both", "total@v0") == "total"
    shop.write(SECOND + READER)
    assert "~ view both: bootstrapped" in shop("plan", "shop")
    shop("apply", "shop")
    assert shop.location("both", "total@v0").startswith("total-v0/")
    assert "no changes" in shop("plan", "shop")


WAYS_OUT = {
    "its entry is taken away": (SECOND, READS),
    "the view is pinned to it": (SECOND, f"{READS}  views: {{total: {{version: v0}}}}"),
    "the view has its definition again": (FIRST, READS),
}


@pytest.mark.parametrize("way", WAYS_OUT)
def test_views_that_read_it_as_it_was_kept_read_other_rows_once_it_is_not(maintained: Shop, way: str) -> None:
    above = "CREATE MATERIALIZED VIEW above AS SELECT * FROM both;\n"
    maintained.write(SECOND + READER + above)
    maintained("apply", "shop")
    maintained("execute", "shop", "INSERT INTO orders VALUES (3, 30)")
    kept = stored_rows(maintained.root, "both")
    maintained.built()
    sql, yaml = WAYS_OUT[way]
    maintained.write(sql + READER + above, yaml)
    plan = maintained("plan", "shop")
    for view in ("both", "above"):
        assert f"~ view {view}: bootstrapped" in plan
    assert "H940" in plan
    maintained("apply", "shop")
    assert {"both", "above"} <= set(maintained.built())
    assert stored_rows(maintained.root, "both") != kept
    assert "no changes" in maintained("plan", "shop")


def test_once_it_is_maintained_no_more_it_is_as_it_was_when_active(maintained: Shop, first: First) -> None:
    maintained("execute", "shop", "INSERT INTO orders VALUES (3, 30)")
    maintained.built()
    maintained.write(SECOND, READS)
    assert "- view total@v0: dropped" in maintained("plan", "shop")
    maintained("apply", "shop")
    assert stored_rows(maintained.root, "total-v0") is None
    assert maintained.built() == []
    assert maintained.states()["v0"] == ""
    assert maintained.read("total@v0") == first()
    assert "total@v0 as of step 1" in maintained("query", "shop", "SELECT * FROM total@v0")
    assert "no changes" in maintained("plan", "shop")


def test_a_rollback_makes_it_active_and_goes_on_keeping_it(maintained: Shop, first: First) -> None:
    maintained("execute", "shop", "INSERT INTO orders VALUES (3, 30)")
    maintained.built()
    assert "v0's rows are kept and current; nothing was computed" in maintained("rollback", "total")
    assert maintained.built() == []
    assert stored_rows(maintained.root, "total") == stored_rows(maintained.root, "total-v0") == first("(3, 30)")
    assert maintained.states()["v0"] == "active (rolled back), maintained"
    maintained("execute", "shop", "INSERT INTO orders VALUES (4, 40)")
    both = first("(3, 30)", "(4, 40)")
    assert stored_rows(maintained.root, "total") == stored_rows(maintained.root, "total-v0") == both
    assert "no changes" in maintained("plan", "shop")


def test_rows_are_taken_over_only_where_they_are_what_a_bootstrap_gives(shop: Shop) -> None:
    # The table is cleared in the same go.
    shop.write(SECOND.replace("price INT", "price BIGINT"))
    assert "nothing computed" not in shop("apply", "shop")
    assert sorted(shop.built()) == ["total", "total@v0"]


def test_rows_that_chance_decides_are_computed(shop: Shop) -> None:
    shop.write(FIRST + "CREATE MATERIALIZED VIEW dice AS SELECT id, rand() AS number FROM orders;\n", READS)
    shop("apply", "shop")
    shop.built()
    keeping = READS + "  views:\n    dice: {versions: {v0: {maintain: true}}}\n"
    shop.write(FIRST + "CREATE MATERIALIZED VIEW dice AS SELECT id, rand() + 1 AS number FROM orders;\n", keeping)
    shop("apply", "shop")
    assert sorted(shop.built()) == ["dice", "dice@v0"]


def test_two_tables_share_no_file_by_name(maintained: Shop, first: First) -> None:
    maintained("execute", "shop", "INSERT INTO orders VALUES (3, 30)")
    maintained("rollback", "total")
    maintained.write(SECOND, READS + "  retention: {versions: 0, steps: 0s}\n")
    maintained("rollback", "--end", "total")
    maintained("apply", "shop")
    maintained("prune", "shop")
    assert not (maintained.root / "warehouse" / "shop" / "total-v0").exists()
    maintained("rollback", "total")
    assert stored_rows(maintained.root, "total") == first("(3, 30)")


def test_copies_that_somebody_took_are_computed_after_all(maintained: Shop, first: First) -> None:
    # So that the rows of then are not current any more.
    maintained("execute", "shop", "INSERT INTO orders VALUES (3, 30)")
    maintained.built()
    before = set(maintained.root.glob("warehouse/shop/total/v-*"))

    def vacuum(boundary: str) -> None:
        if boundary == "publish_view:intended":
            for folder in set(maintained.root.glob("warehouse/shop/total/v-*")) - before:
                shutil.rmtree(folder)

    target = Project.open(maintained.root, engine=maintained.engine).target
    roll_back(target, rollback_of(target, versioned_name("total")), Session(maintained.engine, boundary=vacuum))
    assert maintained.built() == ["total"]
    assert stored_rows(maintained.root, "total") == first("(3, 30)")


@pytest.mark.parametrize(
    "point",
    mostly_slow(
        [f"{kind}:{point}" for kind in ("bootstrap_view", "publish_view") for point in POINTS],
        "bootstrap_view:effected",
        "publish_view:effected",
    ),
)
def test_a_rollback_to_one_that_dies_is_finished_by_the_next(maintained: Shop, first: First, point: str) -> None:
    maintained("execute", "shop", "INSERT INTO orders VALUES (3, 30)")
    maintained.built()
    target = Project.open(maintained.root, engine=maintained.engine).target
    dying = Session(maintained.engine, boundary=crash_at(point))
    with pytest.raises(Crash):
        roll_back(target, rollback_of(target, versioned_name("total")), dying)
    maintained("apply", "shop")
    assert maintained.built() == []
    assert stored_rows(maintained.root, "total") == first("(3, 30)")
    assert "no changes" in maintained("plan", "shop")


def test_it_is_no_object_with_versions(maintained: Shop) -> None:
    head = Project.open(maintained.root).target.registry.head("shop")
    assert head is not None
    assert sorted(head.value.versions) == ["table:orders", "view:total"]
    maintained.write(program("MAX(price)"))
    maintained("apply", "shop")
    head = Project.open(maintained.root).target.registry.head("shop")
    assert head is not None
    assert {key: one.last for key, one in head.value.versions.items()} == {"table:orders": 0, "view:total": 2}


def test_a_rename_takes_it_along(maintained: Shop, first: First) -> None:
    moved = "  moved: [{from: total, to: sum}]\n  views:\n    sum: {versions: {v0: {maintain: true}}}\n"
    maintained.write(SECOND.replace("VIEW total", "VIEW sum"), READS + moved)
    maintained("apply", "shop")
    assert maintained.built() == []
    maintained("execute", "shop", "INSERT INTO orders VALUES (3, 30)")
    assert maintained.read("sum@v0") == first("(3, 30)")
    assert stored_rows(maintained.root, "total-v0") == first("(3, 30)")
    assert "no changes" in maintained("plan", "shop")


def test_it_may_begin_with_a_rename(shop: Shop, first: First) -> None:
    shop.write(SECOND, READS)
    shop("apply", "shop")
    moved = "  moved: [{from: total, to: sum}]\n  views:\n    sum: {versions: {v0: {maintain: true}}}\n"
    shop.write(SECOND.replace("VIEW total", "VIEW sum"), READS + moved)
    shop("apply", "shop")
    assert shop.read("sum@v0") == stored_rows(shop.root, "sum-v0") == first()
    assert "no changes" in shop("plan", "shop")


def test_it_may_be_staged_with_the_change(shop: Shop, first: First) -> None:
    shop.write(SECOND)
    shop("apply", "shop", "--no-promote")
    assert sorted(shop.built()) == ["total", "total@v0"]
    assert stored_rows(shop.root, "total-v0") is None
    shop("promote", "total@v1")
    assert shop.built() == []
    assert stored_rows(shop.root, "total-v0") == first()
    assert "no changes" in shop("plan", "shop")


def test_a_version_that_was_never_recorded_is_an_error_with_those_that_were(shop: Shop) -> None:
    shop.write(SECOND, MAINTAINED.replace("v0", "v7"))
    assert "there are v0" in (said := shop("plan", "shop", code=1))
    assert "A522" in said


def test_a_view_that_was_never_applied_has_none(shop: Shop) -> None:
    more = "CREATE MATERIALIZED VIEW fresh AS SELECT id FROM orders;\n"
    shop.write(FIRST + more, READS + "  views:\n    fresh: {versions: {v0: {maintain: true}}}\n")
    said = shop("plan", "shop", code=1)
    assert "A522" in said
    assert "was ever applied" in said


def test_one_that_no_longer_fits_is_an_error_before_anything_is_touched(maintained: Shop) -> None:
    maintained.write(SECOND.replace("price INT", "cost INT"))
    said = maintained("plan", "shop", code=1)
    assert "A527" in said
    assert "total@v0" in said
    assert "price" in said


def test_an_approval_is_needed_for_it_as_for_any_change(shop: Shop) -> None:
    shop.write(FIRST, READS, policy="await_approval")
    shop("apply", "shop")
    shop.write(FIRST, policy="await_approval")
    assert "+ view total@v0: bootstrapped" in shop("plan", "shop")
    assert "A501" in shop("apply", "shop", code=2)
    assert stored_rows(shop.root, "total-v0") is None


def test_what_was_kept_is_read_after_a_prune(maintained: Shop, first: First) -> None:
    maintained.write(SECOND, MAINTAINED + "  retention: {versions: 0, steps: 0s}\n")
    maintained("apply", "shop")
    assert "maintained" in maintained("prune", "shop", "--dry-run")
    maintained("prune", "shop")
    assert maintained.read("total@v0") == first()


@pytest.mark.parametrize(
    "point",
    mostly_slow(
        [f"{kind}:{point}" for kind in ("bootstrap_view", "publish_view", "commit_snapshot") for point in POINTS],
        "bootstrap_view:effected",
        "publish_view:effected",
        "commit_snapshot:effected",
    ),
)
def test_an_apply_that_dies_is_finished_by_the_next(shop: Shop, first: First, point: str) -> None:
    shop.write(SECOND)
    with pytest.raises(Crash):
        open_shop(shop.root, RecordingEngine(DeltaWriter())).observed(boundary=crash_at(point)).apply()
    shop("apply", "shop")
    assert stored_rows(shop.root, "total-v0") == first() != stored_rows(shop.root, "total")
    assert shop.states()["v0"] == "maintained"
    assert "no changes" in shop("plan", "shop")
