"""What the SQL of streams gives on Spark is what the reference model gives: random histories, each step of each.

Each key of a run has a history of its own; a run of one transformation has as many as are asked for. The slow suite takes
more than 10,000, of all transformations.
"""

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from reconciler.diff.streams import goes_on
from reconciler.engine.protocol import Engine
from reconciler.project.program.model import Stream
from reconciler.streams.model import (
    Accumulation,
    AfterWatermark,
    AggregateOverWindow,
    Count,
    CountTrigger,
    Hopping,
    Matches,
    OuterCachingJoin,
    Session,
    Sort,
    Stateful,
    Tumbling,
    Window,
    WindowClose,
)
from tests.cells import mostly_slow
from tests.engine.engines import session_of
from tests.streams import golden
from tests.streams.histories import AGGREGATES, IN_ANY_ORDER, KEYS, LATENESS, by_key, over_windows, random_steps
from tests.streams.on_spark import StreamOnSpark, definition_on_spark, inputs_for, quiet_session
from tests.streams.reference import Machine, Row, Sessions, TimeWindows, going_on, machine

EARLY_AND_LATE = AfterWatermark(early=CountTrigger(3), late=CountTrigger(2))
QUICK = (
    AggregateOverWindow("readings", KEYS, Tumbling(10), AGGREGATES, EARLY_AND_LATE, Accumulation.DISCARDING, 7),
    AggregateOverWindow("readings", KEYS, Hopping(10, 4), AGGREGATES, EARLY_AND_LATE, Accumulation.ACCUMULATING, 7),
    AggregateOverWindow("readings", KEYS, Session(4), AGGREGATES, EARLY_AND_LATE, Accumulation.DISCARDING, 7),
    AggregateOverWindow("readings", KEYS, Count(3), AGGREGATES, CountTrigger(2), Accumulation.DISCARDING, expiry=12),
    AggregateOverWindow("readings", KEYS, Hopping(10, 4), IN_ANY_ORDER, EARLY_AND_LATE, allowed_lateness=7),
    AggregateOverWindow("readings", KEYS, Session(4), IN_ANY_ORDER, AfterWatermark(), allowed_lateness=7),
    AggregateOverWindow("readings", KEYS, Hopping(10, 4), IN_ANY_ORDER, WindowClose(), allowed_lateness=7),
    OuterCachingJoin("readings", "alarms", KEYS, 6, Matches.LATEST),
    *(of for of in by_key() if not isinstance(of, OuterCachingJoin)),
)
QUICK_CASES = (
    "hopping_early_lateness_discarding",
    "session_early_and_late_lateness_discarding",
)
ALL = [*by_key(), *over_windows()]
HISTORIES = 10_000 // len(ALL) + 1


@pytest.fixture(scope="module")
def session(spark_engine: Engine) -> Any:
    return quiet_session(session_of(spark_engine))


def require_no_difference(session: Any, of: Stateful, seed: int, histories: int, steps: int = 5) -> int:
    """All steps of random histories, on Spark and one row at a time. How many rows were given."""
    given = random_steps(of, seed, histories, steps)
    expected, before, types, number = machine(of), None, None, 0
    stream = StreamOnSpark(session, of)
    for step, (rows, after) in enumerate(zip(given.rows, given.watermarks, strict=True), 1):
        found, wanted = stream.step(rows, step, before, after), expected.step(rows, before, after)
        what = f"{of}\nseed {seed}, step {step}, watermark {before} -> {after}"
        require_same_rows(found.rows, wanted.rows, what)
        assert found.late == wanted.late, what
        assert found.remembered == remembered_of(of, expected), what
        assert types is None or found.types == types, what
        types, before = found.types, after
        number += len(found.rows)
    return number


def changes() -> list[tuple[Stateful, Stateful]]:
    """Definitions, and others that go on with what those remember."""
    found: list[tuple[Stateful, Stateful]] = []
    for of in by_key():
        if not isinstance(of, Sort | AggregateOverWindow):
            found += [(of, replace(of, expiry=expiry)) for expiry in (of.expiry - 5, of.expiry + 7) if expiry >= 0]
    counts = [AfterWatermark(), AfterWatermark(CountTrigger(2)), AfterWatermark(CountTrigger(3), CountTrigger(1))]
    windows = [
        AggregateOverWindow("readings", KEYS, window, aggregates, applied, allowed_lateness=LATENESS)
        for window in (Tumbling(10), Hopping(10, 4))
        for aggregates in (AGGREGATES, IN_ANY_ORDER)
        for applied in counts
    ]
    found += [(of, replace(of, trigger=other)) for of in windows for other in counts if other != of.trigger]
    counted = AggregateOverWindow("readings", KEYS, Count(3), AGGREGATES, CountTrigger(2), expiry=12)
    return [*found, (counted, replace(counted, expiry=5))]


CHANGES = changes()
JOIN = OuterCachingJoin("readings", "alarms", KEYS, 6, Matches.ALL)


