"""Small files of a table put together: the same rows in fewer files, in a commit that changes none."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reconciler.base.errors import RegistryConflict, RegistryError
from reconciler.delta.arrow_rows import SMALL_FILE, PlainTable, StoredFile, plain_table, rows_of
from reconciler.delta.arrow_statistics import statistics_text
from reconciler.delta.arrow_writes import append, create, put_together
from reconciler.delta.compaction import compact
from reconciler.delta.restoring import put_back
from reconciler.delta.tables import create_table, extend_table, statistics
from reconciler.delta.unneeded_files import unneeded_files
from reconciler.engine.stored import ColumnType, Transaction
from tests.small_disk import small_disk

COLUMNS = (ColumnType("id", "BIGINT", nullable=False), ColumnType("note", "STRING"))
SAID = {"pipeline": "shop", "step": 3}


def sent(number: int) -> Transaction:
    return Transaction("us", number)


def done(number: int) -> Transaction:
    return Transaction("us/compaction", number)


def opened(place: Path, version: int | None = None) -> PlainTable:
    found = plain_table(str(place), version)
    assert found is not None
    return found


def held(place: Path, version: int | None = None) -> list[dict[str, Any]]:
    return sorted(rows_of(opened(place, version)).to_pylist(), key=repr)


def files(place: Path) -> tuple[StoredFile, ...]:
    return opened(place).files


def actions(place: Path, version: int) -> list[tuple[str, dict[str, Any]]]:
    text = (place / "_delta_log" / f"{version:020d}.json").read_text()
    return [one for line in text.splitlines() for one in json.loads(line).items()]


def grown(place: Path, *values: int, first: int = 1) -> Path:
    """A table with a file for each value, at version len(values)."""
    if not place.exists():
        create_table(str(place), COLUMNS, Transaction("create", 1))
    for number, value in enumerate(values, start=first):
        rows = pa.table({"id": pa.array([value], pa.int64()), "note": ["x" * value]})
        append(opened(place), rows, sent(number))
    return place


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """With rows 1, 2 and 3 in a file each, at version 3."""
    return grown(tmp_path / "t", 1, 2, 3)


def test_the_rows_are_the_same_in_one_file(table: Path) -> None:
    before = held(table)

    assert compact(str(table), 3, done(3), SAID) == 4

    (file,) = files(table)
    assert file.rows == 3
    assert held(table) == held(table, 3) == before
    found = statistics(str(table))
    assert found is not None
    assert (found.rows, found.files, found.small_files) == (3, 1, 1)


def test_the_commit_says_that_no_row_changed_and_who_made_it(table: Path) -> None:
    removed = {file.path for file in files(table)}

    compact(str(table), 3, done(3), SAID)

    found = actions(table, 4)
    assert sorted(kind for kind, _ in found) == ["add", "commitInfo", "remove", "remove", "remove", "txn"]
    assert {one["path"] for kind, one in found if kind == "remove"} == removed
    assert not any(one["dataChange"] for kind, one in found if kind in ("add", "remove"))
    said = dict(found)
    assert (said["commitInfo"]["operation"], said["commitInfo"]["isBlindAppend"]) == ("OPTIMIZE", False)
    assert json.loads(said["commitInfo"]["userMetadata"]) == SAID
    assert (said["txn"]["appId"], said["txn"]["version"]) == ("us/compaction", 3)
    assert said["add"]["stats"] == statistics_text(rows_of(opened(table)))
    assert json.loads(said["add"]["stats"])["minValues"] == {"id": 1, "note": "x"}


def test_who_asks_again_is_told_the_same_and_nothing_is_written(table: Path) -> None:
    assert [compact(str(table), 3, done(3)) for _ in range(3)] == [4, 4, 4]
    assert opened(table).version == 4

    grown(table, 4, first=4)
    assert compact(str(table), 3, done(3)) is None, "somebody wrote after it"
    assert opened(table).version == 5


def test_only_the_newest_version_is_compacted(table: Path) -> None:
    assert compact(str(table), 2, done(2)) is None
    assert opened(table).version == 3


def test_who_was_taken_over_writes_nothing(table: Path) -> None:
    assert compact(str(table), 3, done(9)) == 4
    grown(table, 5, 6, first=10)

    with pytest.raises(RegistryConflict):
        compact(str(table), 6, done(3))
    assert opened(table).version == 6


def test_of_two_at_once_one_is_done(table: Path) -> None:
    before = opened(table)
    rows = [rows_of(before, [file]) for file in before.files]

    assert put_together(before, before.files, rows, done(3)) == 4
    assert put_together(before, before.files, rows, done(3)) == 4, "the same"
    with pytest.raises(RegistryConflict):
        put_together(before, before.files, rows, Transaction("another", 3))
    assert opened(table).version == 4
    assert len(list(table.glob("*.parquet"))) == 4, "nothing is left of those that came second"


def test_large_files_stay(tmp_path: Path) -> None:
    place = tmp_path / "t"
    create_table(str(place), COLUMNS, Transaction("create", 1))
    # What can't be pressed.
    numbers = pa.array([one * 7_777_777_777_777 % 2**61 for one in range(SMALL_FILE // 6)], pa.int64())
    append(opened(place), pa.table({"id": numbers, "note": pa.nulls(len(numbers), pa.string())}), sent(1))
    (large,) = files(place)
    assert large.bytes > SMALL_FILE
    grown(place, 1, 2, first=2)

    assert compact(str(place), 3, done(3)) == 4

    assert large in files(place)
    assert len(files(place)) == 2


def test_a_single_small_file_stays(tmp_path: Path) -> None:
    place = grown(tmp_path / "t", 1)
    assert compact(str(place), 1, done(1)) is None
    assert compact(str(tmp_path / "nothing"), 0, done(1)) is None


def test_a_column_that_came_later_is_null_in_rows_from_before(table: Path) -> None:
    extend_table(str(table), (ColumnType("more", "INT"),), 3, Transaction("extend", 1))
    before = held(table)
    assert before[0]["more"] is None

    assert compact(str(table), 4, done(4)) == 5

    assert held(table) == before
    assert len(files(table)) == 1


@pytest.mark.parametrize(
    "properties",
    [{"delta.enableChangeDataFeed": "true"}, {"delta.appendOnly": "true"}, {"delta.targetFileSize": "1mb"}],
    ids=lambda one: next(iter(one)),
)
def test_a_table_with_settings_that_are_not_known_is_left_alone(properties: dict[str, str], table: Path) -> None:
    DeltaTable(str(table)).alter.set_table_properties(properties)
    assert compact(str(table), 4, done(4)) is None
    assert opened(table).version == 4


def test_a_file_that_is_gone_or_not_known_leaves_all_as_it_is(table: Path) -> None:
    file = table / files(table)[1].path
    content = file.read_bytes()
    for broken in (content[:-8], None):
        if broken is None:
            file.unlink()
        else:
            file.write_bytes(broken)
        assert compact(str(table), 3, done(3)) is None
        assert opened(table).version == 3
        assert len(files(table)) == 3


def test_files_from_before_stay_until_retention_lets_them_go(table: Path) -> None:
    before = {file.path for file in files(table)}

    compact(str(table), 3, done(3))

    assert unneeded_files(str(table), 3, (), 0.0) == ()
    assert {one.path for one in unneeded_files(str(table), 4, (), 0.0)} == before


def test_a_full_disk_is_an_error_and_nothing_is_written(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        place = grown(disk.root / "shop" / "t", 1, 2, 3)
        disk.fill()
        with pytest.raises(RegistryError, match="can't be written"):
            compact(str(place), 3, done(3))
        assert opened(place).version == 3


KIND = {
    "type": "struct",
    "fields": [
        {"name": n, "type": t, "nullable": True, "metadata": {}}
        for n, t in (("d", "double"), ("t", "string"), ("b", "binary"))
    ],
}
VALUES = st.tuples(
    st.none() | st.floats(allow_nan=True, allow_infinity=True),
    st.none() | st.text(max_size=40),
    st.none() | st.binary(max_size=5),
)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.lists(VALUES, max_size=4), min_size=2, max_size=6))
def test_whatever_rows_stand_in_whatever_files(tmp_path_factory: pytest.TempPathFactory, parts: list[Any]) -> None:
    puts_all_rows_together(tmp_path_factory, parts)


@pytest.mark.slow
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.lists(VALUES, max_size=4), min_size=2, max_size=6))
def test_whatever_rows_stand_in_whatever_files_in_many_more_cases(
    tmp_path_factory: pytest.TempPathFactory, parts: list[Any]
) -> None:
    puts_all_rows_together(tmp_path_factory, parts)


def puts_all_rows_together(tmp_path_factory: pytest.TempPathFactory, parts: list[Any]) -> None:
    place = tmp_path_factory.mktemp("compaction") / "t"
    schema = pa.schema([("d", pa.float64()), ("t", pa.string()), ("b", pa.binary())])
    create(str(place), KIND, schema.empty_table(), Transaction("create", 1))
    for number, part in enumerate(parts, start=1):
        rows = pa.table(
            [
                pa.array(values, kind)
                for values, kind in zip(zip(*part, strict=True) if part else ((), (), ()), schema.types, strict=True)
            ],
            schema=schema,
        )
        append(opened(place), rows, sent(number))
    before = sorted(map(repr, rows_of(opened(place)).to_pylist()))
    stored = len(files(place))

    version = compact(str(place), len(parts), done(1))

    assert version == (len(parts) + 1 if stored > 1 else None)
    assert len(files(place)) == min(stored, 1)
    assert sorted(map(repr, rows_of(opened(place)).to_pylist())) == before


def test_what_is_put_back_stays_put_back_whoever_compacts_it(table: Path) -> None:
    """Of a writer that was taken over after its write (version 3), and comes back."""
    late = opened(table)
    rows = [rows_of(late, [file]) for file in late.files]

    put_back(str(table), 2, [sent(3)])

    assert compact(str(table), 3, done(3)) is None
    with pytest.raises(RegistryConflict):
        put_together(late, late.files, rows, done(3))
    assert held(table) == held(table, 2)


def test_what_was_compacted_is_put_back(table: Path) -> None:
    compact(str(table), 3, done(3))

    put_back(str(table), 2, [sent(3)])

    assert held(table) == held(table, 2)
    assert len(files(table)) == 2
