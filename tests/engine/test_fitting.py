"""What fits a column, on Spark, where the recording engine is no measure: empty fields of CSV, texts within values."""

from pathlib import Path
from typing import Any

import pytest

from reconciler.engine.protocol import ColumnType, Engine, StoredSource, TableBuild, TableTarget
from reconciler.errors import EngineError
from tests.engine.asking import change, ingest_files, json_files, write
from tests.engine.engines import DeltaStorage

pytestmark = pytest.mark.spark


@pytest.fixture
def storage() -> DeltaStorage:
    return DeltaStorage()


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


NESTED = (
    ColumnType("id", "INT"),
    ColumnType("s", "STRUCT<a: VARCHAR(3), b: ARRAY<CHAR(2)>>"),
    ColumnType("m", "MAP<VARCHAR(2), STRUCT<c: VARCHAR(1)>>"),
)


@pytest.mark.parametrize(
    "row",
    [
        {"id": 1, "s": {"a": "abcd"}},
        {"id": 1, "s": {"b": ["ab", None, "abc"]}},
        {"id": 1, "m": {"abc": {"c": "a"}}},
        {"id": 1, "m": {"a": None, "b": {"c": "ab"}}},
    ],
)
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
