"""Small files of a table put together, as OPTIMIZE of Delta does it: one commit that changes no rows.

Whoever appends a few rows at a time leaves a file each time, and each file costs whoever reads the table, or its log.

- Files of at most `SMALL_FILE` bytes are put together, as many at a time as hold little (`MOST_BYTES`, `MOST_HELD`). What
  they make is put together with later ones, until it is no longer small.
- Columns that were added to the table since a file was written are NULL in what it becomes, as they are for readers.
- The commit says of each file that it changes no data. So whoever follows the table's changes passes over it; whoever reads
  an earlier version goes on reading the files of that one, which stay until retention lets them go.
- It follows right on the version that was asked for, or it is not made. Tables, files and columns are those that
  `arrow_rows` and `arrow_writes` surely read and write; others are left as they are.
"""

from typing import Final

from reconciler.base.digest import JsonObject
from reconciler.delta.arrow_rows import SMALL_FILE, OpenedTable, plain_table, rows_of
from reconciler.delta.arrow_writes import is_writable, put_together
from reconciler.engine.stored import Transaction

MOST_BYTES: Final = 16 << 20
MOST_HELD: Final = 64 << 20
_FEWEST: Final = 2


def compact(location: str, version: int, transaction: Transaction, commit: JsonObject | None = None) -> int | None:
    """Put small files of a table together that stands at a version; returns the version that holds the same rows in fewer
    files. None where there is none: nothing was done. Raises RegistryError for what the system refuses, RegistryConflict
    where somebody writes the table meanwhile, or has written it later under the transaction's application."""
    table = plain_table(location)
    if table is None:
        return None
    if table.version != version:
        # A repeat: this is what came right after that version.
        is_done = table.opened.transaction_version(transaction.application) == transaction.version
        return table.version if is_done and table.version == version + 1 else None
    if not is_writable(table, nulls_are_checked=True):
        return None
    return _together(table, transaction, commit)


def _together(table: OpenedTable, transaction: Transaction, commit: JsonObject | None) -> int | None:
    parts, gone = [], []
    held = stored = 0
    for file in table.files:
        if file.bytes > SMALL_FILE:
            continue
        stored += file.bytes
        if stored > MOST_BYTES:
            break
        rows = rows_of(table, [file])
        if rows is None:
            return None
        held += rows.nbytes
        if held > MOST_HELD:
            break
        parts.append(rows)
        gone.append(file)
    if len(gone) < _FEWEST:
        return None
    return put_together(table, gone, parts, transaction, commit)
