"""Ranges that are not surely understood are left to Spark, and nothing is written."""

import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from reconciler.base.errors import EngineError
from reconciler.delta.arrow_rows import plain_table
from reconciler.delta.arrow_writes import append
from reconciler.delta.tables import create_table, table_version
from reconciler.engine.arrow.ingest import ingest
from reconciler.engine.arrow.ingest.files import MOST_BYTES
from reconciler.engine.by_size import EngineBySize
from reconciler.engine.files import local_listing, unread
from reconciler.engine.http_ranges import MOST_REQUESTS
from reconciler.engine.http_ranges import unread as unread_requests
from reconciler.engine.http_requests import place_of
from reconciler.engine.protocol import ColumnType, Ingestion, TableTarget, Transaction
from reconciler.testing.recording import RecordingEngine
from tests.engine.asking import json_files

COLUMNS = (
    ColumnType("id", "BIGINT", nullable=False),
    ColumnType("name", "VARCHAR(5)"),
    ColumnType("amount", "DECIMAL(5,2)"),
    ColumnType("at", "TIMESTAMP"),
    ColumnType("near", "FLOAT"),
)
FITTING = '{"id": 1, "name": "ab", "amount": 1.5, "at": "2025-01-02T03:04:05Z"}'


def ingestion(folder: Path, text: str | bytes, name: str = "a.json", **changes: Any) -> Ingestion:
    """Of one file with this text into a table of COLUMNS with a key."""
    target = TableTarget("t", str(folder / "t"), COLUMNS, ("id",))
    if table_version(target.location) is None:
        create_table(target.location, COLUMNS, Transaction("create", 1))
    file = folder / "in" / name
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(text.encode("utf-8") if isinstance(text, str) else text)
    found = unread(local_listing(file), None)
    assert found is not None
    settings = {**json_files(file), **changes.pop("settings", {})}
    return replace(Ingestion(target, "c", settings, found.range, Transaction("c", 1)), **changes)


def version(one: Ingestion) -> int | None:
    return table_version(one.target.location)


def test_a_record_that_is_plain_is_written(tmp_path: Path) -> None:
    one = ingestion(tmp_path, FITTING)

    written = ingest(one)

    assert written is not None
    assert (written.version, written.rows, version(one)) == (1, 1, 1)


@pytest.mark.parametrize(
    "record",
    [
        *('{"id": 1}{"id": 2}', '{"id": 1} {"id": 2}', '{"id": 1} x', "[]", '[{"id": 1}]', "5", '"id"', "null", "{", "\t"),
        *('{"id": 1, "id": 2}', '{"id": 1, "ID": 2}', '{"id": 1, "other": 1, "Other": 2}', '{"id": 1, "é": 2}'),
        *(
            '{"id": null}',
            "{}",
            '{"name": "a"}',
            '{"id": 1.0}',
            '{"id": 1e0}',
            '{"id": true}',
            '{"id": "x"}',
            '{"id": " 1"}',
        ),
        *('{"id": -0}', '{"id": 9223372036854775808}', '{"id": [1]}', '{"id": {}}', '{"id": NaN}', '{"id": 01}'),
        *('{"id": 1, "name": "abcdef"}', '{"id": 1, "name": 1e2}', '{"id": 1, "name": {}}', '{"id": 1, "name": "\\ud83d"}'),
        *('{"id": 1, "name": "\ufdd2"}', '{"id": 1, "name": "\\uFDD2"}', "{'id': 1}", '{"id": 1, "name": "a\tb"}'),
        *('{"id": 1, "amount": 1.005}', '{"id": 1, "amount": 1000}', '{"id": 1, "amount": 1e1}', '{"id": 1, "amount": ""}'),
        *('{"id": 1, "at": "2025-01-02"}', '{"id": 1, "at": 5}', '{"id": 1, "at": "2025-02-30T00:00:00Z"}'),
        *('{"id": 1, "at": "1899-12-31T00:00:00Z"}', '{"id": 1, "at": "2025-01-02T03:04:05.1234567Z"}'),
        *('{"id": 1, "near": 1e39}', '{"id": 1, "near": 1.000000059604644775390625}', '{"id": 1, "near": 1e-46}'),
        *("\ufeff" + FITTING, b'{"id": 1, "name": "\xff"}', '{"id": 1, "x": ' + "[" * 30 + "]" * 30 + "}"),
        f'{{"id": 1, "x": {"1" * 50}}}',
    ],
)
def test_one_record_that_is_not_plain_leaves_the_whole_range(record: str | bytes, tmp_path: Path) -> None:
    odd = record.encode() if isinstance(record, str) else record
    one = ingestion(tmp_path, FITTING.encode() + b"\n" + odd + b"\n")

    assert ingest(one) is None
    assert version(one) == 0
    assert not list(Path(one.target.location).glob("*.parquet"))


SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "a transport": {"transport": {"name": "postgres_input", "config": {"path": ""}}},
    "an option of a store": {"transport": {"name": "file_input", "config": {"path": "", "aws_region": "x"}}},
    "a format": {"format": {"name": "parquet"}},
    "a setting of a format": {"format": {"name": "json", "config": {"update_format": "raw", "new": 1}}},
    "an update format": {"format": {"name": "json", "config": {"update_format": "other"}}},
    "a field that is named oddly": {"columns": {"name": {"source": "né"}}},
    "two columns for one field": {"columns": {"name": {"source": "ID"}}},
    "a secret that is not set": {"columns": {"name": {"source": "${secret:NO_SUCH_SECRET}"}}},
}


@pytest.mark.parametrize("what", SETTINGS)
def test_a_setting_that_is_not_known_leaves_the_range(what: str, tmp_path: Path) -> None:
    one = ingestion(tmp_path, FITTING, settings=SETTINGS[what])

    assert ingest(one) is None
    assert version(one) == 0


def with_target(**changes: Any) -> Callable[[Ingestion], Ingestion]:
    return lambda one: replace(one, target=replace(one.target, **changes))


def altered(**settings: str) -> Callable[[Ingestion], Ingestion]:
    def change(one: Ingestion) -> Ingestion:
        DeltaTable(one.target.location).alter.set_table_properties(
            {name.replace("_", "."): v for name, v in settings.items()}
        )
        return one

    return change


def written_before(one: Ingestion) -> Ingestion:
    assert ingest(one) is not None
    return one


def touched(one: Ingestion) -> Ingestion:
    os.utime(one.settings["transport"]["config"]["path"], (1, 1))
    return one


ROUND_ABOUT: Mapping[str, Callable[[Ingestion], Ingestion]] = {
    "no table": with_target(location="/nowhere/at/all"),
    "a table with a feed of changes": altered(delta_enableChangeDataFeed="true"),
    "other columns": with_target(columns=COLUMNS[:2]),
    "a type that is not plain": with_target(columns=(*COLUMNS[:4], ColumnType("near", "BINARY"))),
    "a default that is computed": with_target(defaults={"near": "current_user()"}),
    "a default that is a double": with_target(defaults={"near": "1.5"}),
    "a key that may be NULL": with_target(primary_key=("name",)),
    "a transaction that is there": written_before,
    "a later transaction": lambda one: replace(written_before(replace(one, transaction=Transaction("c", 2)))),
    "a file that changed": touched,
}


@pytest.mark.parametrize("what", ROUND_ABOUT)
def test_a_table_or_range_that_is_not_known_leaves_the_range(what: str, tmp_path: Path) -> None:
    one = ROUND_ABOUT[what](ingestion(tmp_path, FITTING))
    before = version(one)

    assert ingest(replace(one, transaction=Transaction("c", 1))) is None
    assert version(one) == before


@pytest.mark.parametrize(
    "name", ["a.json.gz", "a.bz2", "_a.json", ".a.json", "a b.json", "a[1].json", "a%.json", "a.unknown"]
)
def test_a_file_whose_name_may_mean_something_leaves_the_range(name: str, tmp_path: Path) -> None:
    one = ingestion(tmp_path, FITTING, "b.json")
    file = tmp_path / "in" / name
    (tmp_path / "in" / "b.json").rename(file)
    found = one.range["files"][0]

    assert ingest(replace(one, range={"files": [{**found, "path": str(file)}]})) is None


