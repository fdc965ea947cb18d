"""The watermark of several inputs: the least one counts, but one that is idle holds up the others no longer than it says."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.engine.protocol import Engine
from reconciler.project.program.model import Clock, Stream
from reconciler.project.program.watermarks import watermark_query
from reconciler.streams.model import OuterCachingJoin
from tests.engine.engines import session_of
from tests.streams.on_spark import quiet_session

_counts = st.one_of(st.none(), st.integers(0, 30))
_clocks = st.lists(st.tuples(st.integers(0, 5), _counts), min_size=1, max_size=3)


def stream_of(settings: list[tuple[int, int | None]]) -> Stream:
    clocks = tuple(Clock(f"t{place}", f"t{place}", "ts", *one) for place, one in enumerate(settings))
    return Stream(OuterCachingJoin("t0", "t1", ("k",), 5), (), (), clocks, "event_time", True)


def known(times: list[int | None]) -> dict[str, int]:
    return {f"t{place}": time for place, time in enumerate(times) if time is not None}


@given(_clocks, st.lists(_counts, min_size=3, max_size=3), st.lists(st.integers(0, 9), min_size=3, max_size=3))
def test_it_never_goes_back(settings: list[tuple[int, int | None]], times: list[int | None], more: list[int]) -> None:
    stream = stream_of(settings)
    before = stream.watermark(known(times))
    after = stream.watermark(known([None if time is None else time + by for time, by in zip(times, more, strict=True)]))
    assert before is None or (after is not None and after >= before)


@given(_clocks, st.lists(_counts, min_size=3, max_size=3))
def test_the_least_one_counts_unless_it_is_idle(settings: list[tuple[int, int | None]], times: list[int | None]) -> None:
    stream, marks = stream_of(settings), known(times[: len(settings)])
    own = {clock.assigned: marks[clock.assigned] - clock.delay for clock in stream.clocks if clock.assigned in marks}
    found = stream.watermark(marks)
    waits = [clock for clock in stream.clocks if clock.idle_after is None]
    if any(clock.assigned not in own for clock in waits) or not own:
        assert found is None
        return
    assert found is not None
    assert found <= max(own.values())
    assert all(found <= own[clock.assigned] for clock in waits)
    if len(own) == len(settings):
        assert found >= min(own.values())
    if not waits:
        assert found >= max(own.values()) - max(clock.idle_after or 0 for clock in stream.clocks)


@given(st.dictionaries(st.text(max_size=1), st.integers(0, 30), max_size=4), _counts)
def test_of_values_the_least_counts_unless_it_is_idle(values: dict[str, int], idle_after: int | None) -> None:
    found = Clock("t", "t", "ts", 0, idle_after, ("site",)).least(values)
    if not values:
        assert found is None
        return
    least, furthest = min(values.values()), max(values.values())
    assert found == (least if idle_after is None else max(least, furthest - idle_after))


@pytest.mark.parametrize("idle_after", [None, 0, 4, 50])
@pytest.mark.parametrize(
    "rows", [(), ((None, 7),), (("a", 7), ("b", 20), ("a", 3), (None, 10)), (("a", None), ("b", 9), (None, None))], ids=str
)
def test_all_rows_at_once_have_the_watermark_of_their_values(
    rows: tuple[tuple[str | None, int | None], ...], idle_after: int | None, spark_engine: Engine
) -> None:
    session: Any = quiet_session(session_of(spark_engine))
    session.createDataFrame([*rows], "site STRING, time BIGINT").createOrReplaceTempView("given")
    session.sql("SELECT site, timestamp_micros(time) AS ts FROM given").createOrReplaceTempView("t0")
    clock = Clock("t0", "t0", "ts", 2, idle_after, ("site",))
    stream = Stream(OuterCachingJoin("t0", "t0", ("k",), 5), (), (), (clock,), "event_time", True)
    values: dict[str, int] = {}
    for site, time in rows:
        if time is not None:
            values[str(site)] = max(time, values.get(str(site), time))
    least = clock.least(values)
    ((found,),) = session.sql(f"SELECT {watermark_query(stream)}").collect()
    assert found == stream.watermark({} if least is None else {"t0": least})


@pytest.mark.parametrize(
    ("settings", "times"),
    [
        ([(1, None), (2, None)], [10, 20]),
        ([(1, 3), (2, None)], [10, 20]),
        ([(1, 3), (2, 4)], [None, 20]),
        ([(1, None), (2, 4)], [None, 20]),
        ([(0, 3), (0, 3)], [None, None]),
        ([(0, 3), (0, None), (0, 9)], [5, 30, 7]),
    ],
    ids=str,
)
def test_all_rows_at_once_have_the_watermark_of_the_last_step(
    settings: list[tuple[int, int | None]], times: list[int | None], spark_engine: Engine, tmp_path: Path
) -> None:
    session: Any = quiet_session(session_of(spark_engine))
    for place, time in enumerate(times):
        rows = (
            f"SELECT timestamp_micros({time}) AS ts" if time is not None else "SELECT current_timestamp() AS ts WHERE false"
        )
        session.sql(rows).createOrReplaceTempView(f"t{place}")
    stream = stream_of(settings)
    ((found,),) = session.sql(f"SELECT {watermark_query(stream)}").collect()
    assert found == stream.watermark(known(times))
