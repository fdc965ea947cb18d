"""An emission by Spark and one without it leave the same rows or lines, and count the same: random tables with all types
that are known, of which some rows are equal, and some nearly.

One emission tries thousands of rows, so that few need Spark. `RECONCILE_SEEDS=100:110` goes on.
"""

import json
import os
import random
import shutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from reconciler.delta.arrow_rows import PlainTable, arrow_schema, plain_table, rows_of
from reconciler.delta.arrow_writes import append, overwrite
from reconciler.engine.protocol import Engine, Selection, TableTarget, Transaction
from tests.engine.emissions import endings, folders, to_files
from tests.engine.emit_contract import emission

NAN, DAY, SECOND = float("nan"), 1, 1_000_000
Kinds = Mapping[str, tuple[str, list[Any]]]
KINDS: Kinds = {
    "i8": ("TINYINT", [None, -128, 0, 127]),
    "i16": ("SMALLINT", [None, -32768, 0]),
    "i32": ("INT", [None, -(2**31), 0]),
    "i64": ("BIGINT", [None, -(2**63), 0, 2**63 - 1]),
    "f32": ("FLOAT", [None, NAN, 0.0, -0.0, 0.10000000149011612, float("-inf")]),
    "f64": ("DOUBLE", [None, NAN, 0.0, -0.0, 0.1, 5e-324]),
    "b": ("BOOLEAN", [None, True, False]),
    "t": ("STRING", [None, "", "a", "A", "a ", "ä", "\0", "x" * 40]),
    "x": ("BINARY", [None, b"", b"a", b"\xff"]),
    "d": ("DATE", [None, 0, -800_000 * DAY, 5_000_000 * DAY]),
    "m": ("TIMESTAMP", [None, 0, 1, -70_000_000_000 * SECOND, 2_000_000_000_000 * SECOND]),
    "n": ("TIMESTAMP_NTZ", [None, 0, 1, -70_000_000_000 * SECOND]),
    "d5": ("DECIMAL(5,2)", [None, Decimal("0.00"), Decimal("-999.99")]),
    "d38": ("DECIMAL(38,10)", [None, Decimal("1E-10"), Decimal("9999999999999999999999999999.9999999999")]),
    "l": ("ARRAY<DOUBLE>", [None, [], [None], [0.0], [-0.0], [NAN, 1.0], [1.0, NAN]]),
    "lm": ("ARRAY<TIMESTAMP>", [None, [0], [-70_000_000_000 * SECOND]]),
    "s": (
        "STRUCT<a: FLOAT, c: STRUCT<e: STRING>>",
        [None, {"a": None, "c": None}, {"a": -0.0, "c": {"e": None}}, {"a": 0.0, "c": {"e": None}}, {"a": NAN, "c": None}],
    ),
    "mp": (
        "MAP<STRING, DOUBLE>",
        [None, [], [("a", 0.0), ("b", NAN)], [("b", NAN), ("a", -0.0)], [("a", None)], [("b", 0.0), ("a", NAN)]],
    ),
    "ml": ("ARRAY<MAP<INT, DATE>>", [None, [None], [[(1, 0), (2, 1)]], [[(2, 1), (1, 0)]], [[], []]]),
}
SEEDS = range(*map(int, os.environ.get("RECONCILE_SEEDS", "0:4").split(":")))
"""`make test` tries the first."""


def random_rows(chance: random.Random, schema: pa.Schema, size: int, kinds: Kinds = KINDS) -> pa.Table:
    """Rows that depart in few columns from what all have, most of them several times."""
    rows: list[dict[str, Any]] = []
    names = list(kinds)
    usual = {name: values[1] for name, (_, values) in kinds.items()}
    while len(rows) < size:
        row = usual | {name: chance.choice(kinds[name][1]) for name in chance.sample(names, chance.choice([1, 1, 2]))}
        rows += [row] * chance.choice([1, 1, 1, 2, 3])
    columns = []
    for name in schema.names:
        kind = schema.field(name).type
        columns.append(pa.array([row[name] for row in rows], as_numbers(kind)).cast(kind))
    return pa.table(columns, schema=schema)


