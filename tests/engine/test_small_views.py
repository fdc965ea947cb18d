"""Views of few rows, computed in one job and written without Spark, against what Spark does by itself."""

import json
import random
import struct
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from reconciler.base.errors import EngineError
from reconciler.delta.arrow_rows import arrow_schema, plain_table, rows_of
from reconciler.delta.arrow_writes import put_table
from reconciler.delta.publishing import publish
from reconciler.engine.protocol import Built, ColumnType, Engine, Selection, Transaction, ViewBuild
from reconciler.engine.sources import EmptySource, FunctionSource, InlineSource, PythonModule, Source, StoredSource
from reconciler.engine.spark import small_views, views
from reconciler.engine.spark.session import start
from reconciler.engine.spark.small_views import SmallViews
from tests.cells import mostly_slow
from tests.engine.engines import jobs

pytestmark = pytest.mark.spark

Schema = dict[str, Any]


@pytest.fixture(autouse=True)
def started(spark_engine: Engine) -> None:
    spark_engine.select(Selection("SELECT 1", (), {}))


def schema_of(**kinds: Any) -> Schema:
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in kinds.items()]
    return {"type": "struct", "fields": fields}


def stored(place: Path, name: str, schema: Schema, rows: pa.Table) -> StoredSource:
    put_table(str(place / name), schema, rows)
    return StoredSource(name, str(place / name), 0)


