"""Rows of another Delta table on this machine, or what changed in it between two versions, where this is surely what Spark
reads: `engine.spark.ingest.delta_table` and `delta_changes` have the rules for all others.

What the log says is looked at first: which files are to be read, and how many rows and bytes they have.

- Of a snapshot all files are read; where commits only added files, these; else those that one of the two versions has and
  the other lacks, and rows that both sides hold cancel out. Then the columns must be the same in both versions.
- Tables are those that `delta.source_tables` reads for sure: without partitions and mapped columns, for example.
- Values are made to fit by `stored_values`.
- No filters, no order by a column, no options of a store, and no place but a path of plain names.
- What is gone, or is another table, is Spark's to tell.
"""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from reconciler.base.digest import JsonObject
from reconciler.base.names import fold
from reconciler.delta.arrow_rows import StoredFile
from reconciler.delta.source_tables import SourceTable, source_rows, source_table, table_with_added
from reconciler.engine.arrow.equal_rows import row_ids
from reconciler.engine.arrow.ingest.incoming import Change, Incoming, TableRows
from reconciler.engine.arrow.ingest.stored_values import require_one_form, taken, values_of
from reconciler.engine.arrow.ingest.values import NotSure
from reconciler.engine.delta_versions import only_added
from reconciler.engine.fields import missing_fields, unknown_fields
from reconciler.engine.protocol import Ingestion, TableTarget

if TYPE_CHECKING:
    import pyarrow

MOST_CHANGES: Final = 10_000
"""So many rows at most are written: each is made in Python."""
_MOST_ROWS: Final = 200_000
_MOST_BYTES: Final = 8_000_000
"""Files of so many rows and bytes at most are read, and compared."""
_SETTINGS: Final = frozenset({"uri", "mode", "version", "timestamp", "datetime", "end_version"})
_PLAIN_PLACE: Final = re.compile(r"(?:/[A-Za-z0-9_=-][A-Za-z0-9_.=-]*)+")


def read(ingestion: Ingestion, settings: JsonObject) -> Incoming | None:
    """The rows of the range's version, or what changed between its two; None where no row changed. Raises NotSure."""
    wanted, uri = ingestion.range, str(ingestion.range["uri"])
    if not set(settings["transport"]["config"]) <= _SETTINGS or _PLAIN_PLACE.fullmatch(uri) is None:
        raise NotSure("a setting, or a place")
    if "from" not in wanted:
        table = _known(source_table(uri, int(wanted["version"])))
        return _all_rows(table, table.plain.files, ingestion.target)
    first, last = int(wanted["from"]), int(wanted["to"])
    if first == last:
        return None
    adds = only_added(_Folder(Path(uri)), first, last)
    if adds is None:
        before, after = _known(source_table(uri, first)), _known(source_table(uri, last))
        _require_identity(wanted.get("table"), before, after)
        return _compared(before, after, ingestion.target)
    after = _known(table_with_added(uri, last, [action["add"] for action in adds]))
    _require_identity(wanted.get("table"), after)
    return _all_rows(after, after.plain.files, ingestion.target) if adds else None


class _Folder:
    def __init__(self, path: Path) -> None:
        self._path = path

    def read_text(self, name: str) -> str | None:
        try:
            return (self._path / name).read_text("utf-8")
        except OSError:
            return None


def _known(table: SourceTable | None) -> SourceTable:
    if table is None:
        raise NotSure("the table")
    return table


def _require_identity(known: str | None, *tables: SourceTable) -> None:
    if len({table.id for table in tables} | ({known} - {None})) != 1:
        raise NotSure("another table")


def _all_rows(table: SourceTable, files: Sequence[StoredFile], target: TableTarget) -> Incoming:
    """All rows of these files."""
    columns = _Columns(table, target)
    _require_few(files, MOST_CHANGES)
    return columns.incoming(columns.changes(columns.rows(table, files)), tells_deletes=False)


def _compared(before: SourceTable, after: SourceTable, target: TableTarget) -> Incoming:
    """The rows that only one of two versions has, as often as it has them more."""
    if before.plain.schema != after.plain.schema:
        raise NotSure("other columns")
    removed, added = before.files_beyond(after), after.files_beyond(before)
    if not removed:
        return _all_rows(after, added, target)
    _require_few([*removed, *added], _MOST_ROWS)
    columns = _Columns(after, target)
    gone, came = _differing(columns.rows(before, removed), columns.rows(after, added))
    changes = [*columns.changes(gone, deletes=True), *columns.changes(came)]
    return columns.incoming(changes, tells_deletes=True)


def _require_few(files: Sequence[StoredFile], most_rows: int) -> None:
    rows = [file.rows for file in files if file.rows is not None]
    if len(rows) < len(files) or sum(rows) > most_rows or sum(file.bytes for file in files) > _MOST_BYTES:
        raise NotSure("a large range")


def _differing(before: "pyarrow.Table", after: "pyarrow.Table") -> "tuple[pyarrow.Table, pyarrow.Table]":
    """The rows of each side that the other lacks. Equal ones are copies of one row."""
    require_one_form(before)
    require_one_form(after)
    ids = [one.to_pylist() for one in row_ids([before, after])]
    counts = [Counter(one) for one in ids]
    left = (counts[0] - counts[1], counts[1] - counts[0])
    return before.take(_places(ids[0], left[0])), after.take(_places(ids[1], left[1]))


def _places(ids: Sequence[int], left: Counter[int]) -> Any:
    """The places of so many rows of each number."""
    import pyarrow

    found = []
    for place, one in enumerate(ids):
        if left[one] > 0:
            left[one] -= 1
            found.append(place)
    return pyarrow.array(found, pyarrow.int64())


class _Columns:
    """The columns that a target takes of a table. `target` bears the names of the source."""

    def __init__(self, table: SourceTable, target: TableTarget) -> None:
        self._rows = TableRows(target)
        fields = {fold(field["name"]): field for field in table.fields}
        pairs = [(place, fields.get(fold(column.name)), column) for place, column in enumerate(target.columns)]
        self._taken = [(place, field, taken(field["type"], column)) for place, field, column in pairs if field is not None]
        if not self._taken:
            raise NotSure("no column")
        names = [field["name"] for field in table.fields]
        self._unknown, self._missing = unknown_fields(names, target), missing_fields(names, target)

    def rows(self, table: SourceTable, files: Sequence[StoredFile]) -> "pyarrow.Table":
        """The rows of these files, in these columns."""
        found = source_rows(table, files, [field for _, field, _ in self._taken])
        if found is None:
            raise NotSure("the rows of the table")
        return found

    def changes(self, rows: "pyarrow.Table", deletes: bool = False) -> list[Change]:
        """What these rows insert or delete."""
        if rows.num_rows > MOST_CHANGES:
            raise NotSure("many changes")
        values = {
            place: [None if value is None else fits(value) for value in values_of(rows.column(at))]
            for at, (place, _, fits) in enumerate(self._taken)
        }
        return self._rows.stored(values, rows.num_rows, deletes)

    def incoming(self, changes: Sequence[Change], tells_deletes: bool) -> Incoming:
        """The changes with what is told of fields: all rows have the same."""
        unknown = {name: len(changes) for name in self._unknown}
        return Incoming(tuple(changes), tells_deletes, unknown, self._missing, is_ordered=False)
