"""What Spark accepts as a view's query, the front end accepts: all examples in Spark's own reference of its functions, and
the queries of accepted/syntax.sql, which show the rules of its grammar.

Spark holds the examples itself, so the next version brings its own. What is refused on purpose is listed with the reason.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reconciler.engine.protocol import Engine
from reconciler.sql.arity import ARITY
from reconciler.sql.check import analyse_query
from reconciler.sql.lexer import cut_query, query_tokens
from reconciler.sql.problems import Problem
from reconciler.sql.query import parse_query
from tests.engine.engines import session_of
from tests.sql.pairs_schema import tables

SYNTAX = Path(__file__).parent / "accepted" / "syntax.sql"
REFUSED_ON_PURPOSE = {
    "java_method": "it calls Java, which may do anything",
    "reflect": "it calls Java, which may do anything",
    "try_reflect": "it calls Java, which may do anything",
}
"""Functions whose examples are refused (S216). `SET …` stands among the examples, too: to Spark it is no view's query."""

# Where an expression may stand. A parser knows some words as the beginning of a clause in one of these places only.
PLACES = (
    "SELECT 1 AS o FROM t GROUP BY {0}",
    "SELECT 1 AS o FROM t GROUP BY z, {0}",
    "SELECT 1 AS o FROM t WHERE {0} IS NOT NULL",
    "SELECT 1 AS o FROM t GROUP BY z HAVING {0} = 1",
    "SELECT 1 AS o FROM t ORDER BY {0} DESC, z",
    "SELECT 1 AS o FROM t JOIN u ON {0}",
    "SELECT CASE WHEN z THEN {0} ELSE 1 END AS o FROM t",
    "SELECT DISTINCT coalesce({0}, 1) AS o FROM t LIMIT 1",
    "SELECT sum({0}) OVER (PARTITION BY {0} ORDER BY {0}) AS o FROM t",
    "SELECT {0} o, z FROM t",
)


def _syntax() -> Iterator[str]:
    text, start = SYNTAX.read_text(encoding="utf-8"), 0
    while True:
        tokens, end = cut_query(text, start)
        if not tokens:
            return
        yield text[start + tokens[0].start : start + tokens[-1].end]
        start = end + 1


def _refusal(query: str, relations: dict[str, dict[str, str | None]]) -> list[str]:
    return [f"{one.code}: {one.message}" for one in analyse_query(query, None, relations).diagnostics]


def _relations() -> dict[str, dict[str, str | None]]:
    return {name: {column.strip("`"): kind for column, kind in columns} for name, columns in tables().items()}


@pytest.mark.parametrize("query", list(_syntax()))
def test_a_rule_of_sparks_grammar_is_accepted(query: str) -> None:
    assert _refusal(query, _relations()) == []


def test_a_word_of_a_clause_names_columns() -> None:
    query = "SELECT a, limit, `from` AS group FROM (SELECT 1 AS a, 2 AS limit, 3 AS from)"
    assert [name for name, _ in analyse_query(query, None, {}).columns] == ["a", "limit", "group"]


@pytest.mark.parametrize(
    "clause", ["FROM t", "WHERE a", "GROUP BY a", "ORDER BY a", "LIMIT 1", "UNION SELECT 1", "FROM (t)"]
)
def test_a_comma_before_a_clause_is_refused(clause: str) -> None:
    assert isinstance(parse_query(f"SELECT a, {clause}"), Problem)


@pytest.fixture(scope="module")
def session(spark_engine: Engine) -> Iterator[Any]:
    session = session_of(spark_engine).newSession()
    for name, columns in tables().items():
        items = ", ".join(f"CAST(NULL AS {kind}) AS `{column.strip('`')}`" for column, kind in columns)
        session.sql(f"CREATE OR REPLACE TEMPORARY VIEW `{name}` AS SELECT {items}")
    yield session
    for name in tables():
        session.catalog.dropTempView(name)


