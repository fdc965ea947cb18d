"""Where a query may give a tuple, whose fields are named as its columns are spelled."""

import pytest

from reconciler.sql.spelling import may_make_names_data

GIVING = (
    "SELECT id, (A, id) AS x FROM t",
    "SELECT DISTINCT (A, b) FROM t",
    "SELECT /*+ COALESCE(1) */ (A, b) FROM t",
    "SELECT (`A`, 1) AS x FROM VALUES (1, 2), (3, 4) t(a, b)",
    "SELECT (*, 1) FROM t",
    "SELECT (t.*, 1) FROM t",
    "SELECT (A AS Foo, 1) FROM t",
    "SELECT ((A, B), 1) FROM t",
    "SELECT (1, (A, B)) FROM t",
    "SELECT array((A, 1)) FROM t",
    "SELECT max((t.A, t.b)) FROM t",
    "SELECT collect_list((a, b)) OVER () FROM t",
    "SELECT coalesce(x, (A, b)) FROM t",
    "SELECT if(p, (A, b), NULL) AS x FROM t",
    "SELECT CASE WHEN p THEN (A, b) ELSE NULL END FROM t",
    "SELECT CASE WHEN p THEN NULL ELSE (A, b) END FROM t",
    "SELECT named_struct('x', (A, b)) FROM t",
    "SELECT transform(xs, X -> (X, 1)) FROM t",
    "SELECT transform(xs, (X, i) -> (X, i)) FROM t",
    "SELECT x.Foo FROM (SELECT (A AS Foo, b) AS x FROM t)",
    "SELECT a FROM t WHERE x IN (SELECT (A, b) FROM u)",
    "FROM t |> EXTEND (A, b) AS x",
    "FROM t |> SELECT (A, b) AS x",
    "(A, b)",
)
GIVING_NONE = (
    "SELECT f(a, b), coalesce(a, b) FROM t",
    "SELECT (1, 2) AS x, ('a', 1.5) AS y FROM t",
    "SELECT (a + b) * 2, c FROM t",
    "SELECT a FROM t WHERE (a, b) IN ((1, c), (2, d))",
    "SELECT a FROM t WHERE (a, b) NOT IN (SELECT a, b FROM u) AND (a, b) = (c, d)",
    "SELECT a IN (1, b), (SELECT max(a) FROM t) FROM t",
    "SELECT a FROM t WHERE s LIKE ALL ('a', b) OR s LIKE ANY (a, b)",
    "SELECT t.a FROM t JOIN u USING (a, b)",
    "SELECT * EXCEPT (a, b) FROM t",
    "SELECT transform(xs, (x, i) -> x + i) FROM t",
    "SELECT a FROM VALUES (a, 1), (b, 2) v(a, b)",
    "SELECT sum(a) OVER (PARTITION BY a, b), count(DISTINCT a, b) FROM t",
    "SELECT 1 FROM t GROUP BY GROUPING SETS ((a, b), (a))",
    "SELECT 1 FROM t GROUP BY ROLLUP ((a, b), c)",
    "SELECT 1 FROM t GROUP BY (a, b) ORDER BY (a, b)",
    "WITH c (a, b) AS (SELECT a, b FROM t), d (x, y) AS (SELECT a, b FROM t) SELECT c.a, d.y FROM c, d",
    "SELECT * FROM t PIVOT (sum(a) AS x, max(b) AS y FOR (c, d) IN ((1, 2) AS e, (3, 4) AS f))",
    "SELECT stack(2, 1, a, 2, b) AS (o0, o1) FROM t",
    "SELECT CAST(a AS DECIMAL(10, 2)), a::DECIMAL(5, 2) FROM t",
    "SELECT a FROM t, LATERAL (SELECT a, b FROM u)",
    "SELECT a FROM ((SELECT a, b FROM t) UNION (SELECT a, b FROM u))",
)


@pytest.mark.parametrize("query", GIVING)
def test_a_tuple_that_is_given_makes_names_data(query: str) -> None:
    assert may_make_names_data(query)


@pytest.mark.parametrize("query", GIVING_NONE)
def test_what_looks_like_a_tuple_and_is_not_given_makes_none(query: str) -> None:
    assert not may_make_names_data(query)
