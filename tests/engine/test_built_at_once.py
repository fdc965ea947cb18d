"""Two views that are computed by one query: each is what its own query gives, and is written to its own folder."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from reconciler.delta.arrow_rows import plain_table, rows_of
from reconciler.delta.arrow_writes import put_table
from reconciler.engine.protocol import BuiltAtOnce, Engine, ViewBuild
from reconciler.engine.sources import LinkedSource, StoredSource
from reconciler.engine.spark.held_rows import HeldRows

pytestmark = pytest.mark.spark

KINDS = {"id": "long", "price": "decimal(10,2)", "word": "string"}
SCHEMA = {
    "type": "struct",
    "fields": [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in KINDS.items()],
}
FIRST = "SELECT word AS key_0, COUNT(*) AS rows, SUM(price) AS sum_0 FROM t GROUP BY word"
BOTH = f"SELECT key_0 AS a, rows AS b, sum_0 AS c, key_0 AS word, sum_0 * 2 AS twice, rows > 2 AS shown FROM ({FIRST})"
OTHER = f"SELECT key_0 AS word, sum_0 * 2 AS twice FROM ({FIRST}) WHERE rows > 2"


def table_of(place: Path, count: int) -> StoredSource:
    rows = {
        "id": pa.array(range(count), pa.int64()),
        "price": pa.array([None if one % 5 == 0 else Decimal(one) for one in range(count)], pa.decimal128(10, 2)),
        "word": pa.array([("x", "y", "y", None)[one % 4] for one in range(count)], pa.string()),
    }
    put_table(str(place / "t"), SCHEMA, pa.table(rows))
    return StoredSource("t", str(place / "t"), 0)


def build_of(place: Path, source: StoredSource, **more: Any) -> ViewBuild:
    at_once = BuiltAtOnce(BOTH, ("key_0", "rows", "sum_0"), str(place / "view"), more.pop("column_names", ()))
    return ViewBuild("v (kept)", FIRST, (), (source,), str(place / "kept"), {}, at_once=at_once, **more)


def rows_at(place: Path) -> list[tuple[Any, ...]]:
    table = plain_table(str(place))
    rows = rows_of(table) if table is not None else None
    assert rows is not None
    return sorted(zip(*(column.to_pylist() for column in rows.columns), strict=True), key=repr)


def by_itself(engine: Engine, place: Path, query: str, source: StoredSource, names: tuple[str, ...] = ()) -> Any:
    built = engine.build_view(ViewBuild("v", query, names, (source,), str(place), {}))
    return [(one.name, one.type) for one in built.columns], rows_at(place)


@pytest.mark.parametrize("names", [(), ("kind", "double_price")])
@pytest.mark.parametrize("count", [0, 1, 13])
def test_both_are_what_their_queries_give(count: int, names: tuple[str, ...], spark_engine: Engine, tmp_path: Path) -> None:
    source = table_of(tmp_path, count)
    for number in range(3):
        # From the third time on Spark has it planned.
        place = tmp_path / f"n{number}"
        built = spark_engine.build_view(build_of(place, source, column_names=names))
        assert built.at_once is not None
        own, other = [[(one.name, one.type) for one in which.columns] for which in (built, built.at_once)]
        assert (own, rows_at(place / "kept")) == by_itself(spark_engine, place / "a", FIRST, source)
        assert (other, rows_at(place / "view")) == by_itself(spark_engine, place / "b", OTHER, source, names)
        assert built.at_once.rows == len(rows_at(place / "view"))


def test_what_is_there_is_not_computed_again(spark_engine: Engine, tmp_path: Path) -> None:
    source = table_of(tmp_path, 5)
    assert spark_engine.build_view(build_of(tmp_path, source)).at_once is not None
    again = spark_engine.build_view(build_of(tmp_path, source))
    assert again.reused
    assert again.at_once is None


def test_where_rows_are_passed_over_the_other_view_is_left(spark_engine: Engine, tmp_path: Path) -> None:
    source = table_of(tmp_path, 9)
    words = pa.table({"word": ["x"]})
    fields = [{"name": "word", "type": "string", "nullable": True, "metadata": {}}]
    put_table(str(tmp_path / "came"), {"type": "struct", "fields": fields}, words)
    came = StoredSource("came", str(tmp_path / "came"), 0)
    kept = StoredSource("t", source.location, 0, is_kept=True)
    term = (LinkedSource("came"), LinkedSource("t", 0, (("word", "word"),)))
    query = "SELECT t.id, t.price, t.word FROM t JOIN came ON t.word = came.word"
    build = build_of(tmp_path, kept, terms=(term,), rest_of="t")
    at_once = BuiltAtOnce(
        f"SELECT *, id AS other, true AS shown FROM ({query})", ("id", "price", "word"), str(tmp_path / "v")
    )
    built = spark_engine.build_view(replace(build, query=query, sources=(kept, came), at_once=at_once))
    assert built.at_once is None
    assert built.rows == 9
    assert not (tmp_path / "v").exists()


def test_what_a_step_keeps_is_held_as_it_would_be_read(tmp_path: Path) -> None:
    held = HeldRows()
    table, rows = put_table(str(tmp_path / "kept"), SCHEMA, table_rows())
    held.put(table, rows)
    read = plain_table(str(tmp_path / "kept"))
    assert read is not None
    assert read.closed == table
    known, found = held.of(table.location, 0, is_kept=True), HeldRows().of(table.location, 0, is_kept=True)
    assert known is not None
    assert found is not None
    assert known.schema == found.schema
    assert known.rows.equals(found.rows)
    (tmp_path / "kept" / table.files[0].path).unlink()
    assert held.of(table.location, 0, is_kept=True) is not None, "its rows are not read"


def table_rows() -> pa.Table:
    prices = pa.array([None, Decimal(3)], pa.decimal128(10, 2))
    return pa.table({"id": pa.array([1, 2], pa.int64()), "price": prices, "word": ["x", None]})
