"""Which queries over groups show those that come first in an order, and which do not surely do."""

import pytest

from reconciler.incremental.derive import derived
from reconciler.incremental.first_rows import FirstRows, first_rows
from reconciler.incremental.kept_aggregate import columns_of
from reconciler.incremental.model import KeptAggregate
from reconciler.incremental.summaries import summary_of
from tests.incremental.queries import kept_of

BLOCK = "SELECT k, g AS name, SUM(v) AS s, COUNT(*) AS n FROM t GROUP BY k, g"
SUM = "(CASE WHEN `__kept`.`of_sum_0` > 0 THEN `__kept`.`sum_0` END)"


def first_of(query: str) -> FirstRows | None:
    kept = kept_of(query)
    return first_rows(kept, dict.fromkeys(columns_of(kept), "BIGINT"))


@pytest.mark.parametrize(
    ("order", "wanted"),
    [
        ("s DESC, k", ((f"({SUM})", "DESC"), ("`__kept`.`key_0`", ""))),
        ("n DESC NULLS LAST, 1 ASC", (("(`__kept`.`rows`)", "DESC NULLS LAST"), ("`__kept`.`key_0`", "ASC"))),
        ("2, t.k nulls first", (("`__kept`.`key_1`", ""), ("`__kept`.`key_0`", "nulls first"))),
        ("NAME, `s`", (("`__kept`.`key_1`", ""), (f"({SUM})", ""))),
        ("SUM(v) - COUNT(*), g", ((f"{SUM} - `__kept`.`rows`", ""), ("`__kept`.`key_1`", ""))),
        ("(2) DESC, ((s)), k", (("`__kept`.`key_1`", "DESC"), (f"({SUM})", ""), ("`__kept`.`key_0`", ""))),
        ("coalesce(k, 3) DESC", (("coalesce(`__kept`.`key_0`, 3)", "DESC"),)),
    ],
)
def test_the_order_is_that_of_what_is_kept(order: str, wanted: tuple[tuple[str, str], ...]) -> None:
    first = first_of(f"{BLOCK} HAVING COUNT(*) > 1 ORDER BY {order} LIMIT 7")
    assert first is not None
    assert first.order == wanted
    assert first.count == 7
    assert first.having == "`__kept`.`rows` > 1"


@pytest.mark.parametrize(
    "query",
    [
        BLOCK,
        f"{BLOCK} ORDER BY s",
        f"{BLOCK} LIMIT 3",
        f"{BLOCK} ORDER BY ALL LIMIT 3",
        f"{BLOCK} ORDER BY s + 1, k LIMIT 3",
        f"{BLOCK} ORDER BY 'k' LIMIT 3",
        f"{BLOCK} ORDER BY s LIMIT 3 OFFSET 2",
        f"{BLOCK} ORDER BY s LIMIT 1 + 2",
        f"SELECT k FROM ({BLOCK} ORDER BY s LIMIT 3) AS q",
        f"({BLOCK} ORDER BY s LIMIT 3)",
        "SELECT DISTINCT k FROM t ORDER BY k LIMIT 3",
        "SELECT SUM(v) AS s FROM t ORDER BY s LIMIT 3",
        "SELECT k, COUNT(DISTINCT v) AS n FROM t GROUP BY k ORDER BY n LIMIT 3",
    ],
)
def test_what_is_not_surely_told_has_none(query: str) -> None:
    assert first_of(query) is None


@pytest.mark.parametrize(
    "query",
    [
        BLOCK,
        f"SELECT q.k, u.f FROM ({BLOCK}) AS q JOIN u ON u.k = q.k",
        f"SELECT k, rank() OVER (ORDER BY s) AS r FROM ({BLOCK}) AS q",
        f"SELECT k, COUNT(*) AS m FROM ({BLOCK}) AS q WHERE s > (SELECT MAX(f) FROM u) GROUP BY k",
        "SELECT MAX(s) AS m FROM (SELECT SUM(v) AS s FROM t) AS q",
    ],
)
def test_other_queries_over_groups_have_no_summary(query: str) -> None:
    kept = kept_of(query)
    assert summary_of(kept, dict.fromkeys(columns_of(kept), "BIGINT")) is None


def test_the_least_of_floating_numbers_has_no_summary() -> None:
    kept = kept_of("SELECT MIN(k) AS m, COUNT(*) AS n FROM (SELECT k, COUNT(*) AS n FROM t GROUP BY k) AS q GROUP BY n")
    types = dict.fromkeys(columns_of(kept), "BIGINT")
    assert summary_of(kept, types) is not None
    assert summary_of(kept, {**types, "key_0": "DOUBLE"}) is None


@pytest.mark.parametrize(("order", "is_told"), [("v", False), ("n, v", False), ("s.v", True), ("n", True)])
def test_a_name_in_order_by_is_not_taken_for_a_column_where_an_item_has_it(order: str, is_told: bool) -> None:
    query = f"SELECT s.v, COUNT(*) AS n FROM t GROUP BY s.v, v ORDER BY {order} LIMIT 1"
    found = derived(query, (("t", (("s", "STRUCT<v: INT>"), ("v", "INT"))),))
    assert isinstance(found, KeptAggregate) is is_told
