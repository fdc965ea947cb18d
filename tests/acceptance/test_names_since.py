"""Versions that name what has another name by now, while something else has its name, by the command line over real Delta
tables, with the recording engine: they are refused, and never computed over what they were not written for."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from reconciler import Project
from tests.acceptance.versioned_shop import READS, VersionedShop, made_once

pytestmark = pytest.mark.both_ways

T, TRADED = "CREATE TABLE t (id BIGINT, net INT, gross INT);\n", "CREATE TABLE t (id BIGINT, gross INT, net INT);\n"
U = "CREATE TABLE u (id BIGINT);\n"
EVOLVE = READS + "  evolution: evolve\n"
TRADE = "  moved: [{from: t.net, to: t.gross}, {from: t.gross, to: t.net}]\n"
MAINTAIN = "  views: {total: {versions: {v0: {maintain: true}}}}\n"
PIN = "  views: {total: {version: v0}}\n"
REFRESH = ("versions", "refresh", "total@v0")


def view(columns: str, table: str = "t") -> str:
    return f"CREATE MATERIALIZED VIEW total AS SELECT {columns} FROM {table};\n"


V0, V1, V1_TRADED = view("sum(net) AS s"), view("sum(net) AS s, count(*) AS n"), view("sum(gross) AS s, count(*) AS n")


class Shop(VersionedShop):
    """See VersionedShop."""

    settings = EVOLVE

    def say(self, more: str) -> None:
        """Write this below `spec`, and leave the rest of the files."""
        self.write((self.root / "pipelines/shop/program.sql").read_text(), EVOLVE + more)

    def brought(self, program: str, more: str = "") -> None:
        self.write(program, EVOLVE + more)
        self("apply", "shop")

    def refused(self, code: str, *words: str) -> str:
        """What a command says that is refused with this code, with nothing computed."""
        self.engine.calls.clear()
        said = self(*words, code=1)
        assert said.startswith(f"{code}: ")
        assert self.built() == []
        return said

    def trade(self, more: str = "") -> None:
        self.brought(TRADED + U + V1_TRADED, more + TRADE)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where what all tests start from lies, once it is made."""
    return tmp_path_factory.mktemp("kept") / "shop"


