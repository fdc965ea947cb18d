"""What is read and written as Arrow is what Spark reads and writes: one table of Spark's with all types that are known."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from reconciler.delta.arrow_rows import PlainTable, plain_table, rows_of
from reconciler.delta.arrow_writes import Taken, all_nullable, append, create, is_writable, overwrite, put_table, rewrite
from reconciler.delta.compaction import compact
from reconciler.delta.publishing import publish
from reconciler.delta.short_logs import open_log
from reconciler.engine.protocol import Engine, Selection
from reconciler.engine.spark.copies import net
from reconciler.engine.stored import Transaction

pytestmark = pytest.mark.spark

COLUMNS = {
    "i8": ("TINYINT", ["-128", "127", "0"]),
    "i16": ("SMALLINT", ["-32768", "32767", "0"]),
    "i32": ("INT", ["-2147483648", "2147483647", "0"]),
    "i64": ("BIGINT", ["-9223372036854775808", "9223372036854775807", "0"]),
    "f32": ("FLOAT", ["'NaN'", "'-0.0'", "'Infinity'"]),
    "f64": ("DOUBLE", ["'NaN'", "'-0.0'", "1e-300"]),
    "b": ("BOOLEAN", ["true", "false", "true"]),
    "t": ("STRING", ["''", "'ä\\0\U0001f600'", "repeat('x', 100)"]),
    "x": ("BINARY", ["X''", "X'00ff'", "X'c328'"]),
    "d": ("DATE", ["DATE'0001-01-01'", "DATE'-4800-01-01'", "DATE'+50000-12-31'"]),
    "m": (
        "TIMESTAMP",
        [
            "TIMESTAMP'1500-01-01 00:00:00.000001Z'",
            "TIMESTAMP'-4700-01-01 00:00:00Z'",
            "TIMESTAMP'+80000-12-31 23:59:59.999999Z'",
        ],
    ),
    "n": (
        "TIMESTAMP_NTZ",
        [
            "TIMESTAMP_NTZ'1500-01-01 00:00:00.000001'",
            "TIMESTAMP_NTZ'-9000-01-01 00:00:00'",
            "TIMESTAMP_NTZ'+80000-12-31 00:00:00'",
        ],
    ),
    "d5": ("DECIMAL(5,2)", ["-999.99", "999.99", "0"]),
    "d18": ("DECIMAL(18,0)", ["-999999999999999999", "1", "0"]),
    "d38": ("DECIMAL(38,38)", ["-0.99999999999999999999999999999999999999", "0.1", "0"]),
    "l": ("ARRAY<TIMESTAMP>", ["array()", "array(TIMESTAMP'1500-01-01 00:00:00Z', NULL)", "array(NULL)"]),
    "s": (
        "STRUCT<a: INT, c: STRUCT<d: DECIMAL(20,3), e: ARRAY<DOUBLE>>>",
        [
            "named_struct('a', 1, 'c', NULL)",
            "named_struct('a', NULL, 'c', named_struct('d', 1.5, 'e', array(0.5D)))",
            "named_struct('a', NULL, 'c', named_struct('d', NULL, 'e', NULL))",
        ],
    ),
    "mp": ("MAP<STRING, ARRAY<DATE>>", ["map()", "map('a', array(DATE'0001-01-01'), 'b', NULL)", "map('', array(NULL))"]),
}


ROWS = [", ".join(f"CAST({values[at]} AS {kind}) AS {name}" for name, (kind, values) in COLUMNS.items()) for at in range(3)]
NULLS = ", ".join(f"CAST(NULL AS {kind}) AS {name}" for name, (kind, _) in COLUMNS.items())
QUERY = " UNION ALL ".join(f"SELECT {row}" for row in [*ROWS, NULLS, NULLS])


@pytest.fixture(scope="module")
def spark(spark_engine: Engine) -> Any:
    from reconciler.engine.spark.session import start

    spark_engine.select(Selection("SELECT 1", (), {}))
    return start()


@pytest.fixture(scope="module")
def made(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """By Spark, in one commit. Read it; don't change it."""
    place = tmp_path_factory.mktemp("made") / "t"
    spark.sql(QUERY).coalesce(1).write.format("delta").save(str(place))
    return place


def opened(place: Path) -> PlainTable:
    found = plain_table(str(place))
    assert found is not None
    return found


