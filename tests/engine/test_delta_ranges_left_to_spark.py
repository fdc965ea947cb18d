"""Ranges of other Delta tables that are not surely understood are left to Spark, and nothing is written."""

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from reconciler.delta.tables import create_table, table_version
from reconciler.engine.arrow.ingest import ingest
from reconciler.engine.arrow.ingest.delta_table import MOST_CHANGES
from reconciler.engine.protocol import ColumnType, DeadLetters, Ingestion, TableTarget, Transaction, Written

COLUMNS = (
    ColumnType("id", "BIGINT", nullable=False),
    ColumnType("name", "VARCHAR(5)"),
    ColumnType("amount", "DECIMAL(5,2)"),
    ColumnType("near", "DOUBLE"),
)
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("name", pa.string()),
        ("amount", pa.decimal128(5, 2)),
        ("near", pa.float64()),
        ("day", pa.date32()),
    ]
)
ROW = (1, "a", Decimal("1.50"), 0.5, date(2025, 1, 2))


def rows_of(*rows: Sequence[Any], schema: pa.Schema = SCHEMA) -> pa.Table:
    return pa.table([pa.array(part, kind) for part, kind in zip(zip(*rows, strict=True), schema.types, strict=True)], schema)


class Source:
    """A table with one row, and one that reads it."""

    def __init__(self, folder: Path, key: tuple[str, ...] = ("id",), **options: Any) -> None:
        self.path = folder / "source"
        write_deltalake(self.path, rows_of(ROW), **options)
        self.target = TableTarget("t", str(folder / "t"), COLUMNS, key)
        create_table(self.target.location, COLUMNS, Transaction("create", 1))
        self.number = 0

    def put(self, *rows: Sequence[Any], mode: Any = "append", **options: Any) -> "Source":
        write_deltalake(self.path, rows_of(*rows), mode=mode, **options)
        return self

    def edit(self, version: int, change: Callable[[dict[str, Any]], Any]) -> "Source":
        """Change what a commit says."""
        file = self.path / "_delta_log" / f"{version:020d}.json"
        entries = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
        for entry in entries:
            change(entry)
        file.write_text("\n".join(map(json.dumps, entries)), "utf-8")
        return self

    @property
    def version(self) -> int:
        return DeltaTable(self.path).version()

    @property
    def id(self) -> str:
        return str(DeltaTable(self.path).metadata().id)

    def ingestion(self, first: int | None = None, last: int | None = None, config: Any = (), **changes: Any) -> Ingestion:
        """Of its newest version, or of what came between two."""
        until = self.version if last is None else last
        range_ = {"version": until} if first is None else {"from": first, "to": until, "table": self.id}
        settings = {
            "transport": {"name": "delta_table_input", "config": {"uri": str(self.path), "mode": "follow", **dict(config)}}
        }
        self.number += 1
        one = Ingestion(self.target, "c", settings, {"uri": str(self.path), **range_}, Transaction("c", self.number))
        return replace(one, **changes)

    def is_left(self, *range_: Any, **changes: Any) -> bool:
        before = table_version(self.target.location)
        written = ingest(self.ingestion(*range_, **changes))
        assert (written is None) is (table_version(self.target.location) == before)
        return written is None


def test_what_is_plain_is_written(tmp_path: Path) -> None:
    source = Source(tmp_path)

    assert ingest(source.ingestion()) == Written(1, 1, unknown={"day": 1}, without_spark=True)
    source.put((2, None, None, -0.0, None), (3, "abcde", Decimal("-999.99"), float("nan"), None))
    assert ingest(source.ingestion(0)) == Written(2, 2, unknown={"day": 2}, without_spark=True)
    DeltaTable(source.path).delete("id = 1")
    assert ingest(source.ingestion(1)) == Written(3, 1, unknown={"day": 1}, without_spark=True)
    assert ingest(source.ingestion(2, 2)) == Written(3, 0, without_spark=True)


@pytest.mark.parametrize(
    "config",
    [
        {"filter": "id > 0"},
        {"snapshot_filter": "id > 0"},
        {"timestamp_column": "day"},
        {"aws_region": "x"},
        {"fs.s3a.endpoint": "x"},
    ],
    ids=str,
)
def test_a_setting_that_has_a_say_leaves_the_range(config: Mapping[str, Any], tmp_path: Path) -> None:
    assert Source(tmp_path).is_left(config=config)


@pytest.mark.parametrize(
    "row",
    [
        (None, *ROW[1:]),
        (2, "abcdef", *ROW[2:]),
        (1, "b", *ROW[2:]),
    ],
    ids=["NULL", "a long text", "a key twice"],
)
def test_a_row_that_does_not_fit_or_may_not_count_leaves_the_range(row: Sequence[Any], tmp_path: Path) -> None:
    assert Source(tmp_path).put(row).is_left()


@pytest.mark.parametrize(
    "other",
    [
        ColumnType("near", "BIGINT"),
        ColumnType("near", "STRING"),
        ColumnType("day", "TIMESTAMP"),
        ColumnType("near", "BINARY"),
    ],
    ids=str,
)
def test_types_that_leave_a_choice_leave_the_range(other: ColumnType, tmp_path: Path) -> None:
    source = Source(tmp_path)
    columns = (COLUMNS[0], other)
    target = TableTarget("other", str(tmp_path / "other"), columns)
    create_table(target.location, columns, Transaction("create", 1))

    assert ingest(source.ingestion(target=target)) is None


