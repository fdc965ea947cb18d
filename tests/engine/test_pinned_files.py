"""Views over lists of files: the same rows and columns, in the same words, as over Delta's reader."""

import random
from dataclasses import replace
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from reconciler.base.errors import EngineError
from reconciler.delta.arrow_rows import arrow_schema, plain_table, rows_of
from reconciler.delta.arrow_writes import append, put_table
from reconciler.delta.tables import create_table
from reconciler.engine.protocol import Between, Built, ColumnType, Engine, Selection, Transaction, ViewBuild
from reconciler.engine.sources import EmptySource, FunctionSource, InlineSource, PythonModule, Source, StoredSource
from reconciler.engine.spark import pinned_files, views
from reconciler.engine.spark.engine import SparkEngine
from reconciler.engine.spark.held_rows import MOST_ROWS, HeldRows
from reconciler.engine.spark.pinned_files import PinnedViews
from reconciler.engine.spark.session import start
from reconciler.engine.spark.small_views import SmallViews
from tests.cells import mostly_slow
from tests.engine.engines import jobs
from tests.engine.test_small_views import PRIMITIVES, _counted, _or_null, a_kind, schema_of

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def started(spark_engine: Engine) -> None:
    spark_engine.select(Selection("SELECT 1", (), {}))


def grown(place: Path, name: str, schema: dict[str, Any], *parts: pa.Table) -> StoredSource:
    """A table with a file for each of these, the last of which is not in the version that is read."""
    location = str(place / name)
    put_table(location, schema, parts[0])
    for number, part in enumerate(parts[1:], start=1):
        table = plain_table(location)
        assert table is not None
        append(table, part.cast(arrow_schema(schema)), Transaction("t", number))
    return StoredSource(name, location, len(parts) - 2)


