"""Tables that are published again and again: what is remembered of them, and of what is staged, is what their logs say."""

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from reconciler.base.errors import RegistryConflict
from reconciler.delta import overwriting, staged_tables
from reconciler.delta.appending import publish_added
from reconciler.delta.arrow_rows import OpenedTable, plain_table, rows_of
from reconciler.delta.arrow_writes import append, put_table
from reconciler.delta.opening import open_table
from reconciler.delta.publishing import publish
from reconciler.delta.restoring import restore
from reconciler.delta.tables import clear_table, create_table, extend_table
from reconciler.engine.protocol import ColumnType, Transaction


def stage(location: str, folder: str, columns: dict[str, list[Any]]) -> None:
    """Numbers, and moments where a column is named `at`."""
    kinds = {name: "timestamp_ntz" if name == "at" else "long" for name in columns}
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in kinds.items()]
    as_arrow = {"long": pa.int64(), "timestamp_ntz": pa.timestamp("us")}
    rows = pa.table({name: pa.array(values, as_arrow[kinds[name]]) for name, values in columns.items()})
    put_table(f"{location}/{folder}", {"type": "struct", "fields": fields}, rows)


def found(location: str) -> list[dict[str, Any]]:
    table = plain_table(location)
    assert table is not None
    rows = rows_of(table)
    assert rows is not None
    return rows.to_pylist()


def at(number: int, application: str = "p/steps") -> Transaction:
    return Transaction(application, number)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The places whose logs were read to publish."""
    places: list[str] = []

    def noted(read: Callable[..., Any]) -> Callable[..., Any]:
        def noting(location: str, *others: Any) -> Any:
            places.append(location)
            return read(location, *others)

        return noting

    monkeypatch.setattr(overwriting, "open_log", noted(overwriting.open_log))
    monkeypatch.setattr(staged_tables, "open_table", noted(staged_tables.open_table))
    return places


def test_a_table_that_is_published_again_is_not_opened_again(tmp_path: Path, opened: list[str]) -> None:
    place = str(tmp_path / "v")
    for number in range(25):
        stage(place, f"s-{number}", {"a": [number]} if number != 7 else {"a": [7], "b": [None]})
        assert publish(place, f"s-{number}", number - 1 if number else None, at(number)) == number
        assert found(place) == ([{"a": number}] if number != 7 else [{"a": 7, "b": None}])
    assert opened == [place], "once it is there"


def test_what_is_remembered_is_what_the_log_says_whoever_wrote_it(tmp_path: Path, opened: list[str]) -> None:
    place = str(tmp_path / "v")

    def publish_next(number: int, expected: int | None, application: str = "p/steps") -> None:
        folder = f"s-{number}-{expected}"
        stage(place, folder, {"a": [number]})
        publish(place, folder, expected, at(number, application))
        assert found(place) == [{"a": number}]

    publish_next(1, None)
    publish_next(2, 0)
    publish_next(3, 1)
    # Somebody else adds a column, then empties it.
    extend_table(place, (ColumnType("x", "STRING"),), 2, at(1, "p/apply"))
    clear_table(place, (ColumnType("a", "BIGINT"), ColumnType("x", "STRING")), 3, at(2, "p/apply"))
    with pytest.raises(RegistryConflict):
        publish_next(4, 2)
    publish_next(5, 4)
    # An application of which nothing is remembered.
    opened.clear()
    publish_next(1, 5, "p/others")
    assert opened == [place]
    with pytest.raises(RegistryConflict, match="later"):
        publish_next(0, 6, "p/others")
    # A repeat, whatever was remembered.
    assert publish(place, "s-1-5", 5, at(1, "p/others")) == 6


def test_another_table_at_the_same_place_is_another_table(tmp_path: Path) -> None:
    place = str(tmp_path / "v")
    for number in range(3):
        stage(place, f"s-{number}", {"a": [number]})
        publish(place, f"s-{number}", number - 1 if number else None, at(number))
    shutil.rmtree(place)
    for number in range(3):
        stage(place, f"t-{number}", {"b": [number]})
        publish(place, f"t-{number}", number - 1 if number else None, at(number, "p/others"))
    stage(place, "t-3", {"b": [3]})
    publish(place, "t-3", 2, at(3))
    table = open_table(place)
    assert table is not None
    assert found(place) == [{"b": 3}]
    assert [one.name for one in table.schema().fields] == ["b"]


def test_who_was_slower_is_told_so(tmp_path: Path) -> None:
    place = str(tmp_path / "v")
    for number in range(2):
        stage(place, f"s-{number}", {"a": [number]})
        publish(place, f"s-{number}", number - 1 if number else None, at(number))
    # Another process, by what it knows of the log.
    log = Path(place, "_delta_log")
    actions = [json.loads(line) for line in (log / f"{1:020}.json").read_text().splitlines()]
    theirs = [one for one in actions if "txn" not in one and "remove" not in one]
    (log / f"{2:020}.json").write_text("".join(f"{json.dumps(one)}\n" for one in theirs))
    stage(place, "s-2", {"a": [2]})
    with pytest.raises(RegistryConflict):
        publish(place, "s-2", 1, at(2))
    assert open_table(place).version() == 2  # type: ignore[union-attr]


def written_by_others(place: str) -> int:
    """Somebody else's commit; the version that it made."""
    table = open_table(place)
    assert table is not None
    table.create_write_transaction([], "append", table.schema(), [])
    return int(table.version()) + 1


COLUMNS = (ColumnType("a", "BIGINT"),)
MOMENTS = (ColumnType("at", "TIMESTAMP_NTZ"),)