def test_large_ranges_are_left(tmp_path: Path) -> None:
    one = ingestion(tmp_path, (FITTING + "\n") * (MOST_BYTES // len(FITTING)))

    assert ingest(one) is None


def test_deletes_from_what_is_append_only_are_left(tmp_path: Path) -> None:
    records = '{"insert": {"id": 1}}\n{"delete": {"id": 1}}\n'
    config = {"format": {"name": "json", "config": {"update_format": "insert_delete"}}}
    one = ingestion(tmp_path, records, settings=config)

    for key in ((), ("id",)):
        assert ingest(with_target(primary_key=key, append_only=True)(one)) is None
    assert ingest(one) is not None


def test_a_key_that_is_no_text_leaves_the_range(tmp_path: Path) -> None:
    """A statement can bring any bytes into a table: `CAST(X'ff' AS STRING)`."""
    columns = (COLUMNS[0], ColumnType("name", "STRING", nullable=False))
    target = TableTarget("t", str(tmp_path / "t"), columns, ("id", "name"))
    create_table(target.location, columns, Transaction("create", 1))
    table = plain_table(target.location)
    assert table is not None
    names = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff"]).buffers())
    append(table, pa.table({"id": [1], "name": names}), Transaction("insert", 1))
    one = with_target(columns=columns, primary_key=("id", "name"))(ingestion(tmp_path, '{"id": 1, "name": "a"}'))

    assert ingest(one) is None
    assert version(one) == 1


def test_a_table_with_a_key_is_kept_in_few_files(tmp_path: Path) -> None:
    """Each range adds a file, so that all would be looked through by the next ones."""
    for number in range(1, 30):
        one = ingestion(tmp_path, json.dumps({"id": number}), f"{number}.json", transaction=Transaction("c", number))
        assert ingest(one) is not None
    again = ingestion(tmp_path, '{"id": 1, "name": "x"}', "again.json", transaction=Transaction("c", 99))
    assert ingest(again) is not None

    table = DeltaTable(again.target.location)
    assert len(table.file_uris()) < 20
    assert table.to_pyarrow_table().num_rows == 29


@pytest.mark.parametrize(("count", "padding", "is_read"), [(MOST_REQUESTS, 0, True), (5, 0, True), (5, MOST_BYTES, False)])
def test_requests_are_read_here_as_many_as_a_step_takes(count: int, padding: int, is_read: bool, tmp_path: Path) -> None:
    one, folder = ingestion(tmp_path, FITTING), tmp_path / "requests"
    folder.mkdir()
    for number in range(1, count + 1):
        line = json.dumps({"insert": {"id": number, "name": "a"}})
        place_of(folder, number).write_text(line + " " * (padding if number == 1 else 0))
    settings = {"transport": {"name": "http_input", "config": {"path": str(folder)}}}
    found = unread_requests(settings, None)
    assert found is not None

    written = ingest(replace(one, settings=settings, range=found.range))

    assert (None if written is None else written.rows) == (count if is_read else None)


class TestBySize:
    @pytest.mark.parametrize("is_usual", [True, False])
    def test_an_engine_asks_spark_for_what_is_left(self, is_usual: bool, tmp_path: Path) -> None:
        spark = RecordingEngine()
        engine = EngineBySize(spark, lambda: {} if is_usual else {"spark.sql.caseSensitive": "true"})
        good = ingestion(tmp_path, FITTING)
        bad = ingestion(tmp_path, "x", "b.json", transaction=Transaction("c", 2))
        for one in (good, bad):
            # The recording engine has tables of its own.
            with suppress(EngineError):
                engine.ingest(one)

        assert spark.calls == ([bad] if is_usual else [good, bad])
        assert version(good) == (1 if is_usual else 0)

    def test_what_is_closed_brings_in_nothing(self, tmp_path: Path) -> None:
        engine = EngineBySize(RecordingEngine(), dict)
        engine.close()

        with pytest.raises(EngineError, match="closed"):
            engine.ingest(ingestion(tmp_path, FITTING))
