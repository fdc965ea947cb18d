"""Calls that give other values each time, and joins of everything with everything."""

import pytest

from reconciler.sql.cross_joins import cross_joins
from reconciler.sql.determinism import NON_DETERMINISTIC, NON_DETERMINISTIC_WITHOUT_ARGUMENTS, non_deterministic_calls
from reconciler.sql.query import parse_query
from reconciler.sql.repeatable import is_repeatable, takes_from_outside
from reconciler.sql.words import spark_functions

CALLS: dict[str, tuple[str, ...]] = {
    "SELECT a FROM t": (),
    "SELECT rand(), UUID (), Now() FROM t": ("now", "rand", "uuid"),
    "SELECT `rand`() FROM t": ("rand",),
    "SELECT a FROM t WHERE d < CURRENT_DATE AND e < current_timestamp()": ("current_date", "current_timestamp"),
    "SELECT a FROM t WHERE u = current_user": ("current_user",),
    "SELECT user() AS u FROM t": ("user",),
    "SELECT unix_timestamp() AS u FROM t": ("unix_timestamp",),
    "SELECT unix_timestamp(d) AS u FROM t": (),
    "SELECT DATE 'today' AS d, TIMESTAMP ' Now ' AS n FROM t": ("now", "today"),
    "SELECT DATE 'tomorrow+01:00' AS d FROM t": ("tomorrow",),
    "SELECT DATE '2020-01-01' AS d, 'now' AS n FROM t": (),
    # A name that it gets is not where it comes from.
    "SELECT current_date AS current_date FROM t": ("current_date",),
    "SELECT `current_timestamp` AS t, Current_User AS `current_user` FROM t": ("current_timestamp", "current_user"),
    "SELECT t.`current_timestamp`, `Current_Date` FROM t": ("current_date",),
    "SELECT a AS `current_date` FROM t WHERE `current_date` > 1": (),
    # What merely looks alike
    "SELECT user, rand, uuid, now FROM t": (),
    "SELECT t.current_date, t.rand(1) FROM t": (),
    "SELECT current_date.year FROM t": (),
    "SELECT a AS current_date FROM t": (),
    "WITH c AS (SELECT a AS current_date FROM t) SELECT current_date FROM c": (),
    "WITH c (current_date, b) AS (SELECT a, b FROM t) SELECT current_date FROM c": (),
    "SELECT current_date FROM (SELECT a FROM t) AS x (current_date)": (),
    "WITH c AS (SELECT t.current_date AS current_date FROM t) SELECT current_date AS current_date FROM c": (),
    "WITH c AS (SELECT a AS current_date FROM t) SELECT current_date AS current_date FROM c": (),
    "WITH now (a) AS (SELECT 1) SELECT a FROM now": (),
    "SELECT 'rand()' AS x, \"uuid()\" AS y -- now()\n/* rand() */ FROM t": (),
    "SELECT 'not closed, rand()": (),
    "SELECT rand() FROM (((": ("rand",),
}


@pytest.mark.parametrize("query", CALLS)
def test_non_deterministic_calls(query: str) -> None:
    assert non_deterministic_calls(query) == CALLS[query]


@pytest.mark.parametrize(
    ("query", "takes"),
    [
        ("SELECT a FROM t WHERE d < '2020-01-01' AND b <> 'nowhere'", False),
        ("SELECT a, first(b) AS b FROM t GROUP BY a", False),
        ("SELECT t.user AS u, a AS user FROM t", False),
        ("SELECT a FROM t WHERE d < 'Today'", True),
        ('SELECT to_date("now") AS d FROM t', True),
        ("SELECT current_date AS current_date FROM t", True),
        ("SELECT a FROM t WHERE owner = user", True),
        ("SELECT current_catalog AS c FROM t", True),
        ("SELECT session_user AS c FROM t", True),
        ("SELECT version() AS v FROM t", True),
        ("SELECT a FROM t TABLESAMPLE (10 PERCENT)", True),
    ],
)
def test_what_a_query_takes_besides_rows(query: str, takes: bool) -> None:
    assert takes_from_outside(query) is takes


