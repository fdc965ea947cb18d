"""What is read for sure without Spark is what Spark reads: record by record, and range by range.

Records come by chance (`plain_records`), many in one range, so that one job of Spark judges all of them.
"""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from reconciler.delta.arrow_rows import plain_table, rows_of
from reconciler.delta.tables import create_table
from reconciler.engine.arrow.ingest import ingest
from reconciler.engine.arrow.ingest.csv_records import Csv
from reconciler.engine.arrow.ingest.incoming import Change, TableRows
from reconciler.engine.arrow.ingest.json_records import changes_of
from reconciler.engine.arrow.ingest.target_table import as_arrow
from reconciler.engine.arrow.ingest.values import NotSure
from reconciler.engine.http_ranges import WITH_UPDATES
from reconciler.engine.protocol import ColumnType, DeadLetters, Engine, Ingestion, TableTarget, Transaction
from reconciler.engine.spark.commit_log import read_commit
from reconciler.engine.spark.locations import LocalFolder
from tests.cells import mostly_slow
from tests.engine.asking import ingest_files, json_files
from tests.engine.plain_records import COLUMNS, csv_line, json_record

pytestmark = pytest.mark.spark
MANY = [200, pytest.param(20_000, marks=pytest.mark.slow)]


def rows_in(table: pyarrow.Table) -> list[tuple[Any, ...]]:
    """Rows with days and moments as numbers, so that each has its year."""
    columns = []
    for column in table.columns:
        if pyarrow.types.is_date32(column.type):
            column = column.cast(pyarrow.int32())
        elif pyarrow.types.is_timestamp(column.type):
            column = column.cast(pyarrow.int64())
        columns.append(column.to_pylist())
    return list(zip(*columns, strict=True))


def stored(location: str) -> list[tuple[Any, ...]]:
    table = plain_table(location)
    assert table is not None
    found = rows_of(table)
    assert found is not None
    return sorted(rows_in(found), key=repr)


def table(tmp_path: Path, name: str, columns: Sequence[ColumnType] = COLUMNS, key: tuple[str, ...] = ()) -> TableTarget:
    target = TableTarget(name, str(tmp_path / name), tuple(columns), key)
    create_table(target.location, target.columns, Transaction("create", 1))
    return target


def agree(target: TableTarget, read: Iterator[tuple[str, Sequence[Change] | None]], by_spark: dict[int, Any]) -> int:
    """How many records were read for sure. Each of those left the row that it says, by its number, or none."""
    wrong, sure = [], 0
    schema = plain_table(target.location)
    assert schema is not None
    for text, changes in read:
        if not changes:
            continue
        sure += 1
        last, found = changes[-1], by_spark.get(changes[-1].row[0])
        told = None if last.deletes else rows_in(as_arrow([last.row], schema))[0]
        if repr(told) != repr(found):
            wrong.append((text, told, found))
    assert not wrong, wrong[:5]
    return sure


@pytest.mark.parametrize("count", MANY)
@pytest.mark.parametrize("update_format", mostly_slow(("raw", "insert_delete", "debezium"), "raw"))
def test_a_record_of_json_that_is_read_for_sure_is_what_spark_reads(
    update_format: str, count: int, spark_engine: Engine, tmp_path: Path
) -> None:
    chance = random.Random(count)
    lines = [json_record(chance, number, update_format) for number in range(count)]
    (tmp_path / "in.json").write_bytes("\n".join(lines).encode("utf-8"))
    target = table(tmp_path, "t", key=("number",) if update_format != "raw" else ())
    letters = DeadLetters(str(tmp_path / "dead-letters"), 1)
    ingest_files(spark_engine, target, json_files(tmp_path / "in.json", update_format=update_format), 1, letters)

    def read() -> Iterator[tuple[str, Sequence[Change] | None]]:
        for line in "\n".join(lines).encode("utf-8").splitlines():
            try:
                yield str(line), list(changes_of([line], {"update_format": update_format}, TableRows(target)))
            except NotSure:
                continue

    assert agree(target, read(), {row[0]: row for row in stored(target.location)}) > count / 3


