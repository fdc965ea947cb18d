"""Streams that read streams which wait before they give rows, on Spark: none of these rows is late for them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from reconciler.engine.protocol import Engine
from tests.streams.pond import YAML, open_pond, put, rows, write_pond

PROGRAM_OF_CALLS = """\
CREATE TABLE readings (device STRING, at TIMESTAMP, temperature INT) WITH ('append_only' = 'true');
CREATE TABLE calls (device STRING, called TIMESTAMP, agent STRING) WITH ('append_only' = 'true');
"""
STREAMS_OF_STREAMS = """\
    - name: called
      assign_timestamps_and_watermarks: {input: calls, event_time: called, delay: 0s}
    - name: answered
      outer_caching_join: {left: timed, right: called, keys: [device], expiry: 1h}
    - name: by_hour
      aggregate_over_window:
        input: answered
        keys: [device]
        window: {tumbling: 1h}
        aggregates: {rows_given: count(*), with_call: count(agent)}
        trigger: window_close
        allowed_lateness: {lateness}
    - name: by_day
      aggregate_over_window:
        input: by_hour
        keys: [device]
        window: {tumbling: 1d}
        aggregates: {hours: count(*)}
"""


STEPS = [
    ((("a", "10:05", 1), ("b", "10:20", 2)), ("a", "01T10:10")),
    ((("a", "11:05", 3),), ("c", "01T11:20")),
    ((("b", "11:40", 9),), ("b", "01T12:30")),
    ((("a", "14:50", 7),), ("a", "01T15:00")),
    ((("c", "23:59", 1),), ("c", "03T10:00")),
]
"""Of each step: readings (device, time, temperature) of one day, and a call (device, day and time)."""


class Calls:
    """A pipeline of readings and calls."""

    def __init__(self, root: Path, engine: Engine, streams: str) -> None:
        self.root, self.engine = root, engine
        calls = """\
    - name: calls_made
      table: calls
      transport: {name: file_input, config: {path: calls}}
      format: {name: json}
"""
        yaml = YAML.partition("    - name: hourly")[0].partition("    - name: told")
        write_pond(root, yaml[0] + calls + "  streams:" + yaml[2].partition("  streams:")[2] + streams, PROGRAM_OF_CALLS)
        (root / "calls").mkdir()
        open_pond(root, engine).apply()

    def take(self, steps: Sequence[tuple[tuple[Any, ...], tuple[str, str]]]) -> None:
        """A run for each step, and one with a reading of two days later."""
        for number, (readings, (device, at)) in enumerate(steps):
            put(self.root, number, *readings)
            row = {"device": device, "called": f"2026-01-{at}:00Z", "agent": "x"}
            (self.root / f"calls/{number:03}.json").write_text(json.dumps(row) + "\n")
            open_pond(self.root, self.engine).run_once()
        last = {"device": "c", "at": "2026-01-03T10:00:00Z", "temperature": 1}
        (self.root / "source/100.json").write_text(json.dumps(last) + "\n")
        open_pond(self.root, self.engine).run_once()

    def hours(self) -> list[tuple[Any, ...]]:
        """Device, day and hour, rows, and how many of these have a call."""
        return [(one[0], one[1].strftime("%d %H"), one[3], one[4]) for one in rows(self.root, "by_hour")]

    def streams(self) -> dict[str, Any]:
        """What is told of each stream."""
        return {one.name: one.stream for one in open_pond(self.root, self.engine).status().relations if one.stream}


# Rows that found nobody come an hour after the watermark has passed them, and are counted in their hours all the same.


def test_rows_that_wait_for_others_are_late_for_nobody(tmp_path: Path, spark_engine: Engine) -> None:
    streams = STREAMS_OF_STREAMS.replace("{lateness}", "0s").partition("    - name: by_day")[0]
    calls = Calls(tmp_path, spark_engine, streams)
    calls.take([*STEPS[:2], ((), ("c", "03T10:00"))])
    assert calls.hours() == [("a", "01 10", 1, 1), ("a", "01 11", 1, 1), ("b", "01 10", 1, 0), ("c", "01 11", 1, 1)]
    assert all(one.late == 0 for one in calls.streams().values())


@pytest.mark.slow
@pytest.mark.parametrize("lateness", ["0s", "30m"])
def test_what_waits_before_it_gives_rows_holds_the_watermark_back(
    lateness: str, tmp_path: Path, spark_engine: Engine
) -> None:
    calls = Calls(tmp_path, spark_engine, STREAMS_OF_STREAMS.replace("{lateness}", lateness))
    calls.take(STEPS)
    assert calls.hours() == [
        ("a", "01 10", 1, 1),
        ("a", "01 11", 1, 1),
        ("a", "01 15", 1, 1),
        ("b", "01 10", 1, 0),
        ("b", "01 12", 1, 1),
        ("c", "01 11", 1, 1),
        ("c", "01 23", 1, 0),
    ]
    assert [(one[0], one[3]) for one in rows(tmp_path, "by_day")] == [("a", 3), ("b", 2), ("c", 2)]
    streams = calls.streams()
    assert all(one.late == 0 for one in streams.values())
    assert streams["answered"].furthest_behind == "timed"


HOURS_AND_DAYS = """\
    - name: by_hour
      aggregate_over_window:
        input: timed
        keys: [device]
        window: {tumbling: 1h}
        aggregates: {readings: count(*)}
        allowed_lateness: 30m
    - name: by_day
      aggregate_over_window:
        input: by_hour
        keys: [device]
        window: {tumbling: 1d}
        aggregates: {firings: count(*)}
"""


def test_what_windows_give_for_late_rows_is_late_for_nobody(tmp_path: Path, spark_engine: Engine) -> None:
    yaml = YAML.partition("    - name: hourly")[0].partition("    - name: told")
    write_pond(tmp_path, yaml[0] + "  streams:" + yaml[2].partition("  streams:")[2] + HOURS_AND_DAYS, PROGRAM_OF_CALLS)
    open_pond(tmp_path, spark_engine).apply()

    # At the third one, the day is over for the readings, and the hour gives what it has once more.
    for number, at in enumerate(["01T23:20", "02T00:15", "01T23:50", "03T10:00", "03T11:00"]):
        row = {"device": "a", "at": f"2026-01-{at}:00Z", "temperature": 1}
        (tmp_path / f"source/{number:03}.json").write_text(json.dumps(row) + "\n")
        open_pond(tmp_path, spark_engine).run_once()

    assert [(one[0], one[1].day, one[3]) for one in rows(tmp_path, "by_day")] == [("a", 1, 2), ("a", 2, 1)]
    by_day = next(one.stream for one in open_pond(tmp_path, spark_engine).status().relations if one.name == "by_day")
    assert by_day is not None
    assert by_day.late == 0
