"""GROUP BY ALL is written out as Spark takes it, or not at all."""

import pytest

from reconciler.sql.written_keys import with_written_keys

RELATIONS = {"t": ("g", "k", "v")}


@pytest.mark.parametrize(
    ("query", "written"),
    [
        ("SELECT g, COUNT(*) AS n FROM t GROUP BY ALL", "SELECT g, COUNT(*) AS n FROM t GROUP BY 1"),
        (
            "SELECT sum(v), k % 2, g FROM t group  by\nall HAVING 1 > 0",
            "SELECT sum(v), k % 2, g FROM t group  by\n2, 3 HAVING 1 > 0",
        ),
        (
            "WITH s AS (SELECT g, max(v) + 1 AS m FROM t GROUP BY ALL) SELECT * FROM s ORDER BY ALL",
            "WITH s AS (SELECT g, max(v) + 1 AS m FROM t GROUP BY 1) SELECT * FROM s ORDER BY ALL",
        ),
    ],
)
def test_items_without_aggregate_are_the_keys(query: str, written: str) -> None:
    assert with_written_keys(query, RELATIONS) == written


@pytest.mark.parametrize(
    "query",
    [
        "SELECT g FROM t",
        "SELECT 'group by all' AS g FROM t",
        "SELECT *, COUNT(*) AS n FROM t GROUP BY ALL",
        "SELECT g, SUM(v) OVER () AS s FROM t GROUP BY ALL",
        "SELECT g, (SELECT MAX(k) FROM t) AS m, COUNT(*) AS n FROM t GROUP BY ALL",
        "SELECT COUNT(*) AS n FROM t GROUP BY ALL",
        "SELECT 1 AS one, COUNT(*) AS n FROM t GROUP BY ALL",
        "SELECT g AS `all`, COUNT(*) AS n FROM t GROUP BY ALL",
        "SELECT g FROM (SELECT g, k FROM t GROUP BY ALL) AS s GROUP BY ALL",
        "SELECT g FROM FROM t GROUP BY ALL",
        "SELECT g, any(v > 1) AS a FROM t GROUP BY ALL",
        "SELECT g, unknown(v) AS a, COUNT(*) AS n FROM t GROUP BY ALL",
    ],
)
def test_what_is_not_sure_is_left_as_it_is(query: str) -> None:
    assert with_written_keys(query, RELATIONS) is None


@pytest.mark.parametrize(
    "call", ["max_by(v, g)", "percentile(v, 0.5)", "approx_percentile(v, 0.5)", "listagg(g)", "string_agg(g)"]
)
def test_no_aggregate_is_taken_for_a_key(call: str) -> None:
    written = with_written_keys(f"SELECT k, {call} AS a FROM t GROUP BY ALL", RELATIONS)
    assert written in (None, f"SELECT k, {call} AS a FROM t GROUP BY 1")


def test_a_column_may_be_called_so() -> None:
    assert with_written_keys("SELECT g, COUNT(*) AS n FROM t GROUP BY ALL", {"t": ("g", "ALL")}) is None
