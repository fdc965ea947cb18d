"""Between which values rows of files lie, by the files and by the log."""

from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.delta.added_files import changed_files
from reconciler.delta.arrow_rows import OpenedTable, plain_table, rows_of
from reconciler.delta.key_ranges import files_between, least_and_greatest
from reconciler.engine.stored import Between


def opened(place: Path) -> OpenedTable:
    table = plain_table(str(place))
    assert table is not None
    return table


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Four files, with ids 0 to 5, 10 to 15, 20 to 25, 30 to 35, NULL among them, and a day each."""
    place = tmp_path / "t"
    for number in range(4):
        rows = pa.table(
            {
                "Id": pa.array([10 * number, 10 * number + 5, None], pa.int64()),
                "day": [date(2020, 1, number + 1)] * 3,
                "word": ["x", "y", None],
                "none": pa.array([None] * 3, pa.int32()),
            }
        )
        write_deltalake(place, rows, mode="append")
    return place


def test_files_that_may_have_rows(table: Path) -> None:
    def count(*needed: tuple[str, Any, Any]) -> int:
        return len(files_between(opened(table), [Between(*one) for one in needed]))

    assert count(("id", 5, 20)) == 3
    assert count(("ID", 6, 9)) == 0
    assert count(("id", 0, 99), ("day", date(2020, 1, 2), date(2020, 1, 3))) == 2
    # Of these a log says nothing, or not for sure.
    assert count(("none", 1, 2)) == count(("word", "z", "zz")) == count(("nowhere", 1, 2)) == count() == 4


def test_what_changed_lies_between(table: Path) -> None:
    DeltaTable(table).delete("Id = 10")
    changed = changed_files(str(table), 3, 4)
    assert changed is not None
    both = (changed.earlier, changed.later)

    assert least_and_greatest(both, "id") == (10, 15)
    assert least_and_greatest((changed.later,), "Id") == (15, 15)
    assert least_and_greatest(both, "day") == (date(2020, 1, 2), date(2020, 1, 2))
    assert [least_and_greatest(both, name) for name in ("none", "word", "nowhere")] == [None] * 3


def test_dates_that_python_has_not_are_left_alone(tmp_path: Path) -> None:
    for number, day in enumerate((3_000_000, -800_000, 20_000)):
        rows = pa.table({"day": pa.array([day], pa.int32()).cast(pa.date32()), "id": [number]})
        write_deltalake(tmp_path / "t", rows, mode="append")
    changed = changed_files(str(tmp_path / "t"), 0, 1)
    assert changed is not None

    assert len(files_between(opened(tmp_path / "t"), [Between("day", date(2020, 1, 1), date(2030, 1, 1))])) >= 1
    assert least_and_greatest((changed.later,), "day") is None
    assert least_and_greatest((changed.later,), "id") == (1, 1)


@settings(max_examples=25)
@given(st.lists(st.lists(st.none() | st.integers(-5, 5), max_size=4), max_size=5), st.integers(-6, 6), st.integers(0, 3))
def test_no_row_is_passed_over(
    tmp_path_factory: pytest.TempPathFactory, files: list[list[int | None]], least: int, width: int
) -> None:
    place = tmp_path_factory.mktemp("t")
    write_deltalake(place, pa.table({"n": pa.array([], pa.int32())}))
    for values in files:
        write_deltalake(place, pa.table({"n": pa.array(values, pa.int32())}), mode="append")
    table = opened(place)
    kept = files_between(table, [Between("n", least, least + width)])

    for file in set(table.files) - set(kept):
        rows = rows_of(table, [file])
        assert rows is not None
        assert not any(one is not None and least <= one <= least + width for one in rows["n"].to_pylist())
