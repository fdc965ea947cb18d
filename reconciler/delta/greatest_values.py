"""The greatest values that columns have in files of a Delta table, read in this process.

Values are numbers: days since 1970 of a DATE, microseconds since 1970 of a TIMESTAMP, else the number itself. NULL, NaN and
infinite numbers do not count. What is not surely read as Spark reads it (`arrow_rows` says what is) is not read here.
"""

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from reconciler.base.names import fold
from reconciler.delta.arrow_rows import plain_table, rows_of
from reconciler.project.program.lateness import Number

if TYPE_CHECKING:
    import pyarrow as pa


def greatest_values(location: str, columns: Collection[str], before: int | None, after: int) -> dict[str, Number] | None:
    """By folded name, the greatest value of each of these columns (folded names) in the files that the table names at the
    version `after` and not at `before` (None: in all its files). A column without a value there is left out. None where that
    is not surely read."""
    table = plain_table(location, after)
    if table is None:
        return None
    known: frozenset[str] = frozenset()
    if before is not None:
        earlier = plain_table(location, before)
        if earlier is None:
            return None
        known = frozenset(file.path for file in earlier.files)
    fields = [field for field in table.schema["fields"] if fold(field["name"]) in columns]
    narrow = replace(table, schema={**table.schema, "fields": fields})
    found: dict[str, Number] = {}
    # One at a time: a column of all of them may take more memory than there is.
    for file in (file for file in table.files if file.path not in known):
        rows = rows_of(narrow, [file])
        if rows is None:
            return None
        for name in rows.column_names:
            value = _greatest(rows.column(name))
            if value is not None:
                found[fold(name)] = max(found.get(fold(name), value), value)
    return found


def _greatest(column: "pa.ChunkedArray") -> Any:
    import pyarrow as pa
    from pyarrow import compute, types

    if types.is_date32(column.type):
        column = column.cast(pa.int32())
    elif types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    elif types.is_floating(column.type):
        column = column.filter(compute.is_finite(column))
    return compute.max(column).as_py()
