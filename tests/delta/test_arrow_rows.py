"""Rows of tables read as Arrow: which tables are read, and that their values are those that were stored."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from reconciler.delta.arrow_rows import arrow_schema, plain_table, rows_of
from reconciler.delta.tables import create_table
from reconciler.engine.stored import ColumnType, Transaction


def stored(folder: Path, rows: pa.Table, **more: Any) -> str:
    from deltalake import write_deltalake

    write_deltalake(str(folder), rows, **more)
    return str(folder)


def test_rows_of_a_version(tmp_path: Path) -> None:
    place = stored(tmp_path / "t", pa.table({"a": [1, 2]}))
    stored(tmp_path / "t", pa.table({"a": [3]}), mode="append")

    first, second = plain_table(place, 0), plain_table(place)

    assert first is not None
    assert second is not None
    assert (first.version, first.rows, len(first.files)) == (0, 2, 1)
    assert (second.version, second.rows, len(second.files)) == (1, 3, 2)
    assert sorted(rows_of(second).column("a").to_pylist()) == [1, 2, 3]
    (new,) = set(second.files) - set(first.files)
    assert rows_of(second, [new]).column("a").to_pylist() == [3]


def test_a_table_without_files_has_no_rows(tmp_path: Path) -> None:
    columns = (ColumnType("id", "BIGINT"), ColumnType("parts", "ARRAY<STRUCT<x: DECIMAL(5,2)>>"))
    create_table(str(tmp_path / "t"), columns, Transaction("create", 1))

    table = plain_table(str(tmp_path / "t"))

    assert table is not None
    assert rows_of(table) == arrow_schema(table.schema).empty_table()


def test_a_column_that_a_file_lacks_is_null(tmp_path: Path) -> None:
    place = stored(tmp_path / "t", pa.table({"a": [1]}))
    stored(tmp_path / "t", pa.table({"a": [2], "b": ["x"]}), mode="append", schema_mode="merge")

    found = plain_table(place)

    assert sorted(rows_of(found).to_pylist(), key=repr) == [{"a": 1, "b": None}, {"a": 2, "b": "x"}]


def test_there_is_no_table(tmp_path: Path) -> None:
    assert plain_table(str(tmp_path / "t")) is None
    assert plain_table(stored(tmp_path / "u", pa.table({"a": [1]})), 7) is None
    assert plain_table("abfss://somewhere/t") is None


def test_partitions_are_not_read(tmp_path: Path) -> None:
    assert plain_table(stored(tmp_path / "t", pa.table({"a": [1], "p": [1]}), partition_by=["p"])) is None


def test_files_that_are_gone_are_not_read(tmp_path: Path) -> None:
    place = stored(tmp_path / "t", pa.table({"a": [1]}))
    for file in (tmp_path / "t").glob("*.parquet"):
        file.unlink()

    found = plain_table(place)

    assert found is not None
    assert rows_of(found) is None


FIELD = {"name": "a", "type": "string", "nullable": True, "metadata": {}}
PLAIN = {"minReaderVersion": 1, "minWriterVersion": 2}


def handmade(folder: Path, field: dict[str, Any] = FIELD, protocol: dict[str, Any] = PLAIN, add: Any = None) -> str:
    """A table whose log says this."""
    log = folder / "_delta_log"
    log.mkdir(parents=True)
    schema = {"type": "struct", "fields": [field]}
    metadata = {
        "id": "x",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps(schema),
        "partitionColumns": [],
        "configuration": {},
    }
    actions = [{"protocol": protocol}, {"metaData": metadata}, *([{"add": add}] if add else [])]
    (log / f"{0:020d}.json").write_text("\n".join(map(json.dumps, actions)))
    return str(folder)


@pytest.mark.parametrize("metadata", [{"comment": "a name"}, {"reconcile.order": "x"}])
def test_what_is_said_of_a_column_and_means_nothing(tmp_path: Path, metadata: dict[str, Any]) -> None:
    assert plain_table(handmade(tmp_path / "t", {**FIELD, "metadata": metadata})) is not None


@pytest.mark.parametrize(
    "metadata",
    [
        {"__CHAR_VARCHAR_TYPE_STRING": "char(3)"},
        {"__COLLATIONS": {"a": "spark.UTF8_LCASE"}},
        {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "b"},
        {"delta.typeChanges": []},
        {"anything": "unknown"},
    ],
)
def test_what_is_said_of_a_column_and_may_mean_anything(tmp_path: Path, metadata: dict[str, Any]) -> None:
    within = {"type": "struct", "fields": [{**FIELD, "metadata": metadata}]}
    assert plain_table(handmade(tmp_path / "t", {**FIELD, "metadata": metadata})) is None
    assert plain_table(handmade(tmp_path / "u", {**FIELD, "type": within})) is None
    lists = {"type": "array", "elementType": within, "containsNull": True}
    assert plain_table(handmade(tmp_path / "v", {**FIELD, "type": lists})) is None


@pytest.mark.parametrize(
    "protocol",
    [
        {"minReaderVersion": 2, "minWriterVersion": 5},
        {
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": ["deletionVectors"],
            "writerFeatures": ["deletionVectors"],
        },
        {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["unheardOf"], "writerFeatures": ["unheardOf"]},
    ],
)
def test_features_of_delta_are_not_read(tmp_path: Path, protocol: dict[str, Any]) -> None:
    assert plain_table(handmade(tmp_path / "t", protocol=protocol)) is None


@pytest.mark.parametrize("path", ["%20a.parquet", "../a.parquet", "/tmp/a.parquet", "s3://other/a.parquet"])
def test_paths_that_have_to_be_decoded_are_not_read(tmp_path: Path, path: str) -> None:
    add = {"path": path, "partitionValues": {}, "size": 1, "modificationTime": 1, "dataChange": True}
    assert plain_table(handmade(tmp_path / "t", add=add)) is None


MOMENT = pa.timestamp("us", "UTC")


@pytest.mark.parametrize(
    ("kind", "column"),
    [
        ("string", pa.array([b"x"], pa.binary())),
        ("long", pa.array([1], pa.int32())),
        ("double", pa.array([1], pa.float32())),
        ("timestamp", pa.array([1], pa.timestamp("us"))),
        ("timestamp", pa.array([1], pa.timestamp("ms", "UTC"))),
        ("decimal(5,2)", pa.array([1], pa.decimal128(6, 2))),
        ("date", pa.array([1], pa.int32())),
        ({"type": "struct", "fields": [FIELD]}, pa.array([{"b": "x"}])),
        ({"type": "array", "elementType": "long", "containsNull": True}, pa.array([[1]], pa.list_(pa.int32()))),
    ],
)
def test_values_stored_in_another_form_are_not_read(tmp_path: Path, kind: Any, column: pa.Array) -> None:
    place = tmp_path / "t"
    add = {"path": "a.parquet", "partitionValues": {}, "size": 1, "modificationTime": 1, "dataChange": True}
    handmade(place, {**FIELD, "type": kind}, add=add)
    pyarrow.parquet.write_table(pa.table({"a": column}), place / "a.parquet")

    found = plain_table(str(place))

    assert found is not None
    assert rows_of(found) is None


def test_the_form_that_is_read_beside_them(tmp_path: Path) -> None:
    place = tmp_path / "t"
    add = {"path": "a.parquet", "partitionValues": {}, "size": 1, "modificationTime": 1, "dataChange": True}
    handmade(place, {**FIELD, "type": "timestamp"}, add=add)
    pyarrow.parquet.write_table(pa.table({"a": pa.array([10**18], MOMENT)}), place / "a.parquet")

    rows = rows_of(plain_table(str(place)))

    assert rows.column("a").cast(pa.int64()).to_pylist() == [10**18], "in year 33658"


@pytest.mark.parametrize(
    "said",
    [{"org.apache.spark.version": "2.4.8"}, {"org.apache.spark.version": "3.5.0", "org.apache.spark.legacyINT96": ""}],
)
def test_files_that_count_days_in_another_calendar_are_not_read(tmp_path: Path, said: dict[str, str]) -> None:
    place = tmp_path / "t"
    add = {"path": "a.parquet", "partitionValues": {}, "size": 1, "modificationTime": 1, "dataChange": True}
    handmade(place, add=add)
    rows = pa.table({"a": ["x"]})
    with pyarrow.parquet.ParquetWriter(place / "a.parquet", rows.schema, store_schema=False) as writer:
        writer.write_table(rows)
        writer.add_key_value_metadata(said)
    assert rows_of(plain_table(str(place))) is None

    pyarrow.parquet.write_table(rows, place / "a.parquet")
    assert rows_of(plain_table(str(place))) is not None


def test_a_small_file_of_large_rows_is_not_read(tmp_path: Path) -> None:
    """20,000 times a text of 100 kB, and the same in lists: a file of some kilobytes, 2 GB in memory."""
    place = tmp_path / "t"
    add = {"path": "a.parquet", "partitionValues": {}, "size": 1, "modificationTime": 1, "dataChange": True}
    handmade(place, add=add)
    text = pa.DictionaryArray.from_arrays(pa.array([0] * 20_000, pa.int32()), pa.array(["x" * 100_000]))
    pyarrow.parquet.write_table(pa.table({"a": text}), place / "a.parquet", store_schema=False)
    assert (place / "a.parquet").stat().st_size < 200_000
    assert rows_of(plain_table(str(place))) is None

    several = pa.array(["x" * 30, "y" * 30_000])
    text = pa.DictionaryArray.from_arrays(pa.array([0] * 19_999 + [1], pa.int32()), several)
    pyarrow.parquet.write_table(pa.table({"a": text}), place / "a.parquet", store_schema=False)
    assert rows_of(plain_table(str(place))).column("a").to_pylist()[-1] == "y" * 30_000, "read in portions"

    lists = pa.ListArray.from_arrays([0, 20_000], pa.DictionaryArray.from_arrays(pa.array([0] * 20_000), several))
    kind = {"type": "array", "elementType": "string", "containsNull": True}
    handmade(tmp_path / "u", {**FIELD, "type": kind}, add=add)
    pyarrow.parquet.write_table(pa.table({"a": lists}), tmp_path / "u" / "a.parquet", store_schema=False)
    assert rows_of(plain_table(str(tmp_path / "u"))) is None


def test_small_files_of_large_rows_are_not_read_together(tmp_path: Path) -> None:
    """Three times 90 MB in memory."""
    place = tmp_path / "t"
    text = pa.DictionaryArray.from_arrays(pa.array([0] * 900, pa.int32()), pa.array(["x" * 100_000]))
    for number in range(3):
        stored(place, pa.table({"a": pa.array([str(number)])}), mode="append")
    for file in place.glob("*.parquet"):
        pyarrow.parquet.write_table(pa.table({"a": text}), file, store_schema=False)

    table = plain_table(str(place))

    assert table is not None
    assert len(rows_of(table, table.files[:2])) == 1800
    assert rows_of(table) is None


def test_columns_in_another_letter_case_are_not_read(tmp_path: Path) -> None:
    place = tmp_path / "t"
    add = {"path": "a.parquet", "partitionValues": {}, "size": 1, "modificationTime": 1, "dataChange": True}
    handmade(place, add=add)
    pyarrow.parquet.write_table(pa.table({"A": ["x"]}), place / "a.parquet")
    assert rows_of(plain_table(str(place))) is None


def test_many_short_texts_of_one_file_are_read_at_once(tmp_path: Path) -> None:
    """Each of them may be as long as all, by what the file says of itself."""
    rows = pa.table({"a": [f"text {number % 20_000}" for number in range(100_000)], "b": range(100_000)})
    table = plain_table(stored(tmp_path / "t", rows))
    assert table is not None
    found = rows_of(table)
    assert found is not None
    assert found.column("a").num_chunks < 20
    assert found.sort_by("b").column("a").to_pylist() == rows["a"].to_pylist()
