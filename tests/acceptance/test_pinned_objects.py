"""Tables and functions that are pinned, by the command line over real Delta tables, with the recording engine. Views:
`test_pinned_views`; what old versions call: `test_versions_with_functions`."""

from pathlib import Path

import pytest

from reconciler import Project
from reconciler.engine.protocol import ViewBuild
from reconciler.testing.crashes import POINTS, Crash, crash_at
from tests.acceptance.shop import stored_rows
from tests.acceptance.test_versions_with_functions import bodies
from tests.acceptance.versioned_shop import READS, VersionedShop, made_once

pytestmark = pytest.mark.both_ways

NO_CHANGES = "no changes"
EVOLVE = READS + "  evolution: evolve\n"
TABLE = EVOLVE + "  tables: {Orders: {version: v0}}\n"
FUNCTION = EVOLVE + "  functions: {Tax: {version: v0}}\n"
BOUNDARIES = [f"commit_snapshot:{point}" for point in POINTS]


def program(columns: str = "id BIGINT, price INT", tax: str = "x * 2") -> str:
    return (
        f"CREATE TABLE orders ({columns});\n"
        f"CREATE FUNCTION tax(x INT) RETURNS INT AS {tax};\n"
        "CREATE FUNCTION gross(x INT) RETURNS INT AS x + tax(x);\n"
        "CREATE MATERIALIZED VIEW total AS SELECT gross(price) AS total FROM orders;\n"
    )


WIDE = "id BIGINT, price INT, note STRING"
LAST = program(WIDE, "x * 3")


