"""The rows of a query as Arrow: a stream of record batches, or a Parquet file.

What no table stores, such as an interval, is a text; so are all values of a column of which one does not fit its type. Rows
are gone through twice, batch by batch, and never held all at once: first to find the types, then to write.
"""

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

    types = _types(rows)
    with pa.ipc.new_stream(into, _schema(rows, types)) as stream:
        for batch in _record_batches(rows, types):
            stream.write_batch(batch)


def write_parquet(rows: Rows, into: IO[bytes]) -> None:
    """Write a file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = _types(rows)
    with pq.ParquetWriter(pa.PythonFile(_Forward(into), "w"), _schema(rows, types)) as file:
        for batch in _record_batches(rows, types):
            file.write_batch(batch)


class _Forward:
    """Hands bytes on, and says how many there were: a writer of Parquet asks for that. It never goes back."""

    closed = False

    def __init__(self, into: IO[bytes]) -> None:
        self._into = into
        self._position = 0

    def write(self, data: Any) -> int:
        self._into.write(data)
        self._position += len(data)
        return len(data)

    def tell(self) -> int:
        return self._position

    def flush(self) -> None:
        self._into.flush()

    def close(self) -> None:
        """Who opened what is written to closes it."""


def _types(rows: Rows) -> "list[pa.DataType | None]":
    """The types of the columns; None where values are told as texts."""
    types = [_type_of(column) for column in rows.columns]
    for batch in _batches(rows.rows):
        for number, type_ in enumerate(types):
            if type_ is not None and not _fit([row[number] for row in batch], type_):
                types[number] = None
    return types


def _type_of(column: ColumnType) -> "pa.DataType | None":
    try:
        return arrow_schema(json.loads(delta_schema([column]).to_json())).field(0).type
    except (KeyError, ValueError, TypeError):
        return None


def _fit(values: list[Any], type_: "pa.DataType") -> bool:
    import pyarrow as pa

    try:
        pa.array(values, type_)
    except (KeyError, ValueError, TypeError, pa.ArrowException):
        return False
    return True


def _schema(rows: Rows, types: "Sequence[pa.DataType | None]") -> "pa.Schema":
    import pyarrow as pa

    return pa.schema([(column.name, type_ or pa.string()) for column, type_ in zip(rows.columns, types, strict=True)])


def _record_batches(rows: Rows, types: "Sequence[pa.DataType | None]") -> "Iterator[pa.RecordBatch]":
    import pyarrow as pa

    schema = _schema(rows, types)
    for batch in _batches(rows.rows):
        columns = [_array([row[number] for row in batch], type_) for number, type_ in enumerate(types)]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _array(values: list[Any], type_: "pa.DataType | None") -> "pa.Array":
    import pyarrow as pa

    if type_ is None:
        return pa.array([None if one is None else str(one) for one in values], pa.string())
    return pa.array(values, type_)


def _batches(rows: Iterable[Sequence[Any]]) -> Iterator[list[Sequence[Any]]]:
    left = iter(rows)
    while batch := list(islice(left, _BATCH)):
        yield batch