def _is_accepted_by_spark(session: Any, query: str) -> bool:
    from pyspark.errors import PySparkException

    try:
        assert session.sql(query).schema is not None
    except PySparkException:
        return False
    return True


def _is_parsed_by_spark(session: Any, query: str) -> bool:
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        session._jsparkSession.sessionState().sqlParser().parsePlan(query)
    except (Py4JJavaError, PySparkException):
        return False
    return True


@pytest.mark.spark
def test_spark_accepts_what_shows_its_grammar(session: Any) -> None:
    assert [query for query in _syntax() if not _is_accepted_by_spark(session, query)] == []


def _examples(session: Any) -> Iterator[tuple[str, str]]:
    """Every example in Spark's reference: the function, and its statement."""
    state = session._jsparkSession.sessionState()
    for registry in (state.functionRegistry(), state.tableFunctionRegistry()):
        known = registry.listFunction()
        for index in range(known.size()):
            info = registry.lookupFunction(known.apply(index)).get()
            for example in info.getExamples().split("  > ")[1:]:
                yield info.getName(), example.split(";\n", 1)[0].strip()


@pytest.fixture(scope="module")
def examples(session: Any) -> list[tuple[str, str]]:
    """All examples, once each: functions and queries. Some are none to Spark, as it is set up here: Avro, the type TIME."""
    return [one for one in dict.fromkeys(_examples(session)) if not re.match(r"(?i)set\b", one[1])]


@pytest.mark.spark
def test_every_example_of_sparks_functions_is_accepted(session: Any, examples: list[tuple[str, str]]) -> None:
    refused = {query: _refusal(query, {}) for name, query in examples if name not in REFUSED_ON_PURPOSE}
    assert [one for one in refused.items() if one[1] and _is_accepted_by_spark(session, one[0])] == []
    assert len(examples) > 1100


@pytest.mark.spark
def test_what_is_refused_on_purpose_is(examples: list[tuple[str, str]]) -> None:
    told = {name: _refusal(query, {}) for name, query in examples if name in REFUSED_ON_PURPOSE}
    assert set(told) == set(REFUSED_ON_PURPOSE)
    assert all(one[0].startswith("S216") for one in told.values())


@pytest.mark.spark
def test_an_expression_is_read_wherever_it_stands(session: Any, examples: list[tuple[str, str]]) -> None:
    refused = []
    for expression in dict.fromkeys(filter(None, (_first_expression(query) for _, query in examples))):
        refused += [text for place in PLACES if isinstance(parse_query(text := place.format(expression)), Problem)]
    assert [text for text in refused if _is_parsed_by_spark(session, text)] == []


def _first_expression(query: str) -> str | None:
    """The first item of a select list without FROM, where it can stand elsewhere, too."""
    tokens = query_tokens(query)
    if not tokens or not tokens[0].is_word("SELECT") or any(one.is_word("FROM", "OVER", "LATERAL") for one in tokens):
        return None
    depth = 0
    for token in tokens[1:]:
        if token.text in "([":
            depth += 1
        elif token.text in ")]":
            depth -= 1
        elif depth == 0 and (token.is_symbol(",") or token.is_word("AS")):
            return query[tokens[1].start : token.start]
    return query[tokens[1].start : tokens[-1].end]


@pytest.mark.slow
@pytest.mark.spark
def test_spark_takes_no_other_number_of_arguments(session: Any) -> None:
    from pyspark.errors import PySparkException

    taken = []
    for name, (least, most) in ARITY.items():
        for count in range(8):
            if least <= count and (most is None or count <= most):
                continue
            try:
                assert session.sql(f"SELECT {name}({', '.join(['NULL'] * count)})").schema is not None
                taken.append((name, count))
            except PySparkException as problem:
                # It would take as many, of other types.
                if (problem.getCondition() or "").startswith("DATATYPE_MISMATCH"):
                    taken.append((name, count))
    assert taken == []
