"""Parquet's moments of type INT96, which count nanoseconds: what a TIMESTAMP can't hold is told, whoever wrote the file."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from reconciler.base.errors import EngineError
from reconciler.delta.tables import create_table
from reconciler.engine.protocol import ColumnType, DeadLetters, Engine, Ingestion, Selection, TableTarget, Transaction
from reconciler.engine.spark.ingest.int96 import FINER, with_finer
from tests.engine.engines import DeltaStorage

pytestmark = pytest.mark.spark

DAY, SECOND = 2_459_106, 1_000_000_000
"""2020-09-13, as the type counts days."""
OLD = "message m { required int32 id; optional int96 at; optional int64 new (TIMESTAMP(MICROS,true)); }"
NESTED = (
    "message m { required int32 id; optional group s { optional int96 a; optional binary b; } "
    "optional group l (LIST) { repeated group list { optional int96 element; } } "
    "optional group m (MAP) { repeated group key_value { required binary key (STRING); optional int96 value; } } }"
)
COLUMNS = (ColumnType("id", "BIGINT"), ColumnType("at", "TIMESTAMP"), ColumnType("new", "TIMESTAMP"))


@pytest.fixture
def session(spark_engine: Engine) -> SparkSession:
    spark_engine.select(Selection("SELECT 1", (), {}))
    from reconciler.engine.spark.session import start

    return start().newSession()


class Writer:
    """Writes Parquet as others than Spark do."""

    def __init__(self, session: SparkSession) -> None:
        self.session = session
        self.java: Any = session._jvm

    def moment(self, nanos: int) -> Any:
        found = nanos.to_bytes(8, "little", signed=True) + DAY.to_bytes(4, "little")
        return self.java.org.apache.parquet.io.api.Binary.fromConstantByteArray(found)

    def write(self, path: Path, schema: str, rows: list[Mapping[str, Any]], said: Mapping[str, str] | None = None) -> None:
        """Rows of a schema; values of groups are mappings, a list stands for a repeated one."""
        path.parent.mkdir(parents=True, exist_ok=True)
        hadoop = self.java.org.apache.hadoop
        kind = self.java.org.apache.parquet.schema.MessageTypeParser.parseMessageType(schema)
        place = hadoop.fs.Path(f"file://{path}")
        builder = self.java.org.apache.parquet.hadoop.example.ExampleParquetWriter.builder(place)
        writer = builder.withType(kind).withExtraMetaData(dict(said or {})).build()
        factory = self.java.org.apache.parquet.example.data.simple.SimpleGroupFactory(kind)
        for row in rows:
            group = factory.newGroup()
            self._fill(group, row)
            writer.write(group)
        writer.close()

    def _fill(self, group: Any, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            for one in value if isinstance(value, list) else [value]:
                if isinstance(one, dict):
                    self._fill(group.addGroup(name), one)
                else:
                    group.add(name, one)


@pytest.fixture
def writer(session: SparkSession) -> Writer:
    return Writer(session)


def ingest(engine: Engine, folder: Path, letters: DeadLetters | None) -> tuple[TableTarget, int]:
    """A table of what lies in `in` below the folder, and how many records were rejected."""
    into = TableTarget("t", str(folder / "t"), COLUMNS)
    create_table(into.location, COLUMNS, Transaction("create", 1))
    config = {"path": str(folder / "in")}
    settings = {"transport": {"name": "file_input", "config": config}, "format": {"name": "parquet"}}
    found = engine.discover("t.f", settings, None)
    assert found is not None
    written = engine.ingest(Ingestion(into, "t.f", settings, found.range, Transaction("step", 1), dead_letters=letters))
    return into, written.rejected


def told(session: SparkSession, path: Path, *names: str) -> dict[int, str | None]:
    """By id, what is told of the rows of a file, of which these columns are read."""
    location = f"file://{path}"
    rows = session.read.parquet(location)
    found = with_finer(session, rows, ("id",), {location: location}, {}, names)
    if FINER not in found.columns:
        return {}
    return {row[0]: row[1] for row in found.select("id", f"`{FINER}`").collect()}


def test_what_is_finer_than_microseconds_is_rejected_row_by_row(engine: Engine, writer: Writer, tmp_path: Path) -> None:
    """The old type beside the new one, in other letters, in files of which one lacks it; counts below 0, ends of a day."""
    nanos = [123_456_789, 123_456_000, 86_399 * SECOND + 999_999_000, 1, 0, -1000, -1, 86_399 * SECOND + 999_999_999]
    rows = [{"id": number, "at": writer.moment(one)} for number, one in enumerate(nanos)]
    writer.write(tmp_path / "in" / "a.parquet", OLD, [*rows, {"id": 9}])
    others = [{"id": 10, "AT": writer.moment(1)}, {"id": 11, "AT": writer.moment(1000)}]
    writer.write(tmp_path / "in" / "b.parquet", OLD.replace(" at;", " AT;"), others)
    writer.write(tmp_path / "in" / "c.parquet", "message m { required int32 id; }", [{"id": 12}])

    into, rejected = ingest(engine, tmp_path, DeadLetters(str(tmp_path / "letters"), 1))

    kept = {row[0]: row[1] for row in DeltaStorage().rows(into.location)}
    assert (sorted(kept), rejected) == ([1, 2, 4, 5, 9, 11, 12], 5)
    assert [str(kept[number])[11:26] for number in (1, 2, 5, 11)] == [
        "00:00:00.123456",
        "23:59:59.999999",
        "23:59:59.999999",
        "00:00:00.000001",
    ]
    letters = DeltaStorage().rows(str(tmp_path / "letters"))
    assert {row[4] for row in letters} == {
        "X712: a value for column at does not fit TIMESTAMP: it is finer than microseconds"
    }
    assert {Path(json.loads(row[3])["file"]).name for row in letters} == {"a.parquet", "b.parquet"}


def test_without_dead_letters_the_first_one_stops_the_input(engine: Engine, writer: Writer, tmp_path: Path) -> None:
    writer.write(tmp_path / "in" / "a.parquet", OLD, [{"id": 1, "at": writer.moment(1001)}])

    with pytest.raises(EngineError) as raised:
        ingest(engine, tmp_path, None)

    assert raised.value.code == "X712"
    assert "it is finer than microseconds" in raised.value.message


def test_moments_within_other_values_are_looked_at(session: SparkSession, writer: Writer, tmp_path: Path) -> None:
    fine, fits = writer.moment(1001), writer.moment(1000)
    rows: list[dict[str, Any]] = [
        {"id": 0},
        {
            "id": 1,
            "s": {"a": fits},
            "l": {"list": [{"element": fits}, {}]},
            "m": {"key_value": [{"key": "k", "value": fits}]},
        },
        {"id": 2, "s": {"a": fine}},
        {"id": 3, "l": {"list": [{}, {"element": fits}, {"element": fine}]}},
        {"id": 4, "m": {"key_value": [{"key": "j"}, {"key": "k", "value": fine}]}},
        {"id": 5, "s": {}, "l": {}, "m": {}},
    ]
    writer.write(tmp_path / "a.parquet", NESTED, rows)

    found = told(session, tmp_path / "a.parquet", "id", "s", "l", "m")

    columns = {number: None if text is None else text.split()[5] for number, text in found.items()}
    assert columns == {0: None, 1: None, 2: "s", 3: "l", 4: "m", 5: None}
    assert told(session, tmp_path / "a.parquet", "id") == {}, "columns that nobody reads"
    assert told(session, tmp_path / "a.parquet", "s")[3] is None


def test_what_spark_wrote_is_not_looked_at(session: SparkSession, writer: Writer, tmp_path: Path) -> None:
    """It has no finer ones. What others say of Spark is no proof that it wrote them."""
    rows = [{"id": 1, "at": writer.moment(1)}]
    writer.write(tmp_path / "a.parquet", OLD, rows, {"org.apache.spark.version": "4.2.0"})
    writer.write(tmp_path / "b.parquet", OLD, rows, {"org.apache.spark.sql.parquet.row.metadata": "{}"})

    assert told(session, tmp_path / "a.parquet", "at") == {}
    assert list(told(session, tmp_path / "b.parquet", "at")) == [1]


def test_moments_of_both_types_in_one_value_stop_the_input(session: SparkSession, writer: Writer, tmp_path: Path) -> None:
    schema = NESTED.replace("optional binary b;", "optional int64 b (TIMESTAMP(MICROS,true));")
    writer.write(tmp_path / "a.parquet", schema, [{"id": 1, "s": {"a": writer.moment(0)}}])

    with pytest.raises(EngineError) as raised:
        told(session, tmp_path / "a.parquet", "s")

    assert raised.value.code == "X712"
    assert "column s" in raised.value.message
    assert told(session, tmp_path / "a.parquet", "l") == {}


def test_vectors_are_read_again_where_nothing_is_too_fine(session: SparkSession, writer: Writer, tmp_path: Path) -> None:
    setting = "spark.sql.parquet.enableVectorizedReader"
    before = session.conf.get(setting)
    writer.write(tmp_path / "a.parquet", OLD, [{"id": 1, "at": writer.moment(1000)}])

    assert told(session, tmp_path / "a.parquet", "at") == {}
    assert session.conf.get(setting) == before
