"""Rows of small tables that are held in this process: what a table is made of, version by version."""

import gc
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from reconciler.delta import known_changes
from reconciler.delta.arrow_rows import OpenedTable, PlainTable, plain_table, rows_of
from reconciler.delta.arrow_writes import Taken, append, put_table, rewrite
from reconciler.engine.sources import CHANGE_COLUMN, StoredSource
from reconciler.engine.spark import held_rows
from reconciler.engine.spark.held_rows import HeldRows
from reconciler.engine.stored import Between, Transaction

SCHEMA = {"type": "struct", "fields": [{"name": "id", "type": "long", "nullable": True, "metadata": {}}]}


def rows(*values: int) -> pa.Table:
    return pa.table({"id": pa.array(values, pa.int64())})


def add(place: str, number: int, *values: int) -> None:
    table = plain_table(place)
    assert table is not None
    append(table, rows(*values), Transaction("test", number))


def by_another(write: Callable[..., None], *given: Any) -> None:
    """Write as another process does: this one knows nothing of it."""
    write(*given)
    known_changes._committed.clear()


def ids(held: HeldRows, place: str, version: int) -> list[int]:
    found = held.of(place, version)
    assert found is not None
    return sorted(found.rows["id"].to_pylist())


@pytest.fixture
def place(tmp_path: Path) -> str:
    put_table(str(tmp_path / "t"), SCHEMA, rows(1, 2))
    return str(tmp_path / "t")


def test_each_version_has_its_rows_and_only_new_files_are_read(place: str) -> None:
    held = HeldRows()
    assert ids(held, place, 0) == [1, 2]
    for file in Path(place).glob("*.parquet"):
        file.unlink()
    add(place, 1, 3)

    assert ids(held, place, 1) == [1, 2, 3]
    assert ids(held, place, 0) == [1, 2]
    # Who does not hold them finds no file.
    assert HeldRows().of(place, 1) is None


def test_a_table_that_was_made_anew_at_the_same_place_is_another(place: str) -> None:
    held = HeldRows()
    assert ids(held, place, 0) == [1, 2]
    shutil.rmtree(place)
    put_table(place, SCHEMA, rows(7))

    assert ids(held, place, 0) == [7]


def test_a_table_without_rows_has_none(tmp_path: Path) -> None:
    put_table(str(tmp_path / "t"), SCHEMA, rows())

    assert ids(HeldRows(), str(tmp_path / "t"), 0) == []


def test_what_is_not_small_or_not_there_is_not_held(place: str, tmp_path: Path) -> None:
    add(place, 1, *range(held_rows.MOST_ROWS))

    assert HeldRows().of(place, 1) is None
    assert HeldRows().of(str(tmp_path / "nothing"), 0) is None


def test_of_a_table_that_is_not_small_nothing_is_kept(place: str) -> None:
    """What its log says may take megabytes, and each step brings another version."""
    add(place, 1, *range(held_rows.MOST_ROWS))
    held = HeldRows()

    assert [held.of(place, 1), held.of(place, 1)] == [None, None]
    gc.collect()
    assert [one for one in gc.get_objects() if isinstance(one, PlainTable) and one.location == place] == []
    assert ids(held, place, 0) == [1, 2]


def test_of_many_versions_the_last_are_kept_and_none_of_them_opened(place: str) -> None:
    """What deltalake holds of a table that it opened grows with the entries of its log."""
    held = HeldRows()
    for number in range(1, 21):
        add(place, number, number)
        assert len(ids(held, place, number)) == number + 2

    gc.collect()
    kept = [one for one in gc.get_objects() if isinstance(one, PlainTable) and one.location == place]
    assert {one.version for one in kept} == set(range(15, 21))
    assert not any(isinstance(one, OpenedTable) for one in kept)
    assert ids(held, place, 0) == [1, 2]


def test_what_is_held_is_bounded_and_what_went_is_read_again(place: str) -> None:
    one = rows(1, 2).nbytes
    held = HeldRows(most_held=2 * one)
    for number in range(1, 5):
        add(place, number, 10 * number, 10 * number + 1)

    for version in (4, 0, 3, 4):
        assert len(ids(held, place, version)) == 2 * (version + 1)
        assert held.bytes <= 2 * one


def test_what_changed_and_what_is_needed_is_read_once(place: str) -> None:
    held, needed = HeldRows(), StoredSource("t", place, 1, needed=(Between("id", 3, 9),))
    by_another(add, place, 1, 3)

    def asked(rows: HeldRows) -> list[list[int] | None]:
        answers = (rows.changed(place, 1, ((0, 1),)), rows.needed(needed))
        return [sorted(one.rows["id"].to_pylist()) if one is not None else None for one in answers]

    assert asked(held) == [[3], [3]]
    for file in Path(place).glob("*.parquet"):
        file.unlink()
    assert asked(held) == [[3], [3]]
    assert asked(HeldRows()) == [None, None]

    shutil.rmtree(place)
    put_table(place, SCHEMA, rows(7))
    by_another(add, place, 1, 8)
    assert asked(held) == [[8], [7, 8]]


def test_what_this_process_changed_is_not_read(place: str) -> None:
    """However large the files are that it wrote for it."""
    add(place, 1, *range(3, held_rows.MOST_ROWS))
    table = plain_table(place)
    assert table is not None
    whole = rows_of(table)
    assert whole is not None
    staying = {file.path: whole.slice(1) if at == 0 else whole.slice(0, 0) for at, file in enumerate(table.files)}
    rewrite(table, Taken(staying, whole.slice(0, 1)), rows(0), Transaction("test", 2))
    for file in Path(place).glob("*.parquet"):
        file.unlink()

    found = HeldRows().changed(place, 2, ((1, 2),))
    assert found is not None
    went = whole["id"][0].as_py()
    assert sorted(found.rows.to_pylist(), key=str) == [
        {"id": 0, CHANGE_COLUMN: "insert"},
        {"id": went, CHANGE_COLUMN: "delete"},
    ]
    known_changes._committed.clear()
    assert HeldRows().changed(place, 2, ((1, 2),)) is None
