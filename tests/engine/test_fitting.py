"""What fits a column, on Spark, where the recording engine is no measure: empty fields of CSV, texts within values."""

import random
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from pyspark.sql import SparkSession

from reconciler.base.errors import EngineError
from reconciler.engine.protocol import ColumnType, DeadLetters, Engine, Selection, TableBuild, TableTarget
from reconciler.engine.sources import StoredSource
from reconciler.engine.spark.nested import may_vanish
from tests.cells import mostly_slow
from tests.engine.asking import change, ingest_files, json_files, write
from tests.engine.engines import DeltaStorage

pytestmark = pytest.mark.spark


@pytest.fixture
def storage() -> DeltaStorage:
    return DeltaStorage()


@pytest.fixture(scope="module")
def session(spark_engine: Engine) -> SparkSession:
    spark_engine.select(Selection("SELECT 1", (), {}))
    from reconciler.engine.spark.session import start

    return start().newSession()


def test_few_texts_are_looked_at_for_a_number_that_vanished(session: SparkSession) -> None:
    chance = random.Random(1)
    ids = [f'{{"id":"{UUID(int=chance.getrandbits(128), version=4)}"}}' for _ in range(5000)]
    numbers = ["1E-400", "1.e-400", '{"d":-1e-400}', '{"d":[1.5e-0400, 1]}', f'{{"d":0.{"0" * 400}1,"s":"x"}}']

    def asked(texts: list[str]) -> int:
        return session.createDataFrame([(one,) for one in texts], "text STRING").where(may_vanish("text")).count()

    assert asked(numbers) == len(numbers)
    assert asked(ids) < len(ids) / 1000


def table(storage: DeltaStorage, folder: Path, *columns: ColumnType) -> TableTarget:
    target = TableTarget("t", str(folder / "t"), columns)
    storage.create(target.location, columns)
    return target


def test_quotes_with_nothing_between_them_are_the_empty_text(engine: Engine, storage: DeltaStorage, tmp_path: Path) -> None:
    columns = ColumnType("id", "INT"), ColumnType("name", "STRING"), ColumnType("code", "VARCHAR(4)"), ColumnType("n", "INT")
    target = table(storage, tmp_path, *columns)
    (tmp_path / "a.csv").write_text('id,name,code,n\n1,"","",""\n2,,,\n3,"""","a",4\n', "utf-8")
    (tmp_path / "b.csv").write_text('id,name\n4,""\n5,-\n6,\n', "utf-8")

    def csv(name: str, **config: Any) -> dict[str, Any]:
        transport = {"name": "file_input", "config": {"path": str(tmp_path / name)}}
        return {"transport": transport, "format": {"name": "csv", "config": config}}

    ingest_files(engine, target, csv("a.csv"), 1)
    ingest_files(engine, target, csv("b.csv", null_value="-"), 2)

    assert storage.rows(target.location) == [
        (1, "", "", None),
        (2, None, None, None),
        (3, '"', "a", 4),
        (4, "", None, None),
        (5, None, None, None),
        (6, None, None, None),
    ]


def test_fields_with_line_breaks_hold_texts_only(engine: Engine, storage: DeltaStorage, tmp_path: Path) -> None:
    target = table(storage, tmp_path, ColumnType("id", "INT"), ColumnType("name", "STRING"))
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_bytes(b'id,name\n1,"x\ny"\n2,"a\xff\nb"\n3,"a\0"\n4,\xc3\xa9\n')
    (tmp_path / "in" / "b.csv").write_bytes('\ufeffid,name\n5,"\ufffd\n"\n6,""\n'.encode())
    transport = {"name": "file_input", "config": {"path": str(tmp_path / "in")}}
    settings = {"transport": transport, "format": {"name": "csv", "config": {"multi_line": True}}}
    letters = DeadLetters(str(tmp_path / "dead-letters"), 1)

    assert ingest_files(engine, target, settings, 1, letters).rejected == 2

    assert storage.rows(target.location) == [(1, "x\ny"), (4, "é"), (5, "\ufffd\n"), (6, "")]
    assert sorted(row[4] for row in storage.rows(letters.location)) == [
        "X714: a line holds the character NUL",
        "X714: the text is not UTF-8",
    ]