@pytest.mark.parametrize(("applied", "desired"), mostly_slow(CHANGES, (JOIN, replace(JOIN, expiry=13))), ids=str)
def test_definitions_that_go_on(session: Any, applied: Stateful, desired: Stateful) -> None:
    """Half of the steps with one definition, the others with another one, and what the first one remembers."""
    assert goes_on(*(Stream(of, inputs_for(of), (), (), "event_time", True) for of in (applied, desired)))
    given = random_steps(applied, 5, 60, 6)
    expected, before, stream = machine(applied), None, StreamOnSpark(session, applied)
    for step, (rows, after) in enumerate(zip(given.rows, given.watermarks, strict=True), 1):
        if step == 4:
            expected = going_on(expected, desired)
            stream.go_on_as(desired)
        found, wanted = stream.step(rows, step, before, after), expected.step(rows, before, after)
        what = f"step {step}, watermark {before} -> {after}"
        require_same_rows(found.rows, wanted.rows, what)
        assert found.late == wanted.late, what
        assert found.remembered == remembered_of(desired, expected), what
        before = after


def remembered_of(of: Stateful, expected: Machine) -> int:
    """How many rows a stream remembers: of windows whose aggregates go on from what they came to, one for each."""
    if not isinstance(of, AggregateOverWindow) or not isinstance(expected, TimeWindows | Sessions):
        return expected.remembered()
    counts = of.trigger not in (AfterWatermark(), WindowClose())
    goes_on = of.aggregates == IN_ANY_ORDER and of.accumulation is Accumulation.ACCUMULATING
    return expected.windows() if goes_on and not (isinstance(of.window, Session) and counts) else expected.remembered()


def require_same_rows(found: list[tuple[Any, ...]], wanted: list[tuple[Any, ...]], what: str) -> None:
    missing, more = Counter(wanted) - Counter(found), Counter(found) - Counter(wanted)
    if missing or more:
        raise AssertionError(f"{what}\nmissing {sorted(missing, key=repr)[:5]}\ntoo much {sorted(more, key=repr)[:5]}")


# Windows that hop are those of a case below, in every run.
@pytest.mark.parametrize("of", mostly_slow(QUICK, *(of for place, of in enumerate(QUICK) if place != 1)), ids=str)
def test_some_random_histories(session: Any, of: Stateful) -> None:
    assert require_no_difference(session, of, seed=2, histories=80, steps=3) > 0


@pytest.mark.slow
@pytest.mark.parametrize("place", range(len(ALL)), ids=lambda place: str(ALL[place]))
def test_random_histories(session: Any, place: int) -> None:
    assert require_no_difference(session, ALL[place], seed=1000 + place, histories=HISTORIES) > 0


@pytest.mark.slow
@pytest.mark.parametrize("place", range(len(ALL)), ids=lambda place: str(ALL[place]))
def test_the_definition_is_one_step(session: Any, place: int) -> None:
    """With the watermark as a query, which not every place in a query takes."""
    of = ALL[place]
    inputs, after = random_steps(of, 3, 40, 1).rows[0], 8
    require_same_rows(definition_on_spark(session, of, inputs, after), machine(of).step(inputs, None, after).rows, str(of))


@pytest.mark.parametrize("name", mostly_slow(golden.names(), *QUICK_CASES))
def test_cases(session: Any, name: str) -> None:
    case, before = golden.case(name), None
    stream = StreamOnSpark(session, case.of, case.columns)
    for number, step in enumerate(case.steps, 1):
        found = stream.step(step.inputs, number, before, step.watermark)
        require_same_rows(found.rows, step.gives, f"{name}, step {number}")
        assert found.late == step.late
        before = step.watermark


def rows_in_time(random: Random, histories: int, delay: int, length: int) -> list[Row]:
    """Rows in the order in which they come, none of which is further behind those before it than the delay."""
    return [
        {"h": history, "user": random.choice("ab"), "ts": time + random.randint(0, delay), "v": random.randint(0, 4)}
        for time in range(length)
        for history in range(histories)
        if random.random() < 0.6
    ]


def split(random: Random, rows: list[Row], steps: int) -> list[list[Row]]:
    at = sorted(random.sample(range(1, len(rows)), steps - 1))
    return [rows[start:end] for start, end in zip([0, *at], [*at, len(rows)], strict=True)]


@pytest.mark.parametrize("lateness", mostly_slow([0, 7], 0))
@pytest.mark.parametrize("window", mostly_slow([Tumbling(10), Hopping(10, 4), Session(2)], Session(2)), ids=str)
def test_closed_windows_do_not_depend_on_steps(session: Any, window: Window, lateness: int) -> None:
    of = AggregateOverWindow("readings", KEYS, window, AGGREGATES, WindowClose(), allowed_lateness=lateness)
    random, delay = Random(5), 6
    rows = rows_in_time(random, histories=20, delay=delay, length=30)
    last = max(row["ts"] for row in rows) - delay
    closed = []
    for steps in (2, 5):
        given, before, now, stream = [], None, -1000, StreamOnSpark(session, of)
        for number, came in enumerate(split(random, rows, steps), 1):
            now = max(now, *(row["ts"] - delay for row in came))
            step = stream.step([came], number, before, now)
            assert step.late == 0
            given += step.rows
            before = now
        assert now == last
        closed.append(given)
    require_same_rows(closed[1], closed[0], "in 5 steps, and in 2")
    require_same_rows(definition_on_spark(session, of, [rows], last), closed[0], "the definition, and in 2 steps")
    assert closed[0]
