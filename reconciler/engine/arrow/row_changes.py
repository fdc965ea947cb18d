"""Rows brought to a table without a key and taken out of it, in this process: what changed in a view.

Delta's log tells which files may hold a row that goes: it has the least and the greatest value of each column. Only those
files are read, one at a time. Those that hold such rows are written anew without them, in the commit that adds what comes.

Nothing is done (None) where that is not sure or not cheap:
- The table is one that is not surely read and written right (`delta.arrow_rows`, `arrow_writes`).
- A column has values that are not compared (maps). Zeros with other signs are two values.
- Many rows changed, or the files are large.
- Somebody else wrote the table, or a row that goes is not there.

What was done already (a process died behind the commit) is found by its transaction.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from reconciler.delta.arrow_rows import OpenedTable, StoredFile, plain_table, rows_of
from reconciler.delta.arrow_writes import Taken, append, is_writable, rewrite
from reconciler.delta.commits import version_with
from reconciler.delta.key_ranges import files_with_any
from reconciler.engine.arrow.equal_rows import row_ids
from reconciler.engine.protocol import RowChanges

if TYPE_CHECKING:
    import pyarrow as pa

MOST_CHANGED: Final = 100_000
"""Distinct rows."""
MOST_READ: Final = 64 << 20
MOST_REWRITTEN: Final = 32 << 20


def may_change_rows(location: str) -> bool:
    """Whether rows may be taken out of the table there."""
    table = plain_table(location)
    return table is not None and _is_fit(table)


def change_rows(changes: RowChanges, most_read: int = MOST_READ, most_rewritten: int = MOST_REWRITTEN) -> int | None:
    """See the module. `most_read` and `most_rewritten` are bytes of files. Raises RegistryError for what the system refuses,
    RegistryConflict where somebody else writes the table meanwhile."""
    table = plain_table(changes.location)
    if table is None:
        return None
    last = table.opened.transaction_version(changes.transaction.application)
    if last is not None and last >= changes.transaction.version:
        return version_with(changes.location, table.version, changes.transaction)
    is_ours = table.version == changes.version
    changed = _changed(table, changes.staging) if is_ours and _is_fit(table) else None
    if changed is None:
        return None
    from pyarrow import compute

    rows, copies = changed.drop_columns(changed.column_names[-1]), changed.column(changed.num_columns - 1)
    goes = compute.less(copies, 0)
    going, counts = rows.filter(goes), compute.negate(copies.filter(goes)).to_pylist()
    staying = _staying(table, going, counts, (most_read, most_rewritten))
    if staying is None:
        return None
    coming = _repeated(rows.filter(compute.invert(goes)), copies.filter(compute.invert(goes)).to_pylist())
    if not staying:
        return append(table, coming, changes.transaction, changes.commit)
    metrics = {"numTargetRowsDeleted": sum(counts), "numTargetRowsUpdated": 0, "numTargetRowsInserted": coming.num_rows}
    taken = Taken(staying, _repeated(going, counts))
    return rewrite(table, taken, coming, changes.transaction, changes.commit, metrics)


def _changed(table: OpenedTable, staging: str) -> "pa.Table | None":
    """What is staged for the table; None where it is much, or not surely told apart."""
    staged = plain_table(staging, 0)
    if staged is None or staged.rows is None or not 0 < staged.rows <= MOST_CHANGED:
        return None
    kinds, own = ([(one["name"], one["type"]) for one in part.schema["fields"]] for part in (staged, table))
    return rows_of(staged) if kinds[:-1] == own and kinds[-1][1] == "long" else None


def _is_fit(table: OpenedTable) -> bool:
    return is_writable(table, nulls_are_checked=True) and all(_is_exact(one["type"]) for one in table.schema["fields"])


def _is_exact(kind: Any) -> bool:
    """Whether values of a type of Delta's schema are compared, and equal ones are the same in every way."""
    if isinstance(kind, str):
        return True
    if kind["type"] == "struct":
        return all(_is_exact(part["type"]) for part in kind["fields"])
    return kind["type"] == "array" and _is_exact(kind["elementType"])


def _repeated(rows: "pa.Table", copies: Sequence[int]) -> "pa.Table":
    import pyarrow as pa

    return rows.take(pa.array([at for at, count in enumerate(copies) for _ in range(count)], pa.int64()))


def _staying(
    table: OpenedTable, going: "pa.Table", counts: Sequence[int], most: tuple[int, int]
) -> "dict[str, pa.Table] | None":
    """Of each file that holds rows that go, by its path, those that stay. None where this is not cheap, or one lacks."""
    left, found = list(counts), dict[str, "pa.Table"]()
    files = files_with_any(table, going) if going.num_rows else ()
    most_read, most_rewritten = most
    if sum(file.bytes for file in files) > most_read:
        return None
    rewritten = 0
    for file, rows, places in _places(table, files, going):
        taken = set()
        for place, number in places:
            if left[number] > 0:
                left[number] -= 1
                taken.add(place)
        if taken:
            rewritten += file.bytes
            if rewritten > most_rewritten:
                return None
            found[file.path] = _without(rows, taken)
        if not any(left):
            break
    return None if any(left) else found


def _places(
    table: OpenedTable, files: Sequence[StoredFile], going: "pa.Table"
) -> "Iterator[tuple[StoredFile, pa.Table, list[tuple[int, int]]]]":
    """The files one by one, with their rows, and where in them the rows that go stand: the place, and which one it is. A
    file that can't be read ends them."""
    from pyarrow import compute

    for file in files:
        rows = rows_of(table, [file])
        if rows is None:
            return
        there = compute.indices_nonzero(_may_be_one(rows, going))
        ids = row_ids([going, rows.take(there)], to_the_sign=True)
        numbers = {one: number for number, one in enumerate(ids[0].to_pylist())}
        at = zip(there.to_pylist(), ids[1].to_pylist(), strict=True)
        yield file, rows, [(place, numbers[one]) for place, one in at if one in numbers]


def _may_be_one(rows: "pa.Table", wanted: "pa.Table") -> Any:
    """Of each row whether each of its values is one of that column of the wanted rows."""
    import pyarrow as pa
    from pyarrow import compute, types

    found: Any = pa.repeat(pa.scalar(True), rows.num_rows)
    for column, values in zip(rows.columns, wanted.columns, strict=True):
        if not types.is_nested(column.type) and not types.is_floating(column.type):
            found = compute.and_(found, compute.is_in(column, value_set=values.combine_chunks()))
    return found


def _without(rows: "pa.Table", places: set[int]) -> "pa.Table":
    import pyarrow as pa

    stays = [place not in places for place in range(rows.num_rows)]
    return rows.filter(pa.array(stays, pa.bool_()))
