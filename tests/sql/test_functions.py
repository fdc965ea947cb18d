"""CREATE FUNCTION is read as written; bodies in SQL are judged without Spark; calls are found by their tokens."""

import pytest

from reconciler.base.declarations import ParameterDeclaration, PythonBody, SqlBody
from reconciler.base.diagnostics import Location
from reconciler.sql.arity import wrong_calls
from reconciler.sql.calls import canonical_expression, functions_called
from reconciler.sql.functions import check_expression
from reconciler.sql.lexer import Dialect, tokens_of
from reconciler.sql.statements import read_sql
from tests.sql.reading import found, without_marks

PARAMETERS = (ParameterDeclaration("amount", "DECIMAL(10,2)", False), ParameterDeclaration("Country", "STRING"))


def test_a_function_in_python() -> None:
    text = '-- tax\nCREATE FUNCTION tax(amount DECIMAL(10, 2) NOT NULL, "Country" VARCHAR NULL) RETURNS NUMERIC NOT NULL;'

    read = read_sql(text, "p.sql")

    assert read.diagnostics == ()
    (function,) = read.functions
    assert (function.name, function.parameters, function.returns) == ("tax", PARAMETERS, "DECIMAL(10,0)")
    assert (function.returns_nullable, function.deterministic, function.body) == (False, False, PythonBody("", {}))
    assert (function.sql, function.location) == (text[7:-1], Location("p.sql", 2, 1))


@pytest.mark.parametrize("word", ["AS", "return"])
def test_a_function_in_sql(word: str) -> None:
    read = read_sql(
        f"create function half ( ) returns int {word} -- why\n 1 + ';' ; create view v as select half()", "p.sql"
    )

    assert read.diagnostics == ()
    (function,) = read.functions
    assert (function.parameters, function.body) == ((), SqlBody("1 + ';'"))
    assert function.body_location == Location("p.sql", 2, 2)
    assert [view.name for view in read.views] == ["v"]


@pytest.mark.parametrize(
    "expression",
    [
        "amount * 2",
        "case when country = 'DE' then amount else tax(amount, country) end",
        "transform(array(amount), x -> x + amount)",
        "extract(year from to_date(country)) -- a comment",
        "country LIKE 'a, b%'",
        "country LIKE ANY ('a%', 'b%') or country NOT ILIKE some ('c%')",
        "NULL",
    ],
)
def test_bodies_that_hold(expression: str) -> None:
    assert check_expression(expression, None, PARAMETERS, {"tax": 2}) == ()


@pytest.mark.parametrize(
    ("code", "marked"),
    [
        ("S221", "amount +\n  ¦amout"),
        ("S231", "¦taxx(amount, country)"),
        ("S230", "1 + ¦tax(amount)"),
        ("S230", "¦upper(country, 1)"),
        ("S251", "¦sum(amount)"),
        ("S251", "1 + ¦`Sum`(amount)"),
        ("S251", "abs(¦vector_sum(amount))"),
        ("S251", "country RLIKE ¦any(country)"),
        ("S251", "¦row_number() OVER (ORDER BY amount)"),
        ("S251", "¦explode(array(amount))"),
        ("S251", "1 + ¦`range`(amount)"),
        ("S251", "(¦SELECT max(rate) FROM rates)"),
        ("S251", "amount ¦FROM rates"),
        ("S251", "amount¦, country"),
        ("S251", "¦amount AS x"),
        ("S251", "¦*"),
        ("S214", "amount * ¦"),
        ("S214", "¦(amount"),
        ("S216", "¦java_method('a', 'b')"),
    ],
)
def test_bodies_that_are_refused(code: str, marked: str) -> None:
    text, (place,) = without_marks(marked)

    assert found(check_expression(text, Location("p.sql", 1, 1), PARAMETERS, {"tax": 2})) == [(code, place)]


def test_equal_bodies_have_one_canonical_text() -> None:
    assert canonical_expression("Amount*2 -- twice") == canonical_expression("amount * 2")
    assert canonical_expression("amount * 2") != canonical_expression("amount * 3")


@pytest.mark.parametrize(
    ("query", "called"),
    [
        ("SELECT TAX(a, b) FROM t", ("tax",)),
        ("SELECT `Tax` (a), rate(1) FROM t", ("rate", "tax")),
        ("SELECT tax, rate FROM tax", ()),
        ("SELECT 'tax(1)', taxes(2), x.tax FROM t -- tax(4)", ()),
        ("SELECT session.tax(1), system.session . `rate` (2) FROM t", ("rate", "tax")),
        ("SELECT a FROM t WHERE b IN (SELECT tax(c) FROM u)", ("tax",)),
    ],
)
def test_calls_are_found(query: str, called: tuple[str, ...]) -> None:
    assert functions_called(query, {"tax", "rate"}) == called
    assert functions_called(query, ()) == ()


def test_arguments_of_own_functions_are_counted() -> None:
    tokens = tuple(tokens_of("SELECT tax(1), f(), upper('a', 'b')", Dialect.QUERY))

    assert [one.message for one in wrong_calls(tokens, {"tax": 2, "f": 0})] == [
        "tax takes 2 arguments, found 1",
        "upper takes 1 argument, found 2",
    ]
    assert len(wrong_calls(tokens)) == 1
