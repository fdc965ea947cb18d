"""A program comes out whatever is wrong, and what is wrong is said at its place."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from reconciler.base.declarations import ConnectorDeclaration, Manifest, Settings, ViewKind
from reconciler.base.diagnostics import Location, Severity
from reconciler.project.program.compile import Compiled, compile_program
from reconciler.project.program.model import Direction, Read
from reconciler.sql.statements import read_sql
from tests.sql.reading import found, without_marks

GRADES = """
create table students (id bigint, name varchar) with ('materialized' = 'true');
create table grades (student_id bigint, class string, grade decimal(5,2), class_date date) with ('materialized' = 'true');
create view avg_grade as select student_id, class, AVG(grade) as class_avg from grades
where class_date >= date '2025-09-01' group by student_id, class;
create materialized view avg_grade_enriched as
select name as student_name, class, class_avg from avg_grade join students on avg_grade.student_id = students.id;
"""


def compiled(text: str, spark: Mapping[str, str] | None = None, more: tuple[ConnectorDeclaration, ...] = ()) -> Compiled:
    read = read_sql(text, "p.sql")
    assert read.diagnostics == ()
    manifest = Manifest(Settings("shop", spark=spark or {}), read.tables, read.views, (*read.connectors, *more))
    return compile_program(manifest)


def connectors(*settings: Mapping[str, Any]) -> str:
    return f"with ('connectors' = '{json.dumps(settings)}')"


def test_the_program_of_the_seed() -> None:
    result = compiled(GRADES)
    assert result.diagnostics == ()
    program = result.program
    assert program.order == ("grades", "avg_grade", "students", "avg_grade_enriched")
    assert list(program.tables) == ["grades", "students"]
    view = program.views["avg_grade_enriched"]
    assert view.reads == (Read("avg_grade", ("class", "class_avg", "student_id")), Read("students", ("id", "name")))
    assert view.column_names == ("student_name", "class", "class_avg")
    assert view.kind is ViewKind.MATERIALIZED
    assert view.canonical.startswith("select name as student_name , class")


def test_order_of_statements_does_not_matter() -> None:
    statements = [part for part in GRADES.split(";") if part.strip()]
    assert compiled(";".join(reversed(statements))).program == compiled(GRADES).program


def test_names_are_found_in_any_case() -> None:
    result = compiled("create table LineItem (Id int); create view v as select ID as x from LINEITEM")
    assert result.diagnostics == ()
    assert result.program.views["v"].reads == (Read("LineItem", ("Id",)),)
    assert result.program.relation("LINEITEM") is not None


def test_columns_of_views_are_known_to_their_readers() -> None:
    text, (place,) = without_marks("create view b as select ¦y from a; create view a as select 1 as x")
    result = compiled(text)
    assert found(result.diagnostics) == [("S221", place)]


BAD = {
    "two tables of one name": ("P301", "create table t (a int); ¦create table T (b int)"),
    "a table and a view of one name": ("P301", "create view t as select 1 as a; ¦create table t (b int)"),
    "a reserved name": ("P302", "¦create table _reconciler_steps (a int)"),
    "a folder of Delta": ("P302", "¦create table `_delta_log` (a int)"),
    "a folder of Delta, of a view": ("P302", "create table t (a int); ¦create view _Delta_Log as select a from t"),
    "a folder of the registry": ("P302", "¦create table _registry (a int)"),
    "another reserved name": ("P302", "¦create table information_schema (a int)"),
    "a circle": ("P303", "create view b as select x from a; ¦create view a as select x from b"),
    "a circle of three": (
        "P303",
        "create view c as select x from a; ¦create view a as select x from b; create view b as select x from c",
    ),
    "a view that reads itself": ("P304", "¦create view a as select x from a"),
    "a view that reads itself in a subquery": ("P304", "¦create view a as select 1 as x where exists (select 1 from A)"),
    "an unknown relation": ("S220", "create view a as select x from ¦b"),
}


@pytest.mark.parametrize("claim", BAD)
def test_mistakes_are_placed(claim: str) -> None:
    code, marked = BAD[claim]
    text, (place,) = without_marks(marked)
    assert found(compiled(text).diagnostics) == [(code, place)]


def test_a_circle_is_named_whole_and_once() -> None:
    result = compiled(
        "create view A as select x from b; create view b as select x from c; create view c as select x from a;"
        "create view d as select x from a"
    )
    assert [one.message for one in result.diagnostics] == ["circular dependency between views: A → b → c → A"]
    assert sorted(result.program.order) == ["a", "b", "c", "d"]


def test_a_repeated_name_names_both_places_and_the_first_stays() -> None:
    result = compiled("create table t (a int);\ncreate table T (b int)")
    assert "p.sql:1:1" in result.diagnostics[0].message
    assert result.program.tables["t"].columns[0].name == "a"


def test_a_view_that_can_not_be_parsed_has_its_text_and_mentions() -> None:
    result = compiled("create table t (a int); create view v as select a b c from t; create view w as select a from v")
    assert [one.code for one in result.diagnostics] == ["S214"]
    view = result.program.views["v"]
    assert view.reads == (Read("t", ("*",)),)
    assert view.column_names == ()
    assert result.program.order == ("t", "v", "w")


def test_types_follow_the_mode_of_the_pipeline() -> None:
    text = "create table t (a int, b boolean); create view v as select a from t where a = b"
    assert [one.code for one in compiled(text).diagnostics] == ["S229"]
    assert compiled(text, {"spark.sql.ansi.enabled": "false"}).diagnostics == ()


INPUT = {"transport": {"name": "file_input"}}
OUTPUT = {"transport": {"name": "file_output"}}


def test_connectors_have_directions_and_names() -> None:
    result = compiled(
        f"create table t (a int) {connectors({'name': 'In', **INPUT})};"
        f"create view v {connectors({'name': 'out', **OUTPUT})} as select a from t"
    )
    assert result.diagnostics == ()
    assert {key: one.direction for key, one in result.program.connectors.items()} == {
        "t.in": Direction.INPUT,
        "v.out": Direction.OUTPUT,
    }
    assert result.program.connectors["t.in"].qualified_name == "t.In"


def test_connectors_without_names_are_numbered_and_warned_about() -> None:
    result = compiled(f"create table t (a int) {connectors({'name': 'a', **INPUT}, INPUT)}")
    assert [(one.code, one.severity) for one in result.diagnostics] == [("P308", Severity.WARNING)]
    assert list(result.program.connectors) == ["t.a", "t.unnamed-1"]


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        (f"create table t (a int) {connectors({'name': 'a', **OUTPUT})}", ["P306"]),
        (f"create view v {connectors({'name': 'a', **INPUT})} as select 1 as x", ["P306"]),
        (f"create local view v {connectors({'name': 'a', **OUTPUT})} as select 1 as x", ["P311"]),
        (f"create table t (a int) {connectors({'name': 'a', **INPUT}, {'name': 'A', **INPUT})}", ["P307"]),
        (f"create table t (a int) {connectors({'name': 'a', 'start_after': 'x', **INPUT})}", ["P309"]),
        (f"create table t (a int) {connectors({'name': 'a', 'start_after': 'x', 'labels': ['x'], **INPUT})}", ["P310"]),
        (f"create table t (a int) {connectors({'name': 'a', 'start_after': [7], 'labels': 3, 'transport': 'x'})}", []),
    ],
)
def test_mistakes_of_connectors(text: str, codes: list[str]) -> None:
    result = compiled(text)
    assert [one.code for one in result.diagnostics] == codes
    assert len(result.program.connectors) == 1


def test_start_after_in_a_circle_names_the_chain() -> None:
    result = compiled(
        "create table t (a int) "
        + connectors(
            {"name": "a", "labels": ["x"], "start_after": "y", **INPUT},
            {"name": "b", "labels": ["y"], "start_after": ["x"], **INPUT},
        )
    )
    assert [one.message for one in result.diagnostics] == ["circular dependency between connectors: t.a → t.b → t.a"]


def test_start_after_a_label_of_another_table() -> None:
    result = compiled(
        f"create table t (a int) {connectors({'name': 'a', 'labels': ['t.past'], **INPUT})};"
        f"create table u (a int) {connectors({'name': 'b', 'start_after': 't.past', **INPUT})}"
    )
    assert result.diagnostics == ()


def test_a_connector_of_an_unknown_relation_is_left_out() -> None:
    stray = ConnectorDeclaration("tt", "c", 0, INPUT, Location("pipeline.yaml", 3, 5))
    result = compiled("create table t (a int)", more=(stray,))
    assert found(result.diagnostics) == [("P305", (3, 5))]
    assert result.diagnostics[0].hint == "did you mean 't'?"
    assert dict(result.program.connectors) == {}


@settings(max_examples=30, deadline=None)
@given(some.lists(some.sampled_from(["a", "b", "c", "T", "d"]), min_size=3, max_size=3), some.permutations(range(4)))
def test_programs_do_not_depend_on_the_order_of_declarations(reads: list[str], order: list[int]) -> None:
    compiles_in_any_order(reads, order)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(some.lists(some.sampled_from(["a", "b", "c", "T", "d"]), min_size=3, max_size=3), some.permutations(range(4)))
def test_programs_do_not_depend_on_the_order_of_declarations_in_many_more_cases(reads: list[str], order: list[int]) -> None:
    compiles_in_any_order(reads, order)


def compiles_in_any_order(reads: list[str], order: list[int]) -> None:
    statements = ["create table t (x int);"]
    statements += [f"create view {name} as select x from {read};" for name, read in zip("abc", reads, strict=True)]
    first = compiled("\n".join(statements)).program
    second = compiled("\n".join(statements[index] for index in order)).program
    assert first == second