@pytest.fixture
def numbers(tmp_path: Path) -> StoredSource:
    """t: id 0 to 19, half: id / 2 in whole numbers, word."""
    parts = [
        pa.table(
            {
                "id": range_,
                "half": pa.array([one // 2 for one in range_], pa.int32()),
                "word": [f"w{one % 3}" for one in range_],
            }
        )
        for range_ in (list(range(10)), list(range(10, 20)), list(range(20, 30)))
    ]
    return grown(tmp_path, "t", schema_of(id="long", half="integer", word="string"), *parts)


def build(place: Path, query: str, *sources: Source, **more: Any) -> ViewBuild:
    return ViewBuild("v", query, more.get("names", ()), sources, str(place), more.get("settings", {}), more.get("calls", ()))


def contents(staging: str) -> tuple[str, list[str]]:
    table = plain_table(staging)
    assert table is not None
    rows = rows_of(table)
    assert rows is not None
    columns = [
        [one.slice(at, 1).to_string() for at in range(len(one))] for one in map(pa.ChunkedArray.combine_chunks, rows.columns)
    ]
    return str(table.opened.metadata()).partition("schema")[2], sorted(map(str, zip(*columns, strict=True)))


def check(place: Path, query: str, *sources: Source, **more: Any) -> None:
    """Both ways give the same table."""
    one, other = (build(place / way, query, *sources, **more) for way in ("files", "delta"))
    by_files, by_delta = PinnedViews().build(start, one), views.build(start, other)
    assert by_files is not None
    assert (by_files.rows, by_files.columns, by_files.failed_calls) == (
        by_delta.rows,
        by_delta.columns,
        by_delta.failed_calls,
    )
    tables = [plain_table(each.staging) for each in (one, other)]
    assert tables[0] is not None
    assert tables[1] is not None
    assert tables[0].schema == tables[1].schema
    assert contents(one.staging)[1] == contents(other.staging)[1]


@pytest.mark.parametrize("seed", mostly_slow(range(2), 0))
def test_rows_of_any_type(seed: int, tmp_path: Path) -> None:
    chosen = random.Random(seed)
    kinds = {f"p{index}": (name, value) for index, (name, value) in enumerate(PRIMITIVES.items())}
    kinds |= {f"n{index}": a_kind(chosen, 3) for index in range(8)}
    schema = schema_of(id="integer", **{name: kind for name, (kind, _) in kinds.items()})
    wanted = arrow_schema(schema)

    def part(first: int) -> pa.Table:
        columns = {"id": pa.array(range(first, first + 20), pa.int32())}
        for name, (_, value) in kinds.items():
            values = [_or_null(value, chosen) for _ in range(20)]
            columns[name] = pa.array(values, _counted(wanted.field(name).type)).cast(wanted.field(name).type)
        return pa.table(columns)

    source = grown(tmp_path, "t", schema, part(0), part(20), part(40))
    doubled = ", ".join(f"array({name}) AS a_{name}" for name in kinds)
    check(tmp_path / "all", f"SELECT *, {doubled} FROM t WHERE id % 3 < 2", source)


QUERIES = (
    "SELECT t.id, v.n, e.x FROM t JOIN v ON v.word = t.word LEFT JOIN e ON e.x = t.half",
    "SELECT id AS `größe`, named_struct('q', half) AS s, map(word, id) AS m, array(id) AS l FROM t",
    "SELECT t.id, n.name, array(n.key) AS l FROM t JOIN n ON n.key = t.id",
    "SELECT count(*) AS n, sum(half) AS s, avg(half) AS a FROM t",
    "SELECT a.id, b.word FROM t a JOIN t b ON a.id = b.half WHERE b.word = 'w1'",
    "SELECT id FROM t WHERE id NOT IN (SELECT half FROM t)",
    "SELECT id, row_number() OVER (PARTITION BY word ORDER BY id) AS n FROM t",
)


# What is said of columns and sources, in every run; what is made of them is Spark's.
@pytest.mark.parametrize("query", mostly_slow(QUERIES, *QUERIES[:3]))
def test_queries(query: str, numbers: StoredSource, tmp_path: Path) -> None:
    required = str(tmp_path / "n")
    create_table(required, (ColumnType("key", "BIGINT", nullable=False), ColumnType("name", "STRING")), Transaction("c", 1))
    table = plain_table(required)
    assert table is not None
    append(table, pa.table({"key": pa.array([1, 2, 50], pa.int64()), "name": ["a", None, "c"]}), Transaction("t", 1))
    sources = (
        numbers,
        StoredSource("n", required, 1),
        EmptySource("e", (ColumnType("x", "INT"),)),
        InlineSource("v", "SELECT word, count(*) AS n FROM t GROUP BY word"),
    )
    check(tmp_path, query, *sources)


EMPTY = (
    "SELECT * FROM t",
    "SELECT word, count(*) AS n, sum(id) AS s FROM t GROUP BY word",
    "SELECT count(*) AS n, max(half) AS m FROM t",
    "SELECT o.id, t.half FROM o LEFT JOIN t ON t.id = o.id",
)


@pytest.mark.parametrize("query", mostly_slow(EMPTY, EMPTY[3]))
def test_a_table_without_rows(query: str, numbers: StoredSource, tmp_path: Path) -> None:
    columns = (ColumnType("id", "BIGINT", nullable=False), ColumnType("half", "INT"), ColumnType("word", "VARCHAR(5)"))
    create_table(str(tmp_path / "empty"), columns, Transaction("c", 1))
    check(tmp_path / "v", query, StoredSource("t", str(tmp_path / "empty"), 0), replace(numbers, name="o"))


def test_a_query_of_a_table_without_rows_replays_no_log(spark_engine: Engine, tmp_path: Path) -> None:
    empty = str(tmp_path / "empty")
    create_table(empty, (ColumnType("id", "BIGINT", nullable=False), ColumnType("word", "STRING")), Transaction("c", 1))
    before = jobs()
    found = spark_engine.select(
        Selection("SELECT word, count(*) AS n FROM t GROUP BY word", (StoredSource("t", empty, 0),), {})
    )
    assert found.rows == []
    assert jobs() - before <= 2


def test_columns_to_come_names_and_calls_that_fail(numbers: StoredSource, tmp_path: Path) -> None:
    source = StoredSource("t", numbers.location, 1, (ColumnType("later", "DATE"),), ("ID", "Half"))
    check(tmp_path / "names", "SELECT * FROM t", source, names=("a", "b", "c", "d"))
    code = "def f(x):\n    return 1 // (x % 2)\n"
    body = PythonModule("functions", {"functions.py": code}, gives_null_on_error=True)
    call = FunctionSource("f", (ColumnType("x", "INT"),), "INT", body)
    check(tmp_path / "calls", "SELECT id, f(half) AS g FROM t", source, calls=(call,))


@pytest.fixture
def large(tmp_path: Path) -> StoredSource:
    """t: more rows than are held."""
    rows = pa.table({"id": pa.array(range(MOST_ROWS + 1), pa.int64())})
    return grown(tmp_path, "t", schema_of(id="long"), rows, rows.slice(0, 1), rows)


def test_a_small_result_of_a_large_table_is_collected_without_a_look_at_its_log(large: StoredSource, tmp_path: Path) -> None:
    small = SmallViews()
    wanted = build(tmp_path / "v" / "one", "SELECT id % 2 AS odd, count(*) AS n FROM t GROUP BY ALL", large)
    assert small.build(start, wanted) is None, "it is not known to be small"
    small.saw(wanted, Built(2, 100, ()))
    before = jobs()

    built = small.build(start, wanted)

    assert built is not None
    assert built.rows == 2
    assert jobs() - before <= 2


@pytest.mark.parametrize("was_small", [True, False])
@pytest.mark.parametrize(
    "query", ["SELECT 1 / (id - 2) AS z FROM t", "SELECT nope FROM t", "SELECT id AS a, id AS A FROM t"]
)
def test_failures_say_what_they_said(query: str, was_small: bool, large: StoredSource, tmp_path: Path) -> None:
    engine, said = SparkEngine(start), []
    if was_small:
        engine._small_views.saw(build(tmp_path / "v" / "0", query), Built(2, 100, ()))
    for number, way in enumerate((engine.build_view, lambda wanted: views.build(start, wanted))):
        with pytest.raises(EngineError) as raised:
            way(build(tmp_path / "v" / str(number), query, large))
        said.append((raised.value.code, raised.value.message, raised.value.hint, raised.value.about))
    assert said[0] == said[1]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, rand(1) AS r FROM t",
        "SELECT id, input_file_name() AS f FROM t",
        "SELECT id, _metadata.file_path AS f FROM t",
        "SELECT monotonically_increasing_id() AS i FROM t",
        "SELECT 1 AS x",
        "SELECT id / 0 AS z FROM t",
        "SELECT id FROM nowhere",
    ],
)
def test_what_is_left_to_deltas_reader(query: str, numbers: StoredSource, tmp_path: Path) -> None:
    sources = () if query == "SELECT 1 AS x" else (numbers,)
    assert PinnedViews().build(start, build(tmp_path / "v", query, *sources)) is None


