"""Functions compared: what changed is said in words, and whoever calls the changed one is reached."""

import time
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from reconciler.base.declarations import FunctionDeclaration, ParameterDeclaration, PythonBody, Settings, SqlBody
from reconciler.diff.causes import FunctionChanged, Path
from reconciler.diff.compare import compare
from reconciler.diff.functions import changed_paths, compare_functions
from reconciler.diff.model import Action, FunctionChange
from reconciler.project.program.model import Function, Program
from reconciler.project.snapshot.functions import closures
from reconciler.project.snapshot.model import Snapshot, take_snapshot
from reconciler.sql.spelling import Spelling
from tests.diff.test_hidden_changes import snapshot as compiled_snapshot
from tests.pace import at_usual_pace

PARAMETERS = (ParameterDeclaration("x", "INT"),)
BODY = PythonBody("taxes", {"taxes.py": "import rates\n", "rates.py": "RATE = 1\n"}, ("numpy==2.1.0",), "3.11")
TAX = FunctionDeclaration("Tax", PARAMETERS, "INT", BODY, False, "")
GROSS = FunctionDeclaration("Gross", PARAMETERS, "INT", SqlBody("x + tax(x)"), False, "")
TOTAL = FunctionDeclaration("Total", PARAMETERS, "INT", SqlBody("gross(x)"), False, "")
OTHER = FunctionDeclaration("Other", PARAMETERS, "INT", SqlBody("x"), False, "")
CALLS = {"gross": ("tax",), "total": ("gross",)}


def snapshot(*functions: FunctionDeclaration) -> Snapshot:
    compiled = {one.name.lower(): Function(one, CALLS.get(one.name.lower(), ())) for one in functions}
    return take_snapshot(Program(Settings("shop"), {}, {}, {}, functions=compiled))


@pytest.mark.parametrize(
    ("changes", "causes"),
    [
        ({"returns": "BIGINT"}, ("signature changed",)),
        ({"body": SqlBody("x")}, ("is now written in SQL",)),
        ({"deterministic": True}, ("is now deterministic",)),
        ({"name": "TAX"}, ("spelling of the name changed",)),
        ({"body": replace(BODY, python="3.12")}, ("Python 3.11 → 3.12",)),
        ({"body": replace(BODY, requirements=())}, ("requirements changed",)),
        (
            {"body": replace(BODY, sources={"taxes.py": "import rates2\n", "rates2.py": "RATE = 1\n"})},
            ("udf/rates.py removed", "udf/rates2.py added", "udf/taxes.py changed"),
        ),
        (
            {"body": replace(BODY, module="rates", sources={**BODY.sources, "rates.py": "RATE = 2\n"})},
            ("module changed from taxes to rates", "udf/rates.py changed"),
        ),
    ],
)
def test_causes(changes: dict[str, Any], causes: tuple[str, ...]) -> None:
    desired = replace(TAX, **changes)

    assert compare_functions(snapshot(TAX), snapshot(desired)) == (FunctionChange(Action.MODIFIED, desired.name, causes),)


def test_a_body_in_sql() -> None:
    def causes(applied: str, desired: str) -> list[tuple[str, ...]]:
        sides = [snapshot(replace(OTHER, body=SqlBody(text))) for text in (applied, desired)]
        return [change.causes for change in compare_functions(*sides)]

    assert causes("x * 2", "X*2 -- twice") == []
    assert causes("x * 2", "x * 3") == [("body changed",)]


def test_added_and_removed() -> None:
    assert compare_functions(snapshot(TAX, OTHER), snapshot(GROSS, OTHER)) == (
        FunctionChange(Action.ADDED, "Gross"),
        FunctionChange(Action.REMOVED, "Tax"),
    )
    assert compare_functions(snapshot(), snapshot()) == ()