@pytest.mark.parametrize("count", MANY)
@pytest.mark.parametrize(("delimiter", "has_header"), mostly_slow([(";", True), ("\t", False)], (";", True)))
def test_a_line_of_csv_that_is_read_for_sure_is_what_spark_reads(
    delimiter: str, has_header: bool, count: int, spark_engine: Engine, tmp_path: Path
) -> None:
    chance = random.Random(count)
    names = [column.name for column in COLUMNS]
    if has_header:
        names = [*(name.upper() if chance.random() < 0.2 else name for name in chance.sample(names, len(names))), "un known"]
    header = [delimiter.join(names)] if has_header else []
    lines = [csv_line(chance, number, names, delimiter) for number in range(count)]
    (tmp_path / "in.csv").write_bytes("\n".join([*header, *lines]).encode("utf-8", "surrogatepass"))
    target = table(tmp_path, "t")
    config = {"delimiter": delimiter, "header": has_header}
    transport = {"name": "file_input", "config": {"path": str(tmp_path / "in.csv")}}
    settings = {"transport": transport, "format": {"name": "csv", "config": config}}
    ingest_files(spark_engine, target, settings, 1, DeadLetters(str(tmp_path / "dead-letters"), 1))

    def read() -> Iterator[tuple[str, Sequence[Change] | None]]:
        for line in "\n".join(lines).encode("utf-8", "surrogatepass").splitlines():
            try:
                changes = Csv(config, TableRows(target), target).changes_of([*(one.encode() for one in header), line])
                yield str(line), list(changes)
            except NotSure:
                continue

    assert agree(target, read(), {row[0]: row for row in stored(target.location)}) > count / 4


SHORT = (COLUMNS[0], ColumnType("s", "STRING"), ColumnType("d", "DECIMAL(5,2)"))
KINDS = [
    ("raw", False),
    ("raw", True),
    ("insert_delete", False),
    ("insert_delete", True),
    (WITH_UPDATES, True),
    ("debezium", False),
    ("debezium", True),
    ("array", True),
]


BATCHES = 2


def changes_by_chance(chance: random.Random, kind: str, has_key: bool) -> str:
    """A range of changes of a few keys, all of them read for sure; some with fields that no column takes."""

    def row() -> dict[str, Any]:
        found: dict[str, Any] = {
            "number": chance.randint(0, 9),
            "s": chance.choice((None, "a", "b")),
            "D": chance.randint(0, 3),
        }
        if chance.random() < 0.2:
            found |= {chance.choice(("other", "more", "Zed")): chance.choice((1, {"a": [1.5, None]}, None))}
        return found

    def change() -> Any:
        match kind:
            case "insert_delete":
                return {"delete" if chance.random() < 0.4 else "insert": row()}
            case "insert_delete_update":
                what = chance.choice(("insert", "delete", "update", "update"))
                found = row()
                left_out = chance.sample(list(found)[1:], chance.randint(0, 2)) if what == "update" else ()
                return {what: {name: value for name, value in found.items() if name not in left_out}}
            case "debezium":
                before, after = row(), row()
                events: list[dict[str, Any]] = [
                    {"op": "c", "before": None, "after": after},
                    {"op": "d", "before": {"number": before["number"]}, "after": None, "source": {"x": 1}},
                    {"payload": {"op": "u", "before": before, "after": after}, "schema": None},
                    {"op": "u", "before": before, "after": dict(before)},
                ]
                return chance.choice([*events, {"op": "u", "before": None, "after": after}] if has_key else events)
            case _:
                return row()

    changes = [change() for _ in range(chance.randint(1, 12))]
    if kind == "array":
        return json.dumps(changes)
    return "".join(f"{json.dumps(one)}{chance.choice(chr(10) * 3 + chr(13))}" for one in changes)


@pytest.mark.parametrize(("kind", "has_key"), mostly_slow(KINDS, ("debezium", False), ("insert_delete", True)))
def test_a_range_is_written_as_spark_writes_it(kind: str, has_key: bool, spark_engine: Engine, tmp_path: Path) -> None:
    """Rows, counts, what a repeat is told, and what the commit says."""
    chance = random.Random(7)
    here, there = (table(tmp_path, name, SHORT, ("number",) if has_key else ()) for name in ("here", "there"))
    for number in range(1, BATCHES + 1):
        file = tmp_path / f"{number}.json"
        file.write_text(changes_by_chance(chance, kind, has_key), "utf-8")
        settings = json_files(file, array=kind == "array", update_format="raw" if kind == "array" else kind)
        found = spark_engine.discover("c", settings, None)
        assert found is not None
        ours = Ingestion(here, "c", settings, found.range, Transaction("c", number), commit={"step": number})
        by_spark = spark_engine.ingest(replace(ours, target=there))

        written = ingest(ours)

        assert written == replace(by_spark, without_spark=True)
        assert stored(here.location) == stored(there.location)
        assert ingest(ours) is None
        assert spark_engine.ingest(ours) == spark_engine.ingest(replace(ours, target=there))
        commits = [read_commit(LocalFolder(Path(one.location)), number) for one in (here, there)]
        assert all(one is not None for one in commits)
        assert commits[0].said == commits[1].said == {"step": number}  # type: ignore[union-attr]
        assert commits[0].transactions == commits[1].transactions  # type: ignore[union-attr]
