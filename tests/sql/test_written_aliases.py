"""SELECTs in FROM that get an alias, and nothing else does."""

import pytest

from reconciler.sql.written_aliases import with_aliases


@pytest.mark.parametrize(
    ("query", "written"),
    [
        ("SELECT a FROM (SELECT a FROM t)", "SELECT a FROM (SELECT a FROM t) AS query_1 "),
        ("SELECT a FROM (SELECT a FROM t) WHERE a > 1", "SELECT a FROM (SELECT a FROM t) AS query_1  WHERE a > 1"),
        (
            "SELECT a, b FROM (SELECT a FROM t), (SELECT a FROM t) JOIN (\n  SELECT b FROM u -- x\n) ON a = b",
            "SELECT a, b FROM (SELECT a FROM t) AS query_1 , (SELECT a FROM t) AS query_2  JOIN (\n  SELECT b FROM u -- x\n)"
            " AS query_3  ON a = b",
        ),
        # Outer ones first.
        (
            "SELECT a FROM (SELECT a FROM (SELECT a FROM t))",
            "SELECT a FROM (SELECT a FROM (SELECT a FROM t) AS query_2 ) AS query_1 ",
        ),
        (
            "SELECT a FROM (SELECT a FROM (SELECT a FROM t) AS s)",
            "SELECT a FROM (SELECT a FROM (SELECT a FROM t) AS s) AS query_1 ",
        ),
        (
            "SELECT a AS Query_1 FROM (SELECT a, ')' AS b FROM t)",
            "SELECT a AS Query_1 FROM (SELECT a, ')' AS b FROM t) AS query_2 ",
        ),
        (
            "SELECT a FROM u WHERE a IN (SELECT b FROM (SELECT b FROM t)) AND a > (SELECT 1)",
            "SELECT a FROM u WHERE a IN (SELECT b FROM (SELECT b FROM t) AS query_1 ) AND a > (SELECT 1)",
        ),
        # Words may stand close to each other.
        (
            "SELECT g FROM (SELECT g, a FROM t)LEFT JOIN u USING (a)",
            "SELECT g FROM (SELECT g, a FROM t) AS query_1 LEFT JOIN u USING (a)",
        ),
        (
            "SELECT g FROM(SELECT g, a FROM t)NATURAL JOIN(SELECT a FROM u)ORDER BY g",
            "SELECT g FROM(SELECT g, a FROM t) AS query_1 NATURAL JOIN(SELECT a FROM u) AS query_2 ORDER BY g",
        ),
    ],
)
def test_selects_in_from_get_an_alias(query: str, written: str) -> None:
    assert with_aliases(query) == written
    assert with_aliases(written) is None


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a FROM t",
        "SELECT a, (SELECT 1) AS b FROM t",
        "SELECT a FROM (SELECT a FROM t) s",
        "SELECT a FROM (SELECT a FROM t) AS s (b)",
        "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u)",
        "SELECT a FROM (VALUES (1)) AS v (a)",
        "SELECT a FROM ((SELECT a FROM t))",
        "SELECT a FROM (SELECT a FROM t UNION SELECT a FROM u)",
        "SELECT a FROM (SELECT",
        "(SELECT a FROM t) UNION ALL (SELECT a FROM u)",
        # To look for each in the whole text would take long.
        " UNION ALL ".join(["SELECT a FROM (SELECT a FROM t)"] * 11),
        f"SELECT a FROM (SELECT a FROM t) WHERE a IN ({', '.join(['100'] * 2_100)})",
    ],
)
def test_what_needs_none_or_is_not_sure_gets_none(query: str) -> None:
    assert with_aliases(query) is None