def test_a_change_reaches_those_that_call_it() -> None:
    applied = snapshot(TAX, GROSS, TOTAL, OTHER)
    desired = snapshot(replace(TAX, deterministic=True), GROSS, TOTAL, OTHER)
    changes = compare_functions(applied, desired)

    assert [change.name for change in changes] == ["Tax"]
    assert changed_paths(applied, desired, changes) == {
        "gross": Path(("Gross", "Tax")),
        "tax": Path(("Tax",)),
        "total": Path(("Total", "Gross", "Tax")),
    }


def test_what_changed_of_its_own_says_so() -> None:
    applied = snapshot(TAX, GROSS, TOTAL)
    desired = snapshot(replace(TAX, deterministic=True), replace(GROSS, returns="BIGINT"), TOTAL)

    paths = changed_paths(applied, desired, compare_functions(applied, desired))

    assert paths == {"gross": Path(("Gross",)), "tax": Path(("Tax",)), "total": Path(("Total", "Gross"))}


def chain(first: FunctionDeclaration, length: int) -> Snapshot:
    names = [first.name, *(f"f{index}" for index in range(1, length))]
    compiled = {"tax": Function(first)}
    for called, name in pairwise(names):
        declaration = FunctionDeclaration(name, PARAMETERS, "INT", SqlBody(f"{called}(x)"), False, "")
        compiled[name] = Function(declaration, (called.lower(),))
    return take_snapshot(Program(Settings("shop"), {}, {}, {}, functions=compiled))


def test_a_long_chain_of_calls_is_followed_to_its_end() -> None:
    length = 1_500
    sides = chain(TAX, length), chain(replace(TAX, returns="BIGINT"), length)
    paths = changed_paths(*sides, compare_functions(*sides))
    last = f"f{length - 1}"
    found = paths[last]
    assert (len(paths), len(found.names) + found.passed_over) == (length, length)
    assert (found.names[0], found.names[-1]) == (last, "Tax")
    digests = [closures(one.program.functions, [last], Spelling.EVENED_OUT)[last] for one in sides]
    assert digests[0] != digests[1]


def test_of_several_ways_to_what_changed_the_shortest_is_told_and_ties_go_by_name() -> None:
    calls = {"b": ("tax",), "a": ("tax",), "c": ("b", "a"), "d": ("c", "tax")}
    others = {
        name: Function(FunctionDeclaration(name.upper(), PARAMETERS, "INT", SqlBody("x"), False, ""), called)
        for name, called in calls.items()
    }
    sides = [
        take_snapshot(Program(Settings("shop"), {}, {}, {}, functions={**others, "tax": Function(one)}))
        for one in (TAX, replace(TAX, returns="BIGINT"))
    ]
    assert changed_paths(sides[0], sides[1], compare_functions(sides[0], sides[1])) == {
        "a": Path(("A", "Tax")),
        "b": Path(("B", "Tax")),
        "c": Path(("C", "A", "Tax")),
        "d": Path(("D", "Tax")),
        "tax": Path(("Tax",)),
    }


def test_what_many_views_call_as_it_was_recorded_is_looked_at_once() -> None:
    length, many = 400, 300
    links = chain(TAX, length).program.functions
    last = f"f{length - 1}"
    recorded = {f"{key}@v0": replace(one, calls=tuple(f"{call}@v0" for call in one.calls)) for key, one in links.items()}
    sql = "".join(f"CREATE MATERIALIZED VIEW m{number} AS SELECT x FROM t;\n" for number in range(many))
    program = compiled_snapshot(f"CREATE TABLE t (x INT);\n{sql}").program

    def calling(key: str, first: FunctionDeclaration = TAX) -> Snapshot:
        views = {name: replace(view, calls=(key,)) for name, view in program.views.items()}
        functions = {**links, "tax": Function(first), **recorded}
        return take_snapshot(replace(program, views=views, functions=functions))

    before, same, other = calling(f"{last}@v0"), calling(last), calling(last, replace(TAX, returns="BIGINT"))
    began = time.process_time()
    assert compare(before, same).relations == ()
    changes = compare(before, other).relations
    assert at_usual_pace(time.process_time() - began) < 3
    assert {change.causes for change in changes} == {(FunctionChanged(last, Path((last,))),)}
    assert len(changes) == many
