"""Random histories: rows in steps, early, late and of equal event time, with NULLs and duplicates; and all
transformations."""

from dataclasses import dataclass
from itertools import product
from random import Random

from reconciler.streams.model import (
    Accumulation,
    AfterWatermark,
    AggregateOverWindow,
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
    Stateful,
    Tumbling,
    WindowClose,
    inputs_of,
)
from tests.streams.reference import Row

KEYS = ("h", "user")
AGGREGATES = (
    ("n", "count(*)"),
    ("total", "sum(v)"),
    ("kinds", "count(DISTINCT v)"),
    ("all", "array_join(sort_array(collect_list(coalesce(v, -1))), ',')"),
)
RUNNING = (
    ("n", "count(*)"),
    ("total", "sum(v)"),
    ("mean", "avg(v)"),
    ("greatest", "max(v)"),
    ("first_one", "first(v)"),
    ("some", "count(*) FILTER (WHERE v > 2)"),
)
IN_ANY_ORDER = tuple((name, expression) for name, expression in RUNNING if name != "first_one")
TRIGGERS = (
    WindowClose(),
    CountTrigger(1),
    CountTrigger(3),
    AfterWatermark(),
    AfterWatermark(early=CountTrigger(1)),
    AfterWatermark(early=CountTrigger(2)),
    AfterWatermark(late=CountTrigger(1)),
    AfterWatermark(early=CountTrigger(2), late=CountTrigger(1)),
    AfterWatermark(early=CountTrigger(3), late=CountTrigger(2)),
)
RUNNING_TRIGGERS = (CountTrigger(3), AfterWatermark(CountTrigger(2), CountTrigger(1)), AfterWatermark(), WindowClose())
FOLLOW = """\
CREATE OR REPLACE TEMPORARY FUNCTION follow(state STRUCT<n INT>, rows ARRAY<STRUCT<v INT, ts TIMESTAMP>>)
RETURNS STRUCT<state STRUCT<n INT>, rows ARRAY<STRUCT<event_time TIMESTAMP, v INT, number INT>>>
RETURN named_struct(
  'state', named_struct('n', coalesce(state.n, 0) + size(filter(rows, one -> one.v > 2))),
  'rows', transform(filter(rows, one -> one.v > 2), (one, place) ->
    named_struct('event_time', one.ts, 'v', one.v, 'number', coalesce(state.n, 0) + place + 1)))
"""
"""The function of the custom stream: it counts the rows whose value is great, and gives them."""

CUSTOM = Custom(
    "readings",
    KEYS,
    "follow",
    12,
    "STRUCT<n:INT>",
    (("v", "INT"), ("ts", "TIMESTAMP")),
    (("event_time", "TIMESTAMP"), ("v", "INT"), ("number", "INT")),
)
WINDOWS = (Tumbling(10), Hopping(10, 5), Hopping(10, 4), Session(4))
LATENESS = 17


def over_windows() -> list[Stateful]:
    """Aggregates over each kind of window, with each trigger, accumulation and lateness."""
    timed: list[Stateful] = [
        AggregateOverWindow("readings", KEYS, window, AGGREGATES, trigger, accumulation, lateness)
        for window, trigger, accumulation, lateness in product(WINDOWS, TRIGGERS, Accumulation, (0, LATENESS))
    ]
    # Aggregates that can go on from row to row are computed otherwise than all others.
    timed += [
        AggregateOverWindow("readings", KEYS, window, IN_ANY_ORDER, trigger, allowed_lateness=LATENESS)
        for window, trigger in product(WINDOWS, RUNNING_TRIGGERS)
    ]
    counted: list[Stateful] = [
        AggregateOverWindow("readings", KEYS, Count(rows), AGGREGATES, CountTrigger(every), accumulation, expiry=12)
        for rows, every, accumulation in product((1, 3), (1, 2, 4), Accumulation)
    ]
    return timed + counted


def by_key() -> list[Stateful]:
    """The transformations without windows."""
    return [
        *(OuterCachingJoin("readings", "alarms", KEYS, expiry, matches) for expiry, matches in product((0, 6), Matches)),
        RunningAggregate("readings", KEYS, RUNNING, 12),
        Sort("readings", KEYS),
        Deduplicate("readings", KEYS, 8),
        Previous("readings", KEYS, (("one_before", "v"), ("when", "ts")), 1, 12),
        Previous("readings", KEYS, (("three_before", "v"),), 3, 12),
        CUSTOM,
    ]


@dataclass
class Steps:
    """The rows of each input in each step, and the watermark after each."""

    rows: list[list[list[Row]]]
    watermarks: list[int | None]


def random_steps(of: Stateful, seed: int, histories: int, steps: int = 5) -> Steps:
    """Steps of many histories, which have their rows for themselves and the watermark together."""
    random = Random(seed)
    now = random.randint(-25, 25)
    watermarks: list[int | None] = []
    rows: list[list[list[Row]]] = []
    for number in range(steps):
        around = now
        # The first watermark may come late; and a step may leave it where it is. It often is where windows end, or close.
        now += random.choice((0, 3, 5, 8, 10, 15))
        if random.random() < 0.7:
            now += -(now - random.choice((0, 0, LATENESS))) % 10
        watermarks.append(None if number == 0 and random.random() < 0.3 else now)
        rows.append([[] for _ in inputs_of(of)])
        for history in range(histories):
            for side in rows[-1]:
                side.extend(_random_rows(random, history, around))
    return Steps(rows, watermarks)


def _random_rows(random: Random, history: int, around: int) -> list[Row]:
    found: list[Row] = []
    for _ in range(random.choice((0, 0, 1, 2, 3, 6))):
        time = None if random.random() < 0.03 else around + round(random.gauss(2, 11))
        value = None if random.random() < 0.1 else random.randint(0, 4)
        row = {"h": history, "user": random.choice(("a", "a", "a", "b", None)), "ts": time, "v": value}
        found += [row] * random.choice((1, 1, 1, 1, 2))
    return found
