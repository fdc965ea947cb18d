"""Outputs to files on Spark: what they hold, how many calls they take, and what stops them."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import BinaryType, StructField, StructType

from reconciler.base.errors import EngineError
from reconciler.engine.spark.commit_log import latest_version
from reconciler.engine.spark.emit.files import told_of_others
from reconciler.engine.spark.emit.messages import require_writable
from reconciler.engine.spark.locations import HadoopFolder
from tests.engine.emissions import Meanwhile, Sink, Versions, endings, folders, lines, to_files
from tests.engine.java_calls import calls_into_java
from tests.small_disk import small_disk

pytestmark = pytest.mark.spark


@contextmanager
def told_to_spark(name: str, value: str) -> Iterator[None]:
    """A setting that the process's Spark was told when it began. It has begun by then."""
    session = SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
    settings = session.sparkContext._jsc.sc().conf()
    settings.set(name, value)
    try:
        yield
    finally:
        settings.remove(name)


@pytest.mark.parametrize(
    ("name", "config", "first", "second", "counts"),
    [
        (
            "json",
            {"update_format": "insert_delete"},
            ['{"insert":{"id":0,"n":null}}', '{"insert":{"id":1,"n":null}}'],
            ['{"delete":{"id":0,"n":null}}', '{"insert":{"id":2,"n":null}}'],
            (1, 1, 0),
        ),
        ("json", {"update_format": "raw"}, ['{"id":0,"n":null}', '{"id":1,"n":null}'], ['{"id":2,"n":null}'], (1, 0, 1)),
        pytest.param("csv", {"header": False, "delimiter": ";"}, ["0;", "1;"], ["2;"], (1, 0, 1), marks=pytest.mark.slow),
        ("csv", {}, ["0,", "1,", "id,n", "id,n"], ["2,", "id,n"], (1, 0, 1)),
    ],
)
def test_files_hold_what_changed(
    versions: Versions, name: str, config: Any, first: list[str], second: list[str], counts: tuple[int, int, int]
) -> None:
    out = versions.folder / "out"
    one = "SELECT id, CAST(NULL AS STRING) AS n FROM range(2)"
    other = "SELECT id, CAST(NULL AS STRING) AS n FROM range(1, 3)"
    versions.engine.emit(to_files(versions.emission(None, one), out, name, **config))
    emitted = versions.engine.emit(to_files(versions.emission(one, other, 2), out, name, **config))
    assert (emitted.inserted, emitted.deleted, emitted.dropped) == counts
    made = folders(out)
    assert [folder.name[:20] for folder in made] == [f"{1:020d}", f"{2:020d}"]
    assert [sorted(set(lines(folder))) for folder in made] == [sorted(set(first)), sorted(set(second))]
    assert [endings(folder) for folder in made] == [{f".{name}"}] * 2
    marker = json.loads((made[1] / "_SUCCESS").read_text())
    assert (marker["inserted"], marker["emission"]) == (1, "2 by us")


def test_a_sink_of_many_emissions_is_listed_in_few_calls(versions: Versions, sink: Sink) -> None:
    """Each call into Java takes as long as a hundred entries of a folder."""
    made = [sink.emission(versions.emission(None, f"SELECT {n} AS a", n)) for n in (1, 2_001)]
    versions.engine.emit(made[0])
    (first,) = folders(sink.path)
    for serial in range(2, 2_001):
        (sink.path / f"{serial:020d}{first.name[20:]}").mkdir()
        (sink.path / f".{serial:020d}{first.name[20:29]}-taken").touch()
    with calls_into_java() as calls:
        versions.engine.emit(made[1])
    assert len(calls) < 1_000


def test_a_log_with_many_entries_is_listed_in_few_calls(versions: Versions, tmp_path: Path) -> None:
    """Each write to a table in a store looks for the newest commits."""
    log = tmp_path / "t" / "_delta_log"
    log.mkdir(parents=True)
    for version in range(500):
        (log / f"{version:020d}.json").touch()
        (log / f"{version:020d}.crc").touch()
    # Spark runs from then on.
    versions.emission(None, "SELECT 1 AS a")
    session = SparkSession.active().newSession()
    session.conf.set("fs.viewfs.mounttable.tests.link./t", (tmp_path / "t").as_uri())
    there, empty = HadoopFolder(session, "viewfs://tests/t"), HadoopFolder(session, "viewfs://tests/t/_delta_log")
    with calls_into_java() as calls:
        assert latest_version(there) == 499
        assert latest_version(empty) is None
    assert len(calls) < 200


