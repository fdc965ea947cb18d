"""Files that nothing needs, and logs that reach as far back as they must."""

import os
import time
from pathlib import Path

import arro3.core
import pytest
from deltalake import DeltaTable, write_deltalake

from reconciler.delta.opening import open_table
from reconciler.delta.retention import (
    clean_log,
    keep_log,
    readable_versions,
    remove_empty_folders,
    unneeded_files,
    wants_care,
)
from reconciler.delta.tables import publish
from reconciler.engine.protocol import Transaction

DAY = 86400
LONG_AGO = 0.0
IN_A_WHILE = time.time() + DAY


def rows(*ids: int) -> arro3.core.Table:
    return arro3.core.Table.from_pydict({"id": arro3.core.Array(list(ids), type=arro3.core.DataType.int64())})


@pytest.fixture(params=["t", "with a space and ü"])
def place(tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """Ten versions; each replaces the rows of the one before, and version 5 adds to them."""
    place = str(tmp_path / request.param)
    for number in range(10):
        mode = "append" if number == 5 else "overwrite"
        write_deltalake(place, rows(number), mode=mode, configuration={"delta.checkpointInterval": "4"})
    return place


def paths(place: str, since: int, *versions: int, before: float = LONG_AGO, kept: tuple[str, ...] = ()) -> list[str]:
    return [one.path for one in unneeded_files(place, since, versions, before, kept)]


def of_version(place: str, version: int) -> set[str]:
    return set(DeltaTable(place, version=version).get_add_actions(flatten=True)["path"].to_pylist())


def names(place: str) -> set[str]:
    return {path.name for path in Path(place).glob("*.parquet")}


def test_what_no_version_that_stays_names_goes(place: str) -> None:
    assert paths(place, 0) == []
    for since, versions in ((9, ()), (7, (2,)), (9, (0, 5)), (5, (1, 3))):
        needed = set[str]().union(*(of_version(place, one) for one in (*range(since, 10), *versions)))
        assert set(paths(place, since, *versions)) == names(place) - needed
    for path in paths(place, 9, 5):
        Path(place, path).unlink()
    assert DeltaTable(place, version=5).count() == 2
    assert paths(place, 9, 5) == []


def test_what_no_commit_named_goes_once_it_is_old(place: str) -> None:
    Path(place, "of-a-writer.parquet").write_text("rows")
    Path(place, "notes.txt").write_text("not ours")
    Path(place, "_other").mkdir()
    Path(place, "_other/x.parquet").write_text("not ours")
    assert paths(place, 0) == []
    assert paths(place, 0, before=IN_A_WHILE) == ["of-a-writer.parquet"]


def staged(place: str, folder: str) -> None:
    write_deltalake(f"{place}/{folder}", rows(100))


def test_folders_that_were_staged_go_as_a_whole(place: str) -> None:
    published, left, kept = (f"v-{digit * 20}" for digit in "abc")
    staged(place, published)
    publish(place, published, 9, Transaction("t", 1))
    write_deltalake(place, rows(11), mode="overwrite")
    staged(place, left)
    staged(place, kept)
    Path(place, "v-of-somebody").mkdir()
    Path(place, "v-of-somebody/x.parquet").write_text("not ours")
    assert paths(place, 10) == sorted(names(place) - of_version(place, 11))
    found = paths(place, 11)
    assert {Path(path).parts[0] for path in found if "/" in path} == {published}
    assert any("_delta_log" in path for path in found)
    later = paths(place, 11, before=IN_A_WHILE, kept=(kept,))
    assert {Path(path).parts[0] for path in later if "/" in path} == {published, left}
    for path in later:
        Path(place, path).unlink()
    remove_empty_folders(place, later)
    assert {path.name for path in Path(place).glob("v-*")} == {kept, "v-of-somebody"}


def age(place: str, days: int) -> None:
    """Commits as if there had been one a day, and the last one so many days ago."""
    for path in Path(place, "_delta_log").iterdir():
        if path.name[:20].isdigit():
            moment = time.time() - (days + 9 - int(path.name[:20])) * DAY
            os.utime(path, (moment, moment))


def test_a_log_is_cleaned_up_behind_what_stays_and_no_further(place: str) -> None:
    before = {number: of_version(place, number) for number in range(10)}
    age(place, 100)
    assert wants_care(place, 5)
    keep_log(place, 5)
    version = DeltaTable(place).version()
    keep_log(place, 5)
    assert DeltaTable(place).version() == version, "nothing new is said in no commit"
    clean_log(place, 5)
    assert readable_versions(place, range(10)) == frozenset(range(3, 10))
    assert {number: of_version(place, number) for number in range(3, 10)} == {n: before[n] for n in range(3, 10)}
    for number in range(10, 40):
        write_deltalake(place, rows(number), mode="append")
    assert min(readable_versions(place, range(40))) == 3, "no writer cleans up by itself"
    assert paths(place, 9, 5)
    assert not set(paths(place, 9, 5)) & (before[5] | before[9])


def test_a_log_that_is_young_stays(place: str) -> None:
    age(place, -2)
    keep_log(place, 9)
    clean_log(place, 9)
    assert readable_versions(place, range(10)) == frozenset(range(10))
    table = open_table(place)
    assert table is not None
    assert table.metadata().configuration["delta.enableExpiredLogCleanup"] == "false"
    assert not wants_care(place, 9)
