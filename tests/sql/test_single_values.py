"""Which subqueries have one value for all rows, whatever row asks."""

import pytest

from reconciler.sql.single_values import single_values
from reconciler.sql.token_lists import with_texts

RELATIONS = {"t": {"k": "INT", "v": "INT"}, "u": {"k": "INT", "f": "INT"}}


@pytest.mark.parametrize(
    ("query", "texts"),
    [
        ("SELECT k FROM t WHERE v > (SELECT AVG(f) FROM u)", ["(SELECT AVG(f) FROM u)"]),
        ("SELECT k FROM t WHERE ( SELECT COUNT(*) FROM u x, t WHERE x.k = t.k ) <= v", None),
        ("SELECT k FROM t WHERE v BETWEEN (SELECT MIN(f) FROM u) AND (SELECT MAX(f) + 1 AS m FROM u)", None),
        ("SELECT k FROM t WHERE NOT (v + (SELECT MAX(f) FROM u WHERE k > 2) > 3)", ["(SELECT MAX(f) FROM u WHERE k > 2)"]),
        ("SELECT k FROM t WHERE NOT(SELECT COUNT(*) FROM u) = v AND(SELECT MAX(f) FROM u)> 1", None),
        (
            "SELECT k FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND u.f > (SELECT MAX(v) FROM t))",
            ["(SELECT MAX(v) FROM t)"],
        ),
        (
            "SELECT n FROM (SELECT k, COUNT(*) AS n FROM t WHERE v = (SELECT MIN(v) FROM t) GROUP BY k)",
            ["(SELECT MIN(v) FROM t)"],
        ),
    ],
)
def test_they_are_found_where_they_stand(query: str, texts: list[str] | None) -> None:
    found = single_values(query, RELATIONS)
    shown = [one.span.of(query) for one in found]
    assert shown == (texts if texts is not None else shown)
    assert shown
    written = with_texts(query, [(one.span, "CAST(1 AS INT)") for one in found])
    assert "CAST(1 AS INT)" in written
    assert not any(text in written for text in shown)
    assert single_values(written, RELATIONS) == ()


@pytest.mark.parametrize(
    "query",
    [
        "SELECT k FROM t WHERE v > (SELECT AVG(f) FROM u WHERE u.k = t.k)",
        "SELECT k FROM t WHERE v > (SELECT AVG(f + v) FROM u)",
        "SELECT k FROM t WHERE v > (SELECT f FROM u)",
        "SELECT k FROM t WHERE v > (SELECT MAX(f) FROM u GROUP BY k)",
        "SELECT k FROM t WHERE v > (SELECT MAX(f) FROM u HAVING COUNT(*) > 1)",
        "SELECT k FROM t WHERE v > (SELECT MAX(f) FROM u LIMIT 0)",
        "SELECT k FROM t WHERE v > (SELECT MAX(f) FROM u, (SELECT 1 AS one) AS w)",
        "SELECT k FROM t WHERE v > (SELECT MAX(f) FROM u WHERE f < (SELECT MAX(v) FROM t WHERE t.k = u.k))",
        "SELECT k FROM t WHERE v > (SELECT SUM(f) OVER () FROM u)",
        "SELECT k FROM t WHERE v > (SELECT MAX(f) FROM elsewhere)",
        "WITH w AS (SELECT * FROM u) SELECT k FROM t WHERE v > (SELECT MAX(f) FROM w)",
        "SELECT k FROM t WHERE v IN (SELECT MAX(f) FROM u)",
        "SELECT k FROM t WHERE EXISTS (SELECT MAX(f) FROM u)",
        "SELECT k FROM t WHERE v = ALL (SELECT MAX(f) FROM u)",
        "SELECT k, (SELECT MAX(f) FROM u) + 1 AS m FROM t",
        "SELECT k FROM t JOIN u ON t.v > (SELECT MAX(f) FROM u)",
        "not a query",
    ],
)
def test_others_are_none(query: str) -> None:
    assert single_values(query, RELATIONS) == ()
