"""Histories of versions that were written before these covered functions and types, by the reconciler of then: they stay
readable, no number is given by the upgrade itself, and an old version calls the functions that were active with it.

What is stored there, apply by apply:

| tax(x) | total | versions |
|---|---|---|
| x * 2 | gross(price) | tax v0, total v0 |
| x * 3 | gross(price) | tax v1 |
| x * 3 | gross(price) + 1 | total v1 |
| x * 4 | gross(price) + 1 | tax v2 |
"""

import shutil
from pathlib import Path

import pytest

from reconciler.engine.protocol import ViewBuild
from tests.acceptance.test_versions_with_functions import bodies
from tests.acceptance.versioned_shop import READS, VersionedShop

STORED = Path(__file__).parent / "stored" / "versions_without_functions.tar.xz"


def program(tax: str, query: str = "gross(price) + 1", more: str = "") -> str:
    return (
        "CREATE TABLE orders (id BIGINT, price INT);\n"
        f"CREATE FUNCTION tax(x INT) RETURNS INT AS {tax};\n"
        "CREATE FUNCTION gross(x INT) RETURNS INT AS x + tax(x);\n"
        f"CREATE MATERIALIZED VIEW total AS SELECT {query} AS total FROM orders;\n" + more
    )


class Shop(VersionedShop):
    """See VersionedShop."""

    settings = READS

    def numbers(self) -> dict[str, str]:
        return {name: self.active(name).split()[0] for name in ("tax", "gross", "total")}

    def called(self, view: str) -> str:
        """The body of tax that a view is computed with."""
        self("execute", "shop", "INSERT INTO orders VALUES (2, 20)")
        builds = [call for call in self.engine.calls if isinstance(call, ViewBuild) and call.view == view]
        return bodies(builds[-1].functions)["tax"]


@pytest.fixture
def shop(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shop:
    shutil.unpack_archive(STORED, tmp_path)
    return Shop(tmp_path, capsys)


BEFORE = {"tax": "v2", "gross": "v0", "total": "v1"}


def test_an_upgrade_plans_nothing_and_gives_no_number(shop: Shop) -> None:
    assert "no changes" in shop("plan", "shop")
    assert "nothing to do" in shop("apply", "shop")
    assert shop.numbers() == BEFORE
    assert "gross(price) AS" in shop("versions", "show", "total@v0")
    assert "total" in shop("query", "shop", "SELECT * FROM total@v0") or shop.engine.calls
    shop.write(program("x * 4", more="CREATE MATERIALIZED VIEW other AS SELECT id FROM orders;\n"))
    shop("apply", "shop")
    assert shop.numbers() == BEFORE


def test_an_old_version_calls_what_was_active_with_it(shop: Shop) -> None:
    shop.write(program("x * 4"), READS + "  views: {total: {versions: {v0: {maintain: true}}}}\n")
    shop("apply", "shop")
    assert shop.called("total@v0") == "x * 3"
    shop.write(program("x * 4"), READS + "  views: {total: {version: v0}}\n")
    shop("apply", "shop")
    assert shop.active() == "v0 active"
    assert shop.called("total") == "x * 3"
    shop.write(program("x * 9"), READS + "  views: {total: {version: v1}}\n")
    shop("apply", "shop")
    assert shop.active() == "v1 active"
    assert shop.called("total") == "x * 4"


def test_a_definition_that_comes_back_is_the_version_that_called_the_same(shop: Shop) -> None:
    shop.write(program("x * 3"))
    shop("apply", "shop")
    assert shop.numbers() == {"tax": "v1", "gross": "v1", "total": "v2"}, "v1 was never applied with this function last"
    shop.write(program("x * 4"))
    shop("apply", "shop")
    assert shop.numbers() == BEFORE
    shop.write(program("x * 3", "gross(price)"))
    shop("apply", "shop")
    assert shop.numbers() == {"tax": "v1", "gross": "v1", "total": "v0"}


def test_a_rollback_of_the_pipeline_and_of_one_view(shop: Shop) -> None:
    shop("rollback", "--pipeline", "shop", "--to", "1")
    assert shop.called("total") == "x * 2"
    shop("rollback", "--pipeline", "shop", "--end")
    assert shop.numbers() == BEFORE
    shop("rollback", "total@v0")
    assert shop.active() == "v0 active (rolled back)"
    assert shop.called("total") == "x * 3"
