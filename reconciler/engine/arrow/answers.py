"""The rows of a query as Arrow: a stream of record batches, or a Parquet file.

What no table stores, such as an interval, is a text.
"""

import io
import json
from typing import IO, TYPE_CHECKING

from reconciler.delta.arrow_rows import arrow_schema
from reconciler.delta.schema import delta_schema
from reconciler.engine.protocol import Rows

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

    fields: list[pa.Field] = []
    columns: list[pa.Array] = []
    for number, column in enumerate(rows.columns):
        values = [row[number] for row in rows.rows]
        try:
            type_ = arrow_schema(json.loads(delta_schema([column]).to_json())).field(0).type
            columns.append(pa.array(values, type_))
        except (KeyError, ValueError, TypeError, pa.ArrowException):
            columns.append(pa.array([None if one is None else str(one) for one in values], pa.string()))
        fields.append(pa.field(column.name, columns[-1].type))
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))
