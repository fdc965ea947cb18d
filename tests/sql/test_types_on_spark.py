"""Types that do not fit each other: what is refused here is refused by Spark, and what Spark refuses is mostly refused here.

Each pair of types, in each place where two values must fit. A false refusal stops a good pipeline, a missed one is told by
Spark at the first build, so the former has no exceptions.
"""

from typing import Any

import pytest

from reconciler.engine.protocol import Engine
from reconciler.sql.check import analyse_query
from reconciler.sql.surroundings import QuerySurroundings
from tests.engine.engines import session_of

TYPES = (
    *("BOOLEAN", "BIGINT", "DECIMAL(10,2)", "DOUBLE", "STRING", "BINARY", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "VARIANT"),
    *("ARRAY<INT>", "ARRAY<DATE>", "MAP<STRING,INT>", "STRUCT<a:INT>"),
)
PAIRS = [(left, right) for left in TYPES for right in TYPES]
PLACES = {
    "UNION ALL": "SELECT a AS c FROM l UNION ALL SELECT b FROM r",
    "EXCEPT": "SELECT a AS c FROM l EXCEPT SELECT b FROM r",
    "CASE": "SELECT CASE WHEN true THEN a ELSE b END AS c FROM l, r",
    "CASE of a value": "SELECT CASE a WHEN b THEN 1 END AS c FROM l, r",
    "if": "SELECT if(true, a, b) AS c FROM l, r",
    "coalesce": "SELECT coalesce(a, b) AS c FROM l, r",
    "nullif": "SELECT nullif(a, b) AS c FROM l, r",
    "IN": "SELECT a IN (b, a) AS c FROM l, r",
    "IN a query": "SELECT a IN (SELECT b FROM r) AS c FROM l",
    "BETWEEN": "SELECT a BETWEEN a AND b AS c FROM l, r",
    "=": "SELECT a = b AS c FROM l, r",
    "<=>": "SELECT a <=> b AS c FROM l, r",
    "<": "SELECT l.a FROM l JOIN r ON l.a < r.b",
    "+": "SELECT a + b AS c FROM l, r",
    "-": "SELECT a - b AS c FROM l, r",
    "*": "SELECT a * b AS c FROM l, r",
    "AND": "SELECT a AND b AS c FROM l, r",
}
# Where everything that is surely wrong is to be found. What has parts may be wrong in these.
CAUGHT = ("UNION ALL", "CASE", "if", "coalesce", "=", "IN")
# In every run; the others in the slow suite.
QUICK = ("UNION ALL", "=")
# No value of these can be compared, whatever it is compared with.
UNCOMPARABLE = ("VARIANT", "MAP<STRING,INT>")


def _refused_here(query: str, left: str, right: str, ansi: bool = True) -> list[str]:
    relations: dict[str, dict[str, str | None]] = {"l": {"a": left}, "r": {"b": right}}
    return [one.message for one in analyse_query(query, None, relations, around=QuerySurroundings(ansi=ansi)).diagnostics]


@pytest.fixture(scope="module")
def session(spark_engine: Engine) -> Any:
    return session_of(spark_engine).newSession()


def _refused_by_spark(session: Any, query: str, left: str, right: str) -> bool:
    from pyspark.errors import AnalysisException

    named = f"l AS (SELECT CAST(NULL AS {left}) AS a), r AS (SELECT CAST(NULL AS {right}) AS b)"
    try:
        assert session.sql(f"WITH {named} {query}").schema is not None
    except AnalysisException as problem:
        # Any other would be a mistake of this test.
        return (problem.getCondition() or "").startswith(("DATATYPE_MISMATCH", "INCOMPATIBLE_COLUMN_TYPE", "UNSUPPORTED"))
    return False


@pytest.mark.spark
@pytest.mark.parametrize("ansi", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["ansi", "not ansi"])
@pytest.mark.parametrize("place", [one if one in QUICK else pytest.param(one, marks=pytest.mark.slow) for one in PLACES])
def test_what_is_refused_here_is_refused_by_spark(place: str, ansi: bool, session: Any) -> None:
    session.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
    wrong = [pair for pair in PAIRS if _refused_here(PLACES[place], *pair, ansi=ansi)]
    assert [pair for pair in wrong if not _refused_by_spark(session, PLACES[place], *pair)] == []
    assert wrong or place == "AND" or not ansi


@pytest.mark.spark
@pytest.mark.parametrize("place", [one if one in QUICK else pytest.param(one, marks=pytest.mark.slow) for one in CAUGHT])
def test_what_spark_refuses_is_refused_here(place: str, session: Any) -> None:
    session.conf.set("spark.sql.ansi.enabled", "true")
    passed = [pair for pair in PAIRS if not _refused_here(PLACES[place], *pair)]
    missed = [pair for pair in passed if _refused_by_spark(session, PLACES[place], *pair)]
    assert [pair for pair in missed if pair[0] not in UNCOMPARABLE and pair[1] not in UNCOMPARABLE] == []


@pytest.mark.parametrize("place", CAUGHT)
def test_a_number_is_no_date(place: str) -> None:
    assert _refused_here(PLACES[place], "BIGINT", "DATE") != []
    assert _refused_here(PLACES[place], "BIGINT", "STRING") == []
    assert _refused_here(PLACES[place], "BIGINT", "INTERVAL DAY") == []


def test_the_message_says_which_column() -> None:
    found = _refused_here("SELECT 1 AS n, a FROM l UNION ALL SELECT 2, b FROM r", "BIGINT", "DATE")
    assert found == ["UNION: column 'a' is a number on the left and a DATE on the right"]


def test_types_of_several_values_are_known_together() -> None:
    """So a mistake is found below another operation, too."""
    query = "SELECT c FROM (SELECT a AS c FROM l UNION ALL SELECT 1) WHERE c > DATE '2020-01-01'"
    assert _refused_here(query, "BIGINT", "DATE") == ["a number can't be compared with a DATE"]
    query = "SELECT CASE WHEN a > 1 THEN coalesce(a, 2) END + b FROM l, r"
    assert _refused_here(query, "INT", "BOOLEAN") == ["'+' can't take a number and a BOOLEAN"]
