"""Whether a table stands as it was recorded."""

import shutil
from pathlib import Path

import pytest

from reconciler.base.errors import RegistryError
from reconciler.delta.removal import table_identity
from reconciler.delta.standing import Recorded, faults_of
from reconciler.delta.tables import clear_table, create_table
from reconciler.engine.stored import ColumnType, Transaction

COLUMNS = (ColumnType("id", "bigint"),)


@pytest.fixture
def table(tmp_path: Path) -> str:
    location = str(tmp_path / "t")
    create_table(location, COLUMNS, Transaction("apply", 1))
    clear_table(location, (*COLUMNS, ColumnType("note", "string")), 0, Transaction("apply", 2))
    return location


def fault(location: str, version: int, identity: str | None) -> str | None:
    return next(faults_of([Recorded(location, version, identity)]), None)


def test_a_table_that_went_on_stands(table: str) -> None:
    known = table_identity(table)
    assert known
    assert [fault(table, version, known) for version in (0, 1)] == [None, None]
    assert fault(table, 1, None) is None


def test_what_is_gone_older_or_another_is_told(table: str) -> None:
    known = table_identity(table)
    assert fault(table, 2, known) == f"the table at {table} ends at version 1, and version 2 was published"
    assert fault(f"{table}2", 0, known) == f"there is no table at {table}2"
    shutil.rmtree(table)
    create_table(table, COLUMNS, Transaction("apply", 1))
    assert fault(table, 0, known) == f"the table at {table} is another one: the one that was published is gone"
    assert fault(table, 0, None) is None


def test_a_commit_that_was_cleaned_up_is_no_fault(table: str) -> None:
    from deltalake import DeltaTable

    known = table_identity(table)
    DeltaTable(table).create_checkpoint()
    for version in (0, 1):
        (Path(table) / f"_delta_log/{version:020d}.json").unlink()
    assert fault(table, 1, known) is None
    assert fault(table, 0, known) is None
    assert fault(table, 1, "of another") is not None


@pytest.mark.parametrize("text", ["", "{", '{"metaData": 1}', '{"metaData": {}}'])
def test_a_first_commit_that_can_not_be_understood_is_left_to_who_opens_the_table(table: str, text: str) -> None:
    known = table_identity(table)
    (Path(table) / f"_delta_log/{0:020d}.json").write_text(text)
    with pytest.raises(RegistryError, match="can't be read"):
        fault(table, 1, known)