def as_numbers(kind: pa.DataType) -> pa.DataType:
    """Days and moments are given as numbers."""
    match kind:
        case pa.TimestampType():
            return pa.int64()
        case pa.ListType():
            return pa.list_(kind.value_field.with_type(as_numbers(kind.value_type)))
        case pa.MapType():
            return pa.map_(as_numbers(kind.key_type), as_numbers(kind.item_type))
        case pa.StructType():
            return pa.struct([field.with_type(as_numbers(field.type)) for field in kind])
        case _:
            return pa.int32() if pa.types.is_date(kind) else kind


TOLD: Kinds = {
    "i8": ("TINYINT", [None, -128, 0]),
    "i64": ("BIGINT", [None, -(2**63), 7]),
    "f32": ("FLOAT", [None, NAN, -0.0, 3.0, -9_999_999.0, float("inf")]),
    "f64": ("DOUBLE", [None, NAN, -0.0, 3.0, 9_999_999.0, float("-inf")]),
    "b": ("BOOLEAN", [None, True, False]),
    "t": (
        "STRING",
        [None, "", "a", " a", "a\t", 'a"b', "a,b", "a;b", "a\nb", "\r", "\\", "/", "ä\U0001f600", "\ufeffa", "a\ufeff"],
    ),
    "odd": (
        "STRING",
        [None, *map(chr, range(1, 32)), "\x7f", "\xa0", "\u3000x", "'", "x\x0b", "<&>", "null", "NULL", "\u202e"],
    ),
    "d": ("DATE", [None, 0, -719_162, 2_932_896]),
    "m": ("TIMESTAMP", [None, 0, -1, -62_135_596_800 * SECOND, 253_402_300_800 * SECOND - 1]),
    "n": ("TIMESTAMP_NTZ", [None, 0, 1, -62_135_596_800 * SECOND]),
    "d5": ("DECIMAL(5,2)", [None, Decimal("0.00"), Decimal("-999.99"), Decimal("5.00")]),
    "d20": ("DECIMAL(20,0)", [None, Decimal(0), Decimal(-99_999_999_999_999_999_999)]),
    "d38": ("DECIMAL(38,10)", [None, Decimal("0E-10"), Decimal("1E-10"), Decimal("-0.0000012300"), Decimal("1234567890.5")]),
}
"""Types and values whose texts are surely known."""

NESTED: Kinds = {
    "l": ("ARRAY<DATE>", [None, [], [None], [0, -719_162]]),
    "s": ('STRUCT<`a"b`: FLOAT, c: STRUCT<e: STRING>>', [None, {'a"b': None, "c": None}, {'a"b': 2.0, "c": {"e": '"'}}]),
    "mp": ("MAP<STRING, DECIMAL(3,1)>", [None, [], [("", None)], [('a"', Decimal("0.5")), ("b", None)]]),
    "ml": ("ARRAY<MAP<INT, TIMESTAMP>>", [None, [None], [[(-1, 0), (2, None)]], [[], []]]),
}


@pytest.mark.parametrize(
    ("name", "config", "is_flat"),
    [
        ("json", {}, False),
        ("csv", {}, True),
        pytest.param("json", {"update_format": "debezium", "array": True}, False, marks=pytest.mark.slow),
        pytest.param("json", {"update_format": "raw"}, False, marks=pytest.mark.slow),
        pytest.param("csv", {"delimiter": ";", "header": False, "null_value": "N/A"}, True, marks=pytest.mark.slow),
        pytest.param("csv", {"delimiter": "\t", "null_value": "N,\tA"}, True, marks=pytest.mark.slow),
    ],
)
def test_files_have_the_same_lines(
    spark_engine: Engine, engine_by_size: Engine, tmp_path: Path, name: str, config: dict[str, Any], is_flat: bool
) -> None:
    kinds = TOLD if is_flat else {**TOLD, **NESTED}
    chance = random.Random(1)
    view = tmp_path / "v"
    made_empty(view, spark_engine, kinds)
    schema = arrow_schema(opened(view).schema)
    append(opened(view), random_rows(chance, schema, 1000, kinds), Transaction("v", 1))
    overwrite(opened(view), opened(view).schema, random_rows(chance, schema, 1000, kinds), Transaction("v", 2))
    target = TableTarget("v", str(view), ())

    for before in (None, 1):
        found = []
        for engine in (engine_by_size, spark_engine):
            sink = tmp_path / f"{before}-{len(found)}"
            made = engine.emit(to_files(emission(target, sink, before, 2), sink, name, **config))
            (folder,) = folders(sink)
            written = [line for part in folder.glob("part-*") for line in part.read_bytes().decode().split("\n")[:-1]]
            assert made.without_spark is (engine is engine_by_size)
            assert endings(folder) == {f".{name}"}
            found.append((replace(made, without_spark=False), json.loads((folder / "_SUCCESS").read_text()), written))
        (ours, our_mark, our_lines), (theirs, their_mark, their_lines) = found
        assert (ours, our_mark) == (theirs, their_mark)
        # Whose every file has a header.
        headers = set(our_lines[:1]) if is_flat and config.get("header", True) else set()
        assert [line for line in sorted(our_lines) if line not in headers] == [
            line for line in sorted(their_lines) if line not in headers
        ]
        assert headers <= set(their_lines)