def test_a_time_of_day_is_not_dropped_where_the_source_has_types(
    engine: Engine, storage: DeltaStorage, session: SparkSession, tmp_path: Path
) -> None:
    target = table(storage, tmp_path, ColumnType("id", "INT"), ColumnType("v", "DATE"), ColumnType("ar", "ARRAY<DATE>"))
    day, hour = "TIMESTAMP_NTZ '2024-01-02 00:00:00'", "TIMESTAMP_NTZ '2024-01-02 00:00:00.1'"
    rows = (
        f"SELECT {n} AS id, {v} AS v, array({a}) AS ar" for n, (v, a) in enumerate([(day, day), (hour, day), (day, hour)])
    )
    parquet(session, tmp_path, "1", " UNION ALL ".join(rows))
    settings = {"transport": {"name": "file_input", "config": {"path": str(tmp_path / "in")}}, "format": {"name": "parquet"}}
    letters = DeadLetters(str(tmp_path / "dead-letters"), 1)

    assert ingest_files(engine, target, settings, 1, letters).rejected == 2
    assert storage.rows(target.location) == [(0, date(2024, 1, 2), [date(2024, 1, 2)])]


NESTED = (
    ColumnType("id", "INT"),
    ColumnType("s", "STRUCT<a: VARCHAR(3), b: ARRAY<CHAR(2)>>"),
    ColumnType("m", "MAP<VARCHAR(2), STRUCT<c: VARCHAR(1)>>"),
)


TOO_LONG: list[dict[str, Any]] = [
    {"id": 1, "s": {"a": "abcd"}},
    {"id": 1, "s": {"b": ["ab", None, "abc"]}},
    {"id": 1, "m": {"abc": {"c": "a"}}},
    {"id": 1, "m": {"a": None, "b": {"c": "ab"}}},
]


@pytest.mark.parametrize("row", mostly_slow(TOO_LONG, TOO_LONG[1], TOO_LONG[2]))
def test_a_text_within_a_value_may_be_too_long(
    engine: Engine, storage: DeltaStorage, tmp_path: Path, row: dict[str, Any]
) -> None:
    target = table(storage, tmp_path, *NESTED)
    fits = {"id": 2, "s": {"a": "abc", "b": ["ab", None]}, "m": {"ab": {"c": "a"}, "b": None}}
    write(tmp_path / "good" / "a.json", fits, {"id": 3})
    ingest_files(engine, target, json_files(tmp_path / "good"), 1)
    assert len(storage.rows(target.location)) == 2
    write(tmp_path / "bad" / "b.json", fits, row)

    with pytest.raises(EngineError, match=r"a text within a value for column [sm] is too long for ") as raised:
        ingest_files(engine, target, json_files(tmp_path / "bad"), 2)

    assert raised.value.code == "X712"
    assert len(storage.rows(target.location)) == 2


def test_statements_and_evolved_tables_are_measured_as_well(engine: Engine, storage: DeltaStorage, tmp_path: Path) -> None:
    target = table(storage, tmp_path, *NESTED)
    engine.execute(change(target, "INSERT INTO t SELECT 1, named_struct('a', 'abc', 'b', array('ab')), NULL", 1))
    with pytest.raises(EngineError) as raised:
        engine.execute(change(target, "INSERT INTO t SELECT 2, named_struct('a', 'abcd', 'b', array('ab')), NULL", 2))
    assert raised.value.code == "X712"

    def evolved(staging: str, length: int) -> int:
        columns = (NESTED[0], ColumnType("s", f"STRUCT<a: VARCHAR({length}), b: ARRAY<STRING>>"))
        source = StoredSource("t", target.location, 1)
        return engine.build_table(TableBuild("t", source, columns, ("id", "s"), str(tmp_path / staging))).rows

    assert evolved("wide", 3) == 1
    with pytest.raises(EngineError) as raised:
        evolved("narrow", 2)
    assert raised.value.code == "X712"


