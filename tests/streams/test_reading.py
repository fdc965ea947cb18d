"""Definitions of streams become transformations, are stored without what is default, and refused where they mean nothing."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from reconciler.base.declarations import Manifest
from reconciler.base.diagnostics import Location, errors_among
from reconciler.base.digest import canonical_json
from reconciler.project.manifest.read import read_manifest
from reconciler.streams.expressions import column_named, not_one_value, undetermined_calls
from reconciler.streams.model import (
    Accumulation,
    AfterWatermark,
    AggregateOverWindow,
    AssignWatermarks,
    Count,
    CountTrigger,
    Custom,
    Deduplicate,
    Hopping,
    Matches,
    OuterCachingJoin,
    Previous,
    RunningAggregate,
    Session,
    Sort,
    Transformation,
    Tumbling,
    Window,
    WindowClose,
    inputs_of,
)
from reconciler.streams.problems import definition_problems
from reconciler.streams.reading import KINDS, duration, normalised, read_transformation

SECOND = 1_000_000
HOUR = 3600 * SECOND
DAY = 24 * HOUR
GOOD = Path(__file__).parents[1] / "manifests/good/streams"
FILE = "pipelines/shop/pipeline.yaml"


def manifest(text: str) -> Manifest:
    sql = (GOOD / "program.sql").read_text("utf-8")
    read = read_manifest("pipelines/shop", {FILE: text, "pipelines/shop/program.sql": sql}, {})
    assert read.manifest is not None
    return read.manifest


def good() -> Manifest:
    return manifest((GOOD / "pipeline.yaml").read_text("utf-8"))


def assign(**more: Any) -> dict[str, Any]:
    return {"assign_timestamps_and_watermarks": {"input": "t", "event_time": "at", "delay": "5m", **more}}


def aggregate(**more: Any) -> dict[str, Any]:
    settings = {"input": "s", "keys": ["k"], "window": {"tumbling": "1h"}, "aggregates": {"n": "count(*)"}, **more}
    return {"aggregate_over_window": settings}


def running(text: str) -> dict[str, Any]:
    return {"running_aggregate": {"input": "s", "keys": ["k"], "aggregates": {"n": text}, "expiry": "1d"}}


def over(window: Window, trigger: Any, **more: Any) -> AggregateOverWindow:
    return AggregateOverWindow("s", ("k",), window, (("n", "count(*)"),), trigger, **more)


COUNT = {"window": {"count": 10}, "expiry": "1d"}
ONE = CountTrigger(1)
READ: list[tuple[dict[str, Any], Transformation]] = [
    (assign(), AssignWatermarks("t", "at", None, 300 * SECOND)),
    (assign(event_time="`read at`"), AssignWatermarks("t", "read at", None, 300 * SECOND)),
    (assign(column="AT"), AssignWatermarks("t", "at", None, 300 * SECOND)),
    (assign(idle_after="1h"), AssignWatermarks("t", "at", None, 300 * SECOND, 3600 * SECOND)),
    (assign(per=["site", "line"]), AssignWatermarks("t", "at", None, 300 * SECOND, per=("site", "line"))),
    (assign(column="made"), AssignWatermarks("t", "at", "made", 300 * SECOND)),
    (assign(event_time="a.b", delay="0s"), AssignWatermarks("t", "a.b", "event_time", 0)),
    (assign(event_time="to_timestamp(x)", column="made"), AssignWatermarks("t", "to_timestamp(x)", "made", 300 * SECOND)),
    (aggregate(), over(Tumbling(HOUR), AfterWatermark())),
    (aggregate(trigger="after_watermark"), over(Tumbling(HOUR), AfterWatermark())),
    (aggregate(allowed_lateness="0s"), over(Tumbling(HOUR), AfterWatermark())),
    (aggregate(allowed_lateness="1h"), over(Tumbling(HOUR), AfterWatermark(None, ONE), allowed_lateness=HOUR)),
    (aggregate(allowed_lateness="1h", trigger={"after_watermark": {"early": {"count": 3}}}),
     over(Tumbling(HOUR), AfterWatermark(CountTrigger(3), ONE), allowed_lateness=HOUR)),
    (aggregate(allowed_lateness="1h", trigger={"after_watermark": {"late": {"count": 3}}}),
     over(Tumbling(HOUR), AfterWatermark(None, CountTrigger(3)), allowed_lateness=HOUR)),
    (aggregate(allowed_lateness="1h", trigger="window_close"), over(Tumbling(HOUR), WindowClose(), allowed_lateness=HOUR)),
    (aggregate(allowed_lateness="1h", trigger={"count": 5}), over(Tumbling(HOUR), CountTrigger(5), allowed_lateness=HOUR)),
    (aggregate(window={"hopping": {"size": "1h", "every": "1m"}}), over(Hopping(HOUR, 60 * SECOND), AfterWatermark())),
    (aggregate(window={"session": "1h"}, accumulation="discarding"),
     over(Session(HOUR), AfterWatermark(), accumulation=Accumulation.DISCARDING)),
    (aggregate(**COUNT), over(Count(10), ONE, expiry=DAY)),
    (aggregate(**COUNT, trigger={"count": 4.0}), over(Count(10), CountTrigger(4), expiry=DAY)),
    ({"outer_caching_join": {"left": "a", "right": "b", "keys": ["x", "y"], "expiry": "1h"}},
     OuterCachingJoin("a", "b", ("x", "y"), HOUR, Matches.ALL)),
    ({"outer_caching_join": {"left": "a", "right": "b", "keys": ["x"], "expiry": "1h", "matches": "latest"}},
     OuterCachingJoin("a", "b", ("x",), HOUR, Matches.LATEST)),
    ({"running_aggregate": {"input": "s", "keys": ["k"], "aggregates": {"n": "count(*)", "a": "max(x)"}, "expiry": "1d"}},
     RunningAggregate("s", ("k",), (("n", "count(*)"), ("a", "max(x)")), DAY)),
    ({"sort": {"input": "s", "keys": ["k"]}}, Sort("s", ("k",))),
    ({"custom": {"input": "s", "keys": ["k"], "function": "f", "expiry": "1d"}}, Custom("s", ("k",), "f", DAY)),
    ({"deduplicate": {"input": "s", "keys": ["k"], "expiry": "1d"}}, Deduplicate("s", ("k",), DAY)),
    ({"previous": {"input": "s", "keys": ["k"], "columns": {"before": "x"}, "expiry": "1d"}},
     Previous("s", ("k",), (("before", "x"),), 1, DAY)),
    ({"previous": {"input": "s", "keys": ["k"], "columns": {"before": "x"}, "offset": 2, "expiry": "1d"}},
     Previous("s", ("k",), (("before", "x"),), 2, DAY)),
]  # fmt: skip


@pytest.mark.parametrize(("definition", "transformation"), READ)
def test_a_definition_is_read(definition: dict[str, Any], transformation: Transformation) -> None:
    assert definition_problems(definition) == ()
    assert read_transformation(definition) == transformation


@pytest.mark.parametrize(("definition", "transformation"), READ)
def test_a_definition_means_the_same_when_it_was_stored(definition: dict[str, Any], transformation: Transformation) -> None:
    """Also with the order of its columns, although JSON objects have none."""
    stored = normalised(definition)
    assert read_transformation(json.loads(canonical_json(stored))) == transformation
    assert normalised(stored) == stored


def test_each_kind_is_tried() -> None:
    assert {next(iter(definition)) for definition, _ in READ} == set(KINDS)


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        (aggregate(allowed_lateness="0s", trigger="after_watermark", accumulation="accumulating"), aggregate()),
        (aggregate(trigger={"after_watermark": {}}), aggregate()),
        (aggregate(**COUNT, trigger={"count": 1.0}), aggregate(**COUNT)),
        (aggregate(allowed_lateness="1h", trigger={"after_watermark": {"late": {"count": 1}}}),
         aggregate(allowed_lateness="1h")),
        (aggregate(allowed_lateness="1h", trigger={"after_watermark": {"early": {"count": 2}, "late": {"count": 1}}}),
         aggregate(allowed_lateness="1h", trigger={"after_watermark": {"early": {"count": 2}}})),
        (assign(event_time="f(x)", column="event_time"), assign(event_time="f(x)")),
        (assign(column="at"), assign()),
    ],
)  # fmt: skip
def test_what_is_default_anyway_says_nothing(written: dict[str, Any], plain: dict[str, Any]) -> None:
    assert normalised(written) == normalised(plain)


def test_what_is_not_default_is_kept_as_it_is_written() -> None:
    written = aggregate(
        allowed_lateness="60m", trigger={"after_watermark": {"late": {"count": 2}}}, accumulation="discarding"
    )
    assert normalised(written) == aggregate(
        allowed_lateness="60m",
        trigger={"after_watermark": {"late": {"count": 2}}},
        accumulation="discarding",
        aggregates=[{"n": "count(*)"}],
    )
    assert normalised(assign(column="event_time")) == assign(column="event_time")


@pytest.mark.parametrize(
    ("text", "microseconds"),
    [("500ms", 500_000), ("90s", 90 * SECOND), ("5m", 300 * SECOND), ("1h", HOUR), ("30d", 30 * DAY), ("0s", 0)],
)
def test_a_duration_is_a_number_and_its_unit(text: str, microseconds: int) -> None:
    assert duration(text) == microseconds


@pytest.mark.parametrize("text", ["", "5", "5 m", "m", "1w", "-1h", "1.5h", "1H", "1h30m", "1234567s", "٣s", 5, None])
def test_anything_else_is_no_duration(text: Any) -> None:
    with pytest.raises(ValueError, match="no duration"):
        duration(text)


BROKEN: list[Any] = [
    {},
    {"sort": {}},
    {"sort": []},
    {"sort": {"input": "s", "keys": []}},
    {"sort": {"input": "s", "keys": "k"}},
    {"sort": {"input": 1, "keys": ["k"]}},
    {"sort": {"input": "s", "keys": [1]}},
    {"shuffle": {"input": "s", "keys": ["k"]}},
    {"sort": {"input": "s", "keys": ["k"]}, "deduplicate": {"input": "s", "keys": ["k"], "expiry": "1d"}},
    {"deduplicate": {"input": "s", "keys": ["k"]}},
    {"previous": {"input": "s", "keys": ["k"], "columns": {"a": "x"}, "offset": 0, "expiry": "1d"}},
    {"previous": {"input": "s", "keys": ["k"], "columns": {}, "expiry": "1d"}},
    {"outer_caching_join": {"left": "a", "right": "b", "keys": ["x"], "expiry": "1h", "matches": "some"}},
    {"outer_caching_join": {"left": "a", "right": "b", "keys": ["x"], "expiry": "1h", "matches": ["all"]}},
    assign(event_time=5),
    assign(column=5),
    assign(delay=5),
    *(aggregate(window=window) for window in ({}, [], None, "1h", {"tumbling": 1}, {"sliding": "1h"}, {"hopping": "1h"},
                                              {"hopping": {"size": "1h"}}, {"count": True}, {"count": "3"}, {"count": 1.5},
                                              {"count": 10}, {"tumbling": "1h", "session": "1h"})),
    *(aggregate(trigger=trigger) for trigger in ("now", [], {}, {"count": 0}, {"late": {"count": 1}}, 5,
                                                 {"after_watermark": 5}, {"after_watermark": {"early": 5}},
                                                 {"after_watermark": {"early": {"rows": 5}}})),
    aggregate(accumulation="keeping"),
    aggregate(aggregates={"n": 1}),
    aggregate(aggregates=["count(*)"]),
    aggregate(allowed_lateness="soon"),
]  # fmt: skip


@pytest.mark.parametrize("definition", BROKEN)
def test_what_is_not_valid_is_not_read(definition: Any) -> None:
    """And saying what is wrong with it raises nothing."""
    definition_problems(definition)
    with pytest.raises((KeyError, ValueError)):
        read_transformation(definition)


def told(definition: Mapping[str, Any]) -> list[tuple[str, tuple[str | int, ...]]]:
    return [(problem.code, problem.path[1:]) for problem in definition_problems(definition)]


JOIN = {"left": "a", "right": "b", "keys": ["x"]}
LATE = {"after_watermark": {"late": {"count": 1}}}


@pytest.mark.parametrize(
    ("definition", "problems"),
    [
        ({"outer_caching_join": JOIN}, [("M182", ())]),
        ({"sort": {"input": "s"}}, [("M181", ())]),
        ({"sort": {"input": "s", "keys": []}}, [("M181", ("keys",))]),
        (aggregate(window={"count": 3}), [("M182", ())]),
        (aggregate(**COUNT, trigger="window_close"), [("M183", ("trigger",))]),
        (aggregate(**COUNT, trigger=LATE), [("M183", ("trigger", "after_watermark"))]),
        (aggregate(**COUNT, allowed_lateness="0s"), [("M183", ("allowed_lateness",))]),
        (aggregate(trigger=LATE), [("M184", ("trigger", "after_watermark", "late"))]),
        (aggregate(trigger=LATE, allowed_lateness="0m"), [("M184", ("trigger", "after_watermark", "late"))]),
        (aggregate(window={"hopping": {"size": "1h", "every": "2h"}}), [("M185", ("window", "hopping", "every"))]),
        (aggregate(window={"hopping": {"size": "1h", "every": "7m"}}), [("M185", ("window", "hopping", "every"))]),
        (aggregate(trigger="window_close", accumulation="discarding"), [("M186", ("accumulation",))]),
        (aggregate(trigger={"processing_time": "5s"}), [("M187", ("trigger", "processing_time"))]),
        (aggregate(window={"processing_time": "5s"}), [("M187", ("window", "processing_time"))]),
        (assign(processing_time=True), [("M187", ("processing_time",))]),
        (assign(event_time="now()"), [("M187", ("event_time",))]),
        (assign(event_time="TIMESTAMP 'today'"), [("M187", ("event_time",))]),
        (aggregate(aggregates={"n": "max(uuid())"}), [("M187", ("aggregates", "n"))]),
        (aggregate(expiry="1d"), [("M188", ("expiry",))]),
        (aggregate(keys=["k", "K"]), [("M189", ("keys", 1))]),
        (aggregate(keys=["firing"]), [("M189", ("keys", 0))]),
        (aggregate(**COUNT, keys=["window_end"]), []),
        (aggregate(**COUNT, keys=["Event_Time"]), [("M189", ("keys", 0))]),
        ({"outer_caching_join": {**JOIN, "keys": ["event_time"], "expiry": "1h"}}, [("M189", ("keys", 0))]),
        (aggregate(aggregates={"Window_End": "max(x)"}), [("M189", ("aggregates", "Window_End"))]),
        ({"outer_caching_join": {**JOIN, "right": "A", "expiry": "1h"}}, [("M189", ("right",))]),
        (aggregate(aggregates={"n": "count(*) AS m"}), [("M190", ("aggregates", "n"))]),
        (running("count(*) AS m"), [("M190", ("aggregates", "n"))]),
        (running("count(DISTINCT x)"), [("M191", ("aggregates", "n"))]),
        (running("sum(x) / count(*)"), [("M191", ("aggregates", "n"))]),
        (running("median(x)"), [("M191", ("aggregates", "n"))]),
        (running("sum(x) FILTER (WHERE x > 1)"), []),
    ],
)
def test_what_means_nothing_is_told_where_it_stands(
    definition: dict[str, Any], problems: list[tuple[str, tuple[str | int, ...]]]
) -> None:
    assert told(definition) == problems


@pytest.mark.parametrize(
    ("definition", "holds"),
    [
        ({"outer_caching_join": JOIN}, "every row of both sides"),
        ({"deduplicate": {"input": "s", "keys": ["a", "b"]}}, "every key (a, b)"),
        (
            {"running_aggregate": {"input": "s", "keys": ["a"], "aggregates": {"n": "count(*)"}}},
            "the aggregates of every key",
        ),
        ({"previous": {"input": "s", "keys": ["a"], "columns": {"x": "y"}}}, "the last rows of every key (a)"),
        (aggregate(window={"count": 3}), "the most recent rows of every key (k)"),
    ],
)
def test_state_without_a_bound_is_refused_with_what_it_would_hold(definition: dict[str, Any], holds: str) -> None:
    (problem,) = definition_problems(definition)
    assert f"so its state would hold {holds}" in problem.message
    assert problem.lacks == "expiry"


@pytest.mark.parametrize(
    "text",
    ["count(*)", "max(a.b)", "sum(x) / count(*)", "x.from", "count(*) FILTER (WHERE x > 1)", "CAST(a AS INT)", "a['x;']",
     "extract(HOUR FROM at)", "'-- no comment'", "CASE WHEN a THEN b END", "`select`", "map(1, 2)[1]"],
)  # fmt: skip
def test_one_value_is_taken(text: str) -> None:
    assert not_one_value(text) is None


@pytest.mark.parametrize(
    "text",
    ["", " ", "a, b", "a AS b", "a;", "max(a", "a)", "(a]", "a[(1])", "'a", "a -- b", "a /* b */", "/* a */ a", "/*+ x */ a",
     "(SELECT 1)", "a FROM t", "a) FROM t WHERE (b", "a WHERE b", "1 UNION (b)", "`a"],
)  # fmt: skip
def test_anything_else_is_not_one_value(text: str) -> None:
    assert not_one_value(text)


def test_a_column_is_a_name_alone() -> None:
    assert [column_named(text) for text in ("read_at", "`read at`", "`a``b`", "a.b", "f(a)", "a b", "'a'", "")] == [
        "read_at", "read at", "a`b", None, None, None, None, None,
    ]  # fmt: skip


def test_a_quoted_column_is_no_clock() -> None:
    assert undetermined_calls("`current_date`") == ()
    assert undetermined_calls("current_date") == ("current_date",)
    assert undetermined_calls("max('now()')") == ()


def test_streams_are_declared_with_their_places() -> None:
    streams = {stream.name: stream for stream in good().streams}
    assert list(streams)[:3] == ["readings", "orders_timed", "payments_timed"]
    assert {next(iter(stream.definition)) for stream in streams.values()} == set(KINDS)
    assert streams["readings"].location == Location(FILE, 7, 7)
    hourly = streams["hourly"]
    assert hourly.locations["aggregate_over_window.keys[0]"] == Location(FILE, 21, 16)
    assert hourly.locations["aggregate_over_window.aggregates.hottest"] == Location(FILE, 23, 51)
    assert inputs_of(read_transformation(streams["paid"].definition)) == ("orders_timed", "payments_timed")


def test_what_is_said_of_a_stream_is_said_as_of_a_view() -> None:
    settings = good().settings
    assert settings.descriptions == {"readings": "Readings with the time at which they were made"}
    assert settings.protected == ("readings",)
    assert settings.used_by == {"readings": ("the control room",)}
    assert settings.relation_retention["readings"].words == "versions: 2, keep: 30d"


def test_an_output_names_a_stream_as_its_view() -> None:
    transport = "transport: {name: file_output, config: {path: /out}}, format: {name: json}"
    text = (GOOD / "pipeline.yaml").read_text("utf-8")
    (output,) = manifest(f"{text}  connectors:\n    - {{name: out, view: HOURLY, {transport}}}\n").connectors
    assert output.relation == "HOURLY"


def test_a_stream_with_errors_is_left_out_and_the_manifest_is_not_complete() -> None:
    text = (GOOD / "pipeline.yaml").read_text("utf-8").replace("keys: [id], expiry: 1d", "keys: [id]")
    sql = (GOOD / "program.sql").read_text("utf-8")
    read = read_manifest("pipelines/shop", {FILE: text, "pipelines/shop/program.sql": sql}, {})
    assert [problem.code for problem in errors_among(read.diagnostics)] == ["M182"]
    assert read.manifest is not None
    assert "once" not in {stream.name for stream in read.manifest.streams}
    assert not read.complete
