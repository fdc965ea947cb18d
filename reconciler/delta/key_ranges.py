"""Between which values the rows of files lie, and which files of a table have rows between two values.

The first is read from the files, the second is what Delta's log says of each. Columns are of whole numbers or dates, of
which a log has the least and the greatest value as they are. A file of which it says nothing may have any. So may files of
a column with dates that Python has not, before the year 1 or after 9999.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from reconciler.base.names import fold
from reconciler.delta.added_files import AddedFiles
from reconciler.delta.arrow_rows import OpenedTable, StoredFile, plain_table, rows_of
from reconciler.engine.stored import Between

if TYPE_CHECKING:
    import pyarrow as pa

    from reconciler.base.digest import JsonObject

_KINDS: Final = frozenset({"byte", "short", "integer", "long", "date"})
_MOST_BYTES: Final = 16 << 20
"""Of files in which a range is looked for."""


def least_and_greatest(files: Iterable[AddedFiles], column: str) -> tuple[Any, Any] | None:
    """Of a column, in all these files. None where it has no value there, they are large, or it is not surely read."""
    return _ends_of_files(files, column, may_lack=True)


def ends_of_rows(schema: "JsonObject", rows: "Iterable[pa.Table]", column: str) -> tuple[Any, Any] | None:
    """The least and the greatest value of a column in rows that are held, which are in the columns of a schema (Delta's).
    None where it has no value there, or it is not known which of them is less."""
    field = _field(schema, column)
    return None if field is None else _ends_of((one.column(field["name"]) for one in rows), may_lack=True)


def _ends_of_files(files: Iterable[AddedFiles], column: str, *, may_lack: bool) -> tuple[Any, Any] | None:
    """`may_lack`: NULLs are passed over; else there is no answer where there are any."""
    columns = []
    for one in files:
        field = _field(one.table.schema, column)
        if field is None or one.bytes > _MOST_BYTES:
            return None
        narrow = replace(one.table, schema={**one.table.schema, "fields": [field]})
        rows = rows_of(narrow, one.files)
        if rows is None:
            return None
        columns.append(rows.column(0))
    return _ends_of(columns, may_lack=may_lack)


def _ends_of(columns: "Iterable[pa.ChunkedArray]", *, may_lack: bool) -> tuple[Any, Any] | None:
    from pyarrow import compute

    found: list[Any] = []
    for values in columns:
        if values.null_count and not may_lack:
            return None
        ends = compute.min_max(values)
        try:
            found += [end for end in (ends["min"].as_py(), ends["max"].as_py()) if end is not None]
        except (ValueError, OverflowError):
            return None
    return (min(found), max(found)) if found else None


def range_of(location: str, column: str) -> tuple[Any, Any] | None:
    """The least and the greatest value of a column of a small table, in its first version. None where the column has a NULL,
    and where `least_and_greatest` gives none."""
    table = plain_table(location, 0)
    return None if table is None else _ends_of_files([AddedFiles(table.closed, table.files)], column, may_lack=False)


def files_between(table: OpenedTable, needed: Sequence[Between]) -> tuple[StoredFile, ...]:
    """The files of a table that may have rows within all of these; columns are in any letter case."""
    if not needed:
        return table.files
    actions = table.opened.get_add_actions(flatten=True)
    names = actions.schema.names
    paths = [str(path) for path in actions["path"].to_pylist()] if actions.num_rows else []
    out: set[str] = set()
    for one in needed:
        field = _field(table.schema, one.column)
        ends = [f"{end}.{field['name']}" for end in ("min", "max")] if field is not None else []
        if not ends or not all(end in names for end in ends):
            continue
        try:
            lows, highs = actions[ends[0]].to_pylist(), actions[ends[1]].to_pylist()
        except (ValueError, OverflowError):
            continue
        for path, low, high in zip(paths, lows, highs, strict=True):
            if low is not None and high is not None and (high < one.least or low > one.greatest):
                out.add(path)
    return tuple(file for file in table.files if file.path not in out)


def files_with_any(table: OpenedTable, rows: "pa.Table") -> tuple[StoredFile, ...]:
    """The files of a table that may have a row that is equal to one of these, which are in columns of it: all values of one
    of them lie between the least and the greatest of the file."""
    from pyarrow import compute

    actions = table.opened.get_add_actions(flatten=True)
    ends = {name: both for name, both in _ends(table, actions).items() if name in rows.column_names}
    paths = [str(path) for path in actions["path"].to_pylist()] if actions.num_rows else []
    out: set[str] = set()
    for at, path in enumerate(paths):
        may_be: Any = None
        for name, (lows, highs) in ends.items():
            low, high, values = lows[at], highs[at], rows.column(name)
            if low is None or high is None:
                continue
            # NULLs are counted apart: they may be in any file.
            outside = compute.or_(compute.less(values, low), compute.greater(values, high))
            within = compute.fill_null(compute.invert(outside), True)
            may_be = within if may_be is None else compute.and_(may_be, within)
        if may_be is not None and not compute.any(may_be).as_py():
            out.add(path)
    return tuple(file for file in table.files if file.path not in out)


def _ends(table: OpenedTable, actions: Any) -> dict[str, tuple[list[Any], list[Any]]]:
    """By column, the least and the greatest values of the files, as far as a log has them as they are."""
    found: dict[str, tuple[list[Any], list[Any]]] = {}
    for one in table.schema["fields"]:
        field = _field(table.schema, one["name"])
        names = [f"{end}.{one['name']}" for end in ("min", "max")]
        if field is None or not all(name in actions.schema.names for name in names):
            continue
        try:
            found[one["name"]] = actions[names[0]].to_pylist(), actions[names[1]].to_pylist()
        except (ValueError, OverflowError):
            continue
    return found


def _field(schema: "JsonObject", column: str) -> "JsonObject | None":
    """A column of the table whose least and greatest values are as a log has them."""
    found = [field for field in schema["fields"] if fold(field["name"]) == fold(column)]
    if len(found) != 1 or not isinstance(found[0]["type"], str) or "." in column:
        return None
    return found[0] if found[0]["type"] in _KINDS else None
