"""A write that the system refuses says what the system said; only a table that somebody else wrote is a conflict. On a disk
that is really full, or may only be read."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reconciler.base.errors import RegistryConflict, RegistryError
from reconciler.delta.copying import copy_files
from reconciler.delta.documents import DocumentTable
from reconciler.delta.histories import HistoryTable
from reconciler.delta.opening import open_table
from reconciler.delta.publishing import publish
from reconciler.delta.restoring import put_back, restore, take_out_rows
from reconciler.delta.tables import clear_table, create_table, extend_table, table_version
from reconciler.delta.unneeded_files import keep_log
from reconciler.delta.writing import require_room
from reconciler.engine.stored import ColumnType, Transaction
from reconciler.registry.delta import DeltaRegistry
from reconciler.registry.model import Controls
from reconciler.state.controls import pause
from tests.delta.test_tables import at, rows, stage
from tests.small_disk import SmallDisk, small_disk

COLUMNS = (ColumnType("id", "BIGINT"),)
MORE = (ColumnType("note", "STRING"),)
LOCAL_TIME = (ColumnType("at", "TIMESTAMP_NTZ"),)
MARK = Transaction("reconcile/step/t.live", 9)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk") as found:
        yield found


@pytest.fixture
def place(disk: SmallDisk) -> str:
    """A table with two versions, [1] and [2], and rows that are staged for a third."""
    location = str(disk.root / "shop" / "t")
    for number in (1, 2, 3):
        stage(location, f"v-{number}", [number])
        if number < 3:
            publish(location, f"v-{number}", None if number == 1 else 0, at(number))
    stage(f"{location}2", "v-4", [4])
    return location


WRITES: dict[str, Callable[[str], object]] = {
    "create": lambda place: create_table(f"{place}2", COLUMNS, at(4)),
    "create with features": lambda place: create_table(f"{place}2", LOCAL_TIME, at(4)),
    "clear": lambda place: clear_table(place, COLUMNS, 1, at(4)),
    "clear with features": lambda place: clear_table(place, LOCAL_TIME, 1, at(4)),
    "extend": lambda place: extend_table(place, MORE, 1, at(4)),
    "publish": lambda place: publish(place, "v-3", 1, at(4)),
    "publish first": lambda place: publish(f"{place}2", "v-4", None, at(4)),
    "restore": lambda place: restore(place, 0, 1, at(4)),
    "put back": lambda place: put_back(place, 0),
    "put back and mark": lambda place: put_back(place, 0, [MARK]),
    "mark": lambda place: put_back(place, 1, [MARK]),
    "take out": lambda place: take_out_rows(place, "id = 2"),
    "take out and mark": lambda place: take_out_rows(place, "id = 2", [MARK]),
    "keep log": lambda place: keep_log(f"{place}/v-3", 0),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
def test_a_full_disk_is_no_conflict_of_a_table(
    write: Callable[[str], object], disk: SmallDisk, place: str, capfd: pytest.CaptureFixture[str]
) -> None:
    disk.fill()
    with pytest.raises(RegistryError) as caught:
        write(place)
    assert not isinstance(caught.value, RegistryConflict), caught.value.message
    assert caught.value.code == "G607"
    assert "No space left on device" in caught.value.message
    assert "free space" in (caught.value.hint or "")
    assert "panicked" not in capfd.readouterr().err
    assert (table_version(place), rows(place)) == (1, [2])
    disk.make_room()
    write(place)


@pytest.mark.parametrize("first", [True, False])
def test_a_full_disk_is_no_conflict_of_a_document(first: bool, disk: SmallDisk, capfd: pytest.CaptureFixture[str]) -> None:
    table = DocumentTable(str(disk.root / "_registry/shop/head"))
    if not first:
        table.replace(None, {"n": 0}, "w0")
    disk.fill()
    with pytest.raises(RegistryError) as caught:
        table.replace(None if first else 0, {"n": 1}, "w1")
    assert not isinstance(caught.value, RegistryConflict)
    assert caught.value.code == "G603"
    assert "No space left on device" in caught.value.message
    assert "panicked" not in capfd.readouterr().err
    disk.make_room()
    assert table.replace(None if first else 0, {"n": 1}, "w1").value == {"n": 1}


@pytest.mark.parametrize("serial", [True, False])
def test_a_full_disk_says_so_of_a_history(serial: bool, disk: SmallDisk, capfd: pytest.CaptureFixture[str]) -> None:
    table = HistoryTable(str(disk.root / "_registry/shop/steps"), ("step",))
    disk.fill()

    def append() -> None:
        if serial:
            table.append_serial([{"step": "1"}], 1)
        else:
            table.append([{"step": "1"}], "batch")

    with pytest.raises(RegistryError) as caught:
        append()
    assert caught.value.code == "G603"
    assert "No space left on device" in caught.value.message
    assert "panicked" not in capfd.readouterr().err
    disk.make_room()
    append()
    append()
    assert table.read() == ({"step": "1"},)


def test_copies_that_find_no_room_say_so(disk: SmallDisk, tmp_path: Path) -> None:
    """From another file system: there are no links to it."""
    source = str(tmp_path / "other/t")
    stage(source, "v-1", [1])
    publish(source, "v-1", None, at(1))
    disk.fill()
    with pytest.raises(RegistryError) as caught:
        copy_files(source, 0, str(disk.root / "t/v-x"))
    assert caught.value.code == "G607"
    assert "No space left on device" in caught.value.message


def test_what_people_ask_for_is_refused_and_not_tried_for_ever(disk: SmallDisk) -> None:
    registry = DeltaRegistry(str(disk.root))
    registry.replace_document("shop", None, Controls(), "w0")
    disk.fill()
    with pytest.raises(RegistryError) as caught:
        pause(registry, "shop", "somebody")
    assert caught.value.code == "G603"


def test_a_file_system_that_may_only_be_read_says_so(disk: SmallDisk, place: str) -> None:
    document = DocumentTable(str(disk.root / "_registry/shop/head"))
    document.replace(None, {"n": 0}, "w0")
    disk.forbid_writing()
    with pytest.raises(RegistryError) as of_a_table:
        publish(place, "v-3", 1, at(4))
    with pytest.raises(RegistryError) as of_a_document:
        document.replace(0, {"n": 1}, "w1")
    assert [one.value.code for one in (of_a_table, of_a_document)] == ["G607", "G603"]
    assert all("Read-only file system" in one.value.message for one in (of_a_table, of_a_document))
    assert document.read() is not None


def test_the_room_that_goes_while_deltalake_writes_is_no_conflict_either(disk: SmallDisk) -> None:
    """Room for a commit was there when it was asked for; a document that needs more than that finds none."""
    from deltalake.exceptions import DeltaError

    from reconciler.delta.writing import writing

    location = str(disk.root / "t")
    create_table(location, COLUMNS, at(1))
    with pytest.raises(RegistryError) as caught, writing(location, 0):
        raise DeltaError("Unable to copy data to file: No space left on device (os error 28)")
    assert caught.value.code == "G607"
    assert "No space left on device" in caught.value.message


class PanicException(BaseException):
    """Named as what deltalake raises when it panics; that class can't be had by name."""


