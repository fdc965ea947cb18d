"""Columns of a table that trade names: once, in every environment, and never by a guess."""

import pytest

from reconciler.base.declarations import BootstrapPolicy
from reconciler.base.diagnostics import errors_among
from reconciler.diff.compare import compare
from reconciler.diff.model import Fate
from reconciler.diff.moves import resolve_moves
from reconciler.plan.make import make_plan
from reconciler.plan.model import Policies
from reconciler.plan.operations.evolve_table import EvolveTable
from reconciler.project.manifest.read import read_manifest
from reconciler.project.program.compile import compile_program
from reconciler.project.snapshot.codec import decode_program, encode_program
from reconciler.project.snapshot.model import Snapshot, take_snapshot

HEAD = "apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {name: shop}\n"
BEFORE, AFTER = "CREATE TABLE t (id INT, a INT, b INT, c INT);", "CREATE TABLE t (id INT, b INT, a INT, c INT);"
TRADE = "{from: t.a, to: t.b}, {from: t.b, to: t.a}"


def written(sql: str, moved: str = "", evolution: str = "clear") -> tuple[Snapshot, tuple[str, ...]]:
    """The snapshot of files as the registry would give it back, and the codes of what is wrong with them."""
    files = {
        "pipelines/shop/pipeline.yaml": f"{HEAD}spec: {{evolution: {evolution}, moved: [{moved}]}}\n",
        "pipelines/shop/program.sql": sql,
    }
    read = read_manifest("pipelines/shop", files, {})
    assert read.manifest is not None, read.diagnostics
    compiled = compile_program(read.manifest)
    return take_snapshot(compiled.program), tuple(
        one.code for one in errors_among((*read.diagnostics, *compiled.diagnostics))
    )


def snapshot(sql: str, moved: str = "") -> Snapshot:
    found, wrong = written(sql, moved)
    assert wrong == ()
    return found


def stored(one: Snapshot) -> Snapshot:
    return take_snapshot(decode_program(encode_program(one.program)))


def codes(applied: Snapshot, desired: Snapshot) -> list[str]:
    return [one.code for one in resolve_moves(applied.program, desired.program).diagnostics]


def test_columns_trade_names_and_keep_their_values() -> None:
    applied, desired = snapshot(BEFORE), snapshot(AFTER, TRADE)
    assert codes(applied, desired) == []
    plan = make_plan("shop", "dev", applied, desired, Policies(BootstrapPolicy.ALLOW))
    (step,) = [step for step in plan.steps if isinstance(step, EvolveTable)]
    assert [(one.name, one.source) for one in step.columns] == [("id", "id"), ("b", "a"), ("a", "b"), ("c", "c")]
    assert [change.fate for change in plan.diff.relations] == [Fate.EVOLVED]


def test_what_is_applied_says_that_a_trade_is_done() -> None:
    desired = snapshot(AFTER, TRADE)
    assert compare(stored(desired), desired).is_empty
    # The table turned afterwards: nothing is traded by an entry that is left.
    turned = snapshot(BEFORE, TRADE)
    assert codes(stored(desired), turned) == []
    plan = make_plan("shop", "dev", stored(desired), turned, Policies(BootstrapPolicy.ALLOW))
    assert [change.fate for change in plan.diff.relations] == [Fate.CLEARED]
    # An apply without the entries, and they count again.
    back = make_plan("shop", "dev", stored(snapshot(AFTER)), snapshot(BEFORE, TRADE), Policies(BootstrapPolicy.ALLOW))
    assert [change.fate for change in back.diff.relations] == [Fate.EVOLVED]


def test_a_table_that_is_new_has_nothing_to_trade() -> None:
    applied, desired = snapshot("CREATE TABLE u (x INT);"), snapshot(AFTER + "CREATE TABLE u (x INT);", TRADE)
    assert codes(applied, desired) == []
    assert compare(stored(desired), desired).is_empty