def test_a_file_in_the_place_of_a_folder_stays_and_is_told(versions: Versions, tmp_path: Path) -> None:
    sink = Sink(tmp_path / "out", mounted=False)
    first = sink.emission(versions.emission(None, "SELECT 1 AS a"))
    versions.engine.emit(first)
    (folder,) = folders(sink.path)
    shutil.rmtree(folder)
    folder.write_text("of somebody else")

    with pytest.raises(EngineError) as caught:
        versions.engine.emit(first)

    assert caught.value.code == "X700"
    assert caught.value.message == f"connector v.lake: {folder}: Not a directory"
    assert folder.read_text() == "of somebody else"


@pytest.mark.parametrize(
    ("is_full", "code", "says"), [(True, "X709", "No space left"), (False, "X700", "Read-only file system")]
)
def test_a_disk_that_takes_nothing_more_is_told_and_the_emission_goes_out_later(
    versions: Versions, sink: Sink, is_full: bool, code: str, says: str
) -> None:
    """Right when it is to be settled whose folder counts. Nothing that is left there stands in the way."""
    with small_disk(sink.path) as disk:
        made = sink.emission(versions.emission(None, "SELECT id FROM range(3)"), update_format="raw")
        meanwhile = Meanwhile()
        meanwhile.acts_at = 3
        meanwhile.act = disk.fill if is_full else disk.forbid_writing
        with pytest.raises(EngineError) as caught:
            versions.engine.emit(replace(made, warehouses=meanwhile))
        assert (caught.value.code, says in caught.value.message) == (code, True), caught.value.message
        assert sink.complete() == []
        assert not is_full or [one.name for one in sink.path.iterdir()] == [".filler"]
        if is_full:
            disk.make_room()
        else:
            disk.allow_writing()

        assert not versions.engine.emit(made).reused
        (complete,) = [one for one in folders(sink.path) if (one / "_SUCCESS").exists()]
        assert lines(complete) == ['{"id":0}', '{"id":1}', '{"id":2}']


def test_a_file_of_ours_that_can_not_be_read_is_named(versions: Versions, tmp_path: Path) -> None:
    """An earlier version was killed while it wrote it."""
    sink = Sink(tmp_path / "out", mounted=True)
    first = sink.emission(versions.emission(None, "SELECT 1 AS a"))
    versions.engine.emit(first)
    (taken,) = sink.path.glob(".*-taken")
    (folder,) = folders(sink.path)
    for cut in ("", '{"deleted":0,', "[]", "{}"):
        (sink.path / f".{taken.name}.crc").unlink(missing_ok=True)
        taken.write_text(cut)
        with pytest.raises(EngineError) as caught:
            versions.engine.emit(first)
        assert caught.value.code == "X700"
        assert taken.name in caught.value.message
        assert "delete it" in str(caught.value.hint)
    # Another emission goes out, and leaves it.
    (sink.path / f"{folder.name[:-8]}deadbeef").mkdir()
    versions.engine.emit(sink.emission(versions.emission(None, "SELECT 2 AS a", 2)))
    assert len(folders(sink.path)) == 3
    shutil.rmtree(folders(sink.path)[-1])
    for later in sink.path.glob(f".{2:020d}*"):
        later.unlink()
    taken.unlink()
    (folder / "_SUCCESS").unlink()
    assert not versions.engine.emit(first).reused


def test_a_try_that_fails_leaves_no_rows(versions: Versions, sink: Sink) -> None:
    """A disk that is short of room is not filled by them."""
    made = sink.emission(versions.emission(None, "SELECT 1 AS a"))

    def refuse() -> None:
        raise EngineError("X755", "the sink lies in a warehouse now")

    meanwhile = Meanwhile()
    meanwhile.acts_at = 3
    meanwhile.act = refuse
    for _ in range(2):
        meanwhile.looks = 0
        with pytest.raises(EngineError, match="in a warehouse now"):
            versions.engine.emit(replace(made, warehouses=meanwhile))
        assert meanwhile.looks == 3
        assert list(sink.path.iterdir()) == []
    assert not versions.engine.emit(made).reused


