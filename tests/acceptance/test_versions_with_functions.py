"""A version of a view is also what its functions were: by the command line over real Delta tables. The recording engine
tells the functions that each view was computed with. With Spark: `test_versions_with_functions_on_spark`."""

from pathlib import Path

import pytest

from reconciler import Project
from reconciler.engine.protocol import Selection, ViewBuild
from reconciler.engine.sources import FunctionSource, InlineSource, PythonModule
from reconciler.testing.crashes import POINTS, Crash, crash_at
from tests.acceptance.versioned_shop import READS, VersionedShop, made_once
from tests.cells import mostly_slow

pytestmark = pytest.mark.both_ways

NO_CHANGES = "no changes"
BOUNDARIES = [f"{kind}:{point}" for kind in ("bootstrap_view", "commit_snapshot") for point in POINTS]


def program(tax: str = "x * 2", more: str = "") -> str:
    return (
        "CREATE TABLE orders (id BIGINT, price INT);\n"
        f"CREATE FUNCTION tax(x INT) RETURNS INT AS {tax};\n"
        "CREATE FUNCTION gross(x INT) RETURNS INT AS x + tax(x);\n"
        "CREATE MATERIALIZED VIEW total AS SELECT gross(price) AS total FROM orders;\n"
        "CREATE MATERIALIZED VIEW plain AS SELECT price FROM orders;\n" + more
    )


PIN = READS + "  views: {total: {version: v0}}\n"
MAINTAIN = READS + "  views:\n    total: {versions: {v0: {maintain: true}}}\n"


def bodies(functions: tuple[FunctionSource, ...]) -> dict[str, str]:
    return {
        one.name: one.body if isinstance(one.body, str) else "".join(one.body.sources.values()).strip() for one in functions
    }


