"""The pairs, run: what is called equal gives equal columns and rows on random data, what is called different does not.

The tables are those of pairs/schema.sql, small, with NULLs and duplicates. Several rounds of data are loaded at once, in
sessions of their own: round 0 is empty, round 1 follows ANSI. Rows are compared as multisets, so order is not looked at.
"""

import datetime
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reconciler.engine.protocol import Engine
from reconciler.sql.words import spark_words
from tests.cells import mostly_slow
from tests.engine.engines import session_of
from tests.sql.pairs_schema import tables
from tests.sql.test_pairs import DIFFERENT, EQUAL, read_pair

pytestmark = pytest.mark.spark

ROUNDS = 3
# Rows are few: what takes the time is to compile code and to schedule tasks.
_SETTINGS = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.session.timeZone": "UTC",
}
SAME_ON_SPARK = {
    "a-backquoted-niladic-function": "Spark takes the quoted one for a function, too, as long as no column has the name",
    "a-column-named-all-less-another": "Spark reads ALL as the quantifier; by its grammar alone it could be a column",
    "a-hint": "hints say how, not what; they may change the partitions, so they count",
    "an-unclosed-string": "neither is a query",
    "between-that-owns-the-and": "equal by precedence, which tokens do not show",
    "dollar-quoted-strings": "neither is a query to this version of Spark",
    "double-quoted-and-quoted-is-a-setting": "they differ under spark.sql.ansi.doubleQuotedIdentifiers",
    "group-by-a-number-in-parentheses": "Spark takes both for a position today; no document says so",
    "group-by-all": "equal as long as the columns of SELECT stay what they are",
    "letters-outside-ascii": "which letters are one letter depends on the locale",
    "not-over-a-comparison": "equal by precedence, which tokens do not show",
    "sort-by-and-order-by": "they differ in order, which multisets do not show",
    "two-hints": "hints say how, not what; they may change the partitions, so they count",
}
"""Different texts that are the same to Spark, each with the reason why they stay apart."""


def _literal(type_text: str, chance: random.Random) -> str:
    if chance.random() < 0.2:
        return "NULL"
    match type_text:
        case "INT":
            return str(chance.choice((-1, 0, 1, 1, 2, 2, 3, 5)))
        case "STRING":
            return repr(chance.choice(("1", "01", "2", "A", "b", "b", "B", "x_", "x!_", "xy")))
        case "BOOLEAN":
            return chance.choice(("TRUE", "FALSE"))
        case "DATE":
            return f"DATE '{datetime.date(2020, 1, 1) + datetime.timedelta(days=chance.randrange(-400, 400))}'"
        case "TIMESTAMP":
            year, hour = 2020 + chance.randrange(3), chance.randrange(24)
            return f"TIMESTAMP '{year}-{chance.randrange(1, 13)}-01 {hour}:{chance.randrange(60)}:00'"
        case "ARRAY<INT>":
            return f"array({', '.join(_literal('INT', chance) for _ in range(chance.randrange(3)))})"
        case "MAP<STRING, INT>":
            keys = [key for key in ("Key", "key", "a") if chance.random() < 0.6]
            return f"map({', '.join(f'{key!r}, {chance.randrange(9)}' for key in keys)})"
    raise AssertionError(type_text)


def _view(name: str, columns: list[tuple[str, str]], number: int) -> str:
    """The statement that makes a table's random rows a temporary view; the first rows come twice."""
    chance = random.Random(f"{name} {number}")
    rows = [", ".join(_literal(type_text, chance) for _, type_text in columns) for _ in range(4 + 8 * number)]
    values = ", ".join(f"({row})" for row in rows + rows[:2])
    items = ", ".join(
        f"CAST(col{at} AS {type_text}) AS {_quoted(column)}" for at, (column, type_text) in enumerate(columns, 1)
    )
    condition = "" if number else " WHERE FALSE"
    return f"CREATE OR REPLACE TEMPORARY VIEW {_quoted(name)} AS SELECT {items} FROM VALUES {values}{condition}"


def _quoted(name: str) -> str:
    return "`" + name.strip("`") + "`"


@pytest.fixture(scope="module")
def sessions(spark_engine: Engine) -> Iterator[list[Any]]:
    """A session for each round of data, with the tables as temporary views."""
    from pyspark.sql import SparkSession

    session: SparkSession = session_of(spark_engine)
    found = []
    for number in range(ROUNDS):
        one = session.newSession()
        for setting, text in _SETTINGS.items():
            one.conf.set(setting, text)
        one.conf.set("spark.sql.ansi.enabled", str(number % 2 == 1).lower())
        for name, columns in tables().items():
            one.sql(_view(name, columns, number))
        found.append(one)
    yield found
    for one in found:
        for name in tables():
            one.catalog.dropTempView(name)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return ("map", tuple(sorted((key, _plain(one)) for key, one in value.items())))
    if isinstance(value, list | tuple):
        return (type(value).__name__, tuple(map(_plain, value)))
    return (type(value).__name__, repr(value))


def _outcome(session: Any, query: str) -> tuple[Any, ...]:
    """Columns, types and rows; or the class of the error. What is no error of the query comes through, with Java's stack."""
    from py4j.java_gateway import is_instance_of
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        frame = session.sql(query)
        columns = [(field.name.lower(), field.dataType.json()) for field in frame.schema.fields]
        return ("rows", columns, Counter(map(_plain, frame.collect())))
    except PySparkException as problem:
        return ("error", problem.getCondition())
    except Py4JJavaError as problem:
        java = problem.java_exception
        if is_instance_of(session._sc._gateway, java, "org.apache.spark.SparkThrowable"):
            return ("error", java.getCondition())
        raise


@pytest.mark.parametrize("number", mostly_slow(range(ROUNDS), 1))
@pytest.mark.parametrize("path", EQUAL, ids=lambda path: path.stem)
def test_equal_pairs_give_equal_results(path: Path, number: int, sessions: list[Any]) -> None:
    first, second = read_pair(path)
    outcome = _outcome(sessions[number], first)
    assert outcome[0] == "rows", outcome
    assert outcome == _outcome(sessions[number], second)


# That queries differ in what they give is no promise: what is called different is computed again.
@pytest.mark.slow
@pytest.mark.parametrize("path", DIFFERENT, ids=lambda path: path.stem)
def test_different_pairs_give_different_results(path: Path, sessions: list[Any]) -> None:
    first, second = read_pair(path)
    found = None
    for session in reversed(sessions):
        found = _outcome(session, first), _outcome(session, second)
        if found[0] != found[1]:
            break
    assert found is not None
    if path.stem in SAME_ON_SPARK:
        assert found[0] == found[1]
    else:
        assert found[0] != found[1]
        assert "rows" in (found[0][0], found[1][0])


def test_every_exception_is_a_pair() -> None:
    assert set(SAME_ON_SPARK) <= {path.stem for path in DIFFERENT}


def test_every_word_of_sparks_lexer_is_known(spark_engine: Engine) -> None:
    """A rewrite takes a word that is not in the list for a name."""
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    assert session is not None
    vocabulary = session._jvm.org.apache.spark.sql.catalyst.parser.SqlBaseLexer.VOCABULARY  # type: ignore[union-attr]
    literals = [vocabulary.getLiteralName(index) for index in range(1, vocabulary.getMaxTokenType() + 1)]
    words = {literal.strip("'").lower() for literal in literals if literal and literal.strip("'")[:1].isalpha()}
    assert len(words) > 300
    assert words <= spark_words()
    # Two spellings make one token, which then has no literal.
    assert {"rlike", "regexp", "temp", "temporary"} <= spark_words()
