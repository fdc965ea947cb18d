"""What is kept follows what changes, over queries and histories by chance, computed by SQLite: over integers only, which it
adds up as Spark does. With decimals, and on Spark: `test_histories_on_spark`."""

import sqlite3
from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.incremental.derive import derived
from reconciler.incremental.kept_aggregate import KEPT, changed_query, columns_of
from reconciler.incremental.model import Recompute
from reconciler.incremental.summaries import summary_of
from reconciler.incremental.terms import changed_source
from tests.incremental.following import follow, follow_added, follow_changed, follow_groups, follow_summary
from tests.incremental.queries import (
    COLUMNS,
    Row,
    Tables,
    first_of_many_by,
    grouped_query_by,
    growing_history_by,
    history_by,
    history_of_many_groups_by,
    kept_of,
    layered_query_by,
    linear_query_by,
    multiset,
    query_by,
    query_of_names_by,
    summarised_query_by,
)
from tests.incremental.small import Small

WITHOUT_DECIMALS = {name: dict([*columns.items()][:3]) for name, columns in COLUMNS.items()}


def plain(tables: Tables) -> dict[str, list[Row]]:
    """Without decimals, which SQLite has not."""
    return {name: [row[:3] for row in rows] for name, rows in tables.items()}


@settings(max_examples=25, deadline=None)
@given(st.integers(min_value=0, max_value=2**32))
def test_what_is_kept_gives_what_the_query_gives(seed: int) -> None:
    keeps_what_the_query_gives(seed)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.integers(min_value=0, max_value=2**32))
def test_what_is_kept_gives_what_the_query_gives_in_many_more_cases(seed: int) -> None:
    keeps_what_the_query_gives(seed)


def keeps_what_the_query_gives(seed: int) -> None:
    chance = Random(seed)
    query = query_by(chance, has_decimals=False)
    follow(Small(), query, [plain(one) for one in history_by(chance, 4)], WITHOUT_DECIMALS)


@settings(max_examples=40, deadline=None)
@given(st.integers(min_value=0, max_value=2**32))
def test_summaries_of_what_is_kept_give_what_the_query_gives(seed: int) -> None:
    summaries_give_what_the_query_gives(seed)


@pytest.mark.slow
@settings(max_examples=1000, deadline=None)
@given(st.integers(min_value=0, max_value=2**32))
def test_summaries_of_what_is_kept_give_what_the_query_gives_in_many_more_cases(seed: int) -> None:
    summaries_give_what_the_query_gives(seed)


def summaries_give_what_the_query_gives(seed: int) -> None:
    chance = Random(seed)
    query, of_many = summarised_query_by(chance, has_decimals=False), first_of_many_by(chance)
    follow_summary(Small(), query, [plain(one) for one in history_by(chance, 4)], WITHOUT_DECIMALS, chance.randint(0, 3))
    history = [plain(one) for one in history_of_many_groups_by(chance, 5)]
    assert follow_summary(Small(), of_many, history, WITHOUT_DECIMALS, chance.randint(0, 6)) is not None


def test_most_queries_over_groups_have_a_summary() -> None:
    queries = [summarised_query_by(Random(f"summary {seed}"), has_decimals=False) for seed in range(60)]
    kept = [kept_of(query) for query in queries]
    found = [summary_of(one, dict.fromkeys(columns_of(one), "BIGINT")) for one in kept]
    assert Counter(type(one).__name__ for one in found)["FirstRows"] > 12
    assert Counter(type(one).__name__ for one in found)["KeptAggregate"] > 6


@settings(max_examples=25, deadline=None)
@given(st.integers(min_value=0, max_value=2**32))
def test_rows_that_are_added_make_the_result_of_the_query(seed: int) -> None:
    added_rows_make_the_result(seed)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.integers(min_value=0, max_value=2**32))
def test_rows_that_are_added_make_the_result_of_the_query_in_many_more_cases(seed: int) -> None:
    added_rows_make_the_result(seed)


