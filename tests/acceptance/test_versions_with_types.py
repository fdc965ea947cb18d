"""A version of a view is also what types its columns have: by the command line over real Delta tables, with an engine that
gives the types that it is told."""

from dataclasses import replace
from pathlib import Path

import pytest

from reconciler import Project
from reconciler.engine.protocol import ColumnType
from reconciler.testing.crashes import POINTS, Crash, crash_at
from reconciler.testing.tables import Contents
from tests.acceptance.versioned_shop import READS, VersionedShop, made_once
from tests.cells import mostly_slow

NO_CHANGES = "no changes"


def program(kind: str, more: str = "") -> str:
    return (
        f"CREATE TABLE orders (id BIGINT, price {kind});\n"
        "CREATE MATERIALIZED VIEW total AS SELECT price AS total FROM orders;\n"
        "CREATE MATERIALIZED VIEW counted AS SELECT COUNT(price) AS n FROM orders;\n"
        "CREATE VIEW shown AS SELECT price AS shown FROM orders;\n"
        "CREATE VIEW ids AS SELECT id FROM orders;\n" + more
    )


class Shop(VersionedShop):
    """See VersionedShop."""

    settings = READS + "  evolution: evolve\n"

    def types(self, kind: str) -> None:
        """What Spark would say of `total`."""
        total = Contents((ColumnType("total", kind),), ())
        counted = Contents((ColumnType("n", "bigint"),), ())
        self.engine.answers = {"total": total, "total@v0": total, "counted": counted}

    def bring(self, kind: str, more: str | None = None, code: int = 0) -> str:
        self.types({"INT": "int", "BIGINT": "bigint"}[kind])
        self.write(program(kind), more)
        return self("apply", "shop", code=code)

    def numbers(self) -> dict[str, str]:
        return {name: self.active(name).split()[0] for name in ("orders", "total", "counted", "shown", "ids")}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where what all tests start from lies, once it is made."""
    return tmp_path_factory.mktemp("kept") / "shop"


@pytest.fixture
def shop(kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shop:
    """A column that became wider."""

    def make(root: Path) -> None:
        shop = Shop(root, capsys)
        shop.bring("INT")
        shop.bring("BIGINT")

    shop = Shop(made_once(kept, tmp_path / "shop", make), capsys)
    shop.types("bigint")
    return shop


WIDER = {"orders": "v1", "total": "v1", "counted": "v0", "shown": "v1", "ids": "v0"}


def test_another_type_of_a_column_makes_a_version_of_those_views_that_have_it(shop: Shop) -> None:
    assert shop.numbers() == WIDER
    assert NO_CHANGES in shop("plan", "shop")
    assert "total int → bigint" in shop("versions", "diff", "total@v0", "total@v1").replace("\n", " ").replace("~ ", "")


def test_the_type_of_before_brings_the_version_of_before(shop: Shop) -> None:
    shop.bring("INT")
    assert shop.numbers() == dict.fromkeys(WIDER, "v0")
    shop.bring("BIGINT")
    assert shop.numbers() == WIDER


PIN = Shop.settings + "  views: {total: {version: v0}}\n"


@pytest.mark.parametrize("name", ["total", "shown"])
def test_a_version_that_differs_in_types_only_can_t_be_pinned(shop: Shop, name: str) -> None:
    for words in (("plan",), ("apply",)):
        shop.write(program("BIGINT"), PIN.replace("total", name))
        assert "A526" in shop(*words, "shop", code=1)
    assert "A526" in shop("rollback", f"{name}@v0", code=1)
    assert shop.numbers() == WIDER


def test_unless_what_it_reads_has_the_types_of_then_again(shop: Shop) -> None:
    shop.bring("INT", PIN)
    assert shop.numbers() == dict.fromkeys(WIDER, "v0")
    said = shop.bring("BIGINT", PIN, code=1)
    assert "A590" in said
    assert "total is bigint and was int" in said
    assert shop.numbers() == dict.fromkeys(WIDER, "v0")
    assert shop.head().journal is None


def test_nor_be_kept_up_to_date(shop: Shop) -> None:
    assert "A590" in shop.bring("BIGINT", Shop.settings + "  views: {total: {versions: {v0: {maintain: true}}}}\n", code=1)
    assert shop.numbers() == WIDER


def test_a_version_is_staged_with_the_types_that_it_was_built_with(shop: Shop) -> None:
    shop.types("int")
    shop.write(program("BIGINT").replace("price AS total", "CAST(price AS INT) AS total"))
    shop("apply", "shop", "--no-promote")
    assert shop.states()["v2"] == "staged"
    shop("promote", "total@v2")
    assert shop.active() == "v2 active"
    shop.types("decimal(10,2)")
    shop.write(program("BIGINT").replace("price AS total", "CAST(price AS INT)  AS total"))
    assert "results do not change" in shop("plan", "shop"), "written otherwise only"


BOUNDARIES = [f"{kind}:{point}" for kind in ("publish_view", "commit_snapshot") for point in POINTS]


@pytest.mark.parametrize(
    "boundary",
    mostly_slow(
        BOUNDARIES, "publish_view:intended", "publish_view:effected", "commit_snapshot:intended", "commit_snapshot:effected"
    ),
)
def test_a_crash_gives_no_number_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str], boundary: str) -> None:
    shop = Shop(tmp_path, capsys)
    shop.bring("INT")
    shop.types("bigint")
    shop.write(program("BIGINT"))
    with pytest.raises(Crash):
        Project.open(shop.root, engine=shop.engine).pipeline("shop").observed(boundary=crash_at(boundary)).apply()
    shop("apply", "shop")
    assert shop.numbers() == WIDER
    assert len(shop.states("total")) == 2


def test_what_was_recorded_before_types_counted_gets_no_number_by_itself(shop: Shop) -> None:
    """As an earlier version of reconciler left it: the view has another type than its version was recorded with."""
    registry = Project.open(shop.root).target.registry
    stored = registry.head("shop")
    assert stored is not None
    key = "view:total"
    before = {**stored.value.versions, key: replace(stored.value.versions[key], active=0, last=0)}
    registry.replace_head(stored.token, replace(stored.value, versions=before), "as before")
    assert NO_CHANGES in shop("plan", "shop")
    shop.write(program("BIGINT", "CREATE MATERIALIZED VIEW other AS SELECT id FROM orders;\n"))
    shop("apply", "shop")
    assert shop.active() == "v0 active"
