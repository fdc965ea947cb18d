"""How often the rows that a stream remembers are written anew, however many steps there are, and in how many folders they
stand."""

from math import log2

from hypothesis import given
from hypothesis import strategies as some

from reconciler.materialize.stream_steps import FEW_ROWS, left_alone
from reconciler.registry.placements import StateSegment

STEPS = some.lists(some.tuples(some.integers(0, 3), some.integers(0, 30_000)), min_size=1, max_size=60)


def written(steps: list[tuple[int, int]]) -> tuple[int, int, int]:
    """Of steps to which rows came, each of which leaves so many rows: the rows that were written, those that are remembered,
    and the greatest number of folders."""
    segments: tuple[StateSegment, ...] = ()
    total = most = 0
    for number, (share, own) in enumerate(steps):
        stay = left_alone(segments, own // share if share else None)
        rows = own + sum(one.rows for one in segments[len(stay) :])
        total += rows
        segments = (*stay, StateSegment(str(number), rows, rows, number))
        most = max(most, len(segments))
    return total, sum(one.rows for one in segments), most


def test_steps_of_one_size_write_each_row_a_few_times() -> None:
    for own in (1_000, 100_000):
        total, remembered, most = written([(1, own)] * 200)
        assert remembered == 200 * own
        assert total <= 5.5 * remembered, "put together with each step, a row would be written a hundred times"
        assert most <= 9


@given(STEPS)
def test_folders_are_few_and_rows_are_seldom_written_again_whatever_the_steps_write(steps: list[tuple[int, int]]) -> None:
    total, remembered, most = written(steps)
    doublings = log2(max(remembered / FEW_ROWS, 1)) + 1
    assert most <= doublings + 3
    assert total <= 3 * (doublings + 2) * (remembered + FEW_ROWS * len(steps))
