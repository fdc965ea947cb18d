"""The rows of a query as Arrow: a stream of record batches, or a Parquet file.

What no table stores, such as an interval, is a text. Rows are taken in batches: as values of Python they would take many
times the memory.
"""

import io
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import IO, TYPE_CHECKING, Any

from reconciler.delta.arrow_rows import arrow_schema
from reconciler.delta.schema import delta_schema
from reconciler.engine.protocol import ColumnType, Rows

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH = 10_000


def write_stream(rows: Rows, into: IO[bytes]) -> None:
    """Write a stream, without compression."""
    import pyarrow as pa

    table = _table(rows)
    with pa.ipc.new_stream(into, table.schema) as stream:
        for batch in table.to_batches(max_chunksize=_BATCH):
            stream.write_batch(batch)


def write_parquet(rows: Rows, into: IO[bytes]) -> None:
    """Write a file. It is made in memory first: whoever reads it may not be able to go back."""
    import pyarrow.parquet as pq

    file = io.BytesIO()
    pq.write_table(_table(rows), file)
    into.write(file.getbuffer())


def _table(rows: Rows) -> "pa.Table":
    import pyarrow as pa

    types = [_type_of(column) for column in rows.columns]
    while True:
        chunks: list[list[pa.Array]] = [[] for _ in types]
        try:
            for batch in _batches(rows.rows):
                for number, type_ in enumerate(types):
                    chunks[number].append(_array([row[number] for row in batch], type_, number))
        except _DoesNotFit as unfit:
            types[unfit.number] = None
            continue
        columns = [pa.chunked_array(parts, type_ or pa.string()) for parts, type_ in zip(chunks, types, strict=True)]
        return pa.Table.from_arrays(columns, [column.name for column in rows.columns])


class _DoesNotFit(Exception):
    """A value of a column does not fit the column's type: all of the column is told as texts."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def _type_of(column: ColumnType) -> "pa.DataType | None":
    """The type of a column; None where its values are told as texts."""
    try:
        return arrow_schema(json.loads(delta_schema([column]).to_json())).field(0).type
    except (KeyError, ValueError, TypeError):
        return None


def _array(values: list[Any], type_: "pa.DataType | None", number: int) -> "pa.Array":
    import pyarrow as pa

    if type_ is None:
        return pa.array([None if one is None else str(one) for one in values], pa.string())
    try:
        return pa.array(values, type_)
    except (KeyError, ValueError, TypeError, pa.ArrowException) as error:
        raise _DoesNotFit(number) from error


def _batches(rows: Iterable[Sequence[Any]]) -> Iterator[list[Sequence[Any]]]:
    left = iter(rows)
    while batch := list(islice(left, _BATCH)):
        yield batch
