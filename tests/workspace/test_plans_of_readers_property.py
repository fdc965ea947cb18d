"""Whatever becomes of a pipeline: the plan of who reads it, made from both files before that one is applied, is the plan
that is made after."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from reconciler.apply.planning import plan_pipeline
from reconciler.base.errors import ReconcileError
from reconciler.plan.text_form import render_text
from tests.cells import mostly_slow
from tests.shops.two_pipelines import Pair, two_pipelines

SHOP = """\
CREATE TABLE o (id INT, net INT, gross INT);
CREATE TABLE p (id INT, net INT);
CREATE MATERIALIZED VIEW rev AS SELECT SUM(net) AS total FROM o;
CREATE VIEW plain AS SELECT id, gross FROM o;
CREATE MATERIALIZED VIEW most AS SELECT MAX(gross) AS most FROM plain;
CREATE MATERIALIZED VIEW beside AS SELECT id FROM p;
"""
READER = """\
CREATE MATERIALIZED VIEW good AS SELECT total FROM shop.rev;
CREATE MATERIALIZED VIEW peak AS SELECT most FROM shop.most;
CREATE MATERIALIZED VIEW nets AS SELECT id, net FROM shop.o;
CREATE MATERIALIZED VIEW number AS SELECT COUNT(*) AS n FROM shop.o;
CREATE MATERIALIZED VIEW pairs AS SELECT g.total, p.most FROM good g CROSS JOIN peak p;
CREATE MATERIALIZED VIEW other AS SELECT id FROM shop.beside;
"""
LAST = """\
CREATE MATERIALIZED VIEW best AS SELECT total FROM reader.good;
CREATE MATERIALIZED VIEW ids AS SELECT id FROM reader.other;
CREATE MATERIALIZED VIEW count AS SELECT n FROM reader.number;
"""
TRADED = SHOP.replace("net INT, gross INT", "gross INT, net INT")
TRADE = ("o.net o.gross", "o.gross o.net")


DO_NOT_FIT = ("M100", "P330", "P333", "P334", "P335")
"""Codes of moves that don't fit what is applied."""


def write(pair: Pair, name: str, program: str, moved: tuple[str, ...] = (), evolution: str = "evolve") -> None:
    pair.write(name, program)
    file = pair.root / "pipelines" / name / "pipeline.yaml"
    entries = "".join(f"    - {{from: {one.split()[0]}, to: {one.split()[1]}}}\n" for one in moved)
    file.write_text(file.read_text() + f"  evolution: {evolution}\n" + (f"  moved:\n{entries}" if moved else ""))


def three_pipelines(root: Path) -> Pair:
    pair = two_pipelines(root)
    write(pair, "shop", SHOP)
    write(pair, "reader", READER)
    write(pair, "last", LAST)
    pair.apply("shop", "reader", "last")
    return pair


def plan(pair: Pair, name: str) -> tuple[str, str]:
    """Its digest and its words; of one that can't be made, why."""
    try:
        found = plan_pipeline(pair.project.target, name)
    except ReconcileError as error:
        return error.code, error.message
    return found.digest, render_text(found)


def built(pair: Pair, name: str) -> list[str]:
    return [one.name for one in plan_pipeline(pair.project.target, name).diff.relations]


