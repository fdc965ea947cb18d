"""Columns of files that are held from search to search: what is taken of them is what the file has."""

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.delta.arrow_rows import PlainTable, fitted, plain_table, rows_of
from reconciler.delta.arrow_writes import put_table
from reconciler.engine.spark import column_orders, searched_columns
from reconciler.engine.spark.column_orders import order_of
from reconciler.engine.spark.searched_columns import SearchedColumns, equal_places

FIELDS = [
    {"name": name, "type": kind, "nullable": True, "metadata": {}}
    for name, kind in (
        ("id", "long"),
        ("price", "decimal(15,2)"),
        ("least", "decimal(18,0)"),
        ("most", "decimal(38,3)"),
        ("note", "string"),
    )
]
SCHEMA: dict[str, Any] = {"type": "struct", "fields": FIELDS}
LATER = {"name": "later", "type": "decimal(9,1)", "nullable": True, "metadata": {}}


def decimals(digits: int, places: int) -> Any:
    largest = 10**digits - 1
    whole = st.integers(-largest, largest) | st.sampled_from([largest, -largest, 0, -1])
    return st.none() | whole.map(lambda one: Decimal((one < 0, tuple(map(int, str(abs(one)))), -places)))


ROWS = st.tuples(
    st.none() | st.integers(-(2**63), 2**63 - 1),
    decimals(15, 2),
    decimals(18, 0),
    decimals(38, 3),
    st.none() | st.sampled_from(["", "a", "ß\u0000", "long " * 9]),
)


def table_of(folder: Path, rows: list[tuple[Any, ...]]) -> PlainTable:
    columns = [[row[at] for row in rows] for at in range(len(FIELDS))]
    kinds = [pa.int64(), pa.decimal128(15, 2), pa.decimal128(18, 0), pa.decimal128(38, 3), pa.string()]
    data = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    put_table(str(folder), SCHEMA, pa.table(data, names=[one["name"] for one in FIELDS]))
    found = plain_table(str(folder))
    assert found is not None
    return found.closed


@settings(max_examples=40, deadline=None)
@given(rows=st.lists(ROWS, min_size=1, max_size=30), chance=st.randoms(use_true_random=False))
def test_what_is_taken_is_what_the_file_has(tmp_path_factory: pytest.TempPathFactory, rows: Any, chance: Any) -> None:
    table = table_of(tmp_path_factory.mktemp("t") / "t", rows)
    wanted = rows_of(table)
    assert wanted is not None
    searched = SearchedColumns()
    for _ in range(2):
        columns = searched.of(table, table.files[0], [*FIELDS, LATER])
        assert columns is not None
        places = pa.array([chance.randrange(len(rows)) for _ in range(5)], pa.uint64())
        taken = pa.table([one.at(places) for one in columns], names=[one["name"] for one in [*FIELDS, LATER]])
        taken.validate(full=True)
        assert taken == fitted(wanted.take(places), {**SCHEMA, "fields": [*FIELDS, LATER]})
    assert searched.bytes > 0


def test_places_of_values_are_found_among_all_or_some_and_again(tmp_path: Path) -> None:
    rows = [(one % 5, Decimal(one % 2), None, None, None) for one in range(20)]
    table, searched = table_of(tmp_path / "t", rows), SearchedColumns()
    ids = FIELDS[0]

    def places(field: Any, *values: Any, among: Any = None) -> list[int]:
        return list(searched.equal(table, table.files[0], field, pa.array(values, pa.int64()), among).to_pylist())

    for _ in range(2):
        assert places(ids, 3, 4) == [3, 4, 8, 9, 13, 14, 18, 19]
        assert places(ids, 9) == []
        assert places(ids) == []
        among = pa.array([4, 8, 14], pa.uint64())
        assert places(ids, 4, among=among) == [4, 14]
    assert places(ids, 4) == [4, 9, 14, 19]


def test_what_was_found_says_what_is_expected(tmp_path: Path) -> None:
    rows = [(one % 5, Decimal(one % 2), None, None, None) for one in range(20)]
    table, searched = table_of(tmp_path / "t", rows), SearchedColumns()
    file, field = table.files[0], FIELDS[0]
    assert searched.expected(table, file, field, 7) == 0
    searched.equal(table, file, field, pa.array([], pa.int64()))
    searched.equal(table, file, field, pa.array([1, 2], pa.int64()), pa.array([3], pa.uint64()))
    assert searched.expected(table, file, field, 7) == 0, "nothing was looked for among all"
    searched.equal(table, file, field, pa.array([1, 2], pa.int64()))
    assert searched.expected(table, file, field, 7) == 28


def test_dates_are_looked_for(tmp_path: Path) -> None:
    field = {"name": "day", "type": "date", "nullable": True, "metadata": {}}
    days = pa.array([datetime.date(2026, 11, one) for one in (1, 2, 1)])
    put_table(str(tmp_path / "t"), {"type": "struct", "fields": [field]}, pa.table({"day": days}))
    table, searched = plain_table(str(tmp_path / "t")), SearchedColumns()
    assert table is not None
    for _ in range(2):
        assert searched.equal(table, table.files[0], field, days[:1]).to_pylist() == [0, 2]


