"""Functions of a program: one a name, calls found, circles refused."""

from reconciler.base.diagnostics import Diagnostic
from reconciler.project.program.functions import called_functions, compile_functions, parameter_counts
from reconciler.project.program.model import Function
from reconciler.sql.statements import read_sql
from tests.sql.reading import found, without_marks


def compiled(text: str) -> tuple[dict[str, Function], list[Diagnostic]]:
    read = read_sql(text, "p.sql")
    assert read.diagnostics == ()
    problems: list[Diagnostic] = []
    return compile_functions(read.functions, problems), problems


def test_bodies_in_sql_call_other_functions() -> None:
    functions, problems = compiled(
        "CREATE FUNCTION Gross(a INT) RETURNS INT AS a + TAX(a) + abs(a);"
        "CREATE FUNCTION tax(a INT) RETURNS INT;"
        "CREATE FUNCTION twice(a INT) RETURNS INT AS gross(gross(a));"
    )

    assert problems == []
    assert {key: one.calls for key, one in functions.items()} == {"gross": ("tax",), "tax": (), "twice": ("gross",)}
    assert functions["gross"].name == "Gross"
    assert parameter_counts(functions) == {"gross": 1, "tax": 1, "twice": 1}


def test_two_functions_of_one_name() -> None:
    text, (place,) = without_marks("CREATE FUNCTION f(a INT) RETURNS INT AS a;\n¦CREATE FUNCTION F() RETURNS INT AS 1;")
    functions, problems = compiled(text)

    assert found(problems) == [("P320", place)]
    assert list(functions) == ["f"]
    assert functions["f"].name == "f"


def test_circles_are_refused() -> None:
    text, (place, alone) = without_marks(
        "CREATE FUNCTION g(a INT) RETURNS INT AS f(a);\n¦CREATE FUNCTION f(a INT) RETURNS INT AS 1 + g(a);\n"
        "¦CREATE FUNCTION h(a INT) RETURNS INT AS h(a);"
    )
    _, problems = compiled(text)

    assert found(problems) == [("P321", place), ("P321", alone)]
    assert problems[0].message == "circular dependency between functions: f → g → f"


def test_bodies_are_judged_where_they_stand() -> None:
    text, places = without_marks(
        "CREATE FUNCTION f(a INT) RETURNS INT AS\n  a + ¦b;\n"
        "CREATE FUNCTION g(a INT) RETURNS INT AS ¦f(a, a);\n"
        "CREATE FUNCTION h(a INT) RETURNS INT AS ¦ff(a);"
    )
    _, problems = compiled(text)

    assert found(problems) == list(zip(["S221", "S230", "S231"], places, strict=True))
    assert problems[0].message == "unknown parameter 'b'"
    assert problems[2].hint == "did you mean 'f'?"


def test_calls_of_a_query() -> None:
    assert called_functions("SELECT Tax(a), tax FROM t", ["tax", "rate"]) == ("tax",)
    assert called_functions("SELECT tax(a) FROM t", iter(())) == ()