def changes(random: Random) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Programs of the shop, one after the other, each with its moves and its evolution."""
    columns, kinds, gross = ["net", "gross"], {"net": "INT", "gross": "INT"}, "gross"
    extra, least, of, moved = "", "SUM", "o", ()
    while True:
        moved = moved if random.random() < 0.3 else ()
        match random.choice(("trade", "trade", "rename", "reorder", "type", "query", "unread", "another table", "forget")):
            case "trade":
                columns, moved = columns[::-1], (f"o.net o.{gross}", f"o.{gross} o.net")
            case "rename":
                former, gross = gross, random.choice(("gross", "price"))
                moved = (f"o.{former} o.{gross}",) if former != gross else ()
            case "reorder":
                columns = columns[::-1]
            case "type":
                kinds = {**kinds, random.choice(columns): random.choice(("INT", "BIGINT"))}
            case "query":
                least = random.choice(("SUM", "MAX", "MIN"))
            case "unread":
                extra = random.choice(("", ", tax INT", ", vat INT"))
            case "another table":
                of = random.choice(("o", "p"))
            case _:
                moved = ()
        listed = ", ".join(f"{one if one == 'net' else gross} {kinds[one]}" for one in columns)
        program = SHOP.replace("net INT, gross INT", listed + extra).replace("SUM(net)", f"{least}(net)")
        program = program.replace("total FROM o", f"total FROM {of}")
        program = program.replace("id, gross FROM", f"id, {gross} FROM").replace("MAX(gross)", f"MAX({gross})")
        yield program, moved, random.choice(("evolve", "evolve", "clear"))


def require_the_same_plans(pair: Pair, of_shop: str) -> None:
    """Applies the shop, then its reader, and compares what was planned before with what is planned after."""
    before = {name: plan(pair, name) for name in ("reader", "last")}
    pair.apply("shop")
    assert {name: plan(pair, name) for name in before} == before, of_shop
    pair.apply("reader")
    assert plan(pair, "last") == before["last"], of_shop
    pair.apply("last")


@pytest.mark.parametrize("evolution", mostly_slow(["evolve", "clear"], "evolve"))
def test_columns_that_trade_names_reach_who_reads_a_view_of_them(tmp_path: Path, evolution: str) -> None:
    pair = three_pipelines(tmp_path)
    write(pair, "shop", TRADED, TRADE, evolution)
    assert built(pair, "reader") == ["good", "nets", "pairs", "peak"]
    assert built(pair, "last") == ["best"]
    require_the_same_plans(pair, TRADED)
    assert "no changes" in plan(pair, "reader")[1]


PRICED = SHOP.replace("net INT, gross", "price INT, gross").replace("SUM(net)", "SUM(price)")
WITH_ANOTHER = PRICED.replace("gross INT", "gross INT, net INT")
SOLD = SHOP.replace("TABLE o", "TABLE sold").replace("FROM o", "FROM sold")
SEQUENCES: dict[str, list[tuple[str, tuple[str, ...]]]] = {
    "trade, then forget": [(TRADED, TRADE), (TRADED, ())],
    "trade there and back": [(TRADED, TRADE), (TRADED, ()), (SHOP, TRADE)],
    "rename, and all that reads it": [(PRICED, ("o.net o.price",))],
    "a new column under a name that was given up": [
        (PRICED, ("o.net o.price",)),
        (WITH_ANOTHER, ()),
        (WITH_ANOTHER.replace("SUM(price)", "SUM(net)"), ()),
    ],
    "a new table under the name of another": [
        (SOLD, ("o sold",)),
        (SOLD + "CREATE TABLE o (id INT, net INT, gross INT);", ()),
    ],
}


# What begins as another one of them is slow.
@pytest.mark.parametrize("name", mostly_slow(list(SEQUENCES), *(name for name in SEQUENCES if name != "trade, then forget")))
def test_the_plan_of_a_reader_is_the_one_after_what_it_reads_is_applied(tmp_path: Path, name: str) -> None:
    pair = three_pipelines(tmp_path)
    for program, moved in SEQUENCES[name]:
        write(pair, "shop", program, moved)
        before = {one: plan(pair, one) for one in ("reader", "last")}
        pair.apply("shop")
        assert {one: plan(pair, one) for one in before} == before, (program, moved)


@pytest.mark.parametrize(("seed", "number"), mostly_slow([(0, 4), *((seed, 6) for seed in range(12))], (0, 4)))
def test_random_changes_are_planned_as_they_are_applied(tmp_path: Path, seed: int, number: int) -> None:
    pair = three_pipelines(tmp_path)
    random = Random(seed)
    compared = 0
    for _, (program, moved, evolution) in zip(range(number), changes(random), strict=False):
        write(pair, "shop", program, moved, evolution)
        text = f"{program}\n{moved} {evolution}"
        before = {name: plan(pair, name) for name in ("reader", "last")}
        try:
            pair.apply("shop")
        except ReconcileError as error:
            if error.code not in DO_NOT_FIT:
                raise
            continue
        compared += 1
        assert {name: plan(pair, name) for name in before} == before, text
        if random.random() < 0.5:
            pair.apply("reader")
            assert plan(pair, "last") == before["last"], text
            pair.apply("last")
    assert compared > 2