def test_settings_that_may_say_how_rows_are_read(numbers: StoredSource, tmp_path: Path) -> None:
    wanted = build(tmp_path / "v", "SELECT id FROM t", numbers, settings={"spark.sql.caseSensitive": "true"})
    assert PinnedViews().build(start, wanted) is None


@pytest.mark.parametrize("name", ["a b", "a[b]", "a{b,c}", "a=b", "_a*", "ä"])
def test_a_folder_whose_name_is_not_plain(name: str, tmp_path: Path) -> None:
    rows = pa.table({"id": pa.array([1], pa.int64())})
    source = grown(tmp_path / name, "t", schema_of(id="long"), rows, rows)
    assert PinnedViews().build(start, build(tmp_path / "v", "SELECT id FROM t", source)) is None


@pytest.mark.parametrize("name", ["_hidden.parquet", ".hidden.parquet", "without-a-suffix"])
def test_a_file_that_spark_would_pass_over(name: str, numbers: StoredSource, tmp_path: Path) -> None:
    place = Path(numbers.location)
    for entry in sorted((place / "_delta_log").glob("*.json"))[1:2]:
        (path,) = [word for word in entry.read_text().split('"') if word.endswith(".parquet")]
        entry.write_text(entry.read_text().replace(path, name))
        (place / path).rename(place / name)
    assert plain_table(numbers.location, 1) is not None

    assert PinnedViews().build(start, build(tmp_path / "v", "SELECT id FROM t", numbers)) is None
    built = views.build(start, build(tmp_path / "w", "SELECT id FROM t", numbers))
    assert built.rows == 20