def test_a_column_that_the_source_lacks_is_its_default_or_null(tmp_path: Path) -> None:
    source = Source(tmp_path)
    for number, (default, nullable) in enumerate(((None, True), ("'x'", False), ("current_user()", True), (None, False))):
        columns = (COLUMNS[0], ColumnType("more", "STRING", nullable=nullable))
        defaults = {} if default is None else {"more": default}
        target = TableTarget("other", str(tmp_path / f"other{number}"), columns, defaults=defaults)
        create_table(target.location, columns, Transaction("create", 1))
        written = ingest(source.ingestion(target=target))

        assert (written is None) is (number > 1)
        assert written is None or written.missing == ("more",)


def gone_file(source: Source) -> None:
    next(source.path.glob("*.parquet")).unlink()


def said(**properties: str) -> Callable[[Source], None]:
    def change(source: Source) -> None:
        DeltaTable(source.path).alter.set_table_properties(properties, raise_if_not_exists=False)

    return change


def with_another_id(entry: dict[str, Any]) -> None:
    if "metaData" in entry:
        entry["metaData"]["id"] = "another"


def without_statistics(entry: dict[str, Any]) -> None:
    if "add" in entry:
        del entry["add"]["stats"]


def with_other_count(entry: dict[str, Any]) -> None:
    if "add" in entry:
        entry["add"]["stats"] = json.dumps({"numRecords": 2})


def never_null(entry: dict[str, Any]) -> None:
    if "metaData" in entry:
        entry["metaData"]["schemaString"] = entry["metaData"]["schemaString"].replace('"nullable":true', '"nullable":false')


SOURCES: Mapping[str, Callable[[Source], Any]] = {
    "a file that is gone": gone_file,
    "a property that is not known": said(**{"delta.dataSkippingStatsColumns": "id", "delta.checkpointPolicy": "x"}),
    "statistics that do not count": lambda source: source.edit(0, without_statistics),
    "statistics that count otherwise": lambda source: source.edit(0, with_other_count),
    "a NULL where there is none": lambda source: source.put((2, None, *ROW[2:])).edit(0, never_null),
}


@pytest.mark.parametrize("what", SOURCES)
def test_a_source_that_is_not_surely_read_leaves_the_range(what: str, tmp_path: Path) -> None:
    source = Source(tmp_path)
    SOURCES[what](source)

    assert source.is_left()


def test_partitions_and_places_that_may_mean_something_leave_the_range(tmp_path: Path) -> None:
    assert Source(tmp_path / "a", partition_by=["id"]).is_left()
    for name in ("a b", "a%20b", "a@v1"):
        assert Source(tmp_path / name).is_left()


def test_another_table_leaves_the_range(tmp_path: Path) -> None:
    source = Source(tmp_path).put((2, *ROW[1:]))
    known = source.ingestion(0)
    shutil.rmtree(source.path)
    write_deltalake(source.path, rows_of(ROW))
    source.put((2, *ROW[1:]))

    assert source.ingestion(0).range != known.range
    assert ingest(known) is None
    assert not source.is_left(0)


def test_other_columns_in_between_leave_the_range(tmp_path: Path) -> None:
    source = Source(tmp_path)
    more = rows_of((2, *ROW[1:], 1), schema=SCHEMA.append(pa.field("more", pa.int64())))
    write_deltalake(source.path, more, mode="append", schema_mode="merge")

    assert source.is_left(0)
    write_deltalake(source.path, more, mode="append")
    assert not source.is_left(1)


def test_what_cancels_out_is_left(tmp_path: Path) -> None:
    """Spark may commit nothing, and says so of the table as it finds it."""
    assert Source(tmp_path).put(ROW, mode="overwrite").is_left(0)


@pytest.mark.parametrize("odd", [-0.0, float("nan")])
def test_numbers_of_several_forms_are_compared_by_spark(odd: float, tmp_path: Path) -> None:
    source = Source(tmp_path).put((2, "b", None, odd, None), mode="overwrite")

    assert source.is_left(0)
    assert not source.is_left()


def test_many_changes_are_left_and_many_rows_that_stay_are_not(tmp_path: Path) -> None:
    source = Source(tmp_path)
    source.put(*((number, *ROW[1:]) for number in range(2, MOST_CHANGES + 3)))
    first = source.version

    assert source.is_left(0)
    DeltaTable(source.path).optimize.compact()
    DeltaTable(source.path).delete("id < 10")
    assert not source.is_left(first)


def test_a_delete_from_what_is_append_only_is_left(tmp_path: Path) -> None:
    source = Source(tmp_path).put((2, *ROW[1:]))
    source.target = replace(source.target, append_only=True)

    assert not source.is_left(0)
    DeltaTable(source.path).delete("id = 1")
    assert source.is_left(1)


def test_late_rows_that_are_kept_are_left(tmp_path: Path) -> None:
    source = Source(tmp_path, key=()).put((2, *ROW[1:]))
    letters = DeadLetters(str(tmp_path / "letters"), 1, keeps_late=True)

    assert source.is_left(first_on_time={"id": 2}, dead_letters=letters)
    assert ingest(source.ingestion(first_on_time={"id": 2})) == Written(1, 1, unknown={"day": 2}, late=1, without_spark=True)


def test_a_text_that_is_no_utf_8_leaves_the_range(tmp_path: Path) -> None:
    source = Source(tmp_path)
    names = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff"]).buffers())
    write_deltalake(source.path, rows_of(ROW).set_column(1, "name", names), mode="append")

    assert source.is_left()
