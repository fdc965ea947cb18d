"""Columns of data files, held in this process from search to search: a file never changes, and to read a column again takes
longer than to look for keys in it.

- A column is held as Arrow has it, in one piece. What is held is bounded; what was used longest ago goes first. A column
  that is large by itself is read each time.
- All columns of a file that are not held are read at once. None, where one is not surely read as Spark reads it
  (`delta.arrow_rows`).
"""

from collections.abc import Sequence
from threading import Lock
from typing import Any, Final

from reconciler.base.digest import JsonObject, canonical_json
from reconciler.delta.arrow_rows import PlainTable, StoredFile, rows_of
from reconciler.engine.spark.recently_used import RecentlyUsed

MOST_HELD: Final = 128 << 20
_LARGEST: Final = 32 << 20

_Key = tuple[str, str, str]


class SearchedColumns:
    """See the module. For any thread."""

    def __init__(self, most_held: int = MOST_HELD) -> None:
        self._held: RecentlyUsed[_Key, Any] = RecentlyUsed(most_held, lambda column: int(column.nbytes))
        self._lock = Lock()

    @property
    def bytes(self) -> int:
        """How much is held."""
        return self._held.size

    def of(self, table: PlainTable, file: StoredFile, fields: Sequence[JsonObject]) -> list[Any] | None:
        """The columns of a file of a table with these fields of its schema, each as one array of Arrow's."""
        keys = [(table.location, file.path, canonical_json(field)) for field in fields]
        with self._lock:
            found = {key: column for key in keys if (column := self._held.get(key)) is not None}
        lacking = [field for field, key in zip(fields, keys, strict=True) if key not in found]
        if lacking:
            narrow = PlainTable(table.location, table.version, {**table.schema, "fields": lacking}, table.files)
            rows = rows_of(narrow, [file])
            if rows is None:
                return None
            fresh = [key for key in keys if key not in found]
            for key, column in zip(fresh, rows.columns, strict=True):
                found[key] = column.combine_chunks()
                if column.nbytes <= _LARGEST:
                    with self._lock:
                        self._held.put(key, found[key])
        return [found[key] for key in keys]