def test_values_for_which_python_has_none_are_looked_for(tmp_path: Path) -> None:
    fields = [{"name": name, "type": name, "nullable": True, "metadata": {}} for name in ("date", "string")]
    days = pa.array([2932897, 0, None], pa.int32()).cast(pa.date32())
    texts = pa.array([b"\xffa", b"b", None], pa.binary()).cast(pa.string(), safe=False)
    put_table(str(tmp_path / "t"), {"type": "struct", "fields": fields}, pa.table({"date": days, "string": texts}))
    table, searched = plain_table(str(tmp_path / "t")), SearchedColumns()
    assert table is not None
    for _ in range(2):
        for field, values in zip(fields, (days, texts), strict=True):
            assert searched.equal(table, table.files[0], field, values[:1]).to_pylist() == [0]
            assert searched.equal(table, table.files[0], field, values[1:]).to_pylist() == [1, 2]


def test_what_is_remembered_of_searches_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searched_columns, "_MOST_PLACES", 10_000)
    rows = [(one, None, None, None, None) for one in range(5)]
    table, searched = table_of(tmp_path / "t", rows), SearchedColumns()
    for number in range(100):
        assert len(searched.equal(table, table.files[0], FIELDS[0], pa.array([number + 9], pa.int64()))) == 0
    assert searched.answers == 10


def test_texts_and_short_decimals_are_held_small(tmp_path: Path) -> None:
    rows = [(one, Decimal(one), Decimal(one), Decimal(one), "the same text" * 20) for one in range(10_000)]
    table, searched = table_of(tmp_path / "t", rows), SearchedColumns()
    columns = searched.of(table, table.files[0], FIELDS)
    assert columns is not None
    assert [one.bytes // 10_000 for one in columns] == [8, 8, 8, 16, 4]


def test_what_is_held_is_bounded_and_what_is_large_is_read_each_time(tmp_path: Path) -> None:
    rows = [(one, Decimal(one), Decimal(one), Decimal(one), None) for one in range(1_000)]
    table = table_of(tmp_path / "t", rows)
    narrow = SearchedColumns(40_000)
    for field in FIELDS[:4]:
        assert narrow.of(table, table.files[0], [field]) is not None
    assert narrow.bytes == 8_000 * 3, "one of 16,000 bytes is more than a quarter of all"
    least = SearchedColumns(20_000)
    for field in FIELDS[:3]:
        assert least.of(table, table.files[0], [field]) is not None
    assert least.bytes == 0


NUMBERS: dict[str, tuple[pa.DataType, Any]] = {
    "byte": (pa.int8(), st.integers(-128, 127)),
    "short": (pa.int16(), st.integers(-300, 300)),
    "integer": (pa.int32(), st.integers(-(2**31), 2**31 - 1) | st.integers(-2, 2)),
    "long": (pa.int64(), st.integers(-(2**63), 2**63 - 1) | st.integers(-2, 2)),
    "date": (pa.date32(), st.dates()),
}


@settings(max_examples=120, deadline=None)
@given(data=st.data(), kind=st.sampled_from(sorted(NUMBERS)))
def test_the_order_of_a_column_finds_what_a_look_at_all_rows_finds(data: Any, kind: str) -> None:
    of, values = NUMBERS[kind]
    column = pa.array([None, *data.draw(st.lists(st.none() | values, max_size=40)), None], of).slice(1)
    wanted = pa.array([None, *sorted({*data.draw(st.lists(values, max_size=6))})], of).slice(1)
    assert order_of(column).equal(wanted).to_pylist() == equal_places(column, wanted).to_pylist()


@pytest.mark.parametrize(("most", "is_sorted"), [(None, True), (40_000_000, True), (4_000_000, False)])
def test_a_column_is_sorted_once_it_was_looked_through_often(tmp_path: Path, most: int | None, is_sorted: bool) -> None:
    rows = 200_000
    schema = {"type": "struct", "fields": FIELDS[:1]}
    put_table(str(tmp_path / "t"), schema, pa.table({"id": pa.array(range(rows), pa.int64())}))
    table = plain_table(str(tmp_path / "t"))
    assert table is not None
    columns, (file,) = SearchedColumns(most), table.files
    sizes = []
    for at in range(column_orders.WORTH_SORTING + 2):
        found = columns.equal(table, file, FIELDS[0], pa.array([at, at + 100_000], pa.int64()))
        assert found.to_pylist() == [at, at + 100_000]
        sizes.append(columns.bytes)
    assert (sizes[-1] == sizes[0] + rows * 12) == is_sorted
    assert sizes[-3] == sizes[0]
    many = pa.array(range(0, rows, 100), pa.int64())
    assert len(columns.equal(table, file, FIELDS[0], many)) == len(many)
    assert columns.equal(table, file, FIELDS[0], pa.array([7, None], pa.int64())).to_pylist() == [7]
