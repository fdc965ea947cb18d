"""Rows brought to a table and taken out of it: only the files that hold them are written anew, or nothing is done."""

import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.delta.arrow_rows import arrow_schema, plain_table, rows_of
from reconciler.delta.arrow_writes import append, create, put_table
from reconciler.engine.arrow.row_changes import MOST_CHANGED, change_rows
from reconciler.engine.protocol import RowChanges, Transaction
from tests.delta.known_changes import are_as_the_files_say

Row = tuple[Any, ...]


def field(name: str, kind: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": True, "metadata": {}}


STRUCT = {"type": "struct", "fields": [field("x", "integer"), field("y", "string")]}
LIST = {"type": "array", "elementType": "integer", "containsNull": True}
PLAIN = [field("id", "long"), field("text", "string")]
EVERY = [
    *PLAIN,
    field("day", "date"),
    field("price", "decimal(10,2)"),
    field("parts", STRUCT),
    field("numbers", LIST),
    field("at", "timestamp"),
    field("is_so", "boolean"),
    field("bytes", "binary"),
    field("size", "double"),
    field("sizes", {"type": "array", "elementType": "float", "containsNull": True}),
]
FIRST = Transaction("step", 1)


def of(columns: Sequence[dict[str, Any]], rows: Sequence[Row]) -> pa.Table:
    schema = arrow_schema({"fields": list(columns)})
    values = list(zip(*rows, strict=True)) or [()] * len(columns)
    arrays = [pa.array(list(one), kind) for one, kind in zip(values, schema.types, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def put(location: str, columns: Sequence[dict[str, Any]], *files: Sequence[Row]) -> None:
    """A table of these files."""
    schema = {"type": "struct", "fields": list(columns)}
    create(location, schema, of(columns, files[0]), Transaction("made", 0))
    for number, rows in enumerate(files[1:], 1):
        table = plain_table(location)
        assert table is not None
        append(table, of(columns, rows), Transaction("made", number))


def stage(location: str, columns: Sequence[dict[str, Any]], changed: Sequence[Row]) -> RowChanges:
    """Staged rows with their copies."""
    staging = f"{location}/staged-{uuid.uuid4().hex}"
    named = [*columns, field("__copies", "long")]
    put_table(staging, {"type": "struct", "fields": named}, of(named, changed))
    table = plain_table(location)
    return RowChanges(location, table.version if table is not None else 0, staging, FIRST, {"step": 1})


def held(location: str) -> Counter[str]:
    table = plain_table(location)
    rows = rows_of(table) if table is not None else None
    assert rows is not None
    return Counter(map(repr, (tuple(row.values()) for row in rows.to_pylist())))


def files_of(location: str) -> set[str]:
    table = plain_table(location)
    assert table is not None
    return {file.path for file in table.files}


def wanted(rows: Sequence[Row]) -> Counter[str]:
    read = of(EVERY[: len(rows[0])], rows).to_pylist() if rows else []
    return Counter(repr(tuple(row.values())) for row in read)


@pytest.fixture
def location(tmp_path: Path) -> str:
    return str(tmp_path / "table")


FILES = ([(1, "a"), (2, "b"), (2, "b"), (None, "c")], [(10, "a"), (11, None)], [(20, "z"), (2, "b")])


def test_files_without_rows_that_go_stay(location: str) -> None:
    put(location, PLAIN, *FILES)
    before = files_of(location)
    version = change_rows(stage(location, PLAIN, [(11, None, -1), (12, "new", 2)]))
    assert version == len(FILES)
    assert held(location) == wanted([*FILES[0], (10, "a"), *FILES[2], (12, "new"), (12, "new")])
    assert len(before & files_of(location)) == len(before) - 1
    said = DeltaTable(location).history(1)[0]
    assert said["operation"] == "MERGE"


def test_of_equal_rows_as_many_go_as_are_to_go(location: str) -> None:
    put(location, PLAIN, *FILES)
    assert change_rows(stage(location, PLAIN, [(2, "b", -2), (None, "c", -1)])) is not None
    assert held(location) == wanted([(1, "a"), *FILES[1], (20, "z"), (2, "b")])


def test_rows_that_only_come_are_added(location: str) -> None:
    put(location, PLAIN, *FILES)
    before = files_of(location)
    change_rows(stage(location, PLAIN, [(2, "b", 1)]))
    assert before < files_of(location)
    assert held(location)[repr((2, "b"))] == 4


def test_a_repeat_is_found_by_its_transaction(location: str) -> None:
    put(location, PLAIN, *FILES)
    changes = stage(location, PLAIN, [(1, "a", -1), (1, "b", 1)])
    version = change_rows(changes)
    after = held(location)
    assert change_rows(changes) == version
    table = plain_table(location)
    assert table is not None
    append(table, of(PLAIN, [(5, "later")]), Transaction("another", 1))
    assert change_rows(replace(changes, staging=f"{location}/is-gone")) == version
    assert held(location) == after + Counter({repr((5, "later")): 1})


ROWS = [(1, "a", -1), (9, "new", 1)]


@pytest.mark.parametrize(
    "changed",
    [[(1, "a", -2)], [(7, "nobody", -1)], [(1, "A", -1)], [(None, None, -1)], [(4, "b", -1), (1, "a", -1)]],
)
def test_nothing_is_done_where_a_row_that_goes_is_not_there(changed: list[Row], location: str) -> None:
    put(location, PLAIN, *FILES)
    before, version = held(location), DeltaTable(location).version()
    assert change_rows(stage(location, PLAIN, [*changed, (9, "new", 1)])) is None
    assert (held(location), DeltaTable(location).version()) == (before, version)


def test_nothing_is_done_where_somebody_else_wrote_the_table(location: str) -> None:
    put(location, PLAIN, *FILES)
    changes = stage(location, PLAIN, ROWS)
    table = plain_table(location)
    assert table is not None
    append(table, of(PLAIN, [(5, "another's")]), Transaction("another", 1))
    assert change_rows(changes) is None
    assert held(location)[repr((1, "a"))] == 1


def test_nothing_is_done_where_much_is_read_or_written_or_changed(location: str) -> None:
    put(location, PLAIN, *FILES)
    changes = stage(location, PLAIN, ROWS)
    assert change_rows(changes, most_read=10) is None
    assert change_rows(changes, most_rewritten=10) is None
    many = [(number, "new", 1) for number in range(MOST_CHANGED + 1)]
    assert change_rows(stage(location, PLAIN, many)) is None
    assert change_rows(changes) is not None


MAP = {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": True}


def test_nothing_is_done_where_values_are_not_compared(location: str) -> None:
    columns = [*PLAIN, field("odd", MAP)]
    nested = [*PLAIN, field("odd", {"type": "array", "elementType": MAP, "containsNull": True})]
    put(location, columns, [(1, "a", None)])
    put(f"{location}-nested", nested, [(1, "a", None)])
    assert change_rows(stage(location, columns, [(1, "a", None, -1)])) is None
    assert change_rows(stage(f"{location}-nested", nested, [(1, "a", None, -1)])) is None


def test_nothing_is_done_where_the_columns_differ_or_nothing_is_there(location: str, tmp_path: Path) -> None:
    put(location, PLAIN, *FILES)
    other = stage(location, [field("id", "integer"), field("text", "string")], [(1, "a", -1)])
    assert change_rows(other) is None
    assert change_rows(replace(other, staging=str(tmp_path / "nowhere"))) is None
    assert change_rows(replace(other, location=str(tmp_path / "nowhere"))) is None
    partitioned = str(tmp_path / "partitioned")
    write_deltalake(partitioned, of(PLAIN, FILES[0]), partition_by=["text"])
    assert change_rows(replace(stage(location, PLAIN, ROWS), location=partitioned)) is None


ONE = st.tuples(
    st.sampled_from([None, 1, 2, 3, -(2**40)]),
    st.sampled_from([None, "", "a", "A", "ä"]),
    st.sampled_from([None, date(1, 1, 1), date(2024, 2, 29)]),
    st.sampled_from([None, Decimal("0.00"), Decimal("-1.10")]),
    st.sampled_from([None, {"x": None, "y": None}, {"x": 1, "y": "a"}]),
    st.sampled_from([None, [], [None], [1, 2]]),
    st.sampled_from([None, datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC), datetime(2024, 2, 29, tzinfo=UTC)]),
    st.sampled_from([None, True, False]),
    st.sampled_from([None, b"", b"\xff"]),
    st.sampled_from([None, 0.0, -0.0, 1.5, float("nan")]),
    st.sampled_from([None, [0.0], [-0.0], [None, float("nan")]]),
)


@settings(max_examples=40, deadline=None)
@given(
    files=st.lists(st.lists(ONE, min_size=1, max_size=5), min_size=1, max_size=3),
    come=st.lists(ONE, max_size=3),
    data=st.data(),
)
def test_what_is_there_afterwards(
    files: list[list[Row]], come: list[Row], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    location = str(tmp_path_factory.mktemp("rows") / "table")
    put(location, EVERY, *files)
    rows = [row for file in files for row in file]
    gone = data.draw(st.lists(st.sampled_from(range(len(rows))), unique=True, max_size=4))
    net: dict[str, tuple[Row, int]] = {}
    for row, sign in [*((rows[at], -1) for at in gone), *((row, 1) for row in come)]:
        net[repr(row)] = (row, net.get(repr(row), (row, 0))[1] + sign)
    changed = [(*row, copies) for row, copies in net.values() if copies]
    if changed:
        version = change_rows(stage(location, EVERY, changed))
        assert version is not None
        assert are_as_the_files_say(location, version - 1, version)
    assert held(location) == wanted([row for at, row in enumerate(rows) if at not in gone] + come)