def appended(place: str) -> int:
    table = plain_table(place)
    assert table is not None
    assert isinstance(table, OpenedTable)
    return append(table, pa.table({"a": [5]}), at(9))


def restored(place: str) -> int:
    """To its first version, from the second."""
    table = open_table(place)
    assert table is not None
    if table.version() == 0:
        written_by_others(place)
    return restore(place, 0, 1, at(9))


@pytest.mark.parametrize(
    ("first", "change"),
    [
        (COLUMNS, lambda place: create_table(place, COLUMNS, at(1))),
        # Features of Delta come in a commit of their own.
        (MOMENTS, lambda place: create_table(place, MOMENTS, at(1))),
        (COLUMNS, lambda place: clear_table(place, COLUMNS, 0, at(9))),
        (COLUMNS, lambda place: clear_table(place, MOMENTS, 0, at(9))),
        (COLUMNS, lambda place: extend_table(place, (ColumnType("b", "STRING"),), 0, at(9))),
        (COLUMNS, lambda place: publish(place, "s", 0, at(9))),
        (COLUMNS, lambda place: publish_added(place, "s", at(9))),
        (COLUMNS, appended),
        (COLUMNS, restored),
    ],
)
def test_a_repeat_tells_the_version_that_it_made_whatever_came_after_it(
    first: tuple[ColumnType, ...], change: Callable[[str], int], tmp_path: Path
) -> None:
    place = str(tmp_path / "v")
    create_table(place, first, at(1))
    stage(place, "s", {"a": [1]})
    made = change(place)
    newest = open_table(place)
    assert newest is not None
    assert newest.version() == made
    for _ in range(2):
        assert written_by_others(place) > made
        assert change(place) == made


def test_who_makes_a_table_is_told_of_the_version_that_he_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from deltalake import transaction

    place, create = str(tmp_path / "v"), transaction.create_table_with_add_actions

    def creating(*given: Any, **said: Any) -> None:
        create(*given, **said)
        written_by_others(place)

    monkeypatch.setattr(transaction, "create_table_with_add_actions", creating)
    stage(place, "s", {"a": [1]})
    assert publish(place, "s", None, at(1)) == 0


def test_a_table_gets_the_features_that_its_next_columns_need(tmp_path: Path) -> None:
    place = str(tmp_path / "v")
    create_table(place, MOMENTS, at(1))
    for number, column in enumerate(("VARIANT", "BIGINT", "TIMESTAMP_NTZ", "VARIANT"), start=2):
        table = open_table(place)
        assert table is not None
        clear_table(place, (ColumnType("a", column),), int(table.version()), at(number))
    features = open_table(place).protocol().writer_features  # type: ignore[union-attr]
    assert {"timestampNtz", "variantType"} <= set(features or ())


@pytest.mark.parametrize("seed", range(4))
def test_an_entry_of_ours_says_what_deltalake_says_of_it(seed: int, tmp_path: Path) -> None:
    chosen, place = random.Random(seed), str(tmp_path)
    values = [chosen.choice([None, 0, -5, 2**62]) for _ in range(chosen.choice([0, 1, 9]))]
    stage(place, "s", {"a": values, "größe": values, "at": values if chosen.random() < 0.5 else [None] * len(values)})
    table, read = open_table(f"{place}/s"), staged_tables.staged_table(f"{place}/s", "s")
    assert table is not None
    assert read is not None
    assert read.schema.to_json() == table.schema().to_json()
    by_deltalake = staged_tables.files_of(table, "s")
    told = [[(one.path, one.size, one.partition_values, one.data_change) for one in of] for of in (read.files, by_deltalake)]
    assert told[0] == told[1]
    for ours, theirs in zip(read.files, by_deltalake, strict=True):
        said, known = json.loads(ours.stats), json.loads(theirs.stats)
        assert said["numRecords"] == known["numRecords"] == len(values)
        assert said["nullCount"] == known["nullCount"]
        assert {name: said["minValues"][name] for name in known.get("minValues", {})} == known.get("minValues", {})


@pytest.mark.parametrize(
    "change",
    [
        lambda log: (log / f"{1:020}.json").write_text(json.dumps({"commitInfo": {}}) + "\n"),
        lambda log: replaced(log, "metaData", partitionColumns=["a"]),
        lambda log: replaced(log, "commitInfo", engineInfo="Apache-Spark/4.1.0 Delta-Lake/4.1.0"),
        lambda log: replaced(log, "add", deletionVector={"storageType": "u"}),
        lambda log: replaced(log, "add", path="a%20b.parquet"),
        lambda log: (log / f"{0:020}.json").open("a").write(json.dumps({"remove": {"path": "x"}}) + "\n"),
        lambda log: (log / f"{0:020}.json").open("a").write("{"),
    ],
)
def test_what_is_no_such_entry_is_left_to_deltalake(
    change: Callable[[Path], Any], tmp_path: Path, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stage(str(tmp_path), "s", {"a": [1]})
    change(tmp_path / "s" / "_delta_log")
    monkeypatch.setattr(staged_tables, "open_table", lambda location: opened.append(location))
    assert staged_tables.staged_table(str(tmp_path / "s"), "s") is None
    assert opened == [str(tmp_path / "s")]


def replaced(log: Path, action: str, **said: Any) -> None:
    """Say something else in an action of the first entry."""
    entry = log / f"{0:020}.json"
    lines = [json.loads(line) for line in entry.read_text().splitlines()]
    changed = [{name: {**of, **said} if name == action else of for name, of in one.items()} for one in lines]
    entry.write_text("".join(f"{json.dumps(one)}\n" for one in changed))
