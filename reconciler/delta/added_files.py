"""The files that a Delta table got between two of its versions, where rows were only added.

They are those that the table names at the later version and not at the earlier one. A range in which files went, too, has no
answer: rows were removed, or files put together. What is not surely read as Spark reads it (`arrow_rows` says
what is) has no answer here.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from reconciler.base.dataclass import dataclass
from reconciler.base.names import fold
from reconciler.delta.arrow_rows import PlainTable, StoredFile, plain_table, rows_of

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class AddedFiles:
    """The files of some ranges of versions, in the order of the ranges, and the table in whose columns they are read."""

    table: PlainTable
    files: tuple[StoredFile, ...]

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files)

    @property
    def rows(self) -> int | None:
        """How many rows they have; None where the log of one of them does not say."""
        known = [file.rows for file in self.files if file.rows is not None]
        return sum(known) if len(known) == len(self.files) else None


@dataclass(frozen=True, slots=True)
class Extremes:
    """Of a column of timestamps, in microseconds since 1970: the least and the greatest value, if there is any, and how many
    rows have none."""

    least: int | None
    greatest: int | None
    missing: int


def added_files(location: str, version: int, ranges: Iterable[tuple[int, int]] | None) -> AddedFiles | None:
    """The files that a table got in these ranges (after the first version, up to the second), to be read in the columns of
    `version`; ranges None: all that it has there. None where that can't be told."""
    table = plain_table(location, version)
    if table is None:
        return None
    if ranges is None:
        return AddedFiles(table, table.files)
    found: list[StoredFile] = []
    for before, after in ranges:
        earlier, later = plain_table(location, before), table if after == version else plain_table(location, after)
        if earlier is None or later is None:
            return None
        known = frozenset(file.path for file in earlier.files)
        new = [file for file in later.files if file.path not in known]
        if len(new) + len(known) != len(later.files):
            return None
        found += new
    return AddedFiles(table, tuple(found))


@dataclass(frozen=True, slots=True)
class ChangedFiles:
    """The files that a table has at a later version and not at an earlier one, and those of the earlier one that went, each
    with the table as it was."""

    later: AddedFiles
    earlier: AddedFiles


def changed_files(location: str, before: int, after: int) -> ChangedFiles | None:
    """Where the rows are that differ between two versions, and rows that were written with them. None where that can't be
    told."""
    earlier, later = plain_table(location, before), plain_table(location, after)
    if earlier is None or later is None:
        return None
    had, has = {file.path for file in earlier.files}, {file.path for file in later.files}
    new = tuple(file for file in later.files if file.path not in had)
    gone = tuple(file for file in earlier.files if file.path not in has)
    return ChangedFiles(AddedFiles(later, new), AddedFiles(earlier, gone))


def extremes(added: AddedFiles, column: str) -> Extremes | None:
    """The extremes of a column of type TIMESTAMP, by its name in any letter case, in files that were added. None where they
    are not surely read."""
    fields = [field for field in added.table.schema["fields"] if fold(field["name"]) == fold(column)]
    if len(fields) != 1 or fields[0]["type"] != "timestamp":
        return None
    narrow = replace(added.table, schema={**added.table.schema, "fields": fields})
    least: int | None = None
    greatest: int | None = None
    missing = 0
    # One at a time: a column of all of them may take more memory than there is.
    for file in added.files:
        rows = rows_of(narrow, [file])
        if rows is None:
            return None
        low, high, lacking = _extremes(rows.column(0))
        missing += lacking
        if low is not None and high is not None:
            least = low if least is None else min(least, low)
            greatest = high if greatest is None else max(greatest, high)
    return Extremes(least, greatest, missing)


def _extremes(column: "pa.ChunkedArray") -> tuple[int | None, int | None, int]:
    import pyarrow as pa
    from pyarrow import compute

    found = compute.min_max(column.cast(pa.int64()))
    return found["min"].as_py(), found["max"].as_py(), column.null_count
