"""Of what a stream remembers the rows that a step needs, picked in this process: however much is remembered, few are brought
to Spark.

What is picked holds all that is needed (`protocol.Needed`) and may hold more; the query that reads it picks again. So a key
is looked for column by column, only in columns whose values are equal where they are the same, and by none where that is not
sure. A log is read file by file, texts as numbers into a list of all that there are: so it takes no more memory than its
files tell.
"""

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

from reconciler.base.names import fold
from reconciler.delta.arrow_rows import PlainTable, arrow_schema, picked_rows
from reconciler.engine.protocol import LogSource, Needed
from reconciler.engine.spark.held_rows import MOST_ROWS, Held, HeldRows

if TYPE_CHECKING:
    import pyarrow as pa

MOST_BYTES: Final = 256 << 20
"""Of a log's files: so much is read at each step."""

_Values = Sequence["pa.Array | None"]
"""Of each key the values that are wanted; None: all are."""


def needed_rows(known: HeldRows, source: LogSource, came: Mapping[str, Held], whole: int = MOST_ROWS) -> Held | None:
    """The rows of a log that are needed, where they are few. `came` are the rows of stored sources, by folded name. A log of
    no more than `whole` rows is taken as it is, and held for the next step."""
    import pyarrow as pa

    tables = [known.table(location) for location in source.locations]
    plain = [table for table in tables if table is not None]
    if len(plain) < len(tables) or len({str(table.schema) for table in plain}) != 1:
        return None
    rows = [table.rows for table in plain]
    if None not in rows and sum(one or 0 for one in rows) <= whole:
        parts = [known.of(table.location, 0) for table in plain]
        held = [part for part in parts if part is not None]
        if len(held) == len(parts):
            return Held(plain[0].schema, pa.concat_tables([part.rows for part in held]))
    if source.needed is None or sum(table.bytes for table in plain) > MOST_BYTES:
        return None
    found = _picked(plain, source.needed, came)
    return None if found is None or found.num_rows > MOST_ROWS else Held(plain[0].schema, found)


def _picked(tables: Sequence[PlainTable], needed: Needed, came: Mapping[str, Held]) -> "pa.Table | None":

    values = _values_that_came(needed, came)
    if values is None:
        return None
    if needed.due is None or needed.by_row:
        picks = _Pick(needed, values, needed.due is not None)
    else:
        due = _picked_by(tables, _Pick(needed, None, True))
        if due is None:
            return None
        pairs = zip(values, needed.keys, strict=True)
        picks = _Pick(needed, [_both(one, _key(due, columns)) for one, columns in pairs], False)
    if picks.takes_all:
        return None
    if not picks.columns:
        return arrow_schema(tables[0].schema).empty_table()
    return _picked_by(tables, picks)


def _picked_by(tables: Sequence[PlainTable], picks: "_Pick") -> "pa.Table | None":
    import pyarrow as pa

    parts = []
    rows = 0
    for table in tables:
        for file in table.files:
            part = picked_rows(table, file, picks.columns, picks)
            rows += 0 if part is None else part.num_rows
            if part is None or rows > MOST_ROWS:
                return None
            parts.append(part)
    return pa.concat_tables(parts)


class _Pick:
    """Takes rows of a log with these values of keys (None: no rows for their keys), and those that are due."""

    def __init__(self, needed: Needed, values: "_Values | None", due: bool) -> None:
        self._needed, self._values, self._due = needed, values, due

    @property
    def takes_all(self) -> bool:
        """Whether it would leave out no row."""
        return self._values is not None and bool(self._needed.keys) and all(one is None for one in self._values)

    @property
    def columns(self) -> list[str]:
        """Those that it looks at."""
        keys = [] if self._values is None else [name for columns in self._needed.keys for name in columns]
        due = self._needed.due if self._due and self._needed.due is not None else ()
        return list(dict.fromkeys([*keys, *due]))

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

    return None if values is None or more.type != values.type else _joined([pa.chunked_array([values]), more])


def _key(rows: "pa.Table", columns: Sequence[str]) -> Any:
    """A key of few rows: the first of these columns that is not NULL."""
    from pyarrow import compute

    found = [rows.column(name) for name in columns]
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
