"""Rows written to tables without an engine: one commit each, on the version that was read, or a conflict and nothing."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from reconciler.base.errors import RegistryConflict, RegistryError
from reconciler.delta import arrow_writes
from reconciler.delta.arrow_rows import PlainTable, plain_table, rows_of
from reconciler.delta.arrow_statistics import statistics_text
from reconciler.delta.arrow_writes import (
    Taken,
    append,
    create,
    is_writable,
    needs_features,
    overwrite,
    parquet_of,
    put_table,
    rewrite,
)
from reconciler.delta.log_entries import put_entry
from reconciler.delta.tables import statistics
from reconciler.engine.stored import Transaction
from tests.delta.test_arrow_rows import handmade

SCHEMA = {"type": "struct", "fields": [{"name": "a", "type": "long", "nullable": True, "metadata": {"comment": "hello"}}]}
SAID = {"pipeline": "shop"}


def rows(*values: int | None) -> pa.Table:
    return pa.table({"a": pa.array(values, pa.int64())})


def sent(number: int) -> Transaction:
    return Transaction("us", number)


def opened(place: Path, version: int | None = None) -> PlainTable:
    found = plain_table(str(place), version)
    assert found is not None
    return found


def held(place: Path, version: int | None = None) -> list[Any]:
    return sorted(rows_of(opened(place, version)).column("a").to_pylist(), key=repr)


def entry(place: Path, version: int) -> dict[str, Any]:
    """A commit's actions; where there are several of a kind, the last."""
    text = (place / "_delta_log" / f"{version:020d}.json").read_text()
    return {kind: said for line in text.splitlines() for kind, said in json.loads(line).items()}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Of two files: one with 1 and 2, one with 3."""
    place = tmp_path / "t"
    create(str(place), SCHEMA, rows(1, 2), sent(1), SAID)
    append(opened(place), rows(3), sent(2), SAID)
    return place


def test_a_table_is_made_and_appended_to(table: Path) -> None:
    assert (held(table, 0), held(table)) == ([1, 2], [1, 2, 3])
    assert opened(table).schema == SCHEMA
    assert opened(table).opened.transaction_version("us") == 2
    assert statistics(str(table)).rows == 3  # type: ignore[union-attr]
    info = entry(table, 1)["commitInfo"]
    assert json.loads(info["userMetadata"]) == SAID
    assert (info["operation"], info["isBlindAppend"], info["readVersion"]) == ("WRITE", True, 0)


def test_rows_are_taken_out_of_the_files_that_hold_them_alone(table: Path) -> None:
    before = opened(table)
    (first,) = [file for file in before.files if file.rows == 2]

    version = rewrite(before, Taken({first.path: rows(2)}), rows(4), sent(3))

    assert (version, held(table), held(table, 1)) == (2, [2, 3, 4], [1, 2, 3])
    assert entry(table, 2)["remove"]["path"] == first.path
    assert set(opened(table).files) - set(before.files) == {file for file in opened(table).files if file.rows == 2}
    assert len(set(opened(table).files) & set(before.files)) == 1, "the other file stays"


def test_all_rows_of_a_file_may_go(table: Path) -> None:
    before = opened(table)

    rewrite(before, Taken({file.path: rows() for file in before.files}), rows(), sent(3))

    assert (held(table), opened(table).files) == ([], ())


def test_a_commit_without_rows_leaves_its_transaction(table: Path) -> None:
    assert rewrite(opened(table), Taken({}), rows(), sent(3)) == 2
    assert opened(table).opened.transaction_version("us") == 3


def test_a_table_is_overwritten_with_its_columns(table: Path) -> None:
    fields = [{"name": "b", "type": "string", "nullable": True, "metadata": {}}]
    identity = opened(table).opened.metadata().id

    overwrite(opened(table), {"type": "struct", "fields": fields}, pa.table({"b": ["x"]}), sent(3))
    assert rows_of(opened(table)).to_pylist() == [{"b": "x"}]
    assert opened(table).opened.metadata().id == identity
    assert held(table, 1) == [1, 2, 3]

    overwrite(opened(table), opened(table).schema, pa.table({"b": ["y"]}), sent(4))
    assert rows_of(opened(table)).to_pylist() == [{"b": "y"}]
    assert "metaData" not in entry(table, 3)


def test_a_repeat_writes_nothing(table: Path) -> None:
    assert append(opened(table), rows(9), sent(2)) == 1
    assert held(table) == [1, 2, 3]


def test_who_comes_after_a_later_one_writes_nothing(table: Path) -> None:
    with pytest.raises(RegistryConflict):
        append(opened(table), rows(9), sent(1))
    assert held(table) == [1, 2, 3]


def test_who_comes_second_writes_nothing(table: Path) -> None:
    ours = opened(table)
    append(opened(table), rows(4), Transaction("them", 1))
    files = set(table.glob("*.parquet"))

    for write in (
        lambda: append(ours, rows(9), sent(3)),
        lambda: rewrite(ours, Taken({ours.files[0].path: rows()}), rows(9), sent(3)),
        lambda: overwrite(ours, SCHEMA, rows(9), sent(3)),
        lambda: create(str(table), SCHEMA, rows(9), sent(3)),
    ):
        with pytest.raises(RegistryConflict) as caught:
            write()
        assert caught.value.code == "G605"

    assert (held(table), set(table.glob("*.parquet"))) == ([1, 2, 3, 4], files)


def test_who_comes_second_with_the_same_finds_it(table: Path) -> None:
    """Somebody took over, and sent what was pinned."""
    ours = opened(table)
    assert append(opened(table), rows(4), sent(3)) == 2

    assert append(ours, rows(4), sent(3)) == 2
    assert held(table) == [1, 2, 3, 4]


def test_what_the_system_refuses_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RegistryError):
        create(str(tmp_path / "file" / "t"), SCHEMA, rows(1), sent(1))


def test_an_entry_stands_once(table: Path) -> None:
    before = (table / "_delta_log" / f"{1:020d}.json").read_bytes()
    assert not put_entry(str(table), 1, {}, [])
    assert (table / "_delta_log" / f"{1:020d}.json").read_bytes() == before
    assert [one.name for one in (table / "_delta_log").iterdir() if one.name.endswith(".tmp")] == []


def test_of_many_who_make_an_entry_at_once_one_does(table: Path) -> None:
    for version in range(2, 22):
        together = Barrier(4)

        def put(number: int, version: int = version, together: Barrier = together) -> bool:
            together.wait()
            return put_entry(str(table), version, {"number": number}, [])

        with ThreadPoolExecutor(4) as threads:
            done = list(threads.map(put, range(4)))
        assert sum(done) == 1
        assert entry(table, version)["commitInfo"]["number"] == done.index(True)


def test_checkpoints_follow(table: Path) -> None:
    for number in range(3, 13):
        append(opened(table), rows(number + 1), sent(number))

    assert sorted(one.name for one in (table / "_delta_log").glob("*.parquet")) == [f"{10:020d}.checkpoint.parquet"]
    for version in range(10):
        (table / "_delta_log" / f"{version:020d}.json").unlink()
    assert held(table) == sorted(range(1, 14), key=repr)
    assert opened(table).opened.transaction_version("us") == 12


@pytest.mark.parametrize("interval", ["0", "-1", "", "every", "\u00b2", "9" * 40])
def test_an_interval_that_is_none_refuses_no_commit(interval: str, table: Path) -> None:
    opened(table).opened.alter.set_table_properties({"delta.checkpointInterval": interval}, raise_if_not_exists=False)
    for number in range(3, 12):
        append(opened(table), rows(number), sent(number))

    assert held(table) == sorted([1, 2, 3, *range(3, 12)], key=repr)


OLD = {"minReaderVersion": 1, "minWriterVersion": 2}


def with_features(*names: str) -> dict[str, Any]:
    return {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["timestampNtz"], "writerFeatures": list(names)}


@pytest.mark.parametrize("protocol", [OLD, with_features("timestampNtz", "invariants", "appendOnly")])
def test_tables_that_are_written(tmp_path: Path, protocol: dict[str, Any]) -> None:
    assert is_writable(opened(Path(handmade(tmp_path / "t", protocol=protocol))))


@pytest.mark.parametrize(
    "protocol",
    [
        {"minReaderVersion": 1, "minWriterVersion": 3},
        {"minReaderVersion": 1, "minWriterVersion": 4},
        with_features("timestampNtz", "changeDataFeed"),
        with_features("timestampNtz", "rowTracking"),
        with_features("timestampNtz", "unheardOf"),
    ],
)
def test_features_of_delta_are_not_written(tmp_path: Path, protocol: dict[str, Any]) -> None:
    assert not is_writable(opened(Path(handmade(tmp_path / "t", protocol=protocol))))


LISTS = {"type": "array", "elementType": "long", "containsNull": False}
MAPS = {"type": "map", "keyType": "long", "valueType": "long", "valueContainsNull": False}
STRUCTS = {"type": "struct", "fields": [{"name": "x", "type": "long", "nullable": False, "metadata": {}}]}


@pytest.mark.parametrize("kind", [LISTS, MAPS, STRUCTS])
def test_columns_that_ask_for_values_are_not_written(tmp_path: Path, kind: dict[str, Any]) -> None:
    field = {"name": "a", "type": kind, "nullable": True, "metadata": {}}
    assert not is_writable(opened(Path(handmade(tmp_path / "t", field))))
    assert not is_writable(opened(Path(handmade(tmp_path / "u", {**field, "type": "long", "nullable": False}))))


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"delta.checkpointInterval": "20", "delta.enableExpiredLogCleanup": "false"}, True),
        ({"delta.appendOnly": "true"}, False),
        ({"delta.enableChangeDataFeed": "true"}, False),
        ({"anybody": "knows"}, False),
    ],
)
def test_settings_that_are_not_known_are_left_to_others(table: Path, settings: dict[str, str], expected: bool) -> None:
    opened(table).opened.alter.set_table_properties(settings, raise_if_not_exists=False)
    assert is_writable(opened(table)) is expected


def test_other_ways_to_commit_are_left_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    assert arrow_writes.can_be_committed_to("s3://lake/t")
    monkeypatch.setenv("AWS_S3_LOCKING_PROVIDER", "dynamodb")
    assert not arrow_writes.can_be_committed_to("s3://lake/t")
    assert arrow_writes.can_be_committed_to("/lake/t")


def test_a_schema_that_needs_a_feature_is_refused(tmp_path: Path, table: Path) -> None:
    schema = {"type": "struct", "fields": [{"name": "a", "type": "timestamp_ntz", "nullable": True, "metadata": {}}]}
    none = pa.table({"a": pa.array([], pa.timestamp("us"))})
    with pytest.raises(ValueError, match="feature"):
        create(str(tmp_path / "u"), schema, none, sent(1))
    with pytest.raises(ValueError, match="feature"):
        overwrite(opened(table), schema, none, sent(3))


NTZ = "timestamp_ntz"


def test_a_name_or_a_comment_is_no_feature(tmp_path: Path) -> None:
    """A column is named as its type is, before it has that type."""
    named = {"type": "struct", "fields": [{"name": NTZ, "type": "string", "nullable": True, "metadata": {"comment": NTZ}}]}
    typed = {"type": "struct", "fields": [{**named["fields"][0], "type": NTZ}]}
    place = tmp_path / "t"
    create(str(place), named, pa.table({NTZ: ["x"]}), sent(1))

    with pytest.raises(ValueError, match="feature"):
        overwrite(opened(place), typed, pa.table({NTZ: pa.array([1], pa.timestamp("us"))}), sent(2))
    put_table(str(tmp_path / "u"), named, pa.table({NTZ: ["x"]}))
    assert entry(tmp_path / "u", 0)["protocol"] == OLD


@pytest.mark.parametrize(
    "kind",
    [
        NTZ,
        {"type": "array", "elementType": {"type": "map", "keyType": "long", "valueType": NTZ, "valueContainsNull": True}},
        {"type": "map", "keyType": NTZ, "valueType": "long", "valueContainsNull": True},
        {"type": "struct", "fields": [{"name": "x", "type": NTZ, "nullable": True, "metadata": {}}]},
    ],
)
def test_features_are_needed_at_any_depth(kind: Any) -> None:
    schema = {"type": "struct", "fields": [*SCHEMA["fields"], {"name": "b", "type": kind, "nullable": True, "metadata": {}}]}
    assert needs_features(schema)
    assert not needs_features(SCHEMA)


def test_files_say_nothing_of_the_largest_double() -> None:
    """Spark takes NaN for the largest, and passes over files in which no value can be as large as what it looks for."""
    found = pyarrow.parquet.ParquetFile(
        pa.BufferReader(
            parquet_of(
                pa.table(
                    {
                        "a": [1],
                        "d": [
                            1.0,
                        ],
                        "l": [[1.0]],
                        "s": [{"x": 1.0}],
                    }
                )
            )
        )
    ).metadata.row_group(0)
    told = [found.column(index).path_in_schema for index in range(4) if found.column(index).is_stats_set]
    assert told == ["a"]


def test_statistics() -> None:
    rows_ = pa.table(
        {
            "i": pa.array([3, None, 1], pa.int8()),
            "d": pa.array([0.5, None, 2.0], pa.float32()),
            "nan": pa.array([0.5, None, float("nan")]),
            "inf": pa.array([0.5, None, float("inf")]),
            "t": pa.array(["b", None, "ä"]),
            "long": pa.array(["b", None, "x" * 33]),
            "no text": pa.Array.from_buffers(pa.string(), 3, pa.array([b"b", None, b"\xff"]).buffers()),
            "day": pa.array([0, None, 20000], pa.int32()).cast(pa.date32()),
            "far day": pa.array([0, None, 9_000_000], pa.int32()).cast(pa.date32()),
            "moment": pa.array([0, None, 1], pa.timestamp("us", "UTC")),
            "truth": pa.array([True, None, False]),
            "list": pa.array([[1], None, []]),
            "s": pa.array([{"x": 1, "y": None}, None, {"x": 2, "y": [1]}]),
            "none": pa.array([None, None, None], pa.int64()),
        }
    )
    told = json.loads(statistics_text(rows_))
    assert told["numRecords"] == 3
    assert told["minValues"] == {"i": 1, "d": 0.5, "t": "b", "day": "1970-01-01", "s": {"x": 1}}
    assert told["maxValues"] == {"i": 3, "d": 2.0, "t": "ä", "day": "2024-10-04", "s": {"x": 2}}
    ones = dict.fromkeys(rows_.column_names, 1)
    assert told["nullCount"] == {**ones, "s": {"x": 1, "y": 2}, "none": 3}


def test_statistics_tell_of_the_first_columns() -> None:
    wide = pa.table({"s": [{f"x{index}": 1 for index in range(20)}], **{f"c{index}": [1] for index in range(20)}})
    told = json.loads(statistics_text(wide))["nullCount"]
    assert (len(told["s"]), [name for name in told if name != "s"]) == (20, [f"c{index}" for index in range(12)])


def test_a_column_that_is_not_null_is_written_by_who_has_looked_for_nulls(tmp_path: Path) -> None:
    field = {"name": "a", "type": "long", "nullable": False, "metadata": {}}
    inner = {"type": "array", "elementType": "long", "containsNull": False}
    plain = opened(Path(handmade(tmp_path / "t", field)))
    nested = opened(Path(handmade(tmp_path / "u", {**field, "type": inner})))

    assert not is_writable(plain)
    assert is_writable(plain, nulls_are_checked=True)
    assert not is_writable(nested, nulls_are_checked=True), "what is within a value is not looked at"


def test_what_a_rewrite_counts_stands_in_its_commit(table: Path) -> None:
    before = opened(table)

    rewrite(before, Taken({}), rows(4), sent(3), SAID, {"numTargetRowsInserted": 1})

    metrics = entry(table, 2)["commitInfo"]["operationMetrics"]
    assert (metrics["numTargetRowsInserted"], metrics["numOutputRows"]) == ("1", "1")
