"""What this process changed in tables: known commit by commit, until somebody else wrote what stands there."""

import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from reconciler.delta import known_changes as module
from reconciler.delta.arrow_rows import OpenedTable, plain_table, rows_of
from reconciler.delta.arrow_writes import Taken, append, create, put_together, rewrite
from reconciler.delta.known_changes import known_changes
from reconciler.engine.stored import Transaction
from tests.delta.known_changes import are_as_the_files_say

SCHEMA = {"type": "struct", "fields": [{"name": "a", "type": "long", "nullable": True, "metadata": {}}]}


def rows(*values: int) -> pa.Table:
    return pa.table({"a": pa.array(values, pa.int64())})


def opened(place: str) -> OpenedTable:
    found = plain_table(place)
    assert found is not None
    return found


def replace_one(place: str, number: int, *, new: int) -> int:
    """Take the least row out of the table's only file, and add another one."""
    table = opened(place)
    (file,) = table.files
    held = rows_of(table)
    assert held is not None
    values = sorted(held["a"].to_pylist())
    return rewrite(table, Taken({file.path: rows(*values[1:])}, rows(values[0])), rows(new), Transaction("us", number))


def told(place: str, *ranges: tuple[int, int]) -> tuple[list[int], list[int]] | None:
    found = known_changes(place, ranges)
    return None if found is None else (sorted(found.went["a"].to_pylist()), sorted(found.came["a"].to_pylist()))


@pytest.fixture
def place(tmp_path: Path) -> str:
    create(str(tmp_path / "t"), SCHEMA, rows(1, 2, 3), Transaction("us", 0))
    return str(tmp_path / "t")


def test_of_a_file_that_was_written_anew_the_rows_are_known_that_changed(place: str) -> None:
    replace_one(place, 1, new=9)
    assert told(place, (0, 1)) == ([1], [9])
    assert are_as_the_files_say(place, 0, 1)


def test_commits_one_after_the_other_come_to_what_all_of_them_did(place: str) -> None:
    replace_one(place, 1, new=9)
    replace_one(place, 2, new=1)
    append(opened(place), rows(7), Transaction("us", 3))
    assert told(place, (0, 3)) == told(place, (0, 1), (1, 3)) == ([1, 2], [1, 7, 9])
    assert are_as_the_files_say(place, 0, 3)


def test_a_commit_that_is_not_asked_about_is_none_of_them(place: str) -> None:
    append(opened(place), rows(7), Transaction("us", 1))
    table = opened(place)
    put_together(table, table.files, [rows(1, 2, 3), rows(7)], Transaction("us: compaction", 1))
    replace_one(place, 2, new=9)
    assert told(place, (0, 1), (2, 3)) == ([1], [7, 9])
    assert told(place, (0, 3)) is None, "of the commit between nothing is known"


def test_a_repeat_is_not_taken_for_the_commit(place: str) -> None:
    """It finds that it was made, on a table that is another one by now."""
    replace_one(place, 1, new=9)
    module._committed.clear()
    assert replace_one(place, 1, new=8) == 1
    assert told(place, (0, 1)) is None


def test_a_table_that_was_made_anew_at_the_same_place_is_another(place: str) -> None:
    replace_one(place, 1, new=9)
    shutil.rmtree(place)
    create(place, SCHEMA, rows(4, 5), Transaction("us", 0))
    replace_one(place, 1, new=6)
    assert told(place, (0, 1)) == ([4], [6])
    module._committed.clear()
    shutil.rmtree(place)
    assert told(place, (0, 1)) is None


def test_many_rows_are_not_remembered(place: str) -> None:
    append(opened(place), rows(*range(module.MOST_ROWS)), Transaction("us", 1))
    append(opened(place), rows(*range(module.MOST_ROWS + 1)), Transaction("us", 2))
    assert told(place, (0, 1)) is not None
    assert told(place, (1, 2)) is None
    append(opened(place), rows(1), Transaction("us", 3))
    append(opened(place), rows(1), Transaction("us", 4))
    assert told(place, (2, 4)) == ([], [1, 1])
    assert told(place, (0, 1), (2, 3)) is None, "together they are many"