def test_spark_reads_what_was_read_and_written_here(spark: Any, made: Path, tmp_path: Path) -> None:
    place = tmp_path / "t"
    spark.sql(QUERY).limit(0).write.format("delta").save(str(place))
    assert is_writable(opened(place))
    rows = rows_of(opened(made))

    append(opened(place), rows, Transaction("us", 1), {"said": "here"})

    assert differing(spark, made, place) == 0
    assert exact(spark, made) == exact(spark, place)
    (file,) = opened(place).files
    rewrite(opened(place), Taken({file.path: rows.slice(1)}), rows.slice(0, 2), Transaction("us", 2))
    assert differing(spark, made, place) == 1, "the second row stands there twice"
    second = spark.read.format("delta").load(str(place)).where("i8 = 127")
    assert second.count() == 2

    spark.sql(f"DELETE FROM delta.`{place}` WHERE i8 = 127")
    spark.sql(QUERY).where("i8 = 127").write.format("delta").mode("append").save(str(place))

    assert differing(spark, made, place) == 0
    assert rows_of(opened(place)).num_rows == 5
    history = spark.sql(f"DESCRIBE HISTORY delta.`{place}`").select("operation", "userMetadata").collect()
    assert [one[0] for one in history] == ["WRITE", "DELETE", "MERGE", "WRITE", "WRITE"]
    assert json.loads(history[3][1]) == {"said": "here"}


def test_what_was_put_together_is_the_same_to_spark_and_nothing_to_its_streams(
    spark: Any, made: Path, tmp_path: Path
) -> None:
    place, copied = tmp_path / "t", tmp_path / "copied"
    spark.sql(QUERY).limit(0).write.format("delta").save(str(place))
    rows = rows_of(opened(made))
    for number in range(rows.num_rows):
        if number % 2:
            append(opened(place), rows.slice(number, 1), Transaction("us", number))
        else:
            spark.sql(QUERY).where("false").unionAll(spark.read.format("delta").load(str(made)).limit(1)).write.format(
                "delta"
            ).mode("append").save(str(place))
    _follow(spark, place, copied)
    before = opened(place)

    assert compact(str(place), before.version, Transaction("us/compaction", 1), {"said": "here"}) == before.version + 1

    assert len(opened(place).files) == 1 < len(before.files)
    earlier = spark.read.format("delta").option("versionAsOf", before.version).load(str(place))
    assert net(earlier, spark.read.format("delta").load(str(place))).count() == 0
    append(opened(place), rows.slice(0, 2), Transaction("us", 9))
    _follow(spark, place, copied)
    assert differing(spark, place, copied) == 0
    assert exact(spark, place) == exact(spark, copied)
    # By statistics of its own, which Spark uses to pass over files.
    for condition in ("i32 = -2147483648", "d = DATE'0001-01-01'", "f64 > 5", "t = ''", "i64 IS NULL"):
        found, whole = (spark.read.format("delta").load(str(one)).where(condition).count() for one in (place, copied))
        assert found == whole > 0, condition
    history = spark.sql(f"DESCRIBE HISTORY delta.`{place}`").select("operation", "userMetadata").collect()
    assert tuple(history[1]) == ("OPTIMIZE", '{"said":"here"}')


def _follow(spark: Any, place: Path, copied: Path) -> None:
    """What came since the last time, by a stream of Spark's."""
    stream = spark.readStream.format("delta").load(str(place))
    stream.writeStream.format("delta").option("checkpointLocation", str(copied / "_checkpoint")).trigger(
        availableNow=True
    ).start(str(copied)).awaitTermination()


def test_a_table_made_here_goes_on_by_spark(spark: Any, made: Path, tmp_path: Path) -> None:
    source, place, by_spark = tmp_path / "source", tmp_path / "t", tmp_path / "by_spark"
    spark.read.format("delta").load(str(made)).drop("n").write.format("delta").save(str(source))

    create(str(place), opened(source).schema, rows_of(opened(source)), Transaction("us", 1))

    assert differing(spark, source, place) == 0
    spark.read.format("delta").load(str(source)).write.format("delta").save(str(by_spark))
    ours, theirs = (
        spark.sql(f"DESCRIBE DETAIL delta.`{one}`").drop("id", "location", "createdAt", "lastModified", "sizeInBytes")
        for one in (place, by_spark)
    )
    assert ours.collect() == theirs.collect()
    assert opened(place).schema == opened(by_spark).schema

    spark.read.format("delta").load(str(source)).write.format("delta").mode("append").save(str(place))
    overwrite(opened(place), opened(source).schema, rows_of(opened(source)), Transaction("us", 2))
    assert differing(spark, source, place) == 0


