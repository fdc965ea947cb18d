"""The greatest values of columns, from the files that a write added."""

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from reconciler.delta.greatest_values import greatest_values

NAN, INFINITE = float("nan"), float("inf")


def stored(folder: Path, rows: pa.Table, **more: Any) -> str:
    from deltalake import write_deltalake

    write_deltalake(str(folder), rows, **more)
    return str(folder)


def test_of_all_files_and_of_those_that_a_write_added(tmp_path: Path) -> None:
    place = stored(tmp_path / "t", pa.table({"Seen": [5, 9], "other": [1, 2]}))
    stored(tmp_path / "t", pa.table({"Seen": [7, None], "other": [3, 4]}), mode="append")
    stored(tmp_path / "t", pa.table({"Seen": pa.array([None], pa.int64()), "other": [7]}), mode="append")

    assert greatest_values(place, ["seen"], None, 0) == {"seen": 9}
    assert greatest_values(place, ["seen"], None, 2) == {"seen": 9}
    assert greatest_values(place, ["seen"], 0, 1) == {"seen": 7}
    assert greatest_values(place, ["seen", "other"], 1, 2) == {"other": 7}
    assert greatest_values(place, ["seen"], 2, 2) == {}


@pytest.mark.parametrize(
    ("column", "greatest"),
    [
        (pa.array([3, -4, None], pa.int8()), 3),
        (pa.array([2**63 - 1, 0], pa.int64()), 2**63 - 1),
        (pa.array([Decimal("-1.50"), Decimal("-1.49")], pa.decimal128(5, 2)), Decimal("-1.49")),
        (pa.array([1.5, NAN, INFINITE, None, -INFINITE], pa.float64()), 1.5),
        (pa.array([-0.5, NAN], pa.float32()), -0.5),
        (pa.array([date(1970, 1, 2), date(1969, 12, 31)]), 1),
        (pa.array([datetime(1970, 1, 1, 0, 0, 1, 1, UTC), datetime(1960, 1, 1, tzinfo=UTC)]), 1_000_001),
    ],
)
def test_values_are_numbers(tmp_path: Path, column: pa.Array, greatest: Any) -> None:
    place = stored(tmp_path / "t", pa.table({"a": column}))

    found = greatest_values(place, ["a"], None, 0)

    assert found == {"a": greatest}
    assert type((found or {})["a"]) is type(greatest)


@pytest.mark.parametrize("column", [pa.array([NAN, INFINITE, -INFINITE]), pa.array([None, None], pa.int32())])
def test_what_does_not_count_is_no_greatest_value(tmp_path: Path, column: pa.Array) -> None:
    assert greatest_values(stored(tmp_path / "t", pa.table({"a": column})), ["a"], None, 0) == {}


def test_where_it_is_not_surely_read_nothing_is_said(tmp_path: Path) -> None:
    place = stored(tmp_path / "t", pa.table({"a": [1]}))

    assert greatest_values(str(tmp_path / "u"), ["a"], None, 0) is None
    assert greatest_values(place, ["a"], 5, 0) is None
    assert greatest_values(place, ["a"], None, 5) is None
