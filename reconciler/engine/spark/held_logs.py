"""Of what a stream remembers the rows that a step needs, picked in this process: however much is remembered, few are brought
to Spark.

What is picked holds all that is needed (`protocol.Needed`) and may hold more; the query that reads it picks again. So a key
is looked for column by column, only in columns whose values are equal where they are the same, and by none where that is not
sure. A log is read file by file, texts as numbers into a list of all that there are: so it takes no more memory than its
files tell.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import reduce
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from reconciler.base.names import fold
from reconciler.delta.arrow_rows import PlainTable, StoredFile, arrow_schema, fitted, rows_with_texts_once
from reconciler.engine.sources import LogSource, Needed, StoredSource
from reconciler.engine.spark.held_rows import MOST_ROWS, Held, HeldRows
from reconciler.engine.spark.machine_memory import machine_memory

if TYPE_CHECKING:
    import pyarrow as pa

MOST_BYTES: Final = 256 << 20
"""Of a log's files: so much is read for a step."""
MOST_HELD: Final = 512 << 20
"""Of all logs, as it stands in memory, but no more than a sixteenth of what there is; what was used longest ago goes
first."""

_Values = Sequence["pa.Array | None"]
"""Of each key the values that are wanted; None: all are."""


class HeldLogs:
    """Logs from step to step; see the module. For any thread."""

    def __init__(self, known: HeldRows, most_held: int = MOST_HELD) -> None:
        self._known, self._most = known, min(most_held, machine_memory() // 16)
        self._files: OrderedDict[tuple[str, str], pa.Table] = OrderedDict()
        self._bytes = 0
        self._last: tuple[Any, Held] | None = None
        self._lock = Lock()

    def needed(self, source: LogSource, came: Mapping[StoredSource, Held], whole: int = MOST_ROWS) -> Held | None:
        """The rows of a log that are needed, where they are few. `came` are the rows of stored sources. A log of at most
        `whole` rows is taken as it is."""
        # What a stream gives and what it remembers are computed from the same rows.
        asked = (source, frozenset(came))
        with self._lock:
            if self._last is not None and self._last[0] == asked:
                return self._last[1]
        tables = [self._known.table(location) for location in source.locations]
        plain = [table for table in tables if table is not None]
        if len(plain) < len(tables) or len({str(table.schema) for table in plain}) != 1:
            return None
        found = self._all(plain, whole)
        if found is None and source.needed is not None and sum(table.bytes for table in plain) <= MOST_BYTES:
            rows = self._picked(plain, source.needed, {fold(one.name): held for one, held in came.items()})
            found = None if rows is None or rows.num_rows > MOST_ROWS else Held(plain[0].schema, rows)
        if found is not None:
            with self._lock:
                self._last = (asked, found)
        return found

    def _all(self, tables: Sequence[PlainTable], whole: int) -> Held | None:
        import pyarrow as pa

        rows = [table.rows for table in tables]
        if None in rows or sum(one or 0 for one in rows) > whole:
            return None
        parts = [self._known.of(table.location, 0) for table in tables]
        held = [part for part in parts if part is not None]
        if len(held) < len(parts):
            return None
        return Held(tables[0].schema, pa.concat_tables([part.rows for part in held]))

    def _picked(self, tables: Sequence[PlainTable], needed: Needed, came: Mapping[str, Held]) -> "pa.Table | None":
        values = _values_that_came(needed, came)
        if values is None:
            return None
        if needed.due is None or needed.by_row:
            pick = _Pick(needed, values, needed.due is not None)
        else:
            due = self._picked_by(tables, _Pick(needed, None, True))
            if due is None:
                return None
            pairs = zip(values, needed.keys, strict=True)
            pick = _Pick(needed, [_both(one, _key(due, columns)) for one, columns in pairs], False)
        return None if pick.takes_all else self._picked_by(tables, pick)

    def _picked_by(self, tables: Sequence[PlainTable], pick: "_Pick") -> "pa.Table | None":
        import pyarrow as pa

        parts = [arrow_schema(tables[0].schema).empty_table()]
        rows = 0
        for table in tables if pick.looks else ():
            for file in table.files:
                part = self._file(table, file)
                taken = None if part is None else part.filter(pick(part))
                rows += 0 if taken is None else taken.num_rows
                if taken is None or rows > MOST_ROWS:
                    return None
                parts.append(fitted(taken, table.schema))
        return pa.concat_tables(parts)

    def _file(self, table: PlainTable, file: StoredFile) -> "pa.Table | None":
        """All rows of a file of a log: it never changes."""
        key = (table.location, file.path)
        with self._lock:
            known = self._files.get(key)
            if known is not None:
                self._files.move_to_end(key)
                return known
        rows = rows_with_texts_once(table, file)
        if rows is not None and rows.nbytes <= self._most:
            with self._lock:
                if key not in self._files:
                    self._files[key] = rows
                    self._bytes += rows.nbytes
                while self._bytes > self._most:
                    self._bytes -= self._files.popitem(last=False)[1].nbytes
        return rows


class _Pick:
    """Takes rows of a log with these values of keys (None: no rows for their keys), and those that are due."""

    def __init__(self, needed: Needed, values: "_Values | None", due: bool) -> None:
        self._needed, self._values, self._due = needed, values, due

    @property
    def takes_all(self) -> bool:
        """Whether it would leave out no row."""
        return self._values is not None and bool(self._needed.keys) and all(one is None for one in self._values)

    @property
    def looks(self) -> bool:
        """Whether it may take a row."""
        return bool(self._values and self._needed.keys) or (self._due and self._needed.due is not None)

    def __call__(self, rows: "pa.Table") -> "pa.Array":
        import pyarrow as pa
        from pyarrow import compute

        taken = pa.array([False]).take(pa.array([0] * rows.num_rows, pa.int32()))
        if self._values is not None and self._needed.keys:
            pairs = zip(self._needed.keys, self._values, strict=True)
            found = [has for columns, values in pairs if (has := _has_one_of(rows, columns, values)) is not None]
            taken = reduce(compute.and_, found) if found else compute.invert(taken)
        if self._due and self._needed.due is not None:
            first, last = (_whole(rows.column(name)) for name in self._needed.due)
            due = compute.less_equal(first, pa.scalar(self._needed.to, pa.int64()))
            if self._needed.after is not None:
                due = compute.and_(due, compute.greater(last, pa.scalar(self._needed.after, pa.int64())))
            taken = compute.or_(taken, compute.fill_null(due, False))
        return taken


def _values_that_came(needed: Needed, came: Mapping[str, Held]) -> "_Values | None":
    """The values of each key in the rows that came; None where these are not at hand."""

    found: list[list[Any] | None] = [[] for _ in needed.keys]
    for name, columns in needed.came:
        held = came.get(fold(name))
        if held is None:
            return None
        spelled = {fold(one): one for one in held.rows.column_names}
        for place, column in enumerate(columns):
            known = found[place]
            values = held.rows.column(spelled[fold(column)]) if fold(column) in spelled else None
            if known is not None and values is not None and _is_comparable(values.type):
                known.append(values)
            else:
                found[place] = None
    return [None if parts is None or len({str(part.type) for part in parts}) != 1 else _joined(parts) for parts in found]


def _joined(parts: Sequence[Any]) -> "pa.Array":
    import pyarrow as pa

    return _whole(pa.chunked_array([chunk for part in parts for chunk in part.chunks], parts[0].type)).unique()


def _both(values: "pa.Array | None", more: Any) -> "pa.Array | None":
    """All of these values, and those of rows that are due."""
    import pyarrow as pa

    return (
        None if values is None or more is None or more.type != values.type else _joined([pa.chunked_array([values]), more])
    )


def _key(rows: "pa.Table", columns: Sequence[str]) -> Any:
    """A key of few rows: the first of these columns that is not NULL; None where they are of several types."""
    from pyarrow import compute

    found = [rows.column(name) for name in columns]
    if len({_type(one) for one in found}) > 1:
        return None
    return found[0] if len(found) == 1 else compute.coalesce(*found)


def _has_one_of(rows: "pa.Table", columns: Sequence[str], values: "pa.Array | None") -> "pa.Array | None":
    """Whether one of these columns has one of the values, or all are NULL where NULL is a value. None: that is not sure."""
    from pyarrow import compute

    if values is None or any(_type(rows.column(name)) != values.type for name in columns):
        return None
    found = reduce(compute.or_, (_is_in(rows.column(name), values.drop_null()) for name in columns))
    if values.null_count:
        missing = reduce(compute.and_, (_whole(compute.is_null(rows.column(name))) for name in columns))
        found = compute.or_(found, missing)
    return found


def _is_in(column: Any, values: "pa.Array") -> "pa.Array":
    """Whether values of a column are among these. Of texts that are held once, each is looked for once."""
    import pyarrow as pa
    from pyarrow import compute

    if not pa.types.is_dictionary(column.type):
        return _whole(compute.is_in(column, value_set=values))
    found = [compute.is_in(chunk.dictionary, value_set=values).take(chunk.indices) for chunk in column.chunks]
    return compute.fill_null(_whole(pa.chunked_array(found, pa.bool_())), False)


def _type(column: Any) -> "pa.DataType":
    import pyarrow as pa

    return column.type.value_type if pa.types.is_dictionary(column.type) else column.type


def _whole(values: Any) -> "pa.Array":
    import pyarrow as pa

    if not isinstance(values, pa.ChunkedArray):
        return values
    return pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], values.type)


def _is_comparable(kind: "pa.DataType") -> bool:
    """Whether values of a type are the same where Spark takes them for equal."""
    from pyarrow import types

    return any(
        is_one(kind)
        for is_one in (
            types.is_integer,
            types.is_string,
            types.is_boolean,
            types.is_date,
            types.is_timestamp,
            types.is_decimal,
        )
    )