def test_values_are_those_that_spark_has(spark: Any, made: Path) -> None:
    rows = rows_of(opened(made))
    theirs = (
        spark.read.format("delta")
        .load(str(made))
        .selectExpr("i32", "unix_micros(m)", "unix_date(d)", "hex(x)", "d38")
        .collect()
    )
    ours = zip(
        rows["i32"].to_pylist(),
        rows["m"].cast(pa.int64()).to_pylist(),
        rows["d"].cast(pa.int32()).to_pylist(),
        [None if one is None else one.hex().upper() for one in rows["x"].to_pylist()],
        rows["d38"].to_pylist(),
        strict=True,
    )
    assert sorted(ours, key=repr) == sorted(map(tuple, theirs), key=repr)


def test_moments_that_arrow_takes_for_others_are_not_read(spark: Any, tmp_path: Path) -> None:
    """Before the first day of the Julian calendar, which Spark stores as days before day 0."""
    for name, value in (
        ("a", "array(TIMESTAMP'-4800-01-01 00:00:00Z')"),
        ("b", "map(1, named_struct('x', TIMESTAMP'-290000-01-01 00:00:00Z'))"),
    ):
        spark.sql(f"SELECT {value} AS v").write.format("delta").save(str(tmp_path / name))
        assert rows_of(opened(tmp_path / name)) is None


def test_spark_finds_nan_among_what_is_larger(spark: Any, tmp_path: Path) -> None:
    schema = {"type": "struct", "fields": [{"name": "d", "type": "double", "nullable": True, "metadata": {}}]}
    create(str(tmp_path / "t"), schema, pa.table({"d": [1.0, float("nan")]}), Transaction("us", 1))
    assert spark.read.format("delta").load(str(tmp_path / "t")).where("d > 5").count() == 1


def differing(spark: Any, one: Path, other: Path) -> int:
    """How many rows stand more often in one of two tables, as Spark groups them."""
    before, after = (spark.read.format("delta").load(str(place)) for place in (one, other))
    return int(net(before, after).count())


def exact(spark: Any, place: Path) -> list[str]:
    """What grouping makes equal, told apart."""
    names = ("f32", "f64", "s", "mp")
    return sorted(repr(tuple(row)) for row in spark.read.format("delta").load(str(place)).select(*names).collect())


def test_spark_reads_what_was_published_here_and_its_checkpoint(spark: Any, made: Path, tmp_path: Path) -> None:
    """One version from its checkpoint, one from the entry after it. Then Spark writes, and it goes on."""
    location = str(tmp_path / "view")
    table = plain_table(str(made))
    assert table is not None
    rows = rows_of(table)
    assert rows is not None
    # By TIMESTAMP_NTZ a table gets features that leave it to deltalake.
    rows = rows.drop_columns(["n"])
    schema = {**table.schema, "fields": [one for one in table.schema["fields"] if one["name"] != "n"]}
    parts = {"v-0": rows.slice(0, 1), "v-1": rows, "v-2": rows.slice(1), "v-3": rows.slice(2)}
    for name, part in parts.items():
        put_table(f"{location}/{name}", all_nullable(schema), part)
    assert publish(location, "v-0", None, Transaction("a", 1)) == 0
    DeltaTable(location).create_checkpoint()
    DeltaTable(location).alter.set_table_properties({"delta.checkpointInterval": "2"})
    assert publish(location, "v-1", 1, Transaction("a", 2)) == 2
    assert publish(location, "v-2", 2, Transaction("a", 3)) == 3
    log = tmp_path / "view" / "_delta_log"
    assert '"engineInfo":"reconcile/' in (log / f"{2:020d}.json").read_text()
    assert (log / f"{2:020d}.checkpoint.parquet").exists()
    (log / f"{0:020d}.checkpoint.parquet").unlink()
    for version, part in ((2, "v-1"), (3, "v-2")):
        found = spark.read.format("delta").option("versionAsOf", version).load(location)
        staged = spark.read.format("delta").load(f"{location}/{part}")
        assert found.schema == staged.schema
        texts = [sorted(one[0] for one in rows.selectExpr("to_json(struct(*))").collect()) for rows in (found, staged)]
        assert texts[0] == texts[1]
    spark.sql(f"DELETE FROM delta.`{location}` WHERE i8 = 0")
    last = open_log(location)
    assert last is not None
    assert publish(location, "v-3", last.version(), Transaction("a", 4)) == last.version() + 1
    assert spark.read.format("delta").load(location).count() == parts["v-3"].num_rows
