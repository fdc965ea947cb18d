"""Small ranges for tables that are too large to be looked through: what is looked for is in few of their files."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from reconciler.delta.arrow_rows import plain_table
from reconciler.delta.arrow_writes import append
from reconciler.delta.tables import create_table
from reconciler.engine.arrow.ingest import ingest
from reconciler.engine.files import local_listing, unread
from reconciler.engine.protocol import ColumnType, Ingestion, TableTarget, Transaction
from tests.delta.known_changes import are_as_the_files_say
from tests.engine.asking import json_files

MANY = 200_001
TOO_MANY = 1_000_001
LATE = 2_000_000
COLUMNS = (
    ColumnType("id", "BIGINT", nullable=False),
    ColumnType("part", "INT", nullable=False),
    ColumnType("name", "STRING"),
)


def filled(folder: Path, key: tuple[str, ...], large: int = MANY) -> TableTarget:
    """A table with a large file of ids from 0, and two small ones of ids from 2,000,000 and from 4,000,000."""
    target = TableTarget("t", str(folder / "t"), COLUMNS, key)
    create_table(target.location, COLUMNS, Transaction("create", 1))
    for number, (first, many) in enumerate(((0, large), (LATE, 10), (2 * LATE, 10)), start=1):
        table = plain_table(target.location)
        assert table is not None
        ids = range(first, first + many)
        rows = {
            "id": pa.array(ids, pa.int64()),
            "part": pa.array([0] * many, pa.int32()),
            "name": [f"n{one}" for one in ids],
        }
        append(table, pa.table(rows), Transaction("fill", number))
    return target


def ingested(folder: Path, target: TableTarget, *changes: tuple[str, dict[str, Any]]) -> Any:
    file = folder / "in" / "a.json"
    file.parent.mkdir()
    file.write_text("".join(json.dumps({what: row}) + "\n" for what, row in changes))
    found = unread(local_listing(file), None)
    assert found is not None
    settings = json_files(file)
    settings["format"] = {"name": "json", "config": {"update_format": "insert_delete"}}
    return ingest(Ingestion(target, "c", settings, found.range, Transaction("c", 1)))


def files_of(target: TableTarget) -> set[str]:
    return set(DeltaTable(target.location).file_uris())


def late_rows(target: TableTarget) -> list[tuple[int, int, str]]:
    rows = DeltaTable(target.location).to_pyarrow_table(filters=[("id", ">=", MANY)]).to_pylist()
    return sorted((row["id"], row["part"], row["name"]) for row in rows)


@pytest.mark.parametrize("key", [("id",), ("id", "part"), ()], ids=["key", "two columns", "no key"])
def test_what_lies_in_small_files_is_changed_there(key: tuple[str, ...], tmp_path: Path) -> None:
    target = filled(tmp_path, key)
    before, rows = files_of(target), late_rows(target)

    written = ingested(
        tmp_path,
        target,
        ("delete", {"id": LATE + 1, "part": 0, "name": f"n{LATE + 1}"}),
        ("insert", {"id": LATE + 1, "part": 0, "name": "other"}),
        ("delete", {"id": LATE + 2, "part": 0, "name": f"n{LATE + 2}"}),
        ("delete", {"id": LATE + 500, "part": 0, "name": "nobody"}),
        ("insert", {"id": 3 * LATE, "part": 0, "name": "new"}),
    )

    assert written is not None
    assert (written.without_spark, written.unmatched) == (True, 1)
    gone = {(LATE + 1, 0, f"n{LATE + 1}"), (LATE + 2, 0, f"n{LATE + 2}")}
    assert late_rows(target) == sorted([*(set(rows) - gone), (LATE + 1, 0, "other"), (3 * LATE, 0, "new")])
    assert len(before & files_of(target)) == 2
    assert DeltaTable(target.location).count() == MANY + 20


@pytest.mark.parametrize("key", [("id",), ()], ids=["key", "no key"])
def test_what_lies_in_a_file_of_many_rows_is_changed_there(key: tuple[str, ...], tmp_path: Path) -> None:
    target = filled(tmp_path, key)
    before = files_of(target)

    written = ingested(tmp_path, target, *(("delete", {"id": one, "part": 0, "name": f"n{one}"}) for one in (7, MANY - 1)))

    assert written is not None
    assert (written.without_spark, written.rows, written.unmatched) == (True, 2, 0)
    assert DeltaTable(target.location).count() == MANY + 18
    assert len(before & files_of(target)) == 2
    assert are_as_the_files_say(target.location, 3, 4), "who follows the table need not compare them"


def test_what_stays_of_a_large_file_lies_together_as_before(tmp_path: Path) -> None:
    """Else rows that are changed here and there would put all files into one, in which each later row is looked for."""
    target = filled(tmp_path, ("id",), TOO_MANY // 2)
    changes = [("insert", {"id": one, "part": 0, "name": "other"}) for one in (7, LATE + 1, 2 * LATE + 1)]

    assert ingested(tmp_path, target, *changes) is not None
    table = plain_table(target.location)
    assert table is not None
    assert sorted(file.rows or 0 for file in table.files) == [9 + 9 + 3, TOO_MANY // 2 - 1]
    assert are_as_the_files_say(target.location, 3, 4)


@pytest.mark.parametrize("key", [("id",), ()], ids=["key", "no key"])
def test_what_may_lie_in_a_large_file_is_left_to_spark(key: tuple[str, ...], tmp_path: Path) -> None:
    target = filled(tmp_path, key, TOO_MANY)
    gone = ("delete", {"id": 7, "part": 0, "name": "n7"})

    assert ingested(tmp_path, target, gone, ("insert", {"id": LATE + 70, "part": 0, "name": "new"})) is None
    assert DeltaTable(target.location).version() == 3


def test_every_column_of_a_row_without_key_says_where_it_is_not(tmp_path: Path) -> None:
    target = filled(tmp_path, ())

    written = ingested(tmp_path, target, ("delete", {"id": 7, "part": 1, "name": "n7"}), ("insert", {"id": 8, "part": 1}))

    assert written is not None
    assert (written.rows, written.unmatched) == (1, 1)
