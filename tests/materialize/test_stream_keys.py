"""When a step looks at the keys of the rows that came to a stream, and what it says of them."""

import pytest

from reconciler.materialize.stream_keys import (
    MANY_ROWS,
    STEPS_BETWEEN,
    describe_uneven_keys,
    is_due,
    keys_seen,
    largest_part,
)
from reconciler.registry.placements import KeysSeen

ONE = KeysSeen(3, 10, 2, ("a",))


@pytest.mark.parametrize(
    ("known", "step", "rows", "due"),
    [
        (None, 1, MANY_ROWS, True),
        (None, 1, MANY_ROWS - 1, False),
        (None, 1, None, False),
        (ONE, 3 + STEPS_BETWEEN, MANY_ROWS, True),
        (ONE, 2 + STEPS_BETWEEN, MANY_ROWS, False),
    ],
)
def test_few_steps_look_at_keys(known: KeysSeen | None, step: int, rows: int | None, due: bool) -> None:
    assert is_due(known, step, rows) is due


MOST = '[{"n": 60, "values": ["x", null]}, {"n": 20, "values": ["y", "2"]}, {"n": 19, "values": ["z", "2"]}]'


def test_keys_with_a_fifth_of_the_rows_are_named() -> None:
    seen = keys_seen((100, 4, MOST, False, False), ("device", "Place"), 7)
    assert largest_part(seen) == 0.6
    assert describe_uneven_keys(seen) == (
        "device = x, Place = NULL has 60%, device = y, Place = 2 has 20% of the 100 rows of step 7: "
        "the rows of a key are one task's"
    )


def test_a_column_with_one_value_divides_nothing() -> None:
    seen = keys_seen((100, 50, '[{"n": 2, "values": ["x", "2"]}]', False, True), ("device", "place"), 7)
    assert describe_uneven_keys(seen) == "place has one value only in step 7, and divides nothing as a key"


def test_even_keys_are_not_told() -> None:
    assert describe_uneven_keys(keys_seen((100, 50, '[{"n": 2, "values": ["x"]}]', False), ("device",), 7)) is None
    assert describe_uneven_keys(keys_seen((0, 0, None, True), ("device",), 7)) is None
