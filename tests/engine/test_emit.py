"""Outputs on Spark: the contract of Delta sinks, what only Spark's values show, and files."""

import json
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import BinaryType, StructField, StructType

from reconciler.base.errors import AnotherEmission, EngineError, LeaseHeld
from reconciler.engine.protocol import Emission, Engine, InlineSource, StoredSource, TableTarget, Transaction, ViewBuild
from reconciler.engine.spark.commits import latest_version
from reconciler.engine.spark.emit.files import told_of_others
from reconciler.engine.spark.emit.messages import require_writable
from reconciler.engine.spark.locations import HadoopFolder
from tests.engine.emit_contract import EmitContract, emission
from tests.engine.engines import DeltaStorage
from tests.engine.java_calls import calls_into_java
from tests.small_disk import small_disk

pytestmark = pytest.mark.spark


class TestSparkEngine(EmitContract):
    @pytest.fixture(scope="class")
    def made(self, spark_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> TableTarget:
        """The view of the contract. Copy it; don't change it."""
        return self.make_view(spark_engine, DeltaStorage(), tmp_path_factory.mktemp("view"))

    @pytest.fixture
    def view(self, made: TableTarget, tmp_path: Path) -> TableTarget:
        """A copy of it."""
        return replace(made, location=str(shutil.copytree(made.location, tmp_path / "v")))


@pytest.fixture
def versions(engine: Engine, tmp_path: Path) -> "Versions":
    return Versions(engine, tmp_path)


class Versions:
    """A view's versions, each a query; kept as tables of their own, which is all the same to who compares two of them."""

    def __init__(self, engine: Engine, folder: Path) -> None:
        self.engine, self.folder = engine, folder

    def source(self, query: str) -> StoredSource:
        name = f"q{abs(hash(query))}"
        self.engine.build_view(ViewBuild(name, query, (), (), str(self.folder / name), {}))
        return StoredSource("v", str(self.folder / name), 0)

    def emission(self, before: str | None, after: str, serial: int = 1, **config: Any) -> Emission:
        view = TableTarget("v", "", ())
        made = emission(view, self.folder / "sink", None, 0, serial, **config)
        return replace(made, before=None if before is None else self.source(before), after=self.source(after))

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        from reconciler.engine.protocol import Selection

        version = DeltaStorage().version(str(self.folder / "sink"))
        assert version is not None
        sink = StoredSource("sink", str(self.folder / "sink"), version)
        assert not isinstance(sink, InlineSource)
        return list(self.engine.select(Selection(sql, (sink,), {})).rows)


def test_values_are_equal_as_spark_groups_them(versions: Versions) -> None:
    """NaN is NaN, -0.0 is 0.0, maps are equal whatever the order of their entries, also within other values."""
    before = (
        "SELECT CAST('NaN' AS DOUBLE) AS d, map('a', 1, 'b', 2) AS m, named_struct('x', array(map(1, 'x'))) AS s, "
        "CAST(-0.0 AS FLOAT) AS z, CAST(NULL AS MAP<STRING, INT>) AS n FROM range(3)"
    )
    after = (
        "SELECT CAST('NaN' AS DOUBLE) AS d, map('b', 2, 'a', 1) AS m, named_struct('x', array(map(1, 'x'))) AS s, "
        "CAST(0.0 AS FLOAT) AS z, CAST(NULL AS MAP<STRING, INT>) AS n FROM range(2)"
    )
    versions.engine.emit(versions.emission(None, before))
    went = versions.engine.emit(versions.emission(before, after, 2))
    assert (went.inserted, went.deleted) == (0, 1)
    assert versions.rows("SELECT count(*), count(n) FROM sink") == [(2, 0)]
    other = after.replace("array(map(1, 'x'))", "array(map(1, 'y'))")
    changed = versions.engine.emit(versions.emission(after, other, 3))
    assert (changed.inserted, changed.deleted) == (2, 2)
    assert versions.rows("SELECT s.x[0][1], count(*) FROM sink GROUP BY 1") == [("y", 2)]


def test_changed_columns_overwrite_the_sink(versions: Versions) -> None:
    before, after = "SELECT id, 'a' AS name FROM range(3)", "SELECT id + 10 AS id, id * 2 AS twice FROM range(2)"
    versions.engine.emit(versions.emission(None, before))
    changed = versions.engine.emit(versions.emission(before, after, 2))
    assert (changed.inserted, changed.deleted) == (2, 3)
    assert sorted(versions.rows("SELECT * FROM sink")) == [(10, 0), (11, 2)]
    grown = "SELECT id + 10 AS id, id * 2 AS twice FROM range(3)"
    versions.engine.emit(versions.emission(after, grown, 3))
    assert sorted(versions.rows("SELECT * FROM sink")) == [(10, 0), (11, 2), (12, 4)]


@pytest.mark.slow
def test_a_sink_that_was_not_told_of_other_columns_gets_all_rows_with_the_next_difference(versions: Versions) -> None:
    versions.engine.emit(versions.emission(None, "SELECT id, 'a' AS name FROM range(3)"))
    skipped, after = "SELECT id, id * 2 AS twice FROM range(2)", "SELECT id, id * 2 AS twice FROM range(1, 3)"
    changed = versions.engine.emit(versions.emission(skipped, after, 2))
    assert (changed.inserted, changed.deleted) == (1, 1)
    assert sorted(versions.rows("SELECT * FROM sink")) == [(1, 2), (2, 4)]


def test_full_contents_under_other_columns_overwrite_what_the_connector_wrote(versions: Versions) -> None:
    versions.engine.emit(versions.emission(None, "SELECT 1 AS a"))
    versions.engine.emit(versions.emission(None, "SELECT 2 AS b", 2))
    assert versions.rows("SELECT * FROM sink") == [(2,)]


@pytest.mark.parametrize(
    ("mode", "query", "code", "expected"),
    [
        ("append", "SELECT id FROM range(2)", None, [(0,), (0,), (1,)]),
        pytest.param("append", "SELECT 'x' AS other", "X753", None, marks=pytest.mark.slow),
        pytest.param("truncate", "SELECT 'x' AS other", None, [("x",)], marks=pytest.mark.slow),
        ("error_if_exists", "SELECT id FROM range(2)", "X752", None),
    ],
)
def test_a_table_that_was_there(
    versions: Versions, mode: str, query: str, code: str | None, expected: list[tuple[Any, ...]] | None
) -> None:
    view = str(versions.folder / "sink")
    versions.engine.build_view(ViewBuild("old", "SELECT id FROM range(1)", (), (), view, {}))
    wanted = versions.emission(None, query, mode=mode)
    if code is not None:
        with pytest.raises(EngineError) as raised:
            versions.engine.emit(wanted)
        assert raised.value.code == code
        assert versions.rows("SELECT * FROM sink") == [(0,)]
        return
    versions.engine.emit(wanted)
    assert sorted(versions.rows("SELECT * FROM sink")) == expected
    versions.engine.emit(versions.emission(query, f"{query} UNION ALL {query}", 2, mode=mode))
    assert len(versions.rows("SELECT * FROM sink")) > len(expected or ()), "the mode counts once"


def test_the_commit_says_what_it_was_made_from(versions: Versions) -> None:
    versions.engine.emit(versions.emission(None, "SELECT 1 AS a"))
    versions.engine.emit(versions.emission("SELECT 1 AS a", "SELECT 2 AS a", 2))
    for version in (0, 1):
        log = (versions.folder / "sink" / "_delta_log" / f"{version:020d}.json").read_text()
        (info,) = [json.loads(line)["commitInfo"] for line in log.splitlines() if "commitInfo" in line]
        said = {"pipeline": "shop", "step": 0, "emission": f"{version + 1} by us"}
        assert json.loads(info["userMetadata"]) == said


def test_a_commit_that_is_too_long_ago_to_be_read_is_judged_by_its_number(versions: Versions) -> None:
    """Delta cleans its log up behind a checkpoint."""
    from deltalake import DeltaTable

    first = versions.emission(None, "SELECT 1 AS a")
    versions.engine.emit(first)
    sink = versions.folder / "sink"
    somebody = DeltaTable(str(sink))
    somebody.alter.set_table_properties({"somebody": "else"}, raise_if_not_exists=False)
    somebody.create_checkpoint()
    (sink / "_delta_log" / f"{0:020d}.json").unlink()
    assert versions.engine.emit(first).reused
    assert versions.engine.emit(replace(first, id="another")).reused


class Meanwhile(tuple[str, ...]):
    """No warehouses. Who writes looks at them when it opens the sink, and just before it writes: then something happens."""

    act: Callable[[], object]
    looks = 0
    acts_at = 2

    def __iter__(self) -> Iterator[str]:
        self.looks += 1
        if self.looks == self.acts_at:
            self.act()
        return iter(())


@pytest.mark.parametrize("serial", [2, 3])
def test_what_comes_in_while_an_emission_is_computed_does_not_pass_for_it(versions: Versions, serial: int) -> None:
    """Delta passes over a write whose number came in meanwhile, and says nothing."""
    versions.engine.emit(versions.emission(None, "SELECT 1 AS a"))
    theirs = replace(versions.emission(None, "SELECT 2 AS a", serial), id="theirs")
    meanwhile = Meanwhile()
    meanwhile.act = lambda: versions.engine.emit(theirs)

    with pytest.raises(AnotherEmission) as caught:
        versions.engine.emit(replace(versions.emission(None, "SELECT 3 AS a", 2), warehouses=meanwhile))

    assert caught.value.serial == serial
    assert sorted(versions.rows("SELECT a FROM sink")) == [(1,), (2,)]


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


def test_a_commit_that_says_nothing_of_itself_is_no_repeat(versions: Versions) -> None:
    """All of ours say which emission they are, whatever Spark was told."""
    made = versions.emission(None, "SELECT 1 AS a")
    versions.engine.emit(made)
    log = versions.folder / "sink" / "_delta_log" / f"{0:020d}.json"
    (log.parent / f".{log.name}.crc").unlink(missing_ok=True)
    log.write_text("".join(line for line in log.read_text().splitlines(keepends=True) if "commitInfo" not in line))

    with pytest.raises(AnotherEmission):
        versions.engine.emit(made)


def to_files(made: Emission, folder: Path, name: str, **config: Any) -> Emission:
    transport = {"name": "file_output", "config": {"path": str(folder)}}
    return replace(made, settings={"transport": transport, "format": {"name": name, "config": config}})


def folders(path: Path) -> list[Path]:
    return sorted(one for one in path.iterdir() if not one.name.startswith("."))


def lines(folder: Path) -> list[str]:
    return sorted(line for part in folder.glob("part-*") for line in part.read_text().splitlines())


def endings(folder: Path) -> set[str]:
    return {part.suffix for part in folder.glob("part-*")}


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


def test_a_complete_folder_is_left_and_an_incomplete_one_is_written_anew(versions: Versions) -> None:
    out = versions.folder / "out"
    made = to_files(versions.emission(None, "SELECT 1 AS a"), out, "json", update_format="raw")
    versions.engine.emit(made)
    (folder,) = folders(out)
    before = {part.name for part in folder.iterdir()}
    again = versions.engine.emit(made)
    assert (again.reused, again.inserted) == (True, 1)
    assert {part.name for part in folder.iterdir()} == before
    # Killed while it was written: rubbish under the hidden name. Killed while an object store renamed: no marker.
    (out / f".{folder.name}").mkdir()
    (out / f".{folder.name}" / "part-rubbish").write_text("rubbish")
    (folder / "_SUCCESS").unlink()
    (folder / "part-half").write_text("half")
    repeated = versions.engine.emit(made)
    assert not repeated.reused
    assert lines(folder) == ['{"a":1}']
    # Somebody may still write there, until there is another emission.
    assert sorted(path.name for path in out.iterdir()) == [f".{folder.name}", folder.name]
    versions.engine.emit(to_files(versions.emission(None, "SELECT 2 AS a", 2), out, "json", update_format="raw"))
    assert sorted(path.name[:21] for path in out.iterdir()) == [f"{1:020d}-", f"{2:020d}-"]


def test_files_of_another_emission_with_its_number_are_no_repeat(versions: Versions) -> None:
    out = versions.folder / "out"
    made = to_files(versions.emission(None, "SELECT 1 AS a"), out, "json", update_format="raw")
    versions.engine.emit(made)
    (folder,) = folders(out)

    with pytest.raises(AnotherEmission) as caught:
        versions.engine.emit(replace(made, id="another"))

    assert caught.value.serial == 1
    assert str(out) in caught.value.message
    assert lines(folder) == ['{"a":1}']
    assert versions.engine.emit(replace(made, id="")).reused, "an earlier version pinned it"


def test_files_of_a_later_emission_are_no_repeat(versions: Versions) -> None:
    out = versions.folder / "out"
    first, third = (to_files(versions.emission(None, f"SELECT {n} AS a", n), out, "json") for n in (1, 3))
    versions.engine.emit(first)
    versions.engine.emit(third)
    assert versions.engine.emit(first).reused, "it came late, and finds what it has sent"

    with pytest.raises(AnotherEmission) as caught:
        versions.engine.emit(to_files(versions.emission(None, "SELECT 2 AS a", 2), out, "json"))

    assert caught.value.serial == 3
    assert len(list(out.iterdir())) == 2


def test_two_emissions_with_one_number_at_once_leave_the_files_of_one(versions: Versions) -> None:
    out = versions.folder / "out"
    made = to_files(versions.emission(None, "SELECT id FROM range(0, 40, 1, 4)"), out, "json", update_format="raw")

    def told(by: str) -> str:
        try:
            return "reused" if versions.engine.emit(replace(made, id=by)).reused else "written"
        except AnotherEmission as error:
            return error.code

    with ThreadPoolExecutor(2) as threads:
        found = sorted(threads.map(told, ["ours", "theirs"]))

    assert found == ["X756", "written"]
    (folder,) = folders(out)
    assert sorted(lines(folder)) == sorted(f'{{"id":{number}}}' for number in range(40))


def test_two_that_write_the_same_emission_at_once_leave_each_row_once(versions: Versions) -> None:
    """One that was taken over while it wrote, and goes on: neither takes along what the other wrote."""
    out = versions.folder / "out"
    made = to_files(versions.emission(None, "SELECT id FROM range(0, 40, 1, 4)"), out, "json", update_format="raw")
    with ThreadPoolExecutor(2) as threads:
        told = [one.result() for one in [threads.submit(versions.engine.emit, made) for _ in range(2)]]
    assert {one.inserted for one in told} == {40}
    (folder,) = folders(out)
    assert sorted(lines(folder)) == sorted(f'{{"id":{number}}}' for number in range(40))
    assert versions.engine.emit(to_files(versions.emission(None, "SELECT 1 AS a", 2), out, "json")).inserted == 1
    assert [path.name for path in out.iterdir() if path.name.startswith(".")] == []


@pytest.fixture(params=["disk", "store"])
def sink(request: pytest.FixtureRequest, tmp_path: Path) -> "Sink":
    return Sink(tmp_path / "out", mounted=request.param == "store")


@dataclass(frozen=True)
class Sink:
    """A folder for files. `mounted`: by an address of Hadoop's, as if it lay in a store that is none of S3."""

    path: Path
    mounted: bool

    def emission(self, made: Emission, name: str = "json", **config: Any) -> Emission:
        options: dict[str, str] = {}
        place = str(self.path)
        if self.mounted:
            self.path.mkdir(exist_ok=True)
            place, options = "viewfs://tests/out", {"fs.viewfs.mounttable.tests.link./out": self.path.as_uri()}
        transport = {"name": "file_output", "config": {"path": place, **options}}
        return replace(made, settings={"transport": transport, "format": {"name": name, "config": config}})

    def complete(self) -> list[str]:
        """The numbers of folders that a reader takes, with the letters of their output."""
        return [one.name[18:29] for one in folders(self.path) if (one / "_SUCCESS").exists()]


@pytest.mark.parametrize("look", [2, 3])
def test_who_comes_late_brings_back_no_folder_that_was_emptied_away(versions: Versions, sink: Sink, look: int) -> None:
    """Its successor has written the same emission, and a later one that emptied the sink: before it wrote, and before it
    was to be settled whose folder counts."""
    late = sink.emission(versions.emission(None, "SELECT 1 AS a", 5))
    later = sink.emission(replace(versions.emission(None, "SELECT 2 AS a", 6), replaces=True))
    meanwhile = Meanwhile()
    meanwhile.acts_at = look
    meanwhile.act = lambda: (versions.engine.emit(late), versions.engine.emit(later))

    if sink.mounted:
        assert versions.engine.emit(replace(late, warehouses=meanwhile)).reused, "a file says that it was settled"
    else:
        with pytest.raises(AnotherEmission) as caught:
            versions.engine.emit(replace(late, warehouses=meanwhile))
        assert caught.value.serial == 6

    assert [one[:2] for one in sink.complete()] == ["06"]
    assert len(folders(sink.path)) == 1


def test_who_comes_late_leaves_the_folders_of_an_output_that_was_made_anew(versions: Versions, tmp_path: Path) -> None:
    """What it was to empty first was emptied, and its own folder with it."""
    sink = Sink(tmp_path / "out", mounted=True)
    late = sink.emission(replace(versions.emission(None, "SELECT 1 AS a", 5), replaces=True))
    versions.engine.emit(late)
    anew = replace(late, transaction=Transaction("reconcile/emit/shop/v.lake/2", 9), id="9 by us")
    versions.engine.emit(anew)
    (made,) = sink.complete()

    assert versions.engine.emit(late).reused
    assert sink.complete() == [made]
    assert made[:2] == "09"


@dataclass
class TakenOver:
    """The check of a process that another one takes over, and writes, when it asks for the `at`-th time. `is_told` at once;
    else it had asked a moment before."""

    at: int
    act: Callable[[], object]
    is_told: bool
    asked: int = 0

    def __call__(self) -> None:
        self.asked += 1
        if self.asked == self.at:
            self.act()
        if self.asked > self.at or (self.is_told and self.asked == self.at):
            raise LeaseHeld("A503", "another process took it over")


@pytest.mark.parametrize("is_told", [True, False])
@pytest.mark.parametrize("replaces", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_who_was_taken_over_removes_nothing_of_an_output_that_was_made_anew(
    versions: Versions, sink: Sink, replaces: bool, is_told: bool
) -> None:
    """Whenever that happens; and once it is told, nothing that it wrote comes to count."""
    before = sink.emission(versions.emission(None, "SELECT 0 AS a", 4))
    made = sink.emission(replace(versions.emission(None, "SELECT 1 AS a", 5), replaces=replaces))
    anew = sink.emission(versions.emission(None, "SELECT 2 AS a", 9))
    anew = replace(anew, transaction=Transaction("reconcile/emit/shop/v.lake/2", 9))
    places = 0
    while True:
        shutil.rmtree(sink.path, ignore_errors=True)
        sink.path.mkdir()
        versions.engine.emit(before)
        late = TakenOver(places + 1, lambda: versions.engine.emit(anew), is_told)
        try:
            versions.engine.emit(made, late)
        except LeaseHeld:
            assert late.asked >= late.at
        if late.asked < late.at:
            break
        places += 1
        found = [one[:2] for one in sink.complete()]
        assert "09" in found
        assert not is_told or "05" not in found
    assert places >= 1, "before anything of it is there"


def test_a_sink_of_many_emissions_is_listed_in_few_calls(versions: Versions, sink: Sink) -> None:
    """Each call into Java takes as long as a hundred entries of a folder."""
    made = [sink.emission(versions.emission(None, f"SELECT {n} AS a", n)) for n in (1, 4_001)]
    versions.engine.emit(made[0])
    (first,) = folders(sink.path)
    for serial in range(2, 4_001):
        (sink.path / f"{serial:020d}{first.name[20:]}").mkdir()
        (sink.path / f".{serial:020d}{first.name[20:29]}-taken").touch()
    with calls_into_java() as calls:
        versions.engine.emit(made[1])
    assert len(calls) < 2_000


def test_a_log_with_many_entries_is_listed_in_few_calls(versions: Versions, tmp_path: Path) -> None:
    """Each write to a table in a store looks for the newest commits."""
    log = tmp_path / "t" / "_delta_log"
    log.mkdir(parents=True)
    for version in range(500):
        (log / f"{version:020d}.json").touch()
        (log / f"{version:020d}.crc").touch()
    versions.source("SELECT 1 AS a")
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
        assert "remove" in str(caught.value.hint)
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


def test_complete_folders_stay_though_nothing_says_any_more_that_they_count(versions: Versions, tmp_path: Path) -> None:
    """Somebody tidied up, or copied the sink without its hidden files."""
    sink = Sink(tmp_path / "out", mounted=True)
    first, second, third = (sink.emission(versions.emission(None, f"SELECT {n} AS a", n)) for n in (1, 2, 3))
    versions.engine.emit(first)
    versions.engine.emit(second)
    made = sink.complete()
    for hidden in sink.path.glob(".*"):
        hidden.unlink()

    assert versions.engine.emit(second).reused
    assert sink.complete() == made
    # What was never complete goes, as ever.
    (sink.path / f"{folders(sink.path)[0].name[:-8]}deadbeef").mkdir()
    versions.engine.emit(third)

    assert sink.complete()[:2] == made
    assert len(folders(sink.path)) == 3
    assert len([one for one in sink.path.glob(".*-taken") if one.name[1:21] < f"{3:020d}"]) == 2, (
        "said again, for who comes late"
    )


def test_a_settled_folder_that_is_gone_is_not_taken_for_sent(versions: Versions, tmp_path: Path) -> None:
    """The process died when it was settled what counts, and the folder went since: no later emission emptied it away."""
    sink = Sink(tmp_path / "out", mounted=True)
    first = sink.emission(versions.emission(None, "SELECT 1 AS a"))
    versions.engine.emit(first)
    (folder,) = folders(sink.path)
    (taken,) = sink.path.glob(".*-taken")
    shutil.rmtree(folder)
    # Of an output that wrote here before.
    (sink.path / f"{0:020d}-deadbeef-deadbeef").mkdir()

    with pytest.raises(EngineError) as caught:
        versions.engine.emit(first)

    assert caught.value.code == "X700"
    assert caught.value.message.endswith(f"/{folder.name} was settled on and does not exist any more")
    assert f"remove {taken.name}" in str(caught.value.hint)
    taken.unlink()
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


def test_an_empty_marker_is_no_complete_folder(versions: Versions, sink: Sink) -> None:
    first = sink.emission(versions.emission(None, "SELECT 1 AS a"), update_format="raw")
    versions.engine.emit(first)
    (folder,) = folders(sink.path)
    for crc in folder.glob("._SUCCESS.crc"):
        crc.unlink()
    (folder / "_SUCCESS").write_text("")

    versions.engine.emit(first)

    (folder,) = folders(sink.path)
    assert json.loads((folder / "_SUCCESS").read_text())["inserted"] == 1
    assert lines(folder) == ['{"a":1}']


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
    assert "the folder is for this output alone" in caught.value.hint
    for elsewhere in ("division by zero", "File file:/wh/v/part-0 does not exist", "Bucket c does not exist"):
        with pytest.raises(EngineError) as other, told_of_others(path):
            raise EngineError("X700", elsewhere)
        assert other.value.hint is None


def test_a_folder_that_somebody_took_away_before_it_counts_is_told(versions: Versions, sink: Sink) -> None:
    made = sink.emission(versions.emission(None, "SELECT 1 AS a"))
    meanwhile = Meanwhile()
    meanwhile.acts_at = 3
    meanwhile.act = lambda: [shutil.rmtree(one) for one in sink.path.iterdir()]

    with pytest.raises(EngineError) as caught:
        versions.engine.emit(replace(made, warehouses=meanwhile))

    assert caught.value.code == "X700"
    assert "the folder is for this output alone" in str(caught.value.hint)
    assert not versions.engine.emit(made).reused
    assert len(sink.complete()) == 1


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
    assert caught.value.message == "connector v.lake: of rows that went: JSON has no form for the bytes of column b"
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
