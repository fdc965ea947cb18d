"""Which way a step takes, by sizes."""

from dataclasses import replace
from typing import Any

import pytest

from reconciler.engine.sources import MOST_SEARCHED
from reconciler.incremental.choice import FEW_ROWS, Choice, Size, Sizes, can_follow, cheapest, must_find
from reconciler.incremental.model import Way
from reconciler.incremental.needed_rows import KeyRange, Within
from tests.incremental.queries import groups_of, kept_of, linear_of

GROUPS = kept_of("SELECT t.g, COUNT(*) AS n FROM t JOIN u ON t.k = u.k GROUP BY t.g")
OUTER = kept_of("SELECT t.g, COUNT(*) AS n FROM t LEFT JOIN u ON t.k > u.k GROUP BY t.g")
BY_KEY = kept_of("SELECT t.g, COUNT(*) AS n FROM t LEFT JOIN u ON t.k = u.k GROUP BY t.g")
ROWS = linear_of("SELECT t.g, u.g AS h FROM t JOIN u ON t.k = u.k")
UNEQUAL = linear_of("SELECT t.g, u.g AS h FROM t JOIN u ON t.k > u.k")
LARGE, SMALL = Size(1_000_000, 50_000_000), Size(1_000, 50_000)
HUGE = Size(20_000_000, 1_000_000_000)
"""Too large to be searched for keys."""


def changed(**sizes: int | None) -> dict[str, Any]:
    """What changed, and how much of it."""
    return {"changed": frozenset(sizes), "changed_bytes": sizes.__getitem__}


FACTS = Sizes({"t": LARGE, "u": SMALL}, **changed(t=10_000), kept=10_000, is_current=True, most_searched=MOST_SEARCHED)


@pytest.mark.parametrize(
    ("sizes", "way"),
    [
        (FACTS, Way.CHANGES),
        (replace(FACTS, is_current=False), Way.ANEW),
        (replace(FACTS, is_current=False, kept=None), Way.ANEW),
        (replace(FACTS, **changed(t=40_000_000)), Way.RECOMPUTED),
        (replace(FACTS, **changed(t=None)), Way.RECOMPUTED),
        (replace(FACTS, kept=30_000_000), Way.RECOMPUTED),
        (replace(FACTS, kept=30_000_000, kept_is_searched=True), Way.CHANGES),
        (replace(FACTS, kept=30_000_000, kept_is_searched=True, most_searched=10_000_000), Way.RECOMPUTED),
        (replace(FACTS, **changed(u=100)), Way.CHANGES),
        (replace(FACTS, relations={"t": HUGE, "u": SMALL}, **changed(u=100)), Way.RECOMPUTED),
        (replace(FACTS, relations={"t": Size(None, 50_000_000), "u": SMALL}), Way.CHANGES),
        (replace(FACTS, relations={"t": Size(None, None), "u": SMALL}), Way.RECOMPUTED),
    ],
)
def test_groups_that_are_kept(sizes: Sizes, way: Way) -> None:
    assert cheapest(GROUPS, sizes) is way


def test_rows_must_be_found_where_to_read_all_of_a_relation_does_not_pay() -> None:
    assert not must_find(GROUPS, FACTS), "the other relation is small"
    by_few = replace(FACTS, **changed(u=100))
    assert cheapest(GROUPS, by_few) is Way.CHANGES
    assert must_find(GROUPS, by_few)
    assert cheapest(GROUPS, replace(by_few, most_searched=0)) is Way.RECOMPUTED


def test_a_relation_that_has_no_rule_and_changed_leaves_the_query() -> None:
    assert cheapest(OUTER, FACTS) is Way.CHANGES
    both = replace(FACTS, **changed(t=10_000, u=100))
    assert cheapest(OUTER, both) is Way.RECOMPUTED
    assert not can_follow(OUTER, both)


def test_what_the_keys_that_changed_leave_of_other_relations_counts() -> None:
    def looks(key: str, within: Within) -> int:
        return 1_000_000 if within == {"k": KeyRange(3, 7)} else 1_000_000_000

    huge = replace(FACTS, relations={"t": HUGE, "u": SMALL})
    both = replace(huge, **changed(t=10_000, u=100), changed_keys=lambda key, column: KeyRange(3, 7))
    for method in (GROUPS, BY_KEY):
        assert cheapest(method, both) is Way.RECOMPUTED, "what is read is not known to be less"
        assert cheapest(method, replace(both, needed_bytes=looks)) is Way.CHANGES
        assert cheapest(method, replace(both, needed_bytes=lambda key, within: 900_000_000)) is Way.RECOMPUTED


