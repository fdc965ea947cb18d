"""Suggestions for unknown names: found among few and among many, and never much work in all."""

import time

from reconciler.base.names import bounded_suggestions, closest
from tests.pace import at_usual_pace


def test_the_one_that_was_meant_is_found_among_very_many() -> None:
    names = [f"known_table_{number}" for number in range(5_000)]
    assert closest("knwon_tabel_4711", names) == "known_table_4711"
    assert closest("Total", [*names, "totals"]) == "totals"
    assert closest("xyz", names) is None


def test_suggestions_end_where_they_would_be_much_work() -> None:
    names = [f"some_column_{number}" for number in range(3_000)]
    with bounded_suggestions():
        began = time.process_time()
        found = [closest(f"smoe_colunm_{number}", names) for number in range(2_000)]
        assert at_usual_pace(time.process_time() - began) < 3
    assert found[0] == "some_column_0"
    assert found[-1] is None
    # Not counted from one piece of work to the next.
    with bounded_suggestions():
        assert [closest(f"smoe_colunm_{number}", names) for number in range(2_000)] == found


def test_long_texts_are_not_compared() -> None:
    began = time.process_time()
    assert closest("a" * 400_000, ["a" * 400_001]) is None
    assert at_usual_pace(time.process_time() - began) < 1
