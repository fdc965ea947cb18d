"""Views that are pinned, by the command line over real Delta tables: v1 made active again, conflicts, what is no version."""

from pathlib import Path

import pytest

from reconciler import Project
from reconciler.testing.crashes import POINTS, Crash, crash_at
from reconciler.testing.recording import RecordingEngine
from tests.acceptance.shop import write_shop
from tests.acceptance.versioned_shop import VersionedShop, made_once
from tests.cells import mostly_slow
from tests.engine.delta_writer import DeltaWriter

pytestmark = pytest.mark.both_ways

TABLE = "CREATE TABLE orders (id BIGINT, price INT);\n"
VIEWS = [
    f"CREATE MATERIALIZED VIEW total AS\nSELECT {query} FROM orders;\n"
    for query in ("SUM(price) AS total", "SUM(price) * 2 AS total", "COUNT(*) AS total")
]
LAST = TABLE + VIEWS[2]
NO_CHANGES = "no changes"


class Shop(VersionedShop):
    """See VersionedShop."""

    def pin(self, version: str, program: str = LAST, policy: str = "allow") -> None:
        self.write(program, f"  views: {{Total: {{version: {version}}}}}\n", policy)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where what all tests start from lies, once it is made."""
    return tmp_path_factory.mktemp("kept") / "shop"


@pytest.fixture
def shop(kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shop:
    """Three versions of a view were applied one after the other."""

    def make(root: Path) -> None:
        shop = Shop(root, capsys)
        for view in VIEWS:
            shop.write(TABLE + view)
            shop("apply", "shop")
        assert shop.active() == "v2 active"

    return Shop(made_once(kept, tmp_path / "shop", make), capsys)


@pytest.mark.parametrize("files", [LAST, TABLE + VIEWS[1]], ids=["active", "pinned"])
def test_a_pinned_version_is_made_active_and_stays_so(shop: Shop, files: str) -> None:
    shop.pin("v1", files)
    planned = shop("plan", "shop")
    assert "total" in planned
    assert "version of total: latest → v1" in planned
    assert "applied" in shop("apply", "shop")
    assert shop.active() == "v1 active"
    assert "SUM(price) * 2" in shop("versions", "show", "total")
    assert NO_CHANGES in shop("plan", "shop").lower()
    assert "nothing to do" in shop("apply", "shop")


def test_without_the_pin_the_files_hold_again(shop: Shop) -> None:
    shop.pin("v0")
    shop("apply", "shop")
    assert shop.active() == "v0 active"
    shop.pin("latest")
    shop("apply", "shop")
    assert shop.active() == "v2 active"
    assert NO_CHANGES in shop("plan", "shop").lower()
    assert len(shop("versions", "list", "total").splitlines()) == 2 + 3, "no number was given anew"


@pytest.mark.parametrize("command", ["plan", "apply"])
def test_a_pin_and_a_change_at_once_are_a_conflict_that_shows_the_difference(shop: Shop, command: str) -> None:
    shop.pin("v1", LAST.replace("COUNT(*)", "MAX(price)"))
    before = shop.active()
    said = shop(command, "shop", code=1)
    assert "A525" in said
    assert "-SELECT COUNT(*) AS total FROM orders" in said
    assert "+SELECT MAX(price) AS total FROM orders" in said
    assert "remove the pin" in said
    assert shop.active() == before


def test_another_part_may_change_along_with_a_pin(shop: Shop) -> None:
    shop.pin("v1", LAST + "CREATE MATERIALIZED VIEW other AS SELECT id FROM orders;\n")
    shop("apply", "shop")
    assert shop.active() == "v1 active"
    assert "v0" in shop("versions", "list", "other")


@pytest.mark.parametrize("version", ["v3", "v99999999999999999"])
def test_a_version_that_does_not_exist_is_an_error_with_those_that_do(shop: Shop, version: str) -> None:
    shop.pin(version)
    said = shop("plan", "shop", code=1)
    assert "A522" in said
    assert "there are v0, v1, v2" in said


def test_a_pin_on_what_was_never_applied(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shop = Shop(tmp_path, capsys)
    shop.pin("v0")
    assert "A522" in shop("plan", "shop", code=1)


@pytest.mark.parametrize("version", ["2", "v", "v01", "v-1", "newest", "[v1]"])
def test_what_names_no_version(shop: Shop, version: str) -> None:
    shop.pin(version)
    assert "pipeline.yaml:" in shop("plan", "shop", code=1)


def test_a_pinned_version_that_reads_what_is_gone(shop: Shop) -> None:
    count = TABLE.replace(", price INT", "") + VIEWS[2]
    shop.write(count)
    shop("apply", "shop")
    shop.pin("v1", count)
    said = shop("plan", "shop", code=1)
    assert "A526" in said
    assert "price" in said


def test_a_pin_needs_an_approval_as_any_change(shop: Shop) -> None:
    shop.write(LAST, policy="await_approval")
    shop("apply", "shop")
    shop.pin("v1", policy="await_approval")
    shop("apply", "shop", code=2)
    assert shop.active() == "v2 active"
    shop("plan", "shop", "--check-lock", code=2)
    shop("plan", "shop", "--write-lock")
    shop("plan", "shop", "--check-lock")
    assert "view total" in (shop.root / "pipelines" / "shop" / "plan.lock").read_text()
    shop.pin("v0", policy="await_approval")
    shop("plan", "shop", "--check-lock", code=2)


def test_a_pin_moves_from_one_old_version_to_another_while_the_files_stay(shop: Shop) -> None:
    shop.pin("v0")
    shop("apply", "shop")
    shop.pin("v1")
    shop("apply", "shop")
    assert shop.active() == "v1 active"
    assert NO_CHANGES in shop("plan", "shop").lower()


@pytest.mark.parametrize(
    ("then", "now", "more", "said"),
    [
        ("SELECT *", "SELECT *", "", "columns (id, price, note) instead of (id, price)"),
        ("SELECT id", "SELECT id", "  runtime: {spark: {spark.sql.ansi.enabled: 'false'}}\n", "another meaning"),
    ],
)
def test_a_definition_that_means_something_else_today_is_not_that_version(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], then: str, now: str, more: str, said: str
) -> None:
    shop = Shop(tmp_path, capsys)
    view = f"CREATE MATERIALIZED VIEW total AS {then} FROM orders;\n"
    shop.write(TABLE + view)
    shop("apply", "shop")
    later = TABLE.replace("price INT", "price INT, note STRING") + view.replace(then, now)
    write_shop(tmp_path, later, more="  evolution: evolve\n" + more)
    shop("apply", "shop")
    assert shop.active() == "v1 active"
    write_shop(tmp_path, later, more="  evolution: evolve\n  views: {total: {version: v0}}\n" + more)
    refused = shop("plan", "shop", code=1)
    assert "A526" in refused
    assert said in refused
    assert shop.active() == "v1 active"


def test_a_pinned_view_may_have_another_name(shop: Shop) -> None:
    shop.pin("v1")
    shop("apply", "shop")
    renamed = "  moved: [{from: total, to: sum}]\n  views: {sum: {version: v1}}\n"
    write_shop(shop.root, LAST.replace("VIEW total", "VIEW sum"), more=renamed)
    shop("apply", "shop")
    assert "v1" in shop("versions", "list", "sum").splitlines()[3]
    assert "active" in shop("versions", "list", "sum").splitlines()[3]
    assert NO_CHANGES in shop("plan", "shop").lower()


BOUNDARIES = [
    f"{kind}:{point}"
    for kind in ("open", "bootstrap_view", "publish_view", "commit_snapshot")
    for point in POINTS
    if kind != "open" or point in ("before", "recorded")
]


@pytest.mark.parametrize(
    "name",
    mostly_slow(BOUNDARIES, "open:recorded", "bootstrap_view:effected", "publish_view:effected", "commit_snapshot:effected"),
)
def test_a_pin_whose_apply_dies_anywhere_is_in_force_after_the_next(shop: Shop, name: str) -> None:
    shop.pin("v1")
    pipeline = Project.open(shop.root, engine=RecordingEngine(DeltaWriter())).pipeline("shop")
    with pytest.raises(Crash):
        pipeline.observed(boundary=crash_at(name)).apply()
    shop("apply", "shop")
    assert shop.active() == "v1 active"
    assert len(shop("versions", "list", "total").splitlines()) == 2 + 3, "no number was given anew"
    assert NO_CHANGES in shop("plan", "shop").lower()
    shop.write(LAST)
    shop("apply", "shop")
    assert shop.active() == "v2 active"