def test_three_columns_go_round() -> None:
    moved = "{from: t.a, to: t.b}, {from: t.b, to: t.c}, {from: t.c, to: t.a}"
    applied, desired = snapshot(BEFORE), snapshot("CREATE TABLE t (id INT, b INT, c INT, a INT);", moved)
    (step,) = [
        s
        for s in make_plan("shop", "dev", applied, desired, Policies(BootstrapPolicy.ALLOW)).steps
        if isinstance(s, EvolveTable)
    ]
    assert [(one.name, one.source) for one in step.columns] == [("id", "id"), ("b", "a"), ("c", "b"), ("a", "c")]


@pytest.mark.parametrize(
    ("query", "after"),
    [
        ("SELECT a FROM t", "SELECT a FROM t"),
        ("SELECT a - b AS d FROM t", "SELECT a - b AS d FROM t"),
        ("SELECT * FROM t", "SELECT * FROM t"),
        (
            "SELECT p.x - p.y AS d FROM (SELECT a, b FROM t) AS p(x, y)",
            "SELECT p.x - p.y AS d FROM (SELECT a, b FROM t) AS p(x, y)",
        ),
        ("SELECT a - b AS d FROM t", "SELECT b - b AS d FROM t"),
        ("SELECT count(*) AS n FROM t NATURAL JOIN u", "SELECT count(*) AS n FROM t NATURAL JOIN u"),
    ],
)
def test_who_names_them_is_computed_anew(query: str, after: str) -> None:
    rest = "CREATE TABLE u (a INT, z INT); CREATE MATERIALIZED VIEW v AS {0};"
    found = compare(snapshot(BEFORE + rest.format(query)), snapshot(AFTER + rest.format(after), TRADE))
    assert {change.name for change in found.relations} == {"t", "v"}


@pytest.mark.parametrize(
    ("query", "after"),
    [
        ("SELECT id, c FROM t", "SELECT id, c FROM t"),
        ("SELECT t.a - t.b AS d FROM t", "SELECT t.b - t.a AS d FROM t"),
        ("SELECT count(*) AS n FROM t", "SELECT count(*) AS n FROM t"),
    ],
)
def test_who_follows_them_or_names_neither_is_spared(query: str, after: str) -> None:
    view = "CREATE MATERIALIZED VIEW v AS {0};"
    found = compare(snapshot(BEFORE + view.format(query)), snapshot(AFTER + view.format(after), TRADE))
    assert {change.name for change in found.relations} == {"t"}


@pytest.mark.parametrize(
    ("applied", "sql", "moved", "expected"),
    [
        (snapshot("CREATE TABLE t (id INT, a INT);"), AFTER, TRADE, ["P333"]),
        (snapshot(BEFORE), BEFORE, TRADE, ["P335"]),
        (
            stored(snapshot(AFTER, TRADE)),
            "CREATE TABLE t (id INT, c INT, a INT, b INT);",
            "{from: t.b, to: t.c}, {from: t.c, to: t.b}",
            ["P334"],
        ),
    ],
)
def test_what_can_not_be_told_is_an_error(applied: Snapshot, sql: str, moved: str, expected: list[str]) -> None:
    assert codes(applied, snapshot(sql, moved)) == expected


@pytest.mark.parametrize(
    ("sql", "moved", "expected"),
    [
        (AFTER, "{from: t.a, to: t.b}", ("P323",)),
        (AFTER, "{from: t.a, to: t.b}, {from: t.b, to: t.c}", ("P327", "P323")),
        ("CREATE TABLE x (i INT); CREATE TABLE y (i INT);", "{from: x, to: y}, {from: y, to: x}", ("P327", "P327")),
        (f"{AFTER} CREATE TABLE u (b INT);", "{from: t.a, to: u.b}, {from: u.b, to: t.a}", ("P327", "P327")),
    ],
)
def test_what_is_no_trade_is_a_chain(sql: str, moved: str, expected: tuple[str, ...]) -> None:
    assert written(sql, moved)[1] == expected


def test_an_older_record_knows_of_no_trade() -> None:
    objects = list(encode_program(snapshot(BEFORE).program))
    assert "traded" not in next(one["definition"] for one in objects if one["kind"] == "settings")
    assert decode_program(objects).settings.traded == ()
