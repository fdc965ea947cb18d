"""Removing a table removes that one, and no other that came to its path since."""

from pathlib import Path

import pytest

from reconciler.delta.removal import (
    identity_if_written_by,
    remove_folder,
    remove_if_empty,
    remove_table,
    remove_written,
    table_identity,
)
from reconciler.delta.tables import create_table, table_version
from reconciler.engine.stored import ColumnType, Transaction

COLUMNS = (ColumnType("id", "bigint"),)
FIRST, SECOND = Transaction("apply", 1), Transaction("apply", 2)


@pytest.fixture
def place(tmp_path: Path) -> str:
    return str(tmp_path / "shop" / "t")


@pytest.fixture
def aside(tmp_path: Path) -> str:
    return str(tmp_path / "shop" / "v-aside")


def test_a_table_is_removed_with_all_that_lies_below_it(place: str, aside: str) -> None:
    create_table(place, COLUMNS, FIRST)
    (Path(place) / "v-1").mkdir()
    (Path(place) / "v-1" / "a.parquet").write_text("rows")
    assert remove_table(place, table_identity(place), aside)
    assert not Path(place).exists()
    assert not Path(aside).exists()
    assert remove_table(place, "whatever", aside), "a repeat finds nothing"


def test_a_table_that_came_back_meanwhile_stays(place: str, aside: str) -> None:
    create_table(place, COLUMNS, FIRST)
    identity = table_identity(place)
    assert remove_table(place, identity, aside)
    create_table(place, COLUMNS, SECOND)
    assert table_identity(place) != identity
    assert remove_table(place, identity, aside)
    assert table_version(place) == 0
    assert not Path(aside).exists()


def test_what_a_removal_that_died_left_aside_is_removed(place: str, aside: str) -> None:
    create_table(place, COLUMNS, FIRST)
    identity = table_identity(place)
    Path(place).rename(aside)
    (Path(aside) / "_delta_log" / "00000000000000000000.json").unlink()
    create_table(place, COLUMNS, SECOND)
    assert remove_table(place, identity, aside)
    assert not Path(aside).exists()
    assert table_version(place) == 0


def test_a_folder_without_a_table_that_can_be_read_is_removed_if_it_still_is_one(place: str, aside: str) -> None:
    (Path(place) / "_delta_log").mkdir(parents=True)
    (Path(place) / "_delta_log" / "00000000000000000000.json").write_text("nonsense")
    assert table_identity(place) is None
    assert remove_table(place, None, aside)
    assert not Path(place).exists()
    create_table(place, COLUMNS, FIRST)
    assert remove_table(place, None, aside)
    assert table_version(place) == 0


def test_an_object_store_is_left_to_the_engine() -> None:
    assert not remove_table("s3://bucket/t", "id", "s3://bucket/aside")


def test_a_table_is_known_by_the_transaction_that_made_it(place: str) -> None:
    assert identity_if_written_by(place, FIRST) is None
    create_table(place, COLUMNS, FIRST)
    assert identity_if_written_by(place, FIRST) == table_identity(place)
    assert identity_if_written_by(place, SECOND) is None


def test_only_an_empty_folder_is_removed_as_such(place: str) -> None:
    remove_if_empty(place)
    (Path(place) / "_delta_log").mkdir(parents=True)
    remove_if_empty(place)
    assert not Path(place).exists()
    create_table(place, COLUMNS, FIRST)
    remove_if_empty(place)
    assert table_version(place) == 0


def test_a_folder_is_removed_whoever_wrote_it_where_nothing_was(place: str) -> None:
    create_table(place, COLUMNS, FIRST)
    remove_written(place, SECOND)
    assert not Path(place).exists()
    create_table(place, COLUMNS, FIRST)
    remove_folder(place)
    remove_folder(place)
    assert not Path(place).exists()
