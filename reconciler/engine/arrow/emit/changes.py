"""The net difference of two versions of a view, as multisets, in this process (`engine.spark.emit.changes` does it for large
ones).

- Where there is no older version, all rows came. Where the versions differ in their columns, all rows of the older one went,
  and all of the newer one came.
- Of a view whose rows this process changed it is known which (`delta.known_changes`): no file is read, however large.
- A file that both versions name holds the same rows in both: it is not read.
- Versions are read where the rows and bytes in the files that differ are surely few: `MOST_ROWS`, `MOST_BYTES`.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from reconciler.base.dataclass import dataclass
from reconciler.base.names import fold
from reconciler.delta.arrow_rows import PlainTable, StoredFile, arrow_schema, plain_table, rows_of
from reconciler.delta.known_changes import known_changes
from reconciler.engine.arrow.equal_rows import as_grouped, row_ids
from reconciler.engine.protocol import Emission

if TYPE_CHECKING:
    import pyarrow as pa

MOST_ROWS: Final = 200_000
MOST_BYTES: Final = 16_000_000


@dataclass(frozen=True, slots=True)
class Changes:
    """What changed. `after` is the newer version, `whole` all its rows where they had to be read. `coming` are the rows that
    come, as often as they do; `going` distinct rows that go, `copies` how often each. `inserted` and `deleted` count rows.
    `only_inserts`: nothing can have gone."""

    after: PlainTable
    whole: "pa.Table | None"
    coming: "pa.Table"
    going: "pa.Table"
    copies: tuple[int, ...]
    inserted: int
    deleted: int
    only_inserts: bool = False
    columns_differ: bool = False


def changes(emission: Emission) -> Changes | None:
    """What changed; None where that is not small, or not surely told."""
    after = plain_table(emission.after.location, emission.after.version)
    if after is None:
        return None
    if emission.before is None:
        return _all_new(after, deleted=0, only_inserts=True)
    before = plain_table(emission.before.location, emission.before.version)
    if before is None:
        return None
    if shape(before) != shape(after):
        deleted = before.rows
        return None if deleted is None else _all_new(after, deleted, columns_differ=True)
    is_same_place = before.location == after.location
    known = known_changes(after.location, ((before.version, after.version),)) if is_same_place else None
    if known is not None:
        return _net(after, known.went, known.came)
    shared = set(before.files) & set(after.files) if is_same_place else set()
    gone = [file for file in before.files if file not in shared]
    new = [file for file in after.files if file not in shared]
    if not is_small([*gone, *new]):
        return None
    older, newer = rows_of(before, gone), rows_of(after, new)
    return None if older is None or newer is None else _net(after, older.rename_columns(newer.column_names), newer)


def is_small(files: Iterable[StoredFile]) -> bool:
    """Whether the rows of these files are surely few."""
    found = list(files)
    rows = [file.rows for file in found if file.rows is not None]
    return len(rows) == len(found) and sum(rows) <= MOST_ROWS and sum(file.bytes for file in found) <= MOST_BYTES


def shape(table: PlainTable) -> "list[tuple[str, pa.DataType]]":
    """The columns of a table as far as rows depend on them: names without letter case, and types, in order."""
    return [(fold(field.name), field.type) for field in arrow_schema(table.schema)]


def _all_new(after: PlainTable, deleted: int, *, only_inserts: bool = False, columns_differ: bool = False) -> Changes | None:
    if not is_small(after.files):
        return None
    rows = rows_of(after)
    if rows is None:
        return None
    return Changes(after, rows, rows, rows.slice(0, 0), (), rows.num_rows, deleted, only_inserts, columns_differ)


def _net(after: PlainTable, older: "pa.Table", newer: "pa.Table") -> Changes:
    """Of each row that one side has more often, how much more."""
    import pyarrow as pa
    from pyarrow import compute

    both = pa.concat_tables([newer, older])
    signs = pa.concat_arrays(
        [pa.repeat(pa.scalar(1, pa.int64()), newer.num_rows), pa.repeat(pa.scalar(-1, pa.int64()), older.num_rows)]
    )
    (ids,) = row_ids([both])
    rows = pa.table({"id": ids, "sign": signs, "row": pa.array(range(both.num_rows), pa.int64())})
    summed = rows.group_by("id", use_threads=False).aggregate([("sign", "sum"), ("row", "min")])
    more = summed.filter(compute.greater(summed["sign_sum"], 0))
    less = summed.filter(compute.less(summed["sign_sum"], 0))
    often = [
        row
        for row, copies in zip(more["row_min"].to_pylist(), more["sign_sum"].to_pylist(), strict=True)
        for _ in range(copies)
    ]
    going = tuple(-copies for copies in less["sign_sum"].to_pylist())
    return Changes(
        after, None, _taken(both, often), _taken(both, less["row_min"].to_pylist()), going, len(often), sum(going)
    )


def _taken(rows: "pa.Table", indices: list[int]) -> "pa.Table":
    import pyarrow as pa

    taken = rows.take(pa.array(indices, pa.int64())).combine_chunks()
    columns = [as_grouped(column.combine_chunks()) if column.num_chunks else column for column in taken.columns]
    return pa.table(columns, schema=rows.schema)