def added_rows_make_the_result(seed: int) -> None:
    chance = Random(seed)
    query = linear_query_by(chance, has_right_joins=False)
    follow_added(Small(), query, [plain(one) for one in growing_history_by(chance, 3)], WITHOUT_DECIMALS)


@settings(max_examples=25, deadline=None)
@given(st.integers(min_value=0, max_value=2**32))
def test_rows_that_come_and_go_make_the_result_of_the_query(seed: int) -> None:
    changed_rows_make_the_result(seed)


@pytest.mark.slow
@settings(max_examples=600, deadline=None)
@given(st.integers(min_value=0, max_value=2**32))
def test_rows_that_come_and_go_make_the_result_of_the_query_in_many_more_cases(seed: int) -> None:
    changed_rows_make_the_result(seed)


def changed_rows_make_the_result(seed: int) -> int:
    chance = Random(seed)
    query = linear_query_by(chance, has_right_joins=False)
    return follow_changed(Small(), query, [plain(one) for one in history_by(chance, 3)], WITHOUT_DECIMALS)


@settings(max_examples=25, deadline=None)
@given(st.integers(min_value=0, max_value=2**32))
def test_groups_that_are_computed_anew_make_the_result_of_the_query(seed: int) -> None:
    changed_groups_make_the_result(seed)


@pytest.mark.slow
@settings(max_examples=600, deadline=None)
@given(st.integers(min_value=0, max_value=2**32))
def test_groups_that_are_computed_anew_make_the_result_of_the_query_in_many_more_cases(seed: int) -> None:
    changed_groups_make_the_result(seed)


def changed_groups_make_the_result(seed: int) -> int:
    chance = Random(seed)
    query, steps = (layered_query_by, 6) if seed % 2 else (grouped_query_by, 3)
    history = [plain(one) for one in history_by(chance, steps)]
    return follow_groups(Small(), query(chance, on_spark=False), history, WITHOUT_DECIMALS)


def test_names_of_with_and_stars_are_written_in_as_they_are() -> None:
    """What is followed is another text than the view's query, which gives the same."""
    known = tuple((name, tuple(columns.items())) for name, columns in WITHOUT_DECIMALS.items())
    written = 0
    for seed in range(200):
        chance, engine = Random(seed), Small()
        query = query_of_names_by(chance)
        method = derived(query, known)
        assert not isinstance(method, Recompute), (query, method)
        for tables in history_by(chance, 1):
            for name, rows in plain(tables).items():
                engine.give(name, WITHOUT_DECIMALS[name], rows)
            assert multiset(engine.run(method.query)[1]) == multiset(engine.run(query)[1]), (query, method.query)
        written += method.query != query
    assert written > 150


def test_many_groups_change() -> None:
    assert sum(map(changed_groups_make_the_result, range(60))) > 150


def test_most_rows_come_and_go() -> None:
    assert sum(map(changed_rows_make_the_result, range(60))) > 150


def test_most_steps_are_followed() -> None:
    assert followed_of(nested=0) > 300


def test_many_steps_of_nested_queries_are_followed() -> None:
    assert followed_of(nested=1) > 170


def followed_of(nested: float) -> int:
    """How many of 400 steps."""
    followed = 0
    for seed in range(100):
        chance = Random(seed)
        query = query_by(chance, has_decimals=False, nested=nested)
        followed += follow(Small(), query, [plain(one) for one in history_by(chance, 4)], WITHOUT_DECIMALS)
    return followed


def test_rows_that_go_and_were_never_there_are_noticed() -> None:
    engine, kept = Small(), kept_of("SELECT g, COUNT(*) AS n FROM t GROUP BY g")
    types = dict.fromkeys(columns_of(kept), "BIGINT")
    engine.give(KEPT, dict(types), [("x", 1)])
    row = (1, "x", 1, "delete")
    engine.give(changed_source("t"), {**WITHOUT_DECIMALS["t"], "__change": None}, [row, row])
    with pytest.raises(sqlite3.OperationalError, match="user-defined function raised exception"):
        engine.run(changed_query(kept, ["t"], types, "__change"))