@pytest.fixture
def shop(kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shop:
    """Two versions of a view that reads a column, and a row."""

    def make(root: Path) -> None:
        shop = Shop(root, capsys)
        shop.brought(T + U + V0)
        shop("execute", "shop", "INSERT INTO t VALUES (1, 10, 200)")
        shop.brought(T + U + V1)

    return Shop(made_once(kept, tmp_path / "shop", make), capsys)


def traded(shop: Shop) -> str:
    shop.trade()
    return "total@v0 {}: it reads the former column t.net, which is now t.gross, and another column now has its name"


def used_again(shop: Shop) -> str:
    table = "CREATE TABLE t (id BIGINT, netto INT, gross INT"
    following = U + V1.replace("net", "netto")
    shop.brought(f"{table});\n{following}", "  moved: [{from: t.net, to: t.netto}]\n")
    shop.brought(f"{table}, net INT);\n{following}")
    return "total@v0 {}: it reads the former column t.net, which is now t.netto, and another column now has its name"


def another_table(shop: Shop) -> str:
    following = U + V1.replace("FROM t", "FROM old")
    old = T.replace("TABLE t", "TABLE old")
    shop.brought(old + following, "  moved: [{from: t, to: old}]\n")
    shop.brought(old + T + following)
    return "total@v0 {}: it reads the former t, which is now old, and another table now has its name"


MOVES = [traded, used_again, another_table]


@pytest.mark.parametrize("move", MOVES)
def test_a_version_that_names_something_else_by_now_is_not_computed(shop: Shop, move: Callable[[Shop], str]) -> None:
    said = move(shop)
    assert said.format("can't be kept up to date in the current program") in shop.refused("A593", *REFRESH)
    assert said.partition(": it ")[2] in shop.refused("A541", "rollback", "total@v0")
    shop.say(PIN)
    assert said.format("can't be active") in shop.refused("A526", "plan", "shop")
    shop.say(MAINTAIN)
    assert said.format("can't be kept up to date in the current program") in shop.refused("A527", "plan", "shop")
    assert shop.states()["v0"] == ""


def test_a_trade_that_what_is_kept_up_to_date_reads_is_not_planned(shop: Shop) -> None:
    shop.brought(T + U + V1, MAINTAIN)
    shop.write(TRADED + U + V1_TRADED, EVOLVE + MAINTAIN + TRADE)
    assert "total@v0 can't be kept up to date" in shop.refused("A527", "apply", "shop")
    shop.trade()
    assert shop.states()["v0"] == ""


def test_a_trade_that_a_pinned_version_reads_is_not_planned(shop: Shop) -> None:
    shop.brought(T + U + V1, PIN)
    shop.write(TRADED + U + V1_TRADED, EVOLVE + PIN + TRADE)
    assert "total@v0 can't be active: it reads the former column t.net" in shop.refused("A526", "apply", "shop")


def test_a_trade_that_what_is_rolled_back_reads_is_not_planned(shop: Shop) -> None:
    shop("rollback", "total")
    shop.write(TRADED + U + V1, EVOLVE + TRADE)
    assert "it reads the former column t.net, which is now t.gross" in shop.refused("A540", "apply", "shop")
    # Once the files define it otherwise, they count.
    shop.trade()
    assert shop.active() == "v2 active"


def test_a_version_that_reads_others_is_computed_as_ever(shop: Shop) -> None:
    shop.brought(T + U + view("count(id) AS s"))
    shop.brought(T + U + V1)
    shop.trade()
    assert "up to date" in shop("versions", "refresh", "total@v2")
    shop("rollback", "total@v2")


def test_what_is_traded_back_is_what_it_was(shop: Shop) -> None:
    shop.trade()
    shop.brought(TRADED + U + V1_TRADED)
    shop.refused("A593", *REFRESH)
    shop.brought(T + U + V1, TRADE)
    shop(*REFRESH)
    assert "the former column t.gross, which is now t.net" in shop.refused("A593", "versions", "refresh", "total@v2")
    shop("rollback", "total@v0")


def test_a_name_that_is_given_back_is_what_it_was(shop: Shop) -> None:
    following = U + V1.replace("net", "netto")
    shop.brought(T.replace("net", "netto") + following, "  moved: [{from: t.net, to: t.netto}]\n")
    shop.brought(T + U + V1, "  moved: [{from: t.netto, to: t.net}]\n")
    shop(*REFRESH)
    # And what takes the name in between is another column.
    shop.brought(T.replace("gross", "netto INT, gross") + U + V1)
    assert "total@v2 can't be kept up to date" in shop.refused("A593", "versions", "refresh", "total@v2")


def test_tables_that_traded_names(shop: Shop) -> None:
    """By way of a third name, there and back."""
    t, u = T, T.replace("TABLE t", "TABLE u")
    shop.brought(t + u + V1)

    def go(source: str, target: str, program: str) -> None:
        shop.brought(program, f"  moved: [{{from: {source}, to: {target}}}]\n")

    def trade(first: str, second: str) -> None:
        go("t", "x", T.replace("TABLE t", "TABLE x") + u + V1.replace("FROM t", "FROM x" if first == "t" else "FROM u"))
        go("u", "t", T.replace("TABLE t", "TABLE x") + t + V1.replace("FROM t", "FROM x" if first == "t" else "FROM t"))
        go("x", "u", t + u + V1.replace("FROM t", f"FROM {second}"))

    trade("t", "u")
    assert "it reads the former t, which is now u, and another table now has its name" in shop.refused("A593", *REFRESH)
    trade("u", "t")
    shop(*REFRESH)


def test_columns_dropped_and_made_again_are_what_they_were(shop: Shop) -> None:
    """As versions of an object go on where they were."""
    shop.brought("CREATE TABLE t (id BIGINT, gross INT);\n" + U + view("count(*) AS s"))
    shop.brought("CREATE TABLE t (id BIGINT, gross INT, net INT);\n" + U + view("count(*) AS s"))
    shop(*REFRESH)


def test_a_table_is_not_what_it_was_by_names_alone(shop: Shop) -> None:
    """Its columns have traded names: the rows of an earlier version would stand under the names of others."""
    shop.trade()
    said = "it has the former column t.gross, which is now t.net"
    assert said.removeprefix("it ") in shop.refused("A541", "rollback", "t@v0")
    shop.say("  tables: {t: {version: v0}}\n")
    assert said in shop.refused("A526", "plan", "shop")
    assert "has the former column t.gross" in shop.refused("A541", "rollback", "--pipeline", "shop", "--to", "1")


def test_nor_by_a_name_that_it_gave_up(shop: Shop) -> None:
    shop.brought(T.replace("net", "netto") + U + view("count(id) AS s"), "  moved: [{from: t.net, to: t.netto}]\n")
    assert "t@v0 has the former column t.net, which is now t.netto" in shop.refused("A541", "rollback", "t@v0")


def test_a_checkpoint_brings_back_what_names_meant(shop: Shop) -> None:
    shop("checkpoint", "create", "shop", "--name", "before")
    shop.trade()
    shop("checkpoint", "restore", "shop", "before", "--approve")
    shop.write(T + U + V1, EVOLVE)
    shop(*REFRESH)
    shop.trade()
    shop.refused("A593", *REFRESH)


def test_what_an_older_version_of_reconciler_did_not_write_is_had_from_the_histories(shop: Shop) -> None:
    shop.trade()
    registry = Project.open(shop.root).target.registry
    stored = registry.head("shop")
    assert stored is not None
    registry.replace_head(stored.token, replace(stored.value, versions={}), "an older version")
    shop.brought(TRADED + U + V1_TRADED + "CREATE MATERIALIZED VIEW other AS SELECT id FROM t;\n", TRADE)
    assert shop.head().versions["table:t"].columns == {"net": "gross", "gross": "net"}
    shop.refused("A593", *REFRESH)


def test_what_the_files_write_again_is_over_what_has_the_names_now(shop: Shop) -> None:
    """Its author sees these names. The version is that one again, and from then on it means them."""
    shop.trade()
    shop.engine.calls.clear()
    shop.brought(TRADED + U + V0, TRADE)
    assert shop.active() == "v0 active"
    assert shop.built() == ["total"], "the rows of then are those of another column"
    shop.brought(TRADED + U + V1_TRADED, TRADE)
    shop(*REFRESH)
