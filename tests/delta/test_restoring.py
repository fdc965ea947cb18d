"""Tables put back without a JVM: what a writer that was taken over left goes, and what it still does is barred."""

from pathlib import Path

import pytest
from deltalake import CommitProperties, write_deltalake
from deltalake import Transaction as DeltaTransaction
from deltalake.exceptions import DeltaError

from reconciler.base.errors import EngineError, RegistryConflict
from reconciler.delta.opening import open_table
from reconciler.delta.publishing import publish
from reconciler.delta.restoring import put_back, require_version, restore, take_out_rows
from reconciler.delta.tables import table_version
from reconciler.engine.stored import Transaction
from tests.delta.test_tables import at, rows, stage


@pytest.fixture
def place(tmp_path: Path) -> str:
    """A table with two versions: [1], then [2]."""
    location = str(tmp_path / "shop" / "t")
    for number in (1, 2):
        stage(location, f"v-{number}", [number])
        publish(location, f"v-{number}", None if number == 1 else 0, at(number))
    return location


def append(location: str, value: int, transaction: Transaction | None, table: object = None) -> None:
    import arro3.core

    values = arro3.core.Array([value], type=arro3.core.DataType.int64())
    marks = [DeltaTransaction(transaction.application, transaction.version)] if transaction else None
    write_deltalake(
        table or location,  # type: ignore[arg-type]
        arro3.core.Table.from_pydict({"id": values}),
        mode="append",
        commit_properties=CommitProperties(app_transactions=marks),
    )


def test_a_table_is_put_back_and_later_writes_follow(place: str) -> None:
    put_back(place, 0)
    assert rows(place) == [1]
    version = table_version(place)
    put_back(place, version or 0)
    assert table_version(place) == version
    stage(place, "v-3", [3])
    publish(place, "v-3", version, at(3))
    assert rows(place) == [3]


def test_where_there_is_no_table_nothing_is_put_back(tmp_path: Path) -> None:
    put_back(str(tmp_path / "none"), 3, [at(1)])
    take_out_rows(str(tmp_path / "none"), "id = 1", [at(1)])
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("landed", [False, True])
def test_a_writer_that_is_marked_can_neither_commit_nor_begin_again(place: str, landed: bool) -> None:
    mark = Transaction("reconcile/step/t.live", 9)
    late = open_table(place)
    if landed:
        append(place, 77, mark)
    put_back(place, 1, [mark])
    assert rows(place) == [2]
    with pytest.raises(DeltaError):
        append(place, 78, mark, late)
    now = open_table(place)
    assert now is not None
    assert now.transaction_version(mark.application) == mark.version
    assert rows(place) == [2]


def test_a_late_publication_under_a_mark_is_taken_for_done(place: str) -> None:
    put_back(place, 1, [at(3)])
    stage(place, "v-3", [3])
    publish(place, "v-3", 1, at(3))
    assert rows(place) == [2]
    publish(place, "v-3", table_version(place), at(4))
    with pytest.raises(RegistryConflict):
        publish(place, "v-3", table_version(place), at(3))


def test_putting_back_twice_gives_the_same_rows(place: str) -> None:
    for _ in range(2):
        put_back(place, 0, [at(3)])
        assert rows(place) == [1]


def test_rows_are_taken_out_and_their_writer_is_barred(place: str) -> None:
    late = open_table(place)
    append(place, 5, at(3))
    take_out_rows(place, "id = 5", [at(3)])
    assert rows(place) == [2]
    take_out_rows(place, "id = 5", [at(3)])
    take_out_rows(place, "id = 2")
    assert rows(place) == []
    with pytest.raises(DeltaError):
        append(place, 6, at(3), late)


def test_a_restore_is_one_commit_and_a_repeat_none(place: str) -> None:
    assert restore(place, 0, 1, at(3)) == 2
    assert restore(place, 0, 1, at(3)) == 2
    assert rows(place) == [1]
    with pytest.raises(RegistryConflict):
        restore(place, 0, 1, at(4))
    assert restore(place, 2, 2, at(4)) == 2


def test_a_version_whose_files_are_gone_is_named(place: str) -> None:
    require_version(place, 0)
    for file in Path(place, "v-1").glob("*.parquet"):
        file.unlink()
    for version, why in ((0, "a vacuum"), (9, "version 9")):
        with pytest.raises(EngineError) as caught:
            require_version(place, version)
        assert caught.value.code == "X730"
        assert why in caught.value.message
    with pytest.raises(EngineError):
        restore(place, 0, 1, at(3))
    assert rows(place) == [2]
