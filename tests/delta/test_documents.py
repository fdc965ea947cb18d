"""Documents that this process saw serve it again, and never when they are not the newest any more."""

import os
import shutil
import time
from pathlib import Path

import pytest

from reconciler.base.errors import RegistryConflict, RegistryError
from reconciler.delta.documents import Document, DocumentTable
from reconciler.delta.seen_tables import SeenTables


@pytest.fixture
def location(tmp_path: Path) -> str:
    """A document that was written twice."""
    table = DocumentTable(str(tmp_path / "document"))
    table.replace(table_version(table), {"n": 0}, "w0")
    table.replace(0, {"n": 1}, "w1")
    return table.location


def table_version(table: DocumentTable) -> int | None:
    found = table.read()
    return None if found is None else found.version


def data_files(location: str) -> list[Path]:
    return list(Path(location).glob("*.parquet"))


def test_what_was_seen_is_not_read_again_for_a_minute(location: str) -> None:
    now = [1000.0]
    table = DocumentTable(location, seen=SeenTables(lambda: now[0]))
    assert table.read() == Document(1, {"n": 1})
    for file in data_files(location):
        file.unlink()
    now[0] += 59
    assert table.read() == Document(1, {"n": 1})
    for later in (2, -100):
        now[0] += later
        with pytest.raises(RegistryError) as raised:
            table.read()
        assert raised.value.code == "G602"


def test_what_was_written_is_seen(location: str) -> None:
    table = DocumentTable(location)
    for number in range(2, 60):
        assert table.replace(number - 1, {"n": number}, f"w{number}") == Document(number, {"n": number})
        assert table.read() == Document(number, {"n": number})
    assert DocumentTable(location).read() == Document(59, {"n": 59})


def test_who_changes_what_was_read_changes_no_other_answer(location: str) -> None:
    table = DocumentTable(location)
    for _ in range(3):
        found = table.read()
        assert found is not None
        assert found.value == {"n": 1}
        found.value["n"] = 7  # type: ignore[index]


def test_what_somebody_else_writes_is_seen_at_once(location: str) -> None:
    mine, other = DocumentTable(location), DocumentTable(location)
    for number in range(2, 12):
        assert mine.read() == other.read() == Document(number - 1, {"n": number - 1})
        other.replace(number - 1, {"n": number}, f"w{number}")
        with pytest.raises(RegistryConflict) as raised:
            mine.replace(number - 1, {"n": -1}, "late")
        assert raised.value.code == "G604"
        assert mine.read() == Document(number, {"n": number})


def test_what_is_gone_is_gone(location: str) -> None:
    table = DocumentTable(location)
    assert table.read() is not None
    shutil.rmtree(location)
    assert table.read() is None
    with pytest.raises(RegistryError) as raised:
        table.replace(1, {"n": 2}, "w2")
    assert raised.value.code == "G601"
    assert not Path(location).exists()


@pytest.mark.parametrize("reads", [True, False])
def test_another_table_in_its_place_is_another_document(reads: bool, location: str, tmp_path: Path) -> None:
    table = DocumentTable(location)
    assert table.read() == Document(1, {"n": 1})
    other = DocumentTable(str(tmp_path / "other"))
    other.replace(None, {"other": 0}, "o0")
    other.replace(0, {"other": 1}, "o1")
    shutil.rmtree(location)
    shutil.copytree(other.location, location)
    if reads:
        assert table.read() == Document(1, {"other": 1})
    table.replace(1, {"n": 2}, "w2")
    assert table.read() == DocumentTable(location).read() == Document(2, {"n": 2})


def test_the_log_is_ten_minutes_long(tmp_path: Path) -> None:
    table = DocumentTable(str(tmp_path / "document"))
    for number in range(40):
        table.replace(number - 1 if number else None, {"n": number}, f"w{number}")
    log = tmp_path / "document" / "_delta_log"
    for minutes, numbers in ((11, range(25)), (9, range(25, 40))):
        for number in numbers:
            aged = time.time() - minutes * 60
            os.utime(log / f"{number:020d}.json", (aged, aged))
            checkpoint = log / f"{number:020d}.checkpoint.parquet"
            if checkpoint.exists():
                os.utime(checkpoint, (aged, aged))
    for number in range(40, 52):
        table.replace(number - 1, {"n": number}, f"w{number}")
    entries = [int(one.name[:20]) for one in log.glob("*.json")]
    # From the checkpoint on that comes before.
    assert 19 <= min(entries) <= 25
    assert max(entries) == 51
    assert len(data_files(table.location)) == 52
    # Who read what the log no longer has is told that it was replaced.
    before = DocumentTable(table.location)
    with pytest.raises(RegistryConflict, match="another process wrote"):
        before.replace(3, {"n": -1}, "late")
    assert table.read() == before.read() == Document(51, {"n": 51})