class Shop(VersionedShop):
    """See VersionedShop."""

    settings = EVOLVE

    def tax(self) -> str:
        """The body of tax that the view is computed with."""
        self("execute", "shop", "INSERT INTO orders (id, price) VALUES (2, 20)")
        builds = [call for call in self.engine.calls if isinstance(call, ViewBuild)]
        return bodies(builds[-1].functions)["tax"]

    def numbers(self) -> dict[str, str]:
        return {name: self.active(name) for name in ("orders", "tax", "total")}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where what all tests start from lies, once it is made."""
    return tmp_path_factory.mktemp("kept") / "shop"


@pytest.fixture
def shop(kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shop:
    """A table that got a column, and a function that changed, with rows."""

    def make(root: Path) -> None:
        shop = Shop(root, capsys)
        shop.write(program())
        shop("apply", "shop")
        shop("execute", "shop", "INSERT INTO orders VALUES (1, 10)")
        shop.write(LAST)
        shop("apply", "shop")
        assert shop.numbers() == {"orders": "v1 active", "tax": "v1 active", "total": "v1 active"}

    return Shop(made_once(kept, tmp_path / "shop", make), capsys)


def test_a_function_is_pinned_and_what_calls_it_follows(shop: Shop) -> None:
    shop.write(LAST, FUNCTION)
    planned = shop("plan", "shop")
    assert "version of tax: latest → v0" in planned
    assert "calls gross, which calls tax, which changed" in planned
    shop("apply", "shop")
    assert shop.numbers() == {"orders": "v1 active", "tax": "v0 active", "total": "v0 active"}
    assert shop.tax() == "x * 2"
    assert NO_CHANGES in shop("plan", "shop")
    assert "A543" in shop("rollback", "tax@v1", code=1)
    shop.write(LAST)
    shop("apply", "shop")
    assert shop.numbers()["tax"] == "v1 active"


def test_a_table_is_pinned_where_its_rows_outlive_that(shop: Shop) -> None:
    shop.write(LAST, TABLE)
    assert "version of orders: latest → v0" in shop("plan", "shop")
    shop("apply", "shop")
    assert shop.numbers()["orders"] == "v0 active"
    assert stored_rows(shop.root, "orders") == [(1, 10)]
    assert NO_CHANGES in shop("plan", "shop")
    assert "A543" in shop("rollback", "orders@v1", code=1)
    shop.write(LAST)
    shop("apply", "shop")
    assert shop.numbers()["orders"] == "v1 active"
    assert stored_rows(shop.root, "orders") == [(1, 10, None)]


def test_and_not_where_they_would_go(shop: Shop) -> None:
    shop.write(LAST, TABLE.replace("evolve", "clear"))
    for command in ("plan", "apply"):
        assert "A592" in shop(command, "shop", code=1)
    assert stored_rows(shop.root, "orders") == [(1, 10, None)]


def test_a_pin_in_force_stays_where_the_table_would_be_cleared_now(shop: Shop) -> None:
    shop.write(LAST, TABLE)
    shop("apply", "shop")
    shop.write(LAST, TABLE.replace("evolve", "clear"))
    shop("apply", "shop")
    assert shop.numbers()["orders"] == "v0 active"
    assert stored_rows(shop.root, "orders") == [(1, 10)]


@pytest.mark.parametrize(
    ("files", "pin", "said"),
    [
        (program(WIDE + ", more INT", "x * 3"), TABLE, "+CREATE TABLE orders (id BIGINT, price INT, note STRING, more INT)"),
        (program(WIDE, "x * 4"), FUNCTION, "+CREATE FUNCTION tax(x INT) RETURNS INT AS x * 4"),
    ],
)
def test_a_pin_and_a_change_at_once_are_a_conflict_that_shows_the_difference(
    shop: Shop, files: str, pin: str, said: str
) -> None:
    shop.write(files, pin)
    found = shop("plan", "shop", code=1)
    assert "A525" in found
    assert said in found


def test_the_files_may_say_either_or_what_they_said_beside_the_pin(shop: Shop) -> None:
    pins = EVOLVE + "  tables: {orders: {version: v0}}\n  functions: {tax: {version: v0}}\n"
    for files in (LAST, LAST, program()):
        shop.write(files, pins)
        shop("apply", "shop")
        assert shop.numbers() == {"orders": "v0 active", "tax": "v0 active", "total": "v0 active"}
        assert NO_CHANGES in shop("plan", "shop")


@pytest.mark.parametrize("pin", [TABLE, FUNCTION], ids=["table", "function"])
def test_a_version_that_does_not_exist(shop: Shop, pin: str) -> None:
    shop.write(LAST, pin.replace("v0", "v7"))
    found = shop("plan", "shop", code=1)
    assert "A522" in found
    assert "there are v0, v1" in found
    shop.write(LAST, pin.replace("v0", "newest"))
    assert "pipeline.yaml:" in shop("plan", "shop", code=1)


def test_a_pin_keeps_a_version_from_being_pruned(shop: Shop) -> None:
    shop.write(LAST, TABLE + "  retention: {versions: 0, steps: 0s}\n")
    shop("apply", "shop")
    assert "pinned" in shop("prune", "shop", "--dry-run") or shop.numbers()["orders"] == "v0 active"


def test_a_python_function_that_conflicts_shows_its_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shop = Shop(tmp_path, capsys)
    files = "CREATE TABLE orders (price INT);\nCREATE FUNCTION tax(x INT) RETURNS INT;\n"
    files += "CREATE MATERIALIZED VIEW total AS SELECT tax(price) AS total FROM orders;\n"
    taxes = tmp_path / "pipelines" / "shop" / "udf" / "taxes.py"
    for rate, pin in ((2, EVOLVE), (3, EVOLVE), (4, FUNCTION)):
        shop.write(files, pin)
        taxes.parent.mkdir(exist_ok=True)
        taxes.write_text(f"def tax(x):\n    return x * {rate}\n")
        found = shop("apply", "shop", code=int(rate == 4))
    assert "A525" in found
    assert "-    return x * 3" in found
    assert "+    return x * 4" in found
    taxes.write_text("def tax(x):\n    return x * 3\n")
    shop("apply", "shop")
    assert [shop.active(name) for name in ("tax", "total")] == ["v0 active", "v0 active"]


@pytest.mark.parametrize("boundary", [*BOUNDARIES, "publish_table:effected", "publish_view:effected", "open:recorded"])
def test_a_crash_on_the_way(shop: Shop, boundary: str) -> None:
    pins = EVOLVE + "  tables: {orders: {version: v0}}\n  functions: {tax: {version: v0}}\n"
    shop.write(LAST, pins)
    with pytest.raises(Crash):
        Project.open(shop.root, engine=shop.engine).pipeline("shop").observed(boundary=crash_at(boundary)).apply()
    shop("apply", "shop")
    assert shop.numbers() == {"orders": "v0 active", "tax": "v0 active", "total": "v0 active"}
    assert stored_rows(shop.root, "orders") == [(1, 10)]
    assert NO_CHANGES in shop("plan", "shop")