@pytest.fixture
def numbers(tmp_path: Path) -> StoredSource:
    """t: id 0 to 9, half: id / 2 in whole numbers, word."""
    rows = {"id": range(10), "half": [one // 2 for one in range(10)], "word": [f"w{one % 3}" for one in range(10)]}
    schema = schema_of(id="long", half="integer", word="string")
    return stored(tmp_path, "t", schema, pa.table({name: list(some) for name, some in rows.items()}))


class Both:
    """One build both ways."""

    def __init__(self, place: Path, query: str, sources: tuple[Source, ...], **more: Any) -> None:
        names, calls, settings = more.get("names", ()), more.get("calls", ()), more.get("settings", {})

        def build(way: str) -> ViewBuild:
            return ViewBuild("v", query, names, sources, str(place / way / "v-1"), settings, calls)

        self.place = place
        self.small = SmallViews().build(start, build("small"))
        self.large = views.build(start, build("large"))

    def check(self) -> Built:
        """Both gave the same table."""
        assert self.small is not None
        assert (self.small.rows, self.small.columns) == (self.large.rows, self.large.columns)
        assert self.small.failed_calls == self.large.failed_calls
        (one, other) = (self._log("small"), self._log("large"))
        for part in ("schemaString", "configuration", "partitionColumns", "format"):
            assert one["metaData"][part] == other["metaData"][part]
        assert one["protocol"] == other["protocol"]
        assert ("add" in one) == ("add" in other)
        assert self._rows("small") == self._rows("large")
        self._check_published()
        return self.small

    def _check_published(self) -> None:
        """What is published of both says the same of columns, and of files nothing that Spark does not say."""
        told = []
        for way in ("small", "large"):
            place = self.place / way
            version = publish(str(place), "v-1", None, Transaction("publish", 1))
            lines = (place / "_delta_log" / f"{0:020}.json").read_text().splitlines()
            found: dict[str, Any] = {}
            for line in lines:
                found |= json.loads(line)
            told.append((version, found["metaData"]["schemaString"], json.loads(found.get("add", {}).get("stats", "{}"))))
        assert told[0][:2] == told[1][:2]
        assert _is_part(told[0][2], told[1][2])

    def _log(self, way: str) -> dict[str, Any]:
        text = (self.place / way / "v-1" / "_delta_log" / f"{0:020}.json").read_text()
        return {name: action for line in text.splitlines() for name, action in json.loads(line).items()}

    def _rows(self, way: str) -> list[str]:
        table = plain_table(str(self.place / way / "v-1"))
        assert table is not None
        rows = rows_of(table)
        assert rows is not None
        # As text: Arrow tells NaNs and zeros apart so, and has a text for each year.
        columns = [
            [values.slice(index, 1).to_string() for index in range(len(values))]
            for values in (column.combine_chunks() for column in rows.columns)
        ]
        return sorted(map(str, zip(*columns, strict=True)))


def _is_part(some: Any, all_: Any) -> bool:
    if isinstance(some, dict):
        return isinstance(all_, dict) and all(name in all_ and _is_part(one, all_[name]) for name, one in some.items())
    return bool(some == all_)


# A type of Delta, and what gives a value of it.
Kind = tuple[Any, Callable[[random.Random], Any]]


def _float(chosen: random.Random) -> float:
    return chosen.choice([0.0, -0.0, float("nan"), float("inf"), float("-inf"), 1.5, 1e-40, chosen.random(), -1e300])


def _single(chosen: random.Random) -> float:
    return chosen.choice([0.0, -0.0, float("nan"), float("-inf"), struct.unpack("f", struct.pack("f", chosen.random()))[0]])


def _integer(bits: int) -> Callable[[random.Random], int]:
    least, most = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    return lambda chosen: chosen.choice([least, most, 0, -1, chosen.randint(-100, 100)])


def _decimal(precision: int, scale: int) -> Callable[[random.Random], Decimal]:
    def value(chosen: random.Random) -> Decimal:
        most = 10**precision - 1
        digits = chosen.choice([0, most, -most, chosen.randint(-most, most)])
        return Decimal(digits).scaleb(-scale) if precision <= 28 else Decimal(f"{digits}E-{scale}")

    return value


def _text(chosen: random.Random) -> str:
    return chosen.choice(["", " ", "é", "x" * 40, "\x00", "𝄞", "null", "a\nb", '"', str(chosen.random())])


PRIMITIVES: Mapping[str, Callable[[random.Random], Any]] = {
    "byte": _integer(8),
    "short": _integer(16),
    "integer": _integer(32),
    "long": _integer(64),
    "float": _single,
    "double": _float,
    "boolean": lambda chosen: chosen.random() < 0.5,
    "string": _text,
    "binary": lambda chosen: chosen.choice([b"", b"\xff\x00", b"abc"]),
    "date": lambda chosen: chosen.choice([0, -719528, -1_000_000, 2_932_896, 90_000_000, chosen.randint(-20000, 20000)]),
    "timestamp": lambda chosen: chosen.choice(
        # Days before the first of the Julian calendar are stored by Spark in a form that is not read here.
        [0, -(2**57), 2**62, -62_135_596_800_000_001, chosen.randint(-(2**50), 2**50)]
    ),
    "timestamp_ntz": lambda chosen: chosen.choice([0, -(2**62), 2**62, chosen.randint(-(2**50), 2**50)]),
    "decimal(5,2)": _decimal(5, 2),
    "decimal(18,0)": _decimal(18, 0),
    "decimal(38,18)": _decimal(38, 18),
}


def a_kind(chosen: random.Random, depth: int) -> Kind:
    """A type by chance, of at most this depth."""
    form = chosen.choice(["primitive", "array", "map", "struct"]) if depth else "primitive"
    if form == "primitive":
        name = chosen.choice(list(PRIMITIVES))
        return name, PRIMITIVES[name]
    if form == "array":
        kind, value = a_kind(chosen, depth - 1)
        array = {"type": "array", "elementType": kind, "containsNull": True}
        return array, lambda again: [_or_null(value, again) for _ in range(again.randint(0, 3))]
    if form == "map":
        key, (kind, value) = chosen.choice(["string", "integer"]), a_kind(chosen, depth - 1)

        def entries(again: random.Random) -> list[tuple[Any, Any]]:
            keys = {again.randint(0, 9) for _ in range(again.randint(0, 3))}
            return [(str(one) if key == "string" else one, _or_null(value, again)) for one in keys]

        return {"type": "map", "keyType": key, "valueType": kind, "valueContainsNull": True}, entries
    parts = [(f"f{index}", *a_kind(chosen, depth - 1)) for index in range(chosen.randint(1, 3))]
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind, _ in parts]
    return {"type": "struct", "fields": fields}, lambda again: {name: _or_null(value, again) for name, _, value in parts}


def _or_null(value: Callable[[random.Random], Any], chosen: random.Random) -> Any:
    return None if chosen.random() < 0.15 else value(chosen)


QUERIES = [
    "SELECT count(*) AS n, sum(half) AS s, avg(half) AS a FROM t",
    "SELECT word, count(*) AS n FROM t GROUP BY word HAVING count(*) > 3",
    "SELECT a.id, b.word FROM t a JOIN t b ON a.id = b.half",
    "SELECT a.id, b.id AS other FROM t a LEFT JOIN t b ON a.id < b.half",
    "SELECT id FROM t WHERE id NOT IN (SELECT half FROM t)",
    "SELECT id, (SELECT max(half) FROM t) AS m FROM t WHERE EXISTS (SELECT 1 FROM t u WHERE u.half = t.id)",
    "SELECT id, row_number() OVER (PARTITION BY word ORDER BY id) AS n FROM t",
    "SELECT id, half FROM t UNION SELECT half, 7 FROM t",
    "SELECT id FROM t ORDER BY id LIMIT 3",
    "SELECT /*+ BROADCAST(b) */ a.id FROM t a JOIN t b ON a.id = b.id",
    "SELECT word, half, sum(id) AS s FROM t GROUP BY ROLLUP (word, half)",
    "SELECT explode(sequence(0, half)) AS e FROM t",
    "SELECT id, (SELECT u.word FROM t u WHERE u.id = t.half) AS w FROM t",
    "SELECT * FROM e",
    "SELECT t.id, v.n FROM t JOIN v ON v.word = t.word",
    "SELECT id, current_date() > DATE'2020-01-01' AS d FROM t WHERE false",
    "SELECT id AS `größe`, named_struct('q', half) AS s, map(word, id) AS m FROM t",
    "SELECT id, to_timestamp('2020-03-29 02:30:00') AS z, TIMESTAMP_NTZ'2020-01-01 00:00:00' AS n FROM t",
    "SELECT X'ff' AS b, CAST(X'ff41' AS STRING) AS bad, CAST('ab' AS CHAR(5)) AS c, '' AS e FROM t",
]
EVERY_RUN = [
    query
    for query in QUERIES
    if any(
        word in query
        for word in ("avg(", "NOT IN", "row_number", "explode", "FROM e", "JOIN v", "WHERE false", "`größe`", "X'ff'")
    )
]
"""An aggregate, a subquery, a window, more rows than before, an empty table, a view, nothing, names and values."""


class TestTheSame:
    @pytest.mark.parametrize("seed", mostly_slow(range(4), 0))
    def test_rows_of_any_type(self, seed: int, tmp_path: Path) -> None:
        chosen = random.Random(seed)
        kinds = {f"p{index}": (name, value) for index, (name, value) in enumerate(PRIMITIVES.items())}
        kinds |= {f"n{index}": a_kind(chosen, 3) for index in range(12)}
        schema = schema_of(id="integer", **{name: kind for name, (kind, _) in kinds.items()})
        wanted = arrow_schema(schema)
        columns = {"id": pa.array(range(60), pa.int32())}
        for name, (_, value) in kinds.items():
            values = [_or_null(value, chosen) for _ in range(60)]
            columns[name] = pa.array(values, _counted(wanted.field(name).type)).cast(wanted.field(name).type)
        source = stored(tmp_path, "t", schema, pa.table(columns))
        doubled = ", ".join(f"array({name}) AS a_{name}" for name in kinds)

        Both(tmp_path / "all", "SELECT * FROM t", (source,)).check()
        Both(tmp_path / "half", f"SELECT *, {doubled} FROM t WHERE id % 2 = 0", (source,)).check()

    @pytest.mark.parametrize("query", mostly_slow(QUERIES, *EVERY_RUN))
    def test_queries(self, query: str, numbers: StoredSource, tmp_path: Path) -> None:
        sources = (
            numbers,
            EmptySource("e", (ColumnType("x", "INT"), ColumnType("y", "STRING"))),
            InlineSource("v", "SELECT word, count(*) AS n FROM t GROUP BY word"),
        )
        Both(tmp_path, query, sources, settings={"spark.sql.session.timeZone": "Europe/Berlin"}).check()

    def test_columns_to_come_and_names_of_columns(self, numbers: StoredSource, tmp_path: Path) -> None:
        source = StoredSource("t", numbers.location, 0, (ColumnType("later", "DATE"),), ("ID", "Half"))

        both = Both(tmp_path, "SELECT * FROM t", (source,), names=("a", "b", "c", "d"))
        assert [column.name for column in both.check().columns] == ["a", "b", "c", "d"]
        Both(tmp_path / "as", "SELECT * FROM t", (source,)).check()

    def test_calls_that_fail_are_counted_once(self, numbers: StoredSource, tmp_path: Path) -> None:
        code = "def f(x):\n    return 1 // (x % 2)\n"
        body = PythonModule("functions", {"functions.py": code}, gives_null_on_error=True)
        call = FunctionSource("f", (ColumnType("x", "INT"),), "INT", body)

        both = Both(tmp_path, "SELECT id, f(half) AS g FROM t", (numbers,), calls=(call,))
        assert [one.count for one in both.check().failed_calls] == [6]

    def test_it_takes_one_job(self, numbers: StoredSource, tmp_path: Path) -> None:
        query = "SELECT a.word, count(*) AS n FROM t a JOIN t b ON a.id = b.half GROUP BY a.word"
        before = jobs()
        assert SmallViews().build(start, ViewBuild("v", query, (), (numbers,), str(tmp_path / "v" / "s"), {})) is not None
        assert jobs() - before == 1


def _counted(kind: pa.DataType) -> pa.DataType:
    """The type of days and moments as numbers: Python lacks many of them."""
    if pa.types.is_date(kind):
        return pa.int32()
    if pa.types.is_timestamp(kind):
        return pa.int64()
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_counted(kind.value_type)))
    if pa.types.is_map(kind):
        return pa.map_(kind.key_type, _counted(kind.item_type))
    if pa.types.is_struct(kind):
        return pa.struct([one.with_type(_counted(one.type)) for one in kind])
    return kind