def test_rows_that_are_added() -> None:
    came = replace(FACTS, kept=None, rows_only_came=True)
    assert cheapest(ROWS, came) is Way.ADDED
    assert cheapest(replace(ROWS, only_added="why"), came) is Way.ADDED
    assert cheapest(ROWS, replace(came, is_current=False, **changed(t=None))) is Way.RECOMPUTED
    assert cheapest(ROWS, replace(came, **changed(u=100))) is Way.ADDED, "the large side is searched"
    assert cheapest(UNEQUAL, replace(came, **changed(u=100))) is Way.RECOMPUTED, "the large side is read whole"


def test_a_relation_is_searched_where_equalities_lead_to_all_that_is_read_of_it() -> None:
    came = replace(FACTS, kept=None, rows_only_came=True, **changed(u=100))
    twice = "SELECT a.g FROM t AS a JOIN u ON a.k = u.k JOIN t AS b ON {}"
    assert cheapest(linear_of(twice.format("b.v = a.v")), came) is Way.ADDED
    assert cheapest(linear_of(twice.format("b.v > a.v")), came) is Way.RECOMPUTED


@pytest.mark.parametrize(
    ("sizes", "way"),
    [
        ({}, Way.CHANGES),
        ({"is_current": False}, Way.RECOMPUTED),
        (changed(t=None), Way.RECOMPUTED),
        # The other side is read for what came and for what went: 4.9 and 5.1 million of the 50 that the query reads.
        (changed(t=4_900_000), Way.CHANGES),
        (changed(t=5_100_000), Way.RECOMPUTED),
        # Of a view that is small enough to be written anew whole, more may have changed.
        ({**changed(t=5_100_000), "own": 20_000_000}, Way.CHANGES),
        ({**changed(t=5_100_000), "own": 30_000_000}, Way.RECOMPUTED),
        ({**changed(t=30_000_000), "own": 1_000_000}, Way.CHANGES),
        (changed(u=100), Way.RECOMPUTED),
    ],
)
def test_rows_that_go(sizes: dict[str, Any], way: Way) -> None:
    went = replace(FACTS, kept=None, **sizes)
    assert cheapest(ROWS, went) is way
    assert cheapest(replace(ROWS, only_added="why"), went) is Way.RECOMPUTED


def test_the_other_side_of_an_outer_join_has_a_rule_by_its_key() -> None:
    rows = linear_of("SELECT t.g, u.g AS h FROM t LEFT JOIN u ON t.k = u.k")
    both = replace(FACTS, kept=None, **changed(t=10_000, u=100), changed_keys=lambda key, column: KeyRange(3, 7))
    assert cheapest(rows, replace(both, needed_bytes=lambda key, within: 1_000)) is Way.CHANGES
    assert not can_follow(replace(rows, only_added="why"), both)
    assert not can_follow(linear_of("SELECT t.g, u.g AS h FROM t LEFT JOIN u ON t.k > u.k"), both)


MEDIANS = groups_of("SELECT t.g, percentile(t.v, 0.5) AS m FROM t JOIN u ON t.k = u.k GROUP BY t.g")


@pytest.mark.parametrize(
    ("sizes", "way"),
    [
        ({"own_rows": 1_000}, Way.CHANGES),
        ({"own_rows": 999}, Way.RECOMPUTED),
        ({"own_rows": None}, Way.RECOMPUTED),
        ({"own_rows": 1_000, "is_current": False}, Way.RECOMPUTED),
        ({"own_rows": 1_000, **changed(t=4_900_000)}, Way.CHANGES),
        ({"own_rows": 1_000, **changed(t=18_000_000)}, Way.RECOMPUTED),
        ({"own_rows": 1_000, **changed(t=None)}, Way.RECOMPUTED),
        ({"own_rows": 1_000, **changed(u=100)}, Way.CHANGES),
        ({"own_rows": 1_000, "relations": {"t": HUGE, "u": SMALL}, **changed(u=100)}, Way.RECOMPUTED),
        ({"own_rows": 1_000, "own": 300_000_000, **changed(u=100)}, Way.RECOMPUTED),
    ],
)
def test_groups_that_are_computed_anew(sizes: dict[str, Any], way: Way) -> None:
    assert cheapest(MEDIANS, replace(FACTS, kept=None, **sizes)) is way


def test_groups_must_be_found_where_what_changed_reaches_much() -> None:
    some = replace(FACTS, kept=None, own_rows=1_000)
    assert not must_find(MEDIANS, some)
    by_few = replace(some, **changed(u=100))
    assert must_find(MEDIANS, by_few)
    assert cheapest(MEDIANS, replace(by_few, most_searched=0)) is Way.RECOMPUTED


def test_small_relations_are_known_by_their_rows() -> None:
    choice = Choice()
    assert choice.are_small([Size(FEW_ROWS, None), SMALL])
    assert not choice.are_small([Size(FEW_ROWS + 1, 10), SMALL])
    assert not choice.are_small([Size(None, 10)]), "nobody knows"
