"""The signs of a cross join: none where there surely is none, one wherever the parsed query has one."""

import pytest

from reconciler.sql.cross_join_signs import may_cross_join
from reconciler.sql.cross_joins import cross_joins
from reconciler.sql.query import parse_query

CROSSING = [
    "SELECT 1 FROM a CROSS JOIN b",
    "SELECT 1 FROM a, b",
    "SELECT 1 FROM a JOIN b",
    "SELECT 1 FROM a LEFT JOIN b ON true",
    "SELECT 1 FROM a JOIN b ON (true)",
    "SELECT 1 FROM a JOIN b ON 1 = 1 JOIN c",
    "SELECT 1 FROM a JOIN b JOIN c ON a.x = b.x",
    "SELECT 1 FROM a JOIN b ON a.x = b.x, c",
    "SELECT 1 FROM (SELECT 1 FROM a CROSS JOIN b) c",
    "SELECT 1 FROM (a CROSS JOIN b)",
    "SELECT 1 FROM (a JOIN b)",
    "SELECT x FROM a WHERE x IN (SELECT b.x FROM b, c)",
    "WITH c AS (SELECT 1 FROM a JOIN b) SELECT * FROM c",
    "SELECT 1 FROM a JOIN b ON a.x = b.x UNION ALL SELECT 1 FROM a, b",
    "SELECT 1 FROM a JOIN b WHERE a.x = 1",
    "SELECT 1 FROM a JOIN b GROUP BY a.x",
    "SELECT 1 FROM a /* , */ JOIN -- ON\n b",
    "select 1 from a cross join b on a.x = a.y",
    "SELECT 1 FROM a JOIN LATERAL (SELECT 1) l JOIN b",
]
LINKED = [
    "SELECT a, b FROM t",
    "SELECT 1 FROM a JOIN b ON a.x = b.x",
    "SELECT 1 FROM a JOIN b ON ((a.x = b.x) AND b.y)",
    "SELECT 1 FROM a JOIN b ON a.x BETWEEN b.x AND b.y",
    "SELECT 1 FROM a JOIN b USING (x, y)",
    "SELECT 1 FROM a NATURAL JOIN b",
    "SELECT 1 FROM a NATURAL LEFT OUTER JOIN b",
    "SELECT 1 FROM a LEFT ANTI JOIN b ON a.x = b.x WHERE a.y IN (1, 2)",
    "SELECT a.x, f(a.x, b.y) FROM a JOIN b ON a.x = b.x GROUP BY a.x, b.y ORDER BY 1, 2",
    "SELECT 1 FROM a JOIN b ON a.x = b.x JOIN c ON c.x = b.x",
    "SELECT 1 FROM a JOIN (b JOIN c ON b.x = c.x) ON a.x = b.x",
    "SELECT 1 FROM a JOIN b JOIN c ON b.x = c.x ON a.x = b.x",
    "SELECT ', CROSS JOIN' AS x FROM a",
    "SELECT 1 FROM (SELECT a.x, a.y FROM a) s JOIN b ON s.x = b.x",
    "VALUES (1, 2), (3, 4)",
]


@pytest.mark.parametrize("query", CROSSING)
def test_a_query_that_may_cross_has_a_sign(query: str) -> None:
    assert may_cross_join(query)


@pytest.mark.parametrize("query", LINKED)
def test_a_query_whose_joins_are_linked_has_none(query: str) -> None:
    assert cross_joins(parse_query(query)) == 0
    assert not may_cross_join(query)


def test_most_of_what_is_parsed_again_does_cross() -> None:
    found = [query for query in CROSSING if cross_joins(parse_query(query)) > 0]
    assert len(found) >= len(CROSSING) - 5


@pytest.mark.parametrize("text", ["FROM a, ", "SELECT 1 FROM a JOIN", "))) FROM a, b (((", "SELECT 1 FROM 'a, b", ""])
def test_text_that_is_no_query_is_survived(text: str) -> None:
    assert may_cross_join(text) in (True, False)
