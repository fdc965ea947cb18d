"""Files that nothing needs, and logs that reach as far back as they must, wherever the table is."""

import time

import arro3.core
import pytest
from deltalake import DeltaTable, write_deltalake

from reconciler.base.errors import RegistryError
from reconciler.delta.opening import open_table
from reconciler.delta.publishing import publish
from reconciler.delta.unneeded_files import (
    clean_log,
    keep_log,
    readable_versions,
    remove_empty_folders,
    unneeded_files,
    wants_care,
)
from reconciler.engine.protocol import Transaction
from tests.delta.lakes import Lake

DAY = 86400
LONG_AGO = 0.0
IN_A_WHILE = time.time() + DAY


def rows(*ids: int) -> arro3.core.Table:
    return arro3.core.Table.from_pydict({"id": arro3.core.Array(list(ids), type=arro3.core.DataType.int64())})


def unneeded(place: str, since: int, *versions: int, before: float = LONG_AGO, kept: tuple[str, ...] = ()) -> list[str]:
    return [one.path for one in unneeded_files(place, since, versions, before, kept)]


def of_version(place: str, version: int) -> set[str]:
    return set(DeltaTable(place, version=version).get_add_actions(flatten=True)["path"].to_pylist())


def staged(place: str, folder: str) -> None:
    write_deltalake(f"{place}/{folder}", rows(100))


def data(lake: Lake, place: str) -> set[str]:
    return {path for path in lake.paths(place) if path.endswith(".parquet") and "/" not in path}


def folders(paths: "set[str] | list[str]") -> set[str]:
    return {path.partition("/")[0] for path in paths if "/" in path}


def ten_versions(place: str) -> str:
    """Each replaces the rows of the one before, and version 5 adds to them."""
    for number in range(10):
        mode = "append" if number == 5 else "overwrite"
        write_deltalake(place, rows(number), mode=mode, configuration={"delta.checkpointInterval": "4"})
    return place


class RetentionContract:
    """Inherit, and give the fixtures `lake` and `place`, which has ten versions."""

    def test_what_no_version_that_stays_names_goes(self, lake: Lake, place: str) -> None:
        assert unneeded(place, 0) == []
        for since, versions in ((9, ()), (7, (2,)), (9, (0, 5)), (5, (1, 3))):
            needed = set[str]().union(*(of_version(place, one) for one in (*range(since, 10), *versions)))
            assert set(unneeded(place, since, *versions)) == data(lake, place) - needed
        for path in unneeded(place, 9, 5):
            lake.take(place, path)
        assert DeltaTable(place, version=5).count() == 2
        assert unneeded(place, 9, 5) == []

    def test_what_no_commit_named_goes_once_it_is_old(self, lake: Lake, place: str) -> None:
        lake.put(place, "of-a-writer.parquet", "rows")
        lake.put(place, "notes.txt", "not ours")
        lake.put(place, "_other/x.parquet", "not ours")
        assert unneeded(place, 0) == []
        assert unneeded(place, 0, before=IN_A_WHILE) == ["of-a-writer.parquet"]

    def test_folders_that_were_staged_go_as_a_whole(self, lake: Lake, place: str) -> None:
        published, left, kept = (f"v-{digit * 20}" for digit in "abc")
        staged(place, published)
        publish(place, published, 9, Transaction("t", 1))
        write_deltalake(place, rows(11), mode="overwrite")
        staged(place, left)
        staged(place, kept)
        lake.put(place, "v-of-somebody/x.parquet", "not ours")
        assert unneeded(place, 10) == sorted(data(lake, place) - of_version(place, 11))
        found = unneeded(place, 11)
        assert folders(found) == {published}
        assert any("_delta_log" in path for path in found)
        later = unneeded(place, 11, before=IN_A_WHILE, kept=(kept,))
        assert folders(later) == {published, left}
        for path in later:
            lake.take(place, path)
        remove_empty_folders(place, later)
        assert folders(lake.paths(place)) == {"_delta_log", kept, "v-of-somebody"}

    def test_a_log_is_cleaned_up_behind_what_stays_and_no_further(self, lake: Lake, place: str) -> None:
        before = {number: of_version(place, number) for number in range(10)}
        self._age(lake, place, 100)
        assert wants_care(place, 5)
        keep_log(place, 5)
        version = DeltaTable(place).version()
        keep_log(place, 5)
        assert DeltaTable(place).version() == version, "nothing new is said in no commit"
        clean_log(place, 5)
        assert readable_versions(place, range(10)) == frozenset(range(3, 10))
        assert {number: of_version(place, number) for number in range(3, 10)} == {n: before[n] for n in range(3, 10)}
        for number in range(10, 20):
            write_deltalake(place, rows(number), mode="append")
        assert min(readable_versions(place, range(20))) == 3, "no writer cleans up by itself"
        assert unneeded(place, 9, 5)
        assert not set(unneeded(place, 9, 5)) & (before[5] | before[9])

    def test_a_log_that_is_young_stays(self, lake: Lake, place: str) -> None:
        self._age(lake, place, -2)
        keep_log(place, 9)
        clean_log(place, 9)
        assert readable_versions(place, range(10)) == frozenset(range(10))
        table = open_table(place)
        assert table is not None
        assert table.metadata().configuration["delta.enableExpiredLogCleanup"] == "false"
        assert not wants_care(place, 9)

    def test_a_log_that_does_not_reach_back_is_an_error(self, lake: Lake, place: str) -> None:
        with pytest.raises(RegistryError, match="reach back to version 10"):
            unneeded(place, 10)
        lake.take(place, "_delta_log/00000000000000000008.json")
        with pytest.raises(RegistryError):
            unneeded(place, 5)

    def _age(self, lake: Lake, place: str, days: int) -> None:
        """Commits as if there had been one a day, and the last one so many days ago."""
        for path in lake.paths(place):
            name = path.removeprefix("_delta_log/")
            if name != path and name[:20].isdigit():
                lake.age(place, path, time.time() - (days + 9 - int(name[:20])) * DAY)