def parquet(session: SparkSession, folder: Path, name: str, sql: str) -> None:
    """One file of this name with the rows of a query."""
    session.sql(sql).coalesce(1).write.parquet(f"file://{folder / 'made' / name}")
    [made] = (folder / "made" / name).glob("*.parquet")
    (folder / "in").mkdir(exist_ok=True)
    made.rename(folder / "in" / f"{name}.parquet")


def test_fields_within_columns_of_parquet_files_are_taken_by_name(
    engine: Engine, storage: DeltaStorage, session: SparkSession, tmp_path: Path
) -> None:
    kind = "STRUCT<a: INT, b: VARCHAR(2), c: INT>"
    columns = ColumnType("id", "INT"), ColumnType("ar", f"ARRAY<{kind}>"), ColumnType("n", "INT")
    target = replace(table(storage, tmp_path, *columns), defaults={"n": "7"})
    parquet(session, tmp_path, "1", "SELECT 1 AS id, array(named_struct('B', '1', 'A', 2)) AS ar")
    parquet(session, tmp_path, "2", "SELECT 2 AS id, array(named_struct('c', 3, 'b', '4', 'a', 5), NULL) AS ar, 6 AS n")
    parquet(session, tmp_path, "3", "SELECT 3 AS id, CAST(NULL AS ARRAY<STRUCT<x: INT, a: INT>>) AS ar, 6 AS n")
    transport = {"name": "file_input", "config": {"path": str(tmp_path / "in")}}

    written = ingest_files(engine, target, {"transport": transport, "format": {"name": "parquet"}}, 1)

    assert storage.rows(target.location) == [
        (1, [{"a": 2, "b": "1", "c": None}], 7),
        (2, [{"a": 5, "b": "4", "c": 3}, None], 6),
        (3, None, 6),
    ]
    assert (dict(written.unknown), written.missing) == ({"ar.x": 3}, ("n",))


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        ("map(named_struct('b', 1, 'a', 2), 3)", "MAP<STRUCT<a: INT, b: INT>, INT>", "the keys of v have other fields"),
        ("named_struct('net', 1)", "STRUCT<a: INT>", "have no field of STRUCT<a: INT>: they are of type struct<net:int>"),
        (
            "named_struct('a', array(1))",
            "STRUCT<a: INT>",
            "do not fit STRUCT<a: INT>: they are of type struct<a:array<int>>",
        ),
        (
            "TIMESTAMP '2024-01-02 00:00:00Z'",
            "DATE",
            "for column v do not fit DATE: they are of type timestamp, which have no day or time without a zone",
        ),
        (
            "array(named_struct('a', TIMESTAMP '2024-01-02 00:00:00Z'))",
            "ARRAY<STRUCT<a: TIMESTAMP_NTZ>>",
            r"for column v\.a do not fit TIMESTAMP_NTZ: they are of type timestamp, which have no day or time without a",
        ),
    ],
)
def test_what_can_not_be_taken_by_name_is_an_error(
    engine: Engine, storage: DeltaStorage, session: SparkSession, tmp_path: Path, value: str, kind: str, message: str
) -> None:
    target = table(storage, tmp_path, ColumnType("v", kind))
    parquet(session, tmp_path, "1", f"SELECT {value} AS v")
    transport = {"name": "file_input", "config": {"path": str(tmp_path / "in")}}

    with pytest.raises(EngineError, match=message) as raised:
        ingest_files(engine, target, {"transport": transport, "format": {"name": "parquet"}}, 1)

    assert raised.value.code == "X712"


def test_kept_rows_have_the_fields_of_their_columns_by_name(engine: Engine, storage: DeltaStorage, tmp_path: Path) -> None:
    target = table(storage, tmp_path, ColumnType("s", "STRUCT<a: INT, b: INT>"))
    engine.execute(change(target, "INSERT INTO t SELECT named_struct('a', 1, 'b', 2)"))
    columns = (ColumnType("s", "STRUCT<b: INT, a: INT>"),)
    staging = str(tmp_path / "staging")

    engine.build_table(TableBuild("t", StoredSource("t", target.location, 1), columns, ("s",), staging))

    assert storage.rows(staging) == [({"b": 2, "a": 1},)]
