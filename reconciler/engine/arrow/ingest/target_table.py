"""The table that a small range is written to: whether it is one that is surely written here as Spark writes it.

Tables are those that `delta.arrow_writes` can write for sure, with exactly the columns of the target. Where rows have to be
looked for, the files that may have them are not large: those whose least and greatest values in Delta's log leave room for
one. Keys that come one after the other lie in few files, however large the table is. A small table is looked through.
"""

import json
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

from reconciler.base.digest import JsonObject
from reconciler.base.names import fold
from reconciler.delta.arrow_rows import OpenedTable, StoredFile, arrow_schema, plain_table
from reconciler.delta.arrow_writes import is_writable
from reconciler.delta.key_ranges import files_with_any
from reconciler.delta.schema import delta_schema
from reconciler.engine.arrow.ingest.incoming import Row
from reconciler.engine.arrow.ingest.values import NotSure, can_be_key
from reconciler.engine.protocol import Ingestion, TableTarget

if TYPE_CHECKING:
    import pyarrow

_SMALL_BYTES: Final = 8_000_000
_SMALL_ROWS: Final = 200_000
"""A table of so much is looked through as a whole."""
_MOST_BYTES: Final = 32_000_000
_MOST_ROWS: Final = 1_000_000
"""So much of a larger table is looked through, and written anew: for a few rows of a million, at a tenth of what Spark takes
(bench/scattered.py)."""
_MOST_FILES: Final = 1_000
"""Of a table in whose log is looked which of them may have a row."""


def writable(ingestion: Ingestion) -> OpenedTable:
    """The table as it is now, without this transaction. Raises NotSure."""
    target, transaction = ingestion.target, ingestion.transaction
    table = plain_table(target.location)
    if table is None or not is_writable(table, nulls_are_checked=True) or not _has_columns(table, target):
        raise NotSure(target.location)
    last = table.opened.transaction_version(transaction.application)
    if last is not None and last >= transaction.version:
        raise NotSure("it is there already")
    return table


def is_small(table: OpenedTable) -> bool:
    """Whether a table is looked through as a whole."""
    return _are_at_most(table.files, _SMALL_BYTES, _SMALL_ROWS)


def files_to_search(table: OpenedTable, rows: "pyarrow.Table") -> tuple[StoredFile, ...]:
    """The files in which these rows are looked for, which are in columns of the table. Raises NotSure where that is too
    much."""
    if is_small(table):
        return table.files
    files = files_with_any(table, rows) if len(table.files) <= _MOST_FILES else table.files
    if not _are_at_most(files, _MOST_BYTES, _MOST_ROWS):
        raise NotSure("a large table")
    return files


def _are_at_most(files: Sequence[StoredFile], most_bytes: int, most_rows: int) -> bool:
    return sum(file.bytes for file in files) <= most_bytes and sum(file.rows or 0 for file in files) <= most_rows


def key_places(target: TableTarget) -> list[int]:
    """Where the columns of the key stand among the table's."""
    keys = {fold(name) for name in target.primary_key}
    return [place for place, column in enumerate(target.columns) if fold(column.name) in keys]


def as_arrow(rows: Collection[Row], table: OpenedTable, names: Sequence[str] | None = None) -> "pyarrow.Table":
    """Rows of plain values, in the columns of a table; `names`: in these of them."""
    import pyarrow

    schema = arrow_schema(table.schema)
    if names is not None:
        schema = pyarrow.schema([schema.field(name) for name in names])
    parts = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [pyarrow.array(values, kind) for values, kind in zip(parts, schema.types, strict=True)]
    return pyarrow.Table.from_arrays(arrays, schema=schema)


def _has_columns(table: OpenedTable, target: TableTarget) -> bool:
    """Whether the table has exactly the target's columns, and a key that is told apart here as Spark tells it."""
    try:
        wanted = json.loads(delta_schema(target.columns).to_json())["fields"]
    except ValueError:
        return False
    keys = [target.columns[place] for place in key_places(target)]
    return [_plain(one) for one in wanted] == [_plain(one) for one in table.schema["fields"]] and all(
        can_be_key(column) for column in keys
    )


def _plain(column: JsonObject) -> JsonObject:
    return {name: column[name] for name in ("name", "type", "nullable")}