class Shop(VersionedShop):
    """See VersionedShop."""

    settings = READS

    def called(self) -> dict[str, dict[str, str]]:
        """By view that was computed since this was asked for last, the bodies of the functions that it was computed with."""
        found = {call.view: bodies(call.functions) for call in self.engine.calls if isinstance(call, ViewBuild)}
        self.engine.calls.clear()
        return found

    def insert(self) -> None:
        self("execute", "shop", "INSERT INTO orders VALUES (1, 10)")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where what all tests start from lies, once it is made."""
    return tmp_path_factory.mktemp("kept") / "shop"


@pytest.fixture
def shop(kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shop:
    """Two versions: tax doubled, then tripled."""

    def make(root: Path) -> None:
        shop = Shop(root, capsys)
        for tax in ("x * 2", "x * 3"):
            shop.write(program(tax))
            shop("apply", "shop")

    return Shop(made_once(kept, tmp_path / "shop", make), capsys)


OLD = {"tax": "x * 2", "gross": "x + tax(x)"}
NEW = {**OLD, "tax": "x * 3"}


def test_a_changed_function_gives_those_that_call_it_another_version_and_nobody_else(shop: Shop) -> None:
    assert {name: shop.active(name) for name in ("tax", "gross", "total", "plain", "orders")} == {
        "tax": "v1 active",
        "gross": "v1 active",
        "total": "v1 active",
        "plain": "v0 active",
        "orders": "v0 active",
    }


def test_a_reader_of_rows_that_are_computed_anew_gets_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shop, reader = Shop(tmp_path, capsys), "CREATE MATERIALIZED VIEW reader AS SELECT total FROM total;\n"
    for tax in ("x * 2", "x * 3"):
        shop.write(program(tax, reader))
        shop("apply", "shop")
    assert shop.active("total") == "v1 active"
    assert shop.active("reader") == "v0 active"


def test_a_function_that_comes_back_brings_its_views_back(shop: Shop) -> None:
    shop.write(program("x * 2"))
    shop("apply", "shop")
    assert [shop.active(name) for name in ("tax", "gross", "total")] == ["v0 active"] * 3
    shop.write(program("x * 4"))
    shop("apply", "shop")
    assert [shop.active(name) for name in ("tax", "gross", "total")] == ["v2 active"] * 3


@pytest.mark.parametrize("tax", ["x * 3", "x * 4"], ids=["as it is", "with another change of the function"])
def test_a_pinned_version_runs_the_functions_that_were_recorded_with_it(shop: Shop, tax: str) -> None:
    shop.insert()
    shop.write(program(tax), PIN)
    shop("apply", "shop")
    assert shop.active() == "v0 active"
    assert NO_CHANGES in shop("plan", "shop")
    shop.called()
    shop.insert()
    assert shop.called()["total"] == OLD
    assert shop.active("tax") == ("v1 active" if tax == "x * 3" else "v2 active")
    shop.write(program("x * 5"), PIN)
    shop("apply", "shop")
    assert shop.called() == {}, "nothing of it is computed that calls the function of today"
    assert shop.active() == "v0 active"
    shop.insert()
    assert shop.called()["total"] == OLD


def test_a_pin_of_what_calls_the_functions_of_today_is_no_change(shop: Shop) -> None:
    shop.write(program("x * 3"), READS + "  views: {total: {version: v1}}\n")
    assert "function" not in shop("plan", "shop")
    shop("apply", "shop")
    assert shop.called() == {}
    shop.write(program("x * 4"), READS + "  views: {total: {version: v1}}\n")
    assert "total: bootstrapped" not in shop("plan", "shop")
    shop("apply", "shop")
    assert shop.called() == {}
    shop.insert()
    assert shop.called()["total"] == NEW


def test_a_version_that_is_maintained_runs_its_own_functions_beside_those_of_today(shop: Shop) -> None:
    shop.write(program("x * 3"), MAINTAIN)
    shop("apply", "shop")
    shop.called()
    shop.insert()
    found = shop.called()
    assert (found["total"], found["total@v0"]) == (NEW, OLD)
    shop.write(program("x * 4"), MAINTAIN)
    shop("apply", "shop")
    assert set(shop.called()) == {"total"}
    assert NO_CHANGES in shop("plan", "shop")


def test_a_rollback_takes_the_functions_along_and_holds(shop: Shop) -> None:
    said = shop("rollback", "total@v0")
    assert "total" in said
    assert shop.active() == "v0 active (rolled back)"
    assert shop.active("tax") == "v1 active"
    assert NO_CHANGES in shop("plan", "shop")
    shop.called()
    shop.insert()
    assert shop.called()["total"] == OLD
    shop.write(program("x * 5"))
    shop("apply", "shop")
    assert shop.active() == "v0 active (rolled back)"
    shop.called()
    shop.insert()
    assert shop.called()["total"] == OLD
    shop("rollback", "--end", "total")
    assert shop.active() == "v2 active"
    assert shop.called()["total"] == {**OLD, "tax": "x * 5"}


def test_a_function_that_goes_back_leaves_a_version_that_somebody_named_as_it_is(shop: Shop) -> None:
    shop.write(program("x * 3"), READS + "  views: {total: {version: v1}}\n")
    shop("apply", "shop")
    shop("rollback", "tax@v0")
    assert shop.active("tax") == "v0 active (rolled back)"
    assert shop.active() == "v1 active"
    assert NO_CHANGES in shop("plan", "shop")
    shop.called()
    shop.insert()
    assert shop.called()["total"] == NEW


def test_a_version_goes_on_when_its_functions_are_removed(shop: Shop) -> None:
    without = "".join(line for line in program().splitlines(True) if "FUNCTION" not in line)
    shop.write(without.replace("gross(price)", "price"), MAINTAIN)
    shop("apply", "shop")
    assert shop.called()["total@v0"] == OLD
    assert NO_CHANGES in shop("plan", "shop")


def test_a_view_that_is_computed_where_it_is_read_brings_its_functions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shop, view = Shop(tmp_path, capsys), "CREATE VIEW shown AS SELECT gross(price) AS shown FROM orders;\n"
    for tax in ("x * 2", "x * 3"):
        shop.write(program(tax, view))
        shop("apply", "shop")
    assert shop.active("shown") == "v1 active"
    shop("query", "shop", "SELECT gross(o.shown) FROM `shown@v0` o CROSS JOIN shown")
    selection = next(call for call in reversed(shop.engine.calls) if isinstance(call, Selection))
    brought = {one.name: bodies(one.functions) for one in selection.sources if isinstance(one, InlineSource)}
    assert bodies(selection.functions) == NEW
    assert brought["shown@v0"] == OLD


def test_staging_and_promoting_a_view_of_a_changed_function(shop: Shop) -> None:
    shop.write(program("x * 7"))
    shop("apply", "shop", "--no-promote")
    assert shop.states()["v2"] == "staged"
    shop.called()
    shop("promote", "total@v2")
    assert shop.active() == "v2 active"
    assert "total" not in shop.called()
    shop.write(program("x * 7"), PIN)
    shop("apply", "shop", "--no-promote")
    shop("promote", "total@v0")
    assert shop.active() == "v0 active"
    shop.called()
    shop.insert()
    assert shop.called()["total"] == OLD


def test_a_checkpoint_brings_back_the_functions_that_a_pin_needs(shop: Shop) -> None:
    shop.write(program("x * 3"), PIN)
    shop("apply", "shop")
    shop("checkpoint", "create", "shop", "--name", "then")
    shop.write(program("x * 4"))
    shop("apply", "shop")
    assert shop.active() == "v2 active"
    shop("checkpoint", "restore", "shop", "then")
    assert shop.active() == "v0 active"
    shop.called()
    shop.insert()
    assert shop.called()["total"] == OLD


PYTHON = "CREATE TABLE orders (id BIGINT, price INT);\nCREATE FUNCTION tax(x INT) RETURNS INT;\n"
PYTHON += "CREATE MATERIALIZED VIEW total AS SELECT tax(price) AS total FROM orders;\n"


def test_a_function_in_python_goes_along_with_the_modules_that_it_imports(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shop = Shop(tmp_path, capsys)
    udf = tmp_path / "pipelines" / "shop" / "udf"
    for rate in (2, 3):
        shop.write(PYTHON)
        (udf / "lib").mkdir(parents=True, exist_ok=True)
        (udf / "taxes.py").write_text("from lib.rates import RATE\n\n\ndef tax(x):\n    return x * RATE\n")
        (udf / "lib" / "rates.py").write_text(f"RATE = {rate}\n")
        shop("apply", "shop")
    assert shop.active() == "v1 active"
    shop.write(PYTHON, PIN)
    shop("apply", "shop")
    shop.insert()
    builds = [call for call in shop.engine.calls if isinstance(call, ViewBuild)]
    (function,) = builds[-1].functions
    assert function.name == "tax"
    assert isinstance(function.body, PythonModule)
    assert function.body.sources["lib/rates.py"] == "RATE = 2\n"


@pytest.mark.parametrize("boundary", mostly_slow(BOUNDARIES, "bootstrap_view:effected", "commit_snapshot:effected"))
def test_a_crash_while_a_function_changes_under_a_pin(shop: Shop, boundary: str) -> None:
    shop.insert()
    shop.write(program("x * 9"), PIN)
    pipeline = Project.open(shop.root, engine=shop.engine).pipeline("shop")
    with pytest.raises(Crash):
        pipeline.observed(boundary=crash_at(boundary)).apply()
    shop("apply", "shop")
    assert {name: shop.active(name) for name in ("tax", "total")} == {"tax": "v2 active", "total": "v0 active"}
    assert NO_CHANGES in shop("plan", "shop")
    shop.called()
    shop.insert()
    assert shop.called()["total"] == OLD