def test_every_such_function_is_one_of_sparks() -> None:
    assert spark_functions().keys() >= NON_DETERMINISTIC | NON_DETERMINISTIC_WITHOUT_ARGUMENTS


@pytest.mark.parametrize("name", sorted(NON_DETERMINISTIC))
def test_none_of_them_is_repeatable(name: str) -> None:
    assert not is_repeatable(name, [])


RELATIONS = {"t": {"id": "INT", "a": "INT"}, "u": {"id": "INT", "b": "INT"}, "v": {"c": "INT"}}
CROSS_JOINS = {
    "SELECT 1 FROM t": 0,
    "SELECT 1 FROM t, u": 1,
    "SELECT 1 FROM t CROSS JOIN u": 1,
    "SELECT 1 FROM t JOIN u": 1,
    "SELECT 1 FROM t, u, v": 2,
    "SELECT 1 FROM t JOIN u ON TRUE": 1,
    "SELECT 1 FROM t JOIN u ON 1 = 1 JOIN v ON v.c = t.id": 1,
    "SELECT 1 FROM t JOIN u ON t.id = u.id": 0,
    "SELECT 1 FROM t JOIN u ON t.a = 1": 1,
    "SELECT 1 FROM t JOIN u USING (id)": 0,
    "SELECT 1 FROM t NATURAL JOIN u": 0,
    "SELECT 1 FROM t, u WHERE t.id = u.id": 0,
    "SELECT 1 FROM t, u WHERE (a = b)": 0,
    "SELECT 1 FROM t, u WHERE t.id < u.id OR a = 3": 0,
    "SELECT 1 FROM t, u WHERE a = 1 AND b = 1": 1,
    "SELECT 1 FROM t, u, v WHERE t.id = v.c AND u.id = v.c": 0,
    "SELECT 1 FROM t LEFT JOIN u ON t.id = u.id CROSS JOIN v": 1,
    "SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u, v)": 1,
    "SELECT 1 FROM t, (SELECT max(b) AS m FROM u) x": 0,
    "SELECT 1 FROM t, (SELECT max(b) AS m FROM u GROUP BY id) x": 1,
    "SELECT 1 FROM t, (SELECT max(b) OVER () AS m FROM u) x": 1,
    "SELECT 1 FROM t, (SELECT b FROM u LIMIT 1) x": 0,
    "WITH m AS (SELECT max(b) AS m FROM u) SELECT 1 FROM t, m": 0,
    "WITH m AS (SELECT b AS m FROM u) SELECT 1 FROM t, m": 1,
    "WITH u AS (SELECT a FROM t) SELECT 1 FROM u, v WHERE a = c": 0,
    "SELECT 1 FROM t, VALUES (1), (2) AS x (y)": 0,
    "SELECT 1 FROM t LATERAL VIEW explode(a) x AS y": 0,
    "SELECT 1 FROM t, LATERAL (SELECT 1 FROM u WHERE u.id = t.id) w": 0,
    "SELECT 1 FROM t LEFT SEMI JOIN u ON t.id = u.id": 0,
    "SELECT 1 FROM t, nowhere WHERE a = x": 0,
    "SELECT 1 FROM t,": 0,
}


@pytest.mark.parametrize("query", CROSS_JOINS)
def test_cross_joins(query: str) -> None:
    assert cross_joins(parse_query(query), RELATIONS) == CROSS_JOINS[query]


def test_without_known_columns_a_plain_name_may_link() -> None:
    assert cross_joins(parse_query("SELECT 1 FROM t, u WHERE a = 1 AND b = 1")) == 0
    assert cross_joins(parse_query("SELECT 1 FROM t, u WHERE t.a = 1 AND u.b = 1")) == 1
