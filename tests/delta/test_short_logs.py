"""What a short log says is what deltalake says of the whole log, whatever happens to the table in between."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reconciler.base.own_folders import remove_left_folders
from reconciler.delta import short_logs
from reconciler.delta.arrow_rows import plain_table, rows_of
from reconciler.delta.log_entries import after_commit, put_entry
from reconciler.delta.opening import open_table
from reconciler.delta.publishing import publish
from reconciler.delta.short_logs import open_log, put_checkpoint
from reconciler.engine.stored import Transaction as OurTransaction


@pytest.fixture
def table(tmp_path: Path) -> Path:
    place = tmp_path / "t"
    write(place)
    DeltaTable(place).create_checkpoint()
    return place


def write(place: Path, mode: str = "overwrite", number: int = 1, serial: int = 1) -> None:
    marks = CommitProperties(app_transactions=[Transaction("writer", serial)])
    schema_mode = "overwrite" if mode == "overwrite" else None
    write_deltalake(place, pa.table({"a": [number]}), mode=mode, commit_properties=marks, schema_mode=schema_mode)


def told(table: DeltaTable | None) -> object:
    """All that is asked of a table's log."""
    if table is None:
        return None
    actions = table.get_add_actions(flatten=False)
    files = sorted(zip(*(actions[name].to_pylist() for name in ("path", "size_bytes")), strict=True))
    metadata = table.metadata()
    return (
        table.version(),
        files,
        table.schema().to_json(),
        table.protocol(),
        (metadata.id, metadata.configuration),
        table.transaction_version("writer"),
    )


def is_short(table: DeltaTable | None) -> bool:
    return table is not None and "reconcile-log-" in table.table_uri


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.sampled_from(["overwrite", "append", "checkpoint", "ours", "setting", "again", "column", "hint lost", "look"]),
        min_size=1,
        max_size=14,
    )
)
def test_it_says_what_the_whole_log_says(tmp_path_factory: pytest.TempPathFactory, happens: list[str]) -> None:
    says_what_the_whole_log_says(tmp_path_factory, happens)


@pytest.mark.slow
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.sampled_from(["overwrite", "append", "checkpoint", "ours", "setting", "again", "column", "hint lost", "look"]),
        min_size=1,
        max_size=14,
    )
)
def test_it_says_what_the_whole_log_says_in_many_more_cases(
    tmp_path_factory: pytest.TempPathFactory, happens: list[str]
) -> None:
    says_what_the_whole_log_says(tmp_path_factory, happens)


def says_what_the_whole_log_says(tmp_path_factory: pytest.TempPathFactory, happens: list[str]) -> None:
    place = tmp_path_factory.mktemp("lake") / "t"
    write(place)
    for serial, what in enumerate(happens, 2):
        match what:
            case "overwrite":
                write(place, what, serial, serial)
            case "append" if "column" not in happens:
                write(place, what, serial, serial)
            case "checkpoint":
                DeltaTable(place).create_checkpoint()
            case "ours":
                put_checkpoint(str(place), DeltaTable(place).version())
            case "setting":
                DeltaTable(place).alter.set_table_properties({"delta.checkpointInterval": str(serial + 1)})
            case "again":
                shutil.rmtree(place)
                write(place, number=serial)
            case "column":
                write_deltalake(place, pa.table({"b": ["x"]}), mode="overwrite", schema_mode="overwrite")
            case "hint lost":
                (place / "_delta_log" / "_last_checkpoint").unlink(missing_ok=True)
        newest = open_table(str(place))
        assert newest is not None
        assert told(open_log(str(place))) == told(newest)
        for version in range(max(0, newest.version() - 2), newest.version() + 1):
            assert told(open_log(str(place), version)) == told(open_table(str(place), version))


def test_it_reads_no_whole_log(table: Path) -> None:
    write(table, number=2)
    opened = open_log(str(table))
    assert is_short(opened)
    assert opened is open_log(f"file://{table}")
    write(table, "append", 3)
    assert open_log(str(table)).version() == 2  # type: ignore[union-attr]
    # What was opened stays what it was.
    assert opened.version() == 1  # type: ignore[union-attr]