class TestLeftToSpark:
    @pytest.mark.parametrize(
        "query",
        [
            "SELECT rand(1) AS r FROM t",
            "SELECT input_file_name() AS f FROM t",
            "SELECT monotonically_increasing_id() AS i FROM t",
            "SELECT parse_json('1') AS v FROM t",
            "SELECT 'a' COLLATE UTF8_LCASE AS c FROM t",
            "SELECT named_struct('a b', 1) AS s FROM t",
            "SELECT id / 0 AS z FROM t",
            "SELECT id FROM nowhere",
            "SELECT INTERVAL '1' DAY AS i FROM t",
        ],
    )
    def test_what_is_not_surely_the_same(self, query: str, numbers: StoredSource, tmp_path: Path) -> None:
        assert SmallViews().build(start, ViewBuild("v", query, (), (numbers,), str(tmp_path / "v" / "s"), {})) is None
        assert not (tmp_path / "v" / "s").exists()

    @pytest.mark.parametrize(
        "setting", ["spark.sql.parquet.datetimeRebaseModeInWrite", "spark.sql.caseSensitive", "spark.databricks.delta.x"]
    )
    def test_settings_that_may_say_how_rows_are_written(self, setting: str, numbers: StoredSource, tmp_path: Path) -> None:
        build = ViewBuild("v", "SELECT id FROM t", (), (numbers,), str(tmp_path / "v" / "s"), {setting: "true"})

        assert SmallViews().build(start, build) is None

    @pytest.mark.parametrize(
        "query",
        [
            f"SELECT id FROM range({small_views.MOST_ROWS + 1})",
            f"SELECT repeat('x', {small_views.MOST_BYTES}) AS x FROM t WHERE id = 1",
            f"SELECT sequence(1, {small_views.MOST_BYTES // 4}) AS x FROM t WHERE id = 1",
            "SELECT a.id, repeat('x', 100000) AS x FROM t a, t b",
            "SELECT explode(sequence(1, 1000000000)) AS x FROM t",
        ],
    )
    def test_results_that_are_not_small(self, query: str, numbers: StoredSource, tmp_path: Path) -> None:
        small = SmallViews()
        build = ViewBuild("v", query, (), (numbers,), str(tmp_path / "v" / "s"), {})
        assert small.build(start, build) is None

        # It is not tried again before Spark has written few.
        before = jobs()
        assert small.build(start, build) is None
        assert jobs() == before
        small.saw(build, Built(1, 100, ()))
        assert small.build(start, ViewBuild("v", "SELECT 1 AS x", (), (), str(tmp_path / "v" / "t"), {})) is not None

    def test_calls_of_an_attempt_that_was_given_up_are_not_counted(self, spark_engine: Engine, tmp_path: Path) -> None:
        body = PythonModule("functions", {"functions.py": "def f(x):\n    return 1 // 0\n"}, gives_null_on_error=True)
        call = FunctionSource("f", (ColumnType("x", "INT"),), "INT", body)
        query = f"SELECT f(CAST(id AS INT)) AS g FROM range(0, {small_views.MOST_ROWS + 1}, 1, 1)"

        built = spark_engine.build_view(ViewBuild("v", query, (), (), str(tmp_path / "v" / "s"), {}, (call,)))
        assert [one.count for one in built.failed_calls] == [built.rows] == [small_views.MOST_ROWS + 1]

    @pytest.mark.parametrize(
        "query", ["SELECT id / (half - 2) AS z FROM t", "SELECT CAST(word AS INT) AS i FROM t", "SELECT nope FROM t"]
    )
    def test_failures_say_what_they_said(
        self, query: str, spark_engine: Engine, numbers: StoredSource, tmp_path: Path
    ) -> None:
        said = []
        for number, build in enumerate((spark_engine.build_view, lambda wanted: views.build(start, wanted))):
            with pytest.raises(EngineError) as raised:
                build(ViewBuild("v", query, (), (numbers,), str(tmp_path / "v" / str(number)), {}))
            said.append((raised.value.code, raised.value.message, raised.value.hint, raised.value.about))

        assert said[0] == said[1]
