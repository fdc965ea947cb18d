"""Whether a table holds the same at two versions, told from its log; what can't be told is a difference."""

from pathlib import Path

import pytest
from deltalake import DeltaTable, Schema, write_deltalake

from reconciler.delta.contents import has_missing_files, is_readable, same_contents
from reconciler.delta.restoring import put_back


def append(location: str, *values: int) -> None:
    import arro3.core

    array = arro3.core.Array(list(values), type=arro3.core.DataType.int64())
    write_deltalake(location, arro3.core.Table.from_pydict({"id": array}), mode="append")


@pytest.fixture
def place(tmp_path: Path) -> str:
    """Version 0 has [1], version 1 [1, 2]."""
    location = str(tmp_path / "t")
    append(location, 1)
    append(location, 2)
    return location


def test_a_version_is_as_itself_and_not_as_one_with_other_rows(place: str) -> None:
    assert same_contents(place, 1, 1)
    assert not same_contents(place, 0, 1)
    assert not same_contents(place, 1, 0)


def test_marks_and_files_put_together_change_nothing(place: str) -> None:
    table = DeltaTable(place)
    table.create_write_transaction([], "append", table.schema(), [])
    DeltaTable(place).optimize.compact()
    table = DeltaTable(place)
    assert table.version() == 3
    assert len(table.file_uris()) == 1
    assert same_contents(place, 1, 3)
    assert not same_contents(place, 0, 3)


def test_rows_between_two_optimizations_count(place: str) -> None:
    DeltaTable(place).optimize.compact()
    append(place, 3)
    DeltaTable(place).optimize.compact()
    assert not same_contents(place, 1, 4)
    assert same_contents(place, 3, 4)


def test_what_was_put_back_is_as_it_was(place: str) -> None:
    append(place, 3)
    put_back(place, 1)
    assert same_contents(place, 1, 3)
    assert not same_contents(place, 2, 3)


def test_other_columns_are_a_difference(place: str) -> None:
    table = DeltaTable(place)
    table.alter.add_columns(
        Schema.from_json('{"type":"struct","fields":[{"name":"more","type":"long","nullable":true,"metadata":{}}]}').fields
    )
    assert not same_contents(place, 1, 2)


def test_a_version_whose_log_is_gone_can_not_be_told(place: str) -> None:
    assert not same_contents(place, 1, 7)
    (Path(place) / "_delta_log" / f"{0:020d}.json").unlink()
    assert not same_contents(place, 0, 1)
    assert not is_readable(place, 0)


def test_a_version_can_be_read_until_a_vacuum_takes_its_files(place: str) -> None:
    DeltaTable(place).optimize.compact()
    assert is_readable(place, 0)
    DeltaTable(place).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    assert not is_readable(place, 0)
    assert is_readable(place, 2)
    assert not is_readable(f"{place}-none", 0)


def test_a_listing_tells_as_well_whether_files_are_gone_and_changes_nothing(place: str) -> None:
    DeltaTable(place).optimize.compact()
    version, elsewhere = DeltaTable(place).version(), "s3://as/if"
    assert not has_missing_files(DeltaTable(place, version=0), elsewhere)
    DeltaTable(place).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    assert has_missing_files(DeltaTable(place, version=0), elsewhere)
    assert not has_missing_files(DeltaTable(place), elsewhere)
    assert DeltaTable(place).version() == version + 2, "these are the vacuum's own commits"