def test_names_of_replaced_files_are_left_out(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(short_logs, "_LARGE", 0)
    for number in range(5):
        write(table, number=number, serial=number)
    DeltaTable(table).create_checkpoint()
    opened = open_log(str(table))
    assert is_short(opened)
    assert told(opened) == told(open_table(str(table)))
    (short,) = Path(opened.table_uri.removeprefix("file://")).rglob("*.checkpoint.parquet")  # type: ignore[union-attr]
    assert not short.is_symlink()
    assert os.path.getsize(short) < os.path.getsize(table / "_delta_log" / short.name)


@pytest.mark.parametrize("hint", ["", "{}", "[]", '{"version":"x"}', '{"version":7}', '{"version":0,"parts":2}'])
def test_what_is_not_as_it_mostly_is_is_opened_as_ever(table: Path, hint: str) -> None:
    write(table, number=2)
    (table / "_delta_log" / "_last_checkpoint").write_text(hint)
    found = open_log(str(table))
    assert not is_short(found)
    assert found is not None
    assert found.version() == 1


def test_a_log_that_was_cleaned_up_behind_an_old_hint_is_opened_as_ever(table: Path) -> None:
    hint = (table / "_delta_log" / "_last_checkpoint").read_bytes()
    for number in range(4):
        write(table, number=number)
    DeltaTable(table).create_checkpoint()
    (table / "_delta_log" / "_last_checkpoint").write_bytes(hint)
    for version in range(4):
        (table / "_delta_log" / f"{version:020d}.json").unlink()
    found = open_log(str(table))
    assert not is_short(found)
    assert found is not None
    assert found.version() == 4


def test_a_half_written_entry_is_told_as_ever(table: Path) -> None:
    (table / "_delta_log" / f"{1:020d}.json").write_text('{"add":')
    for look in (open_log, open_table):
        with pytest.raises(Exception, match="can't be read"):
            look(str(table))


def test_there_may_be_no_room_for_it(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(table / "nowhere"))
    found = open_log(str(table))
    assert found is not None
    assert not is_short(found)
    assert not put_checkpoint(str(table), 0)


def test_no_folder_stays(table: Path) -> None:
    code = (
        "import sys, tempfile; from reconciler.delta.short_logs import open_log\n"
        "tempfile.tempdir = sys.argv[2]; assert 'reconcile-log-' in open_log(sys.argv[1]).table_uri"
    )
    folder = table.parent / "scratch"
    folder.mkdir()
    subprocess.run([sys.executable, "-c", code, str(table), str(folder)], check=True)
    assert list(folder.iterdir()) == []


def test_a_checkpoint_is_the_one_that_deltalake_makes(table: Path) -> None:
    for number in range(6):
        write(table, number=number, serial=number)
    copied = table.parent / "copied"
    shutil.copytree(table, copied)
    DeltaTable(copied).create_checkpoint()
    assert put_checkpoint(str(table), 6)
    name = f"{6:020d}.checkpoint.parquet"
    ours, theirs = (pa.parquet.read_table(place / "_delta_log" / name) for place in (table, copied))
    assert ours.schema == theirs.schema
    rows = [sorted(json.dumps(row, sort_keys=True, default=str) for row in one.to_pylist()) for one in (ours, theirs)]
    assert rows[0] == rows[1]
    hints = [json.loads((place / "_delta_log" / "_last_checkpoint").read_bytes()) for place in (table, copied)]
    assert {**hints[0], "sizeInBytes": 0} == {**hints[1], "sizeInBytes": 0}
    assert [one for one in os.listdir(table / "_delta_log") if one.startswith(".")] == []
    assert not put_checkpoint(str(table), 6)


def test_later_checkpoints_are_taken(table: Path) -> None:
    """After very many steps of one process it does not look at all entries since its first look."""
    for version in range(1, 131):
        assert put_entry(str(table), version, {"operation": "TEST"}, [])
        after_commit(str(table), version, {"delta.enableExpiredLogCleanup": "false"})
        found = open_log(str(table))
        assert found is not None
        assert found.version() == version
        folder = Path(found.table_uri.removeprefix("file://")) / "_delta_log"
        assert len(list(folder.iterdir())) < 60
    assert told(found) == told(open_table(str(table)))


def test_a_view_is_published_without_a_listing(table: Path) -> None:
    """The entry says what deltalake would, and readers read it."""
    by_deltalake = table.parent / "by_deltalake"
    write(by_deltalake)
    for place in (table, by_deltalake):
        write_deltalake(place, pa.table({"a": [5, 6]}), mode="append")
        write_deltalake(place / "v-1", pa.table({"a": [1], "b": ["x"]}))
    DeltaTable(by_deltalake).alter.set_table_properties({"owner": "somebody"}, raise_if_not_exists=False)
    told_of_itself = {"step": 7}
    first = publish(str(table), "v-1", 1, OurTransaction("writer", 9), commit=told_of_itself)
    second = publish(str(by_deltalake), "v-1", 2, OurTransaction("writer", 9), commit=told_of_itself)
    assert (first, second) == (2, 3)
    ours, theirs = _entry(table, first), _entry(by_deltalake, second)
    assert "reconcile" in ours["commitInfo"][0]["engineInfo"]
    assert "reconcile" not in str(theirs["commitInfo"][0].get("engineInfo"))
    for name in ("operation", "userMetadata", "reconcile.transaction"):
        assert ours["commitInfo"][0][name] == theirs["commitInfo"][0][name]
    assert [len(ours[kind]) for kind in ("txn", "metaData", "add", "remove")] == [1, 1, 1, 2]
    assert sorted(ours) == sorted(theirs)
    assert json.loads(ours["metaData"][0]["schemaString"]) == json.loads(theirs["metaData"][0]["schemaString"])
    for name in ("partitionValues", "size", "dataChange"):
        assert ours["add"][0][name] == theirs["add"][0][name]
    assert json.loads(ours["add"][0]["stats"]) == json.loads(theirs["add"][0]["stats"])
    assert {one["dataChange"] for one in ours["remove"]} == {one["dataChange"] for one in theirs["remove"]}
    found = plain_table(str(table))
    assert found is not None
    rows = rows_of(found)
    assert rows is not None
    assert rows.to_pylist() == [{"a": 1, "b": "x"}] == DeltaTable(table).to_pyarrow_table().to_pylist()
    # A repeat finds it.
    assert publish(str(table), "v-1", 1, OurTransaction("writer", 9)) == 2


def _entry(place: Path, version: int) -> dict[str, list[dict[str, object]]]:
    found: dict[str, list[dict[str, object]]] = {}
    for line in (place / "_delta_log" / f"{version:020d}.json").read_text().splitlines():
        for kind, value in json.loads(line).items():
            found.setdefault(kind, []).append(value)
    return found


def test_folders_of_processes_that_are_no_more_go(tmp_path: Path) -> None:
    dead = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True, check=True
    )
    here = os.stat("/proc/self/ns/pid").st_ino
    names = {
        f"reconcile-log-{here}-{dead.stdout.strip()}-left": False,
        f"reconcile-answer-{here}-{dead.stdout.strip()}-left": False,
        f"reconcile-log-{here}-{dead.stdout.strip()}-new": True,
        f"reconcile-log-{here}-{os.getpid()}-mine": True,
        f"reconcile-log-{here + 1}-{dead.stdout.strip()}-of-others": True,
        "reconcile-log-abc": True,
        "another": True,
    }
    for name in names:
        (tmp_path / name / "_delta_log").mkdir(parents=True)
        if not name.endswith("new"):
            os.utime(tmp_path / name, (0, 0))
    remove_left_folders(str(tmp_path), time.time())
    assert {name: (tmp_path / name).exists() for name in names} == names