def test_each_file_of_csv_has_its_header(versions: Versions, tmp_path: Path) -> None:
    """However many rows a file may have."""
    sink = Sink(tmp_path / "out", mounted=False)
    made = sink.emission(versions.emission(None, "SELECT id FROM range(0, 5, 1, 1)"), "csv")
    with told_to_spark("spark.sql.files.maxRecordsPerFile", "2"):
        versions.engine.emit(made)
    (folder,) = folders(sink.path)
    parts = [part.read_text().splitlines() for part in folder.glob("part-*")]
    assert [part[0] for part in parts] == ["id"] * len(parts)
    assert sum(len(part) - 1 for part in parts) == 5


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/out", "File file:/out/.1-a/part-0 does not exist"),
        ("s3://b/out", "java.io.FileNotFoundException: No such file or directory: s3a://b/out/1-a"),
    ],
)
def test_a_failure_that_looks_like_another_hand_in_the_folder_says_what_to_do(path: str, message: str) -> None:
    with pytest.raises(EngineError) as caught, told_of_others(path):
        raise EngineError("X700", message)
    assert caught.value.hint is not None
    assert "the folder belongs to this output alone" in caught.value.hint
    for elsewhere in ("division by zero", "File file:/wh/v/part-0 does not exist", "Bucket c does not exist"):
        with pytest.raises(EngineError) as other, told_of_others(path):
            raise EngineError("X700", elsewhere)
        assert other.value.hint is None


@pytest.mark.parametrize(("update_format", "is_written"), [("insert_delete", False), ("debezium", False), ("raw", True)])
def test_of_rows_that_went_bytes_are_refused_where_they_would_be_written(
    versions: Versions, tmp_path: Path, update_format: str, is_written: bool
) -> None:
    """The view had other columns then. What it holds now is no way out of that."""
    made = versions.emission("SELECT 1 AS a, X'00FF' AS b", "SELECT 1 AS a")
    emission = Sink(tmp_path / "out", mounted=False).emission(made, update_format=update_format)
    if is_written:
        assert versions.engine.emit(emission).dropped == 1
        return
    with pytest.raises(EngineError) as caught:
        versions.engine.emit(emission)
    assert caught.value.code == "X716"
    assert caught.value.message == "connector v.lake: of deleted rows: JSON has no form for the bytes of column b"
    assert "connector seek" in str(caught.value.hint)


def test_bytes_are_told_only_what_an_output_can_do() -> None:
    """Only files can be Parquet."""
    schema = StructType([StructField("b", BinaryType())])
    hints = []
    for otherwise in ("", "write parquet"):
        with pytest.raises(EngineError) as caught:
            require_writable(schema, "connector v.topic", "JSON", otherwise)
        hints.append(str(caught.value.hint))
    assert ["parquet" in hint for hint in hints] == [False, True]


def test_a_sink_of_files_is_emptied_and_others_files_stay(versions: Versions) -> None:
    out = versions.folder / "out"
    versions.engine.emit(to_files(versions.emission(None, "SELECT 1 AS a"), out, "parquet"))
    (out / "notes").mkdir()
    versions.engine.emit(to_files(replace(versions.emission(None, "SELECT 2 AS a", 2), replaces=True), out, "parquet"))
    assert [folder.name[:20] for folder in folders(out)] == [f"{2:020d}", "notes"]


def test_nothing_that_changed_is_no_folder(versions: Versions) -> None:
    out = versions.folder / "out"
    emitted = versions.engine.emit(to_files(versions.emission("SELECT 1 AS a", "SELECT 1 AS a"), out, "json"))
    assert (emitted.inserted, emitted.deleted) == (0, 0)
    assert not out.exists()


def test_files_within_a_warehouse_are_refused(versions: Versions) -> None:
    """By a link on the way, and by one in the place of the folder that comes next."""
    (versions.folder / "wh" / "_registry" / "pipelines" / "_delta_log").mkdir(parents=True)
    (versions.folder / "link").symlink_to(versions.folder / "wh")
    made = versions.emission(None, "SELECT 1 AS a")
    with pytest.raises(EngineError) as caught:
        versions.engine.emit(to_files(made, versions.folder / "link" / "out", "json"))
    assert caught.value.code == "X755"
    out = versions.folder / "out"
    versions.engine.emit(to_files(made, out, "json"))
    (folder,) = folders(out)
    folder.rename(versions.folder / "wh" / "t")
    folder.symlink_to(versions.folder / "wh" / "t")
    with pytest.raises(EngineError) as caught:
        versions.engine.emit(to_files(made, out, "json"))
    assert caught.value.code == "X755"
    assert sorted(path.name for path in (versions.folder / "wh").iterdir()) == ["_registry", "t"]
