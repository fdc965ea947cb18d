"""What of a query its rows do not determine, and what is known to be unique."""

import pytest

from reconciler.sql.row_keys import Given
from reconciler.sql.undetermined import Undetermined, given_by, undetermined_parts

RELATIONS = {
    "t": Given(("id", "name", "day"), (frozenset({"id"}),)),
    "lines": Given(("id", "line", "qty"), (frozenset({"id", "line"}),)),
    "u": Given(("x", "y", "xs")),
    "w": Given(("c", "d")),
}


def relations(key: str) -> Given:
    return RELATIONS.get(key, Given())


def found(query: str) -> tuple[str, ...]:
    parts = undetermined_parts(query, relations)
    return (*parts.calls, *parts.ties, *parts.unordered)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT x, any_value(y) AS y FROM u GROUP BY x", ("any_value",)),
        ("SELECT first(y) AS y FROM u", ("first",)),
        ("SELECT x, last(y, true) AS y FROM u GROUP BY ALL", ("last",)),
        ("SELECT x, first_value(y) IGNORE NULLS AS y FROM u GROUP BY 1", ("first_value",)),
        ("SELECT x, collect_list(y) AS y FROM u GROUP BY x", ("collect_list",)),
        ("SELECT x, collect_set(y) AS y FROM u GROUP BY x", ("collect_set",)),
        ("SELECT x, array_agg(y) AS y FROM u GROUP BY x", ("array_agg",)),
        ("SELECT x, listagg(y, ',') AS y FROM u GROUP BY x", ("listagg",)),
        ("SELECT x, listagg(y, ',') WITHIN GROUP (ORDER BY x) AS y FROM u GROUP BY x", ("listagg",)),
        ("SELECT mode(x) AS m FROM u", ("mode",)),
        ("SELECT max_by(x, y) AS m FROM u", ("max_by",)),
        ("SELECT name, min_by(id, day) AS m FROM t GROUP BY name", ("min_by",)),
        ("SELECT percentile_approx(x, 0.5) AS m FROM u", ("percentile_approx",)),
        ("SELECT x, row_number() OVER (ORDER BY y) AS n FROM u", ("row_number",)),
        ("SELECT id, row_number() OVER (PARTITION BY name ORDER BY day) AS n FROM t", ("row_number",)),
        ("SELECT id, lag(name) OVER w AS n FROM t WINDOW w AS (ORDER BY day)", ("lag",)),
        ("SELECT id, ntile(4) OVER (ORDER BY day) AS n FROM t", ("ntile",)),
        ("SELECT id, first_value(name) OVER (PARTITION BY day ORDER BY name) AS n FROM t", ("first_value",)),
        ("SELECT id, sum(id) OVER (ORDER BY day ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS n FROM t", ("ROWS",)),
        ("SELECT * FROM t QUALIFY row_number() OVER (PARTITION BY name ORDER BY day DESC) = 1", ("row_number",)),
        ("SELECT id, name FROM t ORDER BY day LIMIT 10", ("LIMIT",)),
        ("SELECT id, name FROM t LIMIT 10", ("LIMIT",)),
        ("SELECT id FROM t ORDER BY day OFFSET 3", ("OFFSET",)),
        ("SELECT count(*) AS n FROM (SELECT * FROM u ORDER BY x LIMIT 5)", ("LIMIT",)),
        ("WITH p AS (SELECT x, y FROM u ORDER BY x LIMIT 5) SELECT sum(y) AS s FROM p", ("LIMIT",)),
        ("SELECT id FROM t WHERE id > (SELECT first(x) FROM u)", ("first",)),
        ("SELECT id FROM t TABLESAMPLE (10 PERCENT)", ("TABLESAMPLE",)),
        ("SELECT t.id, qty FROM t JOIN lines ON t.id = lines.id ORDER BY t.id LIMIT 3", ("LIMIT",)),
        ("SELECT t.id, any_value(qty) AS q FROM t JOIN lines USING (id) GROUP BY t.id", ("any_value",)),
        ("SELECT x, y, row_number() OVER (ORDER BY x, y) AS n FROM u UNION ALL SELECT 1, 2, 3", ("row_number",)),
        ("SELECT id, explode(array(1, 2)) AS e FROM t ORDER BY id LIMIT 3", ("LIMIT",)),
        ("SELECT id, o FROM t LATERAL VIEW explode(array(1, 2)) l AS o ORDER BY id LIMIT 3", ("LIMIT",)),
        ("SELECT name, day, count(*) AS n FROM t GROUP BY name, day ORDER BY n DESC LIMIT 3", ("LIMIT",)),
        ("SELECT x, explode(xs) AS e FROM u ORDER BY x, y, xs LIMIT 3", ("LIMIT",)),
        ("SELECT u.x, name FROM u CROSS JOIN t ORDER BY u.x, u.y, u.xs LIMIT 3", ("LIMIT",)),
        ("SELECT *, row_number() OVER (ORDER BY x, y, xs) AS n FROM u CROSS JOIN unknown", ("row_number",)),
        # Rows that are equal get different numbers.
        (
            "SELECT row_number() OVER (ORDER BY x, y, xs) AS n, row_number() OVER (ORDER BY x DESC, y, xs) AS m FROM u",
            ("row_number",),
        ),
        ("SELECT *, row_number() OVER (ORDER BY x, y, xs) AS n FROM u ORDER BY x, y, xs LIMIT 1", ("LIMIT", "row_number")),
        # Two relations of one name, or in parentheses.
        ("SELECT u.x FROM u, w AS u ORDER BY c, d LIMIT 3", ("LIMIT",)),
        ("SELECT x, name FROM (u CROSS JOIN t) ORDER BY x, y, xs LIMIT 3", ("LIMIT",)),
        ("SELECT t.id, x FROM (t CROSS JOIN u) ORDER BY id LIMIT 3", ("LIMIT",)),
        # An alias goes before a column of its name.
        ("SELECT abs(x) AS x, y, xs, x + 1 AS m FROM u ORDER BY x, y, xs LIMIT 1", ("LIMIT",)),
        ("SELECT abs(id) AS id, name FROM t ORDER BY id LIMIT 1", ("LIMIT",)),
    ],
)
def test_what_the_rows_do_not_determine_is_found(query: str, expected: tuple[str, ...]) -> None:
    assert found(query) == expected


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, row_number() OVER (ORDER BY id) AS n FROM t",
        "SELECT id, row_number() OVER (PARTITION BY name ORDER BY day, id) AS n FROM t",
        "SELECT q.id, lag(name) OVER w AS n FROM t AS q WINDOW w AS (PARTITION BY day ORDER BY q.id)",
        "SELECT id, rank() OVER (ORDER BY day) AS n, sum(id) OVER (ORDER BY day) AS s FROM t",
        "SELECT * FROM t QUALIFY row_number() OVER (PARTITION BY name ORDER BY day DESC, id) = 1",
        "SELECT id, name FROM t ORDER BY day DESC, id LIMIT 10",
        "SELECT name AS x, id AS k FROM t ORDER BY k LIMIT 10",
        "SELECT name, id FROM t ORDER BY 2 LIMIT 10",
        "SELECT x, y FROM u ORDER BY y, x LIMIT 10",
        "SELECT x, y FROM u ORDER BY ALL LIMIT 10",
        "SELECT * FROM u ORDER BY x, y, xs LIMIT 10",
        "SELECT x, lag(y) OVER (PARTITION BY x ORDER BY y, u.xs) AS n FROM u",
        "SELECT abs(id) AS a, id AS id FROM t ORDER BY id LIMIT 1",
        "SELECT abs(x) AS a, y FROM u ORDER BY u.x, u.y, u.xs LIMIT 1",
        "SELECT DISTINCT x FROM u ORDER BY x LIMIT 10",
        "SELECT name, count(*) AS n FROM t GROUP BY name ORDER BY n DESC, name LIMIT 3",
        "SELECT count(*) AS n FROM u LIMIT 1",
        "SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u LIMIT 1)",
        "SELECT p.name FROM (SELECT name, max(id) AS m FROM t GROUP BY name) AS p ORDER BY p.name LIMIT 3",
        "WITH p AS (SELECT * FROM t) SELECT id, row_number() OVER (ORDER BY id) AS n FROM p",
        "SELECT lines.id, line, name FROM lines JOIN t ON t.id = lines.id ORDER BY lines.id, line LIMIT 3",
        "SELECT lines.id, line, name FROM lines LEFT JOIN t USING (id) ORDER BY lines.id, line LIMIT 3",
        "SELECT id, any_value(name) AS name FROM t GROUP BY id",
        "SELECT x, any_value(x) AS y FROM u GROUP BY x",
        "SELECT name, max_by(day, id) AS d FROM t GROUP BY name",
        "SELECT x, sort_array(collect_list(y)) AS y, size(collect_set(y)) AS n FROM u GROUP BY x",
        "SELECT x, listagg(y, ',') WITHIN GROUP (ORDER BY y) AS y FROM u GROUP BY x",
        "SELECT x, mode(y, true) AS y FROM u GROUP BY x",
        "SELECT first AS limited, last AS rows_of FROM names",
    ],
)
def test_what_is_known_to_be_unique_is_no_alarm(query: str) -> None:
    assert found(query) == ()


def test_what_has_no_order_is_told_from_what_may_have_ties() -> None:
    items = "*, row_number() OVER (PARTITION BY x) AS n, lag(y) OVER (ORDER BY x) AS m"
    parts = undetermined_parts(f"SELECT {items} FROM u TABLESAMPLE (9 ROWS) LIMIT 3", relations)
    assert (parts.ties, parts.unordered) == (("lag",), ("LIMIT", "TABLESAMPLE", "row_number"))


def test_what_can_not_be_parsed_is_not_judged() -> None:
    assert undetermined_parts("SELECT first(", relations) == Undetermined()


def test_keys_of_what_a_query_gives() -> None:
    assert given_by("SELECT id AS k, name FROM t", relations) == Given(("k", "name"), (frozenset({"k"}),))
    assert given_by("SELECT name FROM t", relations) == Given(("name",))
    assert given_by("SELECT DISTINCT x FROM u", relations) == Given(("x",), (frozenset({"x"}),))
