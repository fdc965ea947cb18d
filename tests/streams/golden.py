"""The cases of tests/streams/cases: rows in steps, and what is given in each, written down and compared with the seed.

A file has `about`, the transformation in its own words, and the steps. Each step has the rows that came, the watermark after
it, the rows that are given, in order, and how many rows were late. Times are microseconds since 1970. The keys are the
column `k`, and the columns `k`, `ts` and `v`, unless the file says otherwise. Values are powers of two: a sum tells what is
in it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from reconciler.streams.model import (
    Accumulation,
    AfterWatermark,
    AggregateOverWindow,
    Count,
    CountTrigger,
    Deduplicate,
    Hopping,
    Matches,
    OuterCachingJoin,
    Previous,
    RunningAggregate,
    Session,
    Sort,
    Stateful,
    Trigger,
    Tumbling,
    Window,
    WindowClose,
)
from tests.streams.reference import Row

CASES = Path(__file__).with_name("cases")
COLUMNS = {"k": "STRING", "ts": "TIMESTAMP", "v": "INT"}


@dataclass
class GoldenStep:
    """What comes of each input, the watermark then, and what is given."""

    inputs: list[list[Row]]
    watermark: int | None
    gives: list[tuple[Any, ...]]
    late: int


@dataclass
class Case:
    of: Stateful
    columns: tuple[tuple[str, str], ...]
    steps: list[GoldenStep]


def names() -> list[str]:
    return sorted(file.stem for file in CASES.glob("*.yaml"))


def case(name: str) -> Case:
    written = yaml.safe_load((CASES / f"{name}.yaml").read_text("utf-8"))
    columns = written.get("columns", COLUMNS)
    of = _transformation(written)
    sides = ("came",) if not isinstance(of, OuterCachingJoin) else ("left", "right")
    steps = [
        GoldenStep(
            [[dict(zip(columns, row, strict=True)) for row in step.get(side, [])] for side in sides],
            step["watermark"],
            [tuple(row) for row in step["gives"]],
            step["late"],
        )
        for step in written["steps"]
    ]
    return Case(of, tuple(columns.items()), steps)


def _transformation(written: Mapping[str, Any]) -> Stateful:
    keys = tuple(written.get("keys", ("k",)))
    aggregates = tuple(written.get("aggregates", {}).items())
    match written["transformation"]:
        case "aggregate_over_window":
            return AggregateOverWindow(
                "readings",
                keys,
                _window(written["window"]),
                aggregates,
                _trigger(written["trigger"]),
                Accumulation(written["accumulation"]),
                written.get("allowed_lateness", 0),
                written.get("expiry"),
            )
        case "outer_caching_join":
            return OuterCachingJoin("readings", "alarms", keys, written["expiry"], Matches(written["matches"]))
        case "running_aggregate":
            return RunningAggregate("readings", keys, aggregates, written["expiry"])
        case "sort":
            return Sort("readings", keys)
        case "deduplicate":
            return Deduplicate("readings", keys, written["expiry"])
        case "previous":
            return Previous("readings", keys, tuple(written["values"].items()), written["offset"], written["expiry"])
        case other:
            raise ValueError(other)


def _window(written: Mapping[str, Any]) -> Window:
    match written:
        case {"tumbling": size}:
            return Tumbling(size)
        case {"hopping": size, "every": every}:
            return Hopping(size, every)
        case {"session": gap}:
            return Session(gap)
        case {"count": rows}:
            return Count(rows)
    raise ValueError(written)


def _trigger(written: Any) -> Trigger:
    match written:
        case "window_close":
            return WindowClose()
        case "after_watermark":
            return AfterWatermark()
        case {"after_watermark": parts}:
            return AfterWatermark(**{phase: CountTrigger(rows) for phase, rows in parts.items()})
        case {"count": rows}:
            return CountTrigger(rows)
    raise ValueError(written)
