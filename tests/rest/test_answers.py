"""Rows in each form: a hash has no order; rows are gone through, and never all of them held as values of Python."""

import io
import json
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from reconciler.engine.protocol import Rows
from reconciler.engine.stored import ColumnType
from reconciler.rest.answers import write_answer

Row = tuple[int, str | None]


def written(rows: Rows, form: str) -> bytes:
    into = io.BytesIO()
    write_answer(rows, form, into)
    return into.getvalue()


def hash_of(*rows: Row, type_: str = "int") -> str:
    return written(Rows((ColumnType("id", type_), ColumnType("name", "string")), [*rows]), "hash").decode()


def test_a_hash_knows_rows_and_no_order() -> None:
    one, other = (1, "a"), (2, None)
    found = hash_of(one, other)
    assert found == found.upper()
    assert len(found) == 64
    assert found == hash_of(other, one)
    different = [hash_of(), hash_of(one), hash_of(one, one), hash_of(one, (2, "")), hash_of(one, other, type_="bigint")]
    assert len({found, *different}) == 6


class Passing(Sequence[tuple[Any, ...]]):
    """Rows that can be gone through, and nothing else; each is made when its turn comes."""

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        for number in range(25_000):
            nested = None if number % 2 else {"n": number}
            yield number, Decimal(number) / 4, nested, float("nan") if number == 20_001 else number

    def __len__(self) -> int:
        raise AssertionError("rows are counted")

    def __getitem__(self, index: Any) -> Any:
        raise AssertionError("rows are picked")


ROWS = Rows(
    (
        ColumnType("id", "bigint"),
        ColumnType("part", "decimal(10,2)"),
        ColumnType("nested", "struct<n:bigint>"),
        # It says so, and one of 25,000 does not fit: all of the column are texts.
        ColumnType("whole", "bigint"),
    ),
    Passing(),
)


def test_arrow_and_parquet_have_the_same_rows_in_their_types() -> None:
    table = pa.ipc.open_stream(written(ROWS, "arrow_ipc")).read_all()
    assert table.num_rows == 25_000
    assert table.schema.names == ["id", "part", "nested", "whole"]
    assert table.schema.types == [pa.int64(), pa.decimal128(10, 2), pa.struct([("n", pa.int64())]), pa.string()]
    assert table.slice(20_001, 1).to_pylist() == [{"id": 20_001, "part": Decimal("5000.25"), "nested": None, "whole": "nan"}]
    assert pq.read_table(io.BytesIO(written(ROWS, "parquet"))).to_pylist() == table.to_pylist()


def test_no_rows_have_their_types() -> None:
    table = pa.ipc.open_stream(written(Rows(ROWS.columns, []), "arrow_ipc")).read_all()
    assert table.schema.types == [pa.int64(), pa.decimal128(10, 2), pa.struct([("n", pa.int64())]), pa.int64()]


def test_json_has_a_line_for_each() -> None:
    lines = written(ROWS, "json").decode().splitlines()
    assert len(lines) == 25_000
    assert json.loads(lines[2]) == {"id": 2, "part": 0.5, "nested": {"n": 2}, "whole": 2}


def test_a_table_is_as_wide_as_its_longest_row() -> None:
    lines = written(ROWS, "text").decode().splitlines()
    assert len(lines) == 25_000 + 4
    assert len(set(map(len, lines))) == 1
    assert lines[1].startswith("| id    | part    | nested")
    assert lines[-2].startswith("| 24999 | 6249.75 |")