@pytest.fixture(scope="module")
def empty(spark_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of Spark's with all columns. Copy it; don't change it."""
    place = tmp_path_factory.mktemp("empty") / "t"
    made_empty(place, spark_engine, KINDS)
    return place


def made_empty(place: Path, engine: Engine, kinds: Kinds) -> None:
    from reconciler.engine.spark.session import start

    engine.select(Selection("SELECT 1", (), {}))
    columns = ", ".join(f"CAST(NULL AS {kind}) AS {name}" for name, (kind, _) in kinds.items())
    start().sql(f"SELECT {columns}").limit(0).write.format("delta").save(str(place))


def opened(place: Path) -> PlainTable:
    found = plain_table(str(place))
    assert found is not None
    return found


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=pytest.mark.slow if seed != SEEDS[0] else ()) for seed in SEEDS])
def test_both_ways_leave_the_same(
    spark_engine: Engine, engine_by_size: Engine, empty: Path, tmp_path: Path, seed: int
) -> None:
    from reconciler.engine.spark.copies import net
    from reconciler.engine.spark.session import start

    chance = random.Random(seed)
    schema = arrow_schema(opened(empty).schema)
    view, ours, theirs = tmp_path / "v", tmp_path / "ours", tmp_path / "theirs"
    for place in (view, ours):
        shutil.copytree(empty, place)
    append(opened(view), random_rows(chance, schema, 1000), Transaction("v", 1))
    overwrite(opened(view), opened(view).schema, random_rows(chance, schema, 1000), Transaction("v", 2))
    for part in range(2):
        append(opened(ours), random_rows(chance, schema, 400), Transaction("held", part))
    shutil.copytree(ours, theirs)
    target = TableTarget("v", str(view), ())

    told = []
    for engine, sink in ((engine_by_size, ours), (spark_engine, theirs)):
        more = emission(target, sink, 1, 2), emission(target, sink, 2, 1, 2), emission(target, sink, 1, 2, 3)
        told.append([replace(engine.emit(one), without_spark=False) for one in (more if seed else more[:1])])

    assert told[0] == told[1]
    assert min(told[0][0].inserted, told[0][0].deleted) > 100
    assert "reconcile/" in (ours / "_delta_log" / f"{3:020d}.json").read_text(), "it was done without Spark"
    spark = start()
    one, other = (spark.read.format("delta").load(str(place)) for place in (ours, theirs))
    assert net(one, other).count() == 0


def test_what_comes_is_the_same_to_the_last_sign(
    spark_engine: Engine, engine_by_size: Engine, empty: Path, tmp_path: Path
) -> None:
    """Grouping makes one zero of both; which of some equal maps is kept nobody says."""
    chance = random.Random(0)
    schema = arrow_schema(opened(empty).schema)
    view, ours, theirs = tmp_path / "v", tmp_path / "ours", tmp_path / "theirs"
    for place in (view, ours, theirs):
        shutil.copytree(empty, place)
    append(opened(view), random_rows(chance, schema, 100), Transaction("v", 1))
    overwrite(opened(view), opened(view).schema, random_rows(chance, schema, 500), Transaction("v", 2))
    target = TableTarget("v", str(view), ())

    for engine, sink in ((engine_by_size, ours), (spark_engine, theirs)):
        engine.emit(emission(target, sink, 1, 2))

    found = []
    for place in (ours, theirs):
        rows = rows_of(opened(place)).drop_columns(["mp", "ml"])
        plain = rows.cast(pa.schema([field.with_type(as_numbers(field.type)) for field in rows.schema]))
        found.append(Counter(repr(row) for row in plain.to_pylist()))
    assert found[0] == found[1]
    assert sum(found[0].values()) > 100