def test_a_panic_of_deltalake_is_an_error(tmp_path: Path) -> None:
    from reconciler.delta.writing import writing

    with pytest.raises(RegistryError, match="called `Result::unwrap"), writing(str(tmp_path / "t"), None):
        raise PanicException("called `Result::unwrap()` on an `Err` value")


def test_who_wrote_first_is_still_told(tmp_path: Path) -> None:
    from deltalake.exceptions import DeltaError

    from reconciler.delta.writing import writing

    location = str(tmp_path / "t")
    create_table(location, COLUMNS, at(1))
    with pytest.raises(RegistryConflict) as caught, writing(location, None, conflict="G604"):
        raise DeltaError("whatever it says")
    assert caught.value.code == "G604"


def test_asking_for_room_leaves_nothing(tmp_path: Path) -> None:
    require_room(str(tmp_path / "a/b/c"), 100_000)
    require_room("s3://nowhere/a", 100_000)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_can_not_be_looked_into_is_not_taken_for_an_absence(tmp_path: Path) -> None:
    """Of a registry, that would be: nothing was ever applied. A link that leads to itself stands for all reasons."""
    (tmp_path / "closed").symlink_to(tmp_path / "closed")
    with pytest.raises(RegistryError) as caught:
        open_table(str(tmp_path / "closed/t"))
    assert caught.value.code == "G602"
    assert "Too many levels of symbolic links" in caught.value.message


def test_where_nothing_is_nothing_is_found(tmp_path: Path) -> None:
    assert open_table(str(tmp_path / "none/t")) is None
    (tmp_path / "file").write_text("")
    assert open_table(str(tmp_path / "file/t")) is None