def test_a_table_of_many_files_or_bytes(numbers: StoredSource, tmp_path: Path) -> None:
    table = plain_table(numbers.location, 1)
    assert table is not None
    assert pinned_files._are_few(table.files)
    large = replace(table.files[0], bytes=pinned_files.MOST_BYTES)
    assert not pinned_files._are_few((large, *table.files))
    assert not pinned_files._are_few(table.files * pinned_files.MOST_FILES)
    assert pinned_files._are_few(())


NEEDED = "SELECT sum(id) AS ids, count(*) AS n FROM t WHERE id BETWEEN 12 AND 15 AND half >= 7"


@pytest.mark.parametrize("way", ["files", "delta", "held", "any"])
def test_of_rows_that_are_needed_only_the_files_are_read_that_may_have_them(
    numbers: StoredSource, spark_engine: Engine, tmp_path: Path, way: str
) -> None:
    some = replace(numbers, needed=(Between("ID", 12, 15), Between("half", 7, 10)))
    first = plain_table(numbers.location, 0)
    assert first is not None
    (Path(numbers.location) / first.files[0].path).unlink()
    held = HeldRows().needed(some)
    assert held is not None
    assert held.rows["id"].to_pylist() == list(range(10, 20))
    assert HeldRows().needed(numbers) is None

    wanted = build(tmp_path / "v", NEEDED, some)
    built = {
        "files": lambda: PinnedViews().build(start, wanted),
        "delta": lambda: views.build(start, wanted),
        "held": lambda: SmallViews().build(start, wanted),
        "any": lambda: spark_engine.build_view(wanted),
    }[way]()
    assert built is not None
    staged = plain_table(str(tmp_path / "v"))
    assert staged is not None
    rows = rows_of(staged)
    assert rows is not None
    assert rows.to_pylist() == [{"ids": 14 + 15, "n": 2}]


def test_old_days_are_the_days_that_they_are(tmp_path: Path) -> None:
    """Java's dates have another calendar before 1582, in which some days are not."""
    days = [date(1, 1, 1), date(1582, 10, 4), date(1582, 10, 10), date(1582, 10, 12), date(1582, 10, 14), date(1582, 10, 15)]
    source = grown(tmp_path, "d", schema_of(day="date"), pa.table({"day": days}), pa.table({"day": days}))
    for number, (least, greatest) in enumerate([*pairwise(days), (days[2], days[2]), (days[1], days[-1])]):
        some = replace(source, needed=(Between("day", least, greatest),))
        built = PinnedViews().build(start, build(tmp_path / f"v{number}", "SELECT day FROM d", some))
        assert built is not None
        assert built.rows == sum(least <= day <= greatest for day in days), (least, greatest)


def test_where_no_file_has_rows_that_are_needed_there_are_none(numbers: StoredSource, tmp_path: Path) -> None:
    some = replace(numbers, needed=(Between("id", 50, 60),))
    built = PinnedViews().build(start, build(tmp_path / "v", "SELECT id FROM t", some))
    assert built is not None
    assert built.rows == 0


def test_a_file_that_is_gone_is_told_as_ever_and_its_rows_are_never_missing(
    numbers: StoredSource, spark_engine: Engine, tmp_path: Path
) -> None:
    table = plain_table(numbers.location, 1)
    assert table is not None
    (Path(numbers.location) / table.files[0].path).unlink()
    said = []
    for number, way in enumerate((spark_engine.build_view, lambda wanted: views.build(start, wanted))):
        assert PinnedViews().build(start, build(tmp_path / "p", "SELECT id FROM t", numbers)) is None
        with pytest.raises(EngineError) as raised:
            way(build(tmp_path / str(number), "SELECT id FROM t", numbers))
        said.append((raised.value.code, raised.value.message, raised.value.hint, raised.value.about))
    assert said[0] == said[1]
