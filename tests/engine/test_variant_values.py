"""VARIANTs told apart by their values on Spark: another type is another value, at any depth, whoever compares."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from reconciler.delta.tables import create_table
from reconciler.engine.protocol import ColumnType, Engine, Ingestion, Selection, TableTarget, Transaction
from reconciler.engine.sources import StoredSource
from reconciler.engine.spark.comparable import comparables
from tests.engine.asking import change
from tests.engine.emissions import Versions, to_files
from tests.engine.engines import DeltaStorage

pytestmark = pytest.mark.spark

DIFFERENT = (
    "NULL",
    "parse_json('null')",
    "CAST('null' AS VARIANT)",
    "parse_json('1')",
    "parse_json('1.0')",
    "CAST('1' AS VARIANT)",
    "CAST(1D AS VARIANT)",
    "CAST(1.5D AS VARIANT)",
    "CAST(1.5F AS VARIANT)",
    "CAST(1.5 AS VARIANT)",
    "parse_json('12345678901234567890')",
    "CAST(12345678901234567890D AS VARIANT)",
    "CAST(true AS VARIANT)",
    "CAST('true' AS VARIANT)",
    "CAST(DATE'2024-01-01' AS VARIANT)",
    "CAST('2024-01-01' AS VARIANT)",
    "CAST(TIMESTAMP'2024-01-01 00:00:00Z' AS VARIANT)",
    "CAST(TIMESTAMP_NTZ'2024-01-01 00:00:00' AS VARIANT)",
    "CAST(X'41' AS VARIANT)",
    "CAST('QQ==' AS VARIANT)",
    "CAST('' AS VARIANT)",
    "parse_json('[]')",
    "parse_json('{}')",
    "parse_json('[1, \"1\"]')",
    "parse_json('[\"1\", 1]')",
    "parse_json('[1.0, \"1\"]')",
    "parse_json('{\"a\": 1}')",
    "parse_json('{\"A\": 1}')",
    'parse_json(\'{"a": {"b": 1}}\')',
    'parse_json(\'{"a": 1, "b": 2}\')',
    'parse_json(\'{"a": 2, "b": 1}\')',
)

WRAPPED = {
    "as it is": "x",
    "in an object": "to_variant_object(named_struct('k', x, 'other', 1))",
    "in an array of two": "CAST(array(x, CAST('2024-01-01' AS VARIANT)) AS VARIANT)",
    "in objects within arrays": "CAST(array(to_variant_object(named_struct('k', array(x)))) AS VARIANT)",
    "in a structure": "named_struct('a', 1, 'b.c', x)",
    "in an ARRAY": "array(CAST('QQ==' AS VARIANT), x)",
    "in a MAP": "map('k', x, 'j', parse_json('1'))",
    "in all of them": "array(named_struct('m', map(1, array(x))))",
}
# What SQL makes of a NULL within a VARIANT is the null of JSON.
ONLY_OUTSIDE = frozenset({"in an object", "in an array of two", "in objects within arrays"})

EQUAL = (
    ('parse_json(\'{"a": 1, "b": {"c": 2, "d": [3]}}\')', 'parse_json(\'{"b": {"d": [3], "c": 2}, "a": 1}\')'),
    ('variant_get(parse_json(\'{"y": 1, "x": {"a": 1}}\'), \'$.x\')', "parse_json('{\"a\": 1}')"),
    ('variant_get(parse_json(\'[{"z": 1}, {"y": {"a": 1}}]\'), \'$[1].y\')', "parse_json('{\"a\": 1}')"),
    ("parse_json('1')", "CAST(1L AS VARIANT)"),
    ("CAST(1Y AS VARIANT)", "CAST(1L AS VARIANT)"),
    ("parse_json('1.5')", "CAST(1.5 AS VARIANT)"),
    ("parse_json('\"2024-01-01\"')", "CAST('2024-01-01' AS VARIANT)"),
)
# An array with values of several types tells none of them.
SHOWN = "concat_ws(' ', schema_of_variant(x), to_json(x), schema_of_variant(try_variant_get(x, '$[0]', 'variant')))"


@pytest.fixture
def session(spark_engine: Engine) -> SparkSession:
    spark_engine.select(Selection("SELECT 1", (), {}))
    from reconciler.engine.spark.session import start

    return start().newSession()


def numbered(values: tuple[str, ...], first: int = 0) -> str:
    """A query: these values in turn, each with a number, beginning at the first."""
    turned = values[first:] + values[:first]
    return " UNION ALL ".join(f"SELECT {number} AS id, {value} AS x" for number, value in enumerate(turned))


def test_values_of_another_type_are_other_values_at_any_depth(session: SparkSession) -> None:
    found = session.sql(numbered(DIFFERENT)).selectExpr(*(f"{made} AS `{how}`" for how, made in WRAPPED.items()))
    keys = comparables(found, found.columns)

    counted = found.agg(*(f.count_distinct(f.struct(key)).alias(str(place)) for place, key in enumerate(keys))).first()

    assert counted is not None
    assert dict(zip(WRAPPED, counted, strict=True)) == {how: len(DIFFERENT) - (how in ONLY_OUTSIDE) for how in WRAPPED}


def test_equal_values_are_one_however_they_were_made(session: SparkSession) -> None:
    pairs = " UNION ALL ".join(f"SELECT {number} AS id, {value} AS x" for number, pair in enumerate(EQUAL) for value in pair)
    found = session.sql(pairs).selectExpr("id", *(f"{made} AS `{how}`" for how, made in WRAPPED.items()))
    keys = comparables(found, [name for name in found.columns if name != "id"])

    counts = [f.count_distinct(f.struct(key)).alias(str(place)) for place, key in enumerate(keys)]
    rows = found.groupBy("id").agg(*counts).orderBy("id").collect()

    assert [EQUAL[row["id"]] for row in rows if set(row[1:]) != {1}] == []


def test_a_sink_holds_what_the_view_holds_and_hears_of_each_change(versions: Versions) -> None:
    """All at once without numbers, so that nothing but the values tells the rows apart."""
    both = f"SELECT x FROM ({numbered(DIFFERENT)}) UNION ALL SELECT x FROM ({numbered(DIFFERENT[:20])})"
    once = f"SELECT x FROM ({numbered(DIFFERENT)})"
    shown = f"SELECT {SHOWN}, count(*) FROM sink GROUP BY 1 ORDER BY 1"
    versions.engine.emit(versions.emission(None, once))
    came = versions.engine.emit(versions.emission(once, both, 2))
    went = versions.engine.emit(versions.emission(both, once, 3))
    assert (came.inserted, came.deleted, went.inserted, went.deleted) == (20, 0, 0, 20)
    sink = versions.rows(shown)
    assert (len(sink), {count for _, count in sink}) == (len(DIFFERENT), {1})


@pytest.mark.slow
def test_a_sink_hears_of_each_value_that_becomes_the_next(versions: Versions) -> None:
    before, after = numbered(DIFFERENT), numbered(DIFFERENT, 1)
    versions.engine.emit(versions.emission(None, before, 4, replaces=True))
    changed = versions.engine.emit(versions.emission(before, after, 5))
    assert (changed.inserted, changed.deleted) == (len(DIFFERENT), len(DIFFERENT))
    view = list(versions.engine.select(Selection(f"SELECT id, {SHOWN} FROM ({after}) ORDER BY id", (), {})).rows)
    assert versions.rows(f"SELECT id, {SHOWN} FROM sink ORDER BY id") == view


def test_a_number_keeps_its_type_whatever_stands_beside_it(versions: Versions, session: SparkSession) -> None:
    """Spark would store the parts of these as columns, and make one type of the numbers in each."""
    wholes = "SELECT parse_json(concat('{\"a\": ', id, '}')) AS x FROM range(200)"
    before = f"{wholes} UNION ALL SELECT parse_json('{{\"a\": 1.5}}') UNION ALL SELECT parse_json('{{\"a\": 1.0}}')"
    location = f"file://{versions.folder / 'sink'}"
    nothing = session.sql("SELECT parse_json('1') AS x WHERE false").write.format("delta")
    nothing.option("delta.enableVariantShredding", "true").save(location)

    versions.engine.emit(versions.emission(None, before))
    versions.engine.emit(to_files(versions.emission(None, before), versions.folder / "out", "parquet"))

    files = session.read.parquet(f"file://{versions.folder / 'out'}/*/part-*")
    for found in (session.read.format("delta").load(location), files):
        types = found.groupBy(f.expr("schema_of_variant(x)")).count().collect()
        assert dict(map(tuple, types)) == {
            "OBJECT<a: BIGINT>": 200,
            "OBJECT<a: DECIMAL(2,1)>": 1,
            "OBJECT<a: DECIMAL(1,0)>": 1,
        }
    versions.engine.emit(versions.emission(before, wholes, 2))
    assert versions.rows("SELECT schema_of_variant(x), count(*) FROM sink GROUP BY 1") == [("OBJECT<a: BIGINT>", 200)]


def test_a_delete_by_a_subquery_takes_only_rows_of_that_value(spark_engine: Engine, tmp_path: Path) -> None:
    table = bag(tmp_path)
    spark_engine.execute(
        change(
            table,
            "INSERT INTO bag SELECT x, array(x) FROM (SELECT explode(array(CAST(DATE'2024-01-01' AS VARIANT), "
            "CAST('2024-01-01' AS VARIANT), CAST('2024-01-01' AS VARIANT))) AS x)",
            1,
        )
    )
    one = "DELETE FROM bag WHERE schema_of_variant(v) IN (SELECT kind FROM VALUES ('DATE') AS k (kind))"
    written = spark_engine.execute(change(table, one, 2))
    assert (written.rows, kinds(spark_engine, table)) == (1, [("STRING", "STRING", 2)])


# By a key it is the key that tells rows apart, and no VARIANT.
@pytest.mark.parametrize("key", [(), pytest.param(("id",), marks=pytest.mark.slow)])
def test_an_input_follows_each_change_of_a_value(
    key: tuple[str, ...], spark_engine: Engine, session: SparkSession, tmp_path: Path
) -> None:
    columns = (ColumnType("id", "BIGINT", nullable=not key), ColumnType("x", "VARIANT"))
    into = TableTarget("copy", str(tmp_path / "copy"), columns, primary_key=key)
    create_table(into.location, columns, Transaction("create", 1))
    path = f"file://{tmp_path / 'source'}"
    config = {"uri": str(tmp_path / "source"), "mode": "snapshot_and_follow"}
    settings = {"transport": {"name": "delta_table_input", "config": config}}
    position: Any = None
    for step, first in enumerate((0, 1)):
        session.sql(numbered(DIFFERENT, first)).coalesce(1).write.format("delta").mode("overwrite").save(path)
        found = spark_engine.discover("copy.history", settings, position)
        assert found is not None
        position = found.position
        written = spark_engine.ingest(Ingestion(into, "copy.history", settings, found.range, Transaction("step", step)))
        assert written.unmatched == 0

        def shown(place: str) -> list[Any]:
            return session.read.format("delta").load(place).orderBy("id").selectExpr("id", SHOWN).collect()

        assert shown(f"file://{into.location}") == shown(path)


def bag(folder: Path) -> TableTarget:
    """A table without a key, of VARIANTs."""
    columns = (ColumnType("v", "VARIANT"), ColumnType("parts", "ARRAY<VARIANT>"))
    create_table(str(folder / "bag"), columns, Transaction("create", 1))
    return TableTarget("bag", str(folder / "bag"), columns)


def kinds(engine: Engine, table: TableTarget) -> list[Any]:
    version = DeltaStorage().version(table.location)
    assert version is not None
    sql = "SELECT schema_of_variant(v), schema_of_variant(parts[0]), count(*) FROM bag GROUP BY 1, 2"
    return list(engine.select(Selection(sql, (StoredSource("bag", table.location, version),), {})).rows)
