"""Commits to documents and histories that are made here are to every reader what those of deltalake are."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable, QueryBuilder, write_deltalake

from reconciler.base.errors import RegistryConflict
from reconciler.delta.documents import Document, DocumentTable
from reconciler.delta.histories import HistoryTable
from reconciler.delta.registry_commits import only_file, put_row, put_rows

COLUMNS = ("step", "kind")


def written(location: str, versions: int) -> DocumentTable:
    """A document with so many versions."""
    table = DocumentTable(location)
    for number in range(versions):
        table.replace(number - 1 if number else None, {"n": number}, f"w{number}")
    return table


def said(location: str, version: int) -> dict[str, Any]:
    """What a commit says of itself."""
    lines = (Path(location) / "_delta_log" / f"{version:020}.json").read_text("utf-8").splitlines()
    return next(one["commitInfo"] for one in map(json.loads, lines) if "commitInfo" in one)


def is_made_here(location: str, version: int) -> bool:
    return str(said(location, version)["engineInfo"]).startswith("reconcile/")


def row(step: int, kind: str = "run") -> dict[str, str]:
    return {"step": str(step), "kind": kind}


def steps(history: HistoryTable) -> list[str]:
    return [one["step"] for one in history.read_last(("step",), "step", True, None)]


def test_each_version_of_a_document_is_read_by_deltalake(tmp_path: Path) -> None:
    location = str(tmp_path / "document")
    written(location, 25)
    assert all(is_made_here(location, version) for version in range(1, 25))
    for version in range(25):
        table = DeltaTable(location, version=version)
        rows = QueryBuilder().register("d", table).execute("select document, write_id from d").read_all()
        assert rows["document"].to_pylist() == [f'{{"n":{version}}}']
        assert rows["write_id"].to_pylist() == [f"w{version}"]
    assert said(location, 24)["reconcile.write"] == "w24"
    names = sorted(one.name for one in (tmp_path / "document/_delta_log").glob("*.checkpoint.parquet"))
    assert [int(name[:20]) for name in names] == [10, 20]


def test_a_checkpoint_says_what_the_entries_before_it_say(tmp_path: Path) -> None:
    location = str(tmp_path / "document")
    table = written(location, 24)
    for entry in (tmp_path / "document/_delta_log").glob("*.json"):
        if int(entry.name[:20]) <= 20:
            entry.unlink()
    assert DocumentTable(location).read() == Document(23, {"n": 23})
    assert table.replace(23, {"n": 24}, "w24") == DocumentTable(location).read()
    # Files that were replaced are told until nobody reads them any more, so that a clean-up knows them.
    gone = DeltaTable(location).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=True)
    assert len(gone) == 24


def test_of_two_who_replace_it_one_wins_and_leaves_no_file_of_the_other(tmp_path: Path) -> None:
    location = str(tmp_path / "document")
    mine = written(location, 3)
    DocumentTable(location).replace(2, {"n": "other"}, "o")
    with pytest.raises(RegistryConflict) as raised:
        mine.replace(2, {"n": "mine"}, "m")
    assert raised.value.code == "G604"
    assert mine.read() == Document(3, {"n": "other"})
    assert len(list(Path(location).glob("*.parquet"))) == 4


def test_what_deltalake_wrote_is_replaced_and_the_other_way_round(tmp_path: Path) -> None:
    location = str(tmp_path / "document")
    mine = written(location, 2)
    text = DeltaTable(location).to_pyarrow_table().slice(0, 1)
    write_deltalake(location, text, mode="overwrite")
    with pytest.raises(RegistryConflict):
        mine.replace(1, {"n": 2}, "w2")
    assert mine.replace(2, {"n": 3}, "w3") == DocumentTable(location).read() == Document(3, {"n": 3})
    write_deltalake(location, text, mode="overwrite")
    assert mine.read() == Document(4, {"n": 1})


@pytest.mark.parametrize("name", ["delta.enableChangeDataFeed", "delta.setting.of.tomorrow"])
def test_a_table_that_asks_for_more_is_deltalakes_to_write(name: str, tmp_path: Path) -> None:
    location = str(tmp_path / "document")
    written(location, 2)
    DeltaTable(location).alter.set_table_properties({name: "true"}, raise_if_not_exists=False)
    table = DocumentTable(location)
    assert table.replace(2, {"n": 3}, "w3") == DocumentTable(location).read() == Document(3, {"n": 3})
    assert not is_made_here(location, 3)


def test_rows_of_a_history_come_once_whoever_appends_them(tmp_path: Path) -> None:
    location = str(tmp_path / "steps")
    mine, other = HistoryTable(location, COLUMNS), HistoryTable(location, COLUMNS)
    for number in range(45):
        mine.append([row(number)], f"batch {number}")
        if number % 7 == 0:
            other.append([row(100 + number)], f"other {number}")
        # An answer that was lost.
        mine.append([row(number)], f"batch {number}")
        other.append([row(number - 1)], f"batch {max(number - 1, 0)}")
    assert any(is_made_here(location, version) for version in range(1, 45))
    expected = sorted([str(number) for number in range(45)] + [str(100 + number) for number in range(0, 45, 7)], key=int)
    for history in (mine, other, HistoryTable(location, COLUMNS)):
        assert steps(history) == expected
    names = (tmp_path / "steps/_delta_log").glob("*.checkpoint.parquet")
    assert [int(one.name[:20]) for one in sorted(names)] == [20, 40]


def test_a_serial_history_passes_over_what_it_has_and_stays_few_files(tmp_path: Path) -> None:
    location = str(tmp_path / "steps")
    history = HistoryTable(location, COLUMNS)
    for number in range(1, 106):
        history.append_serial([row(number)], number)
        history.append_serial([row(-1)], number)
    assert steps(history) == steps(HistoryTable(location, COLUMNS)) == [str(number) for number in range(1, 106)]
    assert len(DeltaTable(location).file_uris()) < 20


def test_what_was_read_is_read_anew_after_an_append(tmp_path: Path) -> None:
    history = HistoryTable(str(tmp_path / "steps"), COLUMNS)
    for number in range(5):
        history.append_serial([row(number, "run" if number % 2 else "apply")], number + 1)
        assert steps(history) == [str(one) for one in range(number + 1)]
        assert len(history.read(kind="apply")) == number // 2 + 1


def test_a_column_that_comes_later_is_deltalakes_to_add(tmp_path: Path) -> None:
    location = str(tmp_path / "steps")
    HistoryTable(location, ("step",)).append_serial([{"step": "1"}], 1)
    history = HistoryTable(location, COLUMNS)
    history.append_serial([row(2)], 2)
    history.append_serial([row(3)], 3)
    assert (is_made_here(location, 1), is_made_here(location, 2)) == (False, True)
    # Who does not know the column goes on without it.
    HistoryTable(location, ("step",)).append_serial([{"step": "4"}], 4)
    assert {one["step"]: one["kind"] for one in history.read()} == {"1": "", "2": "run", "3": "run", "4": ""}


def aged(location: str) -> None:
    """Entries and files as if they had been written twenty minutes ago."""
    then = time.time() - 1200
    for file in [*Path(location).glob("*.parquet"), *(Path(location) / "_delta_log").iterdir()]:
        os.utime(file, (then, then))


def test_who_sleeps_before_the_entry_is_put_overtakes_nobody(tmp_path: Path) -> None:
    """The entry that should stand at its place is gone with the old ones."""
    location = str(tmp_path / "document")
    written(location, 20)
    table = DeltaTable(location)
    former = only_file(table)
    assert former is not None
    others = DocumentTable(location)
    for number in range(20, 80):
        if number == 50:
            aged(location)
        others.replace(number - 1, {"n": number}, f"w{number}")
    assert not (tmp_path / f"document/_delta_log/{20:020}.json").exists()
    assert put_row(location, 19, former, {"document": "{}", "write_id": "late"}, {}) is None
    assert not (tmp_path / f"document/_delta_log/{20:020}.json").exists()
    assert DocumentTable(location).read() == others.read() == Document(79, {"n": 79})


def test_a_history_loses_no_row_of_one_who_slept(tmp_path: Path) -> None:
    location = str(tmp_path / "steps")
    history = HistoryTable(location, COLUMNS)
    for number in range(1, 230):
        if number == 198:
            aged(location)
        history.append_serial([row(number)], number)
    entries = sorted(int(one.name[:20]) for one in (tmp_path / "steps/_delta_log").glob("*.json"))
    assert entries[0] > 30
    assert not put_rows(location, 20, [row(-1)], None)
    assert entries == sorted(int(one.name[:20]) for one in (tmp_path / "steps/_delta_log").glob("*.json"))
    assert len(steps(HistoryTable(location, COLUMNS))) == 229


def test_no_rows_are_no_commit(tmp_path: Path) -> None:
    history = HistoryTable(str(tmp_path / "steps"), COLUMNS)
    history.append([row(1)], "one")
    history.append([], "none")
    assert DeltaTable(history.location).version() == 0
