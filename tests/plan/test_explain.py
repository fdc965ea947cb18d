"""Lineage down to tables, and the reasons and forms of explanations where only values are needed."""

from dataclasses import replace

from reconciler.base.declarations import FunctionDeclaration, SqlBody
from reconciler.plan.explain.json_form import explanation_to_json
from reconciler.plan.explain.make import explain_lines, explain_relation, known_names, sides_of
from reconciler.plan.explain.model import RelationExplanation, Sides, State
from reconciler.plan.explain.origins import Origins, trace_origins
from reconciler.plan.explain.text_form import render_lines, render_relation
from reconciler.plan.make import make_plan
from reconciler.project.program.model import Function, Program
from reconciler.project.snapshot.model import take_snapshot
from tests.plan.test_forms import POLICIES, snapshot

TABLES = "CREATE TABLE Orders (Id BIGINT, Qty INT, note STRING);\nCREATE TABLE prices (id BIGINT, price INT);\n"
CHAIN = (
    "CREATE VIEW priced AS SELECT o.id, o.qty * p.price AS amount, o.note FROM orders o JOIN prices p ON o.id = p.id;\n"
    "CREATE LOCAL VIEW big AS SELECT id, amount, note FROM priced WHERE amount > 10;\n"
    "CREATE MATERIALIZED VIEW top AS SELECT id, amount AS total, 1 AS one FROM big;\n"
)


def program(text: str) -> Program:
    return snapshot(text).program


def sides(applied: str, desired: str) -> Sides:
    before, after = snapshot(applied), snapshot(desired)
    return sides_of(make_plan("shop", "dev", before, after, POLICIES), before.program, after.program)


def explained(applied: str, desired: str, name: str) -> RelationExplanation:
    return explain_relation(sides(applied, desired), name, {})


def test_columns_come_from_tables_through_every_view_between() -> None:
    found = trace_origins(program(TABLES + CHAIN), "top")
    assert found.columns["id"] == Origins(("Orders.Id",), True)
    assert found.columns["total"] == Origins(("Orders.Qty", "prices.price"), True)
    assert found.columns["one"] == Origins((), True)
    assert found.rows == Origins(("Orders.Id", "Orders.Qty", "prices.id", "prices.price"), True)


def test_a_view_of_unknown_lineage_comes_from_anything_that_it_reads() -> None:
    known = program(TABLES + CHAIN)
    views = {**known.views, "priced": replace(known.views["priced"], lineage=None)}
    found = trace_origins(replace(known, views=views), "top")
    everything = ("Orders.Id", "Orders.note", "Orders.Qty", "prices.id", "prices.price")
    assert found.columns["id"] == Origins(everything, False)
    assert found.rows == Origins(everything, False)
    assert found.columns["one"] == Origins((), True), "it is a literal, whatever is read"


def test_a_chain_of_thousands_of_views_is_traced() -> None:
    views = [f"CREATE VIEW v{n} AS SELECT id FROM v{n - 1};\n" for n in range(1, 1500)]
    found = trace_origins(program(TABLES + "CREATE VIEW v0 AS SELECT id FROM orders;\n" + "".join(views)), "v1499")
    assert found.columns["id"] == Origins(("Orders.Id",), True)


def test_lines_are_in_dependency_order_and_the_gone_come_last() -> None:
    lines = explain_lines(sides(TABLES + CHAIN, TABLES + CHAIN.split("CREATE MATERIALIZED")[0]))
    assert [(line.name, line.state) for line in lines[-2:]] == [("big", State.UNTOUCHED), ("top", State.REMOVED)]
    assert lines.index(next(line for line in lines if line.name == "priced")) > 1


def test_a_table_that_becomes_a_view_says_both() -> None:
    found = explained(
        TABLES,
        TABLES.replace("CREATE TABLE prices (id BIGINT, price INT)", "CREATE VIEW prices AS SELECT id FROM orders"),
        "prices",
    )
    assert (found.state, found.kind) == (State.ADDED, "plain view")
    assert len(found.why) == 2
    assert "the table of that name is applied" in found.why[1]


def test_names_of_both_sides_are_known_in_any_letter_case() -> None:
    both = sides(TABLES + CHAIN, TABLES.replace("prices", "costs"))
    assert known_names(both) == ("big", "costs", "Orders", "priced", "prices", "top")
    assert explain_relation(both, "ORDERS", {}).name == "Orders"


def test_parts_say_which_part_changed() -> None:
    found = explained(TABLES + CHAIN, TABLES + CHAIN.replace("MATERIALIZED VIEW top", "VIEW top"), "top")
    assert [part.name for part in found.parts if part.applied != part.desired] == ["kind"]
    assert found.same_meaning is None


def test_functions_that_a_view_calls_stand_among_its_parts() -> None:
    def with_functions(expression: str) -> Program:
        known = program(TABLES + CHAIN)
        inner = FunctionDeclaration("Inner", (), "INT", SqlBody(expression), True, "")
        outer = FunctionDeclaration("outer", (), "INT", SqlBody("Inner()"), True, "")
        functions = {"inner": Function(inner), "outer": Function(outer, ("inner",))}
        views = {**known.views, "top": replace(known.views["top"], calls=("outer",))}
        return replace(known, views=views, functions=functions)

    before, after = take_snapshot(with_functions("1")), take_snapshot(with_functions("2"))
    both = sides_of(make_plan("shop", "dev", before, after, POLICIES), before.program, after.program)
    found = explain_relation(both, "top", {})
    assert [part.name for part in found.parts][-2:] == ["function Inner", "function outer"]
    assert [part.name for part in found.parts if part.applied != part.desired] == ["function Inner"]
    assert found.why == ("calls outer, which calls Inner, which changed",)


def test_forms_are_the_same_for_the_same_values_and_keep_to_a_width() -> None:
    both = sides(TABLES + CHAIN, TABLES + CHAIN.replace("amount > 10", "amount > 11"))
    one = explain_relation(both, "top", {})
    text = render_relation("shop, dev", one, width=60)
    assert all(len(line) <= 60 for line in text.splitlines())
    assert text.replace("\n        ", " ").split() == render_relation("shop, dev", one).split(), "nothing is lost"
    lines = explain_lines(both)
    assert all(len(line) <= 70 for line in render_lines("shop (dev)", lines, width=70).splitlines())
    assert explanation_to_json("shop", "dev", None, lines, one)["relation"]["name"] == "top"


def test_a_local_view_that_is_spared_is_explained_and_in_no_plan() -> None:
    table = "CREATE TABLE t (id BIGINT, at DATE{});\n"
    views = "CREATE LOCAL VIEW l AS SELECT id FROM t;\nCREATE MATERIALIZED VIEW m AS SELECT id FROM t;\n"
    found = sides(table.format("") + views, table.format(" DEFAULT DATE '2026-01-01'") + views)
    assert found.plan is not None
    assert [one.view for one in found.plan.diff.spared] == ["m"]
    explanation = explain_relation(found, "l", {})
    assert explanation.state is State.SPARED
    assert explanation.why == ("it reads t, in which no value changed; it reads id",)
