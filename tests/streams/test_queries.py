"""The texts of the queries: what is true of each, without Spark."""

import re
from dataclasses import replace

import pytest
import sqlglot

from reconciler.sql.check import analyse_query
from reconciler.streams.model import (
    AfterWatermark,
    AggregateOverWindow,
    Custom,
    Hopping,
    OuterCachingJoin,
    Previous,
    RunningAggregate,
    Session,
    Stateful,
    Tumbling,
    WindowClose,
    inputs_of,
)
from reconciler.streams.queries import FOLDED, Input, Moment
from reconciler.streams.queries.log import Log
from reconciler.streams.queries.parts import ordering
from reconciler.streams.queries.write import stream_queries
from tests.streams.histories import by_key, over_windows
from tests.streams.on_spark import COLUMNS, inputs_for

ALL = [*by_key(), *over_windows()]
NOW = Moment(7, "(SELECT MAX(`before`) FROM `watermarks`)", "2000")
OF_CHANCE = re.compile(
    r"\b(?:rand|randn|uuid|now|current_\w+|monotonically_increasing_id|spark_partition_id)\b", re.IGNORECASE
)


def texts(of: Stateful, state: str | None = "remembered", moment: Moment = NOW) -> tuple[str, str, str, str]:
    queries = stream_queries(of, inputs_for(of), None if state is None else Log(state, "last"), moment)
    return queries.output, queries.state, queries.late.count, queries.late.rows


@pytest.mark.parametrize("state", [None, "remembered"])
def test_all_texts_can_be_read_and_name_their_columns(state: str | None) -> None:
    for of in ALL:
        for text in texts(of, state):
            tree = sqlglot.parse_one(text, dialect="spark")
            assert not list(tree.find_all(sqlglot.exp.Star)) or "count(*)" in text.lower()
            assert not re.search(r"SELECT\s+\*|,\s*\*\s*(?:,|FROM)", text)
            assert OF_CHANCE.search(text) is None
        assert texts(of, state) == texts(of, state)


def test_definitions_are_read_as_those_of_views_are() -> None:
    for of in ALL:
        definition = stream_queries(of, inputs_for(of), None, Moment(1, after="(SELECT MAX(now) FROM watermarks)")).output
        relations: dict[str, dict[str, str | None]] = {name: dict(COLUMNS) for name in inputs_of(of)}
        analysed = analyse_query(definition, None, {**relations, "watermarks": {"now": "BIGINT"}})
        assert not analysed.diagnostics
        assert analysed.columns is not None


def test_rows_that_came_are_put_together_where_no_trigger_counts_and_order_does_not_matter() -> None:
    folded = [of for of in ALL if stream_queries(of, inputs_for(of), Log("remembered"), NOW).fold is not None]
    assert folded
    for of in folded:
        assert isinstance(of, AggregateOverWindow)
        assert isinstance(of.window, Tumbling | Hopping | Session)
        assert of.trigger in (AfterWatermark(), WindowClose())
        assert all(expression not in ("first(v)", "last(v)") for _, expression in of.aggregates)
        queries = stream_queries(of, inputs_for(of), Log("remembered"), NOW, is_folded=True)
        assert "`readings`" not in queries.output + queries.state
        assert f"`{FOLDED}`" in queries.output
        assert queries.memory.came == ((FOLDED, ("`h`", "`user`")),)


def test_the_state_is_read_only_where_there_is_one() -> None:
    for of in ALL:
        output, state, *_ = texts(of)
        assert "`remembered`" in output
        assert "`remembered`" in state
        assert not any("remembered" in text for text in texts(of, None))


def test_all_inputs_are_read() -> None:
    for of in ALL:
        for text in texts(of):
            assert all(f"`{name}`" in text for name in inputs_of(of))


def test_names_are_quoted_and_keys_spelled_as_in_the_input() -> None:
    columns = (("Select", "INT"), ("a`b", "STRING"), ("when", "TIMESTAMP"), ("from", None))
    source = Input("group by", columns, "when")
    of = RunningAggregate("group by", ("sELECT", "A`B"), (("order", "count(*)"),), 5)
    queries = stream_queries(of, (source,), Log("last state"), NOW)
    for text in (queries.output, queries.state):
        assert "PARTITION BY `Select`, `a``b`" in text
        assert "FROM `group by`" in text
        assert "FROM `last state`" in text
        sqlglot.parse_one(text, dialect="spark")
    assert queries.event_time == "when"


def test_event_times_of_what_is_given() -> None:
    for of in ALL:
        given = stream_queries(of, inputs_for(of), None, NOW).event_time
        assert given == ("event_time" if isinstance(of, AggregateOverWindow | OuterCachingJoin | Custom) else "ts")


def test_what_both_sides_of_a_join_have_is_called_after_them() -> None:
    left = Input("orders", (("user", "INT"), ("ts", "TIMESTAMP"), ("price", "INT"), ("event_time", "TIMESTAMP")), "ts")
    right = Input("payments", (("user", "INT"), ("TS", "TIMESTAMP"), ("paid", "INT")), "TS")
    join = OuterCachingJoin("orders", "payments", ("user",), 5)
    tree = sqlglot.parse_one(stream_queries(join, (left, right), None, NOW).output, dialect="spark")
    names = ["user", "orders_ts", "price", "orders_event_time", "payments_TS", "paid", "event_time"]
    assert tree.named_selects == names


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("INT", "`c`"),
        ("STRUCT<a:INT>", "`c`"),
        ("ARRAY<STRING>", "`c`"),
        ("MAP<STRING,INT>", "to_json(`c`)"),
        ("ARRAY<MAP<STRING,INT>>", "to_json(`c`)"),
        ("VARIANT", "to_json(`c`)"),
        ("struct<a:variant>", "to_json(`c`)"),
        ("INTERVAL", "CAST(`c` AS STRING)"),
        (None, "CAST(`c` AS STRING)"),
    ],
)
def test_order_of_types(kind: str | None, text: str) -> None:
    assert ordering("`c`", kind) == text


def test_a_comment_in_an_expression_ends_with_its_line() -> None:
    aggregates = (("n", "count(*) -- all"), ("s", "sum(v)"))
    for of in (
        AggregateOverWindow("readings", ("user",), Tumbling(10), aggregates, WindowClose()),
        AggregateOverWindow("readings", ("user",), Session(10), aggregates, AfterWatermark()),
        RunningAggregate("readings", ("user",), (("n", "count(v -- all\n)"),), 5),
        Previous("readings", ("user",), (("p", "v -- the value"),), 1, 5),
    ):
        for text in texts(of):
            sqlglot.parse_one(text, dialect="spark")
        assert "\n" in texts(of)[0]


def test_states_do_not_depend_on_triggers() -> None:
    """What a stream remembers can be read on when its trigger changes."""
    for of in over_windows():
        assert isinstance(of, AggregateOverWindow)
        if isinstance(of.window, Tumbling):
            other = replace(of, trigger=WindowClose())
            kept, wanted = (stream_queries(one, inputs_for(one), None, NOW).memory for one in (of, other))
            assert (kept.columns, kept.until) == (wanted.columns, wanted.until)
