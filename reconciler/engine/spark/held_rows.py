"""Rows of small tables, held in this process from step to step: a table that gets a file is read by that file alone.

Rules:
- Small is what Delta's log says to be: few files, few bytes, few rows. What is held of all tables is bounded, too; what was
  used longest ago goes first.
- A data file never changes, and its name is its own. A version of a table on a disk is told again by its entry in the log:
  the same file, of the same size and time. Else the log is read. Of a table that is not small only that is remembered.
- What changed in a table, and which of its rows are needed, is asked by several views of a step, and more than once by
  each. The last answers are held for as long as the entries of their versions are the same.
- None, wherever a table is not surely read as Spark reads it (`delta.arrow_rows`).
"""

from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Final

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject, canonical_json
from reconciler.base.recently_used import RecentlyUsed
from reconciler.delta.added_files import AddedFiles, added_files, changed_files
from reconciler.delta.arrow_rows import PlainTable, plain_table, rows_of
from reconciler.delta.entries import Entry, entry_of
from reconciler.delta.key_ranges import files_between
from reconciler.delta.known_changes import known_changes
from reconciler.engine.arrow.equal_rows import row_ids
from reconciler.engine.sources import CHANGE_COLUMN, StoredSource

if TYPE_CHECKING:
    import pyarrow as pa

MOST_FILES: Final = 200
MOST_BYTES: Final = 1 << 20
"""Of a table's files; Parquet presses rows, so what they hold is asked once more when they are read."""
MOST_ROWS: Final = 20_000
MOST_KEPT_BYTES: Final = 8 << 20
MOST_KEPT: Final = 200_000
"""Of what a step keeps for the next one: groups, with numbers that are exact. Of other tables a sum of doubles would get
other last digits where Spark reads their files."""
MOST_HELD: Final = 128 << 20
_LARGEST: Final = 32 << 20
_TABLES: Final = 200
_VERSIONS_OF_A_TABLE: Final = 6
_ANSWERS: Final = 32
_LARGEST_ANSWER: Final = 2 << 20


@dataclass(frozen=True, slots=True)
class Held:
    """The rows of a table at one version, in the columns of its schema (Delta's)."""

    schema: JsonObject
    rows: "pa.Table"


class HeldRows:
    """See the module. For any thread."""

    def __init__(self, most_held: int = MOST_HELD) -> None:
        self._files: RecentlyUsed[tuple[str, str, str], pa.Table] = RecentlyUsed(most_held, lambda rows: rows.nbytes)
        self._versions: OrderedDict[str, OrderedDict[int, tuple[Entry, PlainTable | None]]] = OrderedDict()
        self._answers: OrderedDict[Hashable, Held | None] = OrderedDict()
        self._lock = Lock()

    @property
    def bytes(self) -> int:
        """How much is held."""
        return self._files.size

    def of(self, location: str, version: int, *, is_kept: bool = False) -> Held | None:
        """The rows of a table at a version, where it is small and plain."""
        import pyarrow as pa

        table = self._table(location, version, is_kept=is_kept)
        if table is None:
            return None
        columns = canonical_json(table.schema)
        parts, size = [], 0
        for file in table.files:
            key = (location, file.path, columns)
            part = self._known(key)
            if part is None:
                part = rows_of(table, [file])
                if part is None:
                    return None
                self._keep(key, part)
            size += part.nbytes
            if size > _LARGEST:
                self._is_large(location, version)
                return None
            parts.append(part)
        rows = pa.concat_tables(parts) if parts else rows_of(table)
        return None if rows is None or rows.num_rows > _most_rows(is_kept) else Held(table.schema, rows)

    def put(self, table: PlainTable, rows: "pa.Table") -> None:
        """Hold the rows of what a step keeps for the next one, which was just written: the only version of a table."""
        entry = entry_of(table.location, table.version)
        if entry is None or not _is_small(table, is_kept=True):
            return
        columns = canonical_json(table.schema)
        for file in table.files:
            self._keep((table.location, file.path, columns), rows)
        self._remember(table.location, table.version, entry, table)

    def needed(self, source: StoredSource) -> Held | None:
        """The rows of the files that may have rows that are needed, where there are few; the table itself may be large."""
        if not source.needed:
            return None
        return self._once(source.location, (source.version,), source.needed, lambda: self._needed(source))

    def _needed(self, source: StoredSource) -> Held | None:
        table = plain_table(source.location, source.version)
        if table is None:
            return None
        found = AddedFiles(table.closed, files_between(table, source.needed))
        rows = rows_of(found.table, found.files) if _is_few(found) else None
        return None if rows is None or rows.num_rows > MOST_ROWS else Held(table.schema, rows)

    def added(self, location: str, version: int, ranges: Sequence[tuple[int, int]]) -> Held | None:
        """The rows that a table got in these ranges of versions, where there are few; the table itself may be large."""
        found = added_files(location, version, ranges)
        if found is None or not _is_few(found):
            return None
        rows = rows_of(found.table, found.files)
        return None if rows is None or rows.num_rows > MOST_ROWS else Held(found.table.schema, rows)

    def changed(self, location: str, version: int, ranges: Sequence[tuple[int, int]]) -> Held | None:
        """What changed in a table in these ranges of versions, where few rows were written with it, or this process wrote
        them."""
        if not ranges:
            return None
        return self._once(location, (ranges[0][0], ranges[-1][1]), "changed", lambda: self._changed(location, ranges))

    def _changed(self, location: str, ranges: Sequence[tuple[int, int]]) -> Held | None:
        known = known_changes(location, ranges)
        if known is not None:
            return Held(with_change(known.schema), net_changes(known.went, known.came))
        first, last = ranges[0][0], ranges[-1][1]
        found = changed_files(location, first, last)
        if found is None or not _is_few(found.earlier) or not _is_few(found.later):
            return None
        earlier, later = (rows_of(one.table, one.files) for one in (found.earlier, found.later))
        if earlier is None or later is None or earlier.schema != later.schema:
            return None
        if earlier.num_rows + later.num_rows > MOST_ROWS:
            return None
        return Held(with_change(found.later.table.schema), net_changes(earlier, later))

    def _once(self, location: str, versions: Sequence[int], asked: Hashable, read: Callable[[], Held | None]) -> Held | None:
        """What is read of versions of a table; while their entries are the same, what was read the last time."""
        entries = tuple(entry_of(location, version) for version in versions)
        if None in entries:
            return read()
        key = (location, tuple(versions), entries, asked)
        with self._lock:
            if key in self._answers:
                self._answers.move_to_end(key)
                return self._answers[key]
        found = read()
        if found is not None and found.rows.nbytes > _LARGEST_ANSWER:
            return found
        with self._lock:
            self._answers[key] = found
            while len(self._answers) > _ANSWERS:
                self._answers.popitem(last=False)
        return found

    def table(self, location: str) -> PlainTable | None:
        """The first version of a table, where it is plain, however large."""
        return self._table(location, 0) or plain_table(location, 0)

    def _table(self, location: str, version: int, *, is_kept: bool = False) -> PlainTable | None:
        """The table at a version, where it is small and plain."""
        entry = entry_of(location, version)
        with self._lock:
            known = self._versions[location].get(version) if location in self._versions else None
        if known is None or known[0] != entry:
            found = plain_table(location, version)
            # What the log says of a table of many files takes megabytes: of one that is not small nothing else is kept.
            table = found.closed if found is not None and _is_small(found, is_kept) else None
            if entry is None:
                return table
            known = (entry, table)
        self._remember(location, version, *known)
        return known[1]

    def _remember(self, location: str, version: int, entry: Entry, table: PlainTable | None) -> None:
        with self._lock:
            versions = self._versions.setdefault(location, OrderedDict())
            versions[version] = (entry, table)
            versions.move_to_end(version)
            self._versions.move_to_end(location)
            if len(versions) > _VERSIONS_OF_A_TABLE:
                versions.popitem(last=False)
            if len(self._versions) > _TABLES:
                self._versions.popitem(last=False)

    def _is_large(self, location: str, version: int) -> None:
        """Remember of a version that its rows take much memory, which its files did not tell."""
        with self._lock:
            versions = self._versions.get(location)
            if versions is not None and version in versions:
                versions[version] = (versions[version][0], None)

    def _known(self, key: tuple[str, str, str]) -> "pa.Table | None":
        with self._lock:
            return self._files.get(key)

    def _keep(self, key: tuple[str, str, str], part: "pa.Table") -> None:
        if part.nbytes <= _LARGEST:
            with self._lock:
                self._files.put(key, part)


def net_changes(earlier: "pa.Table", later: "pa.Table") -> "pa.Table":
    """The rows of the later table beyond those of the earlier one, and those of the earlier one beyond the later, each with
    what became of it. Zeros with other signs are two values, as in `changed_rows`."""
    import pyarrow as pa

    had, has = (ids.to_pylist() for ids in row_ids([earlier, later], to_the_sign=True))
    parts = []
    for rows, own, others, change in ((later, has, had, "insert"), (earlier, had, has, "delete")):
        more = Counter(own) - Counter(others)
        places = []
        for place, one in enumerate(own):
            if more[one] > 0:
                more[one] -= 1
                places.append(place)
        taken = rows.take(pa.array(places, pa.int64()))
        parts.append(taken.append_column(CHANGE_COLUMN, pa.array([change] * len(places), pa.string())))
    return pa.concat_tables(parts)


def with_change(schema: JsonObject) -> JsonObject:
    """A schema as Delta has it, with the column that says what became of a row."""
    column = {"name": CHANGE_COLUMN, "type": "string", "nullable": True, "metadata": {}}
    return {**schema, "fields": [*schema["fields"], column]}


def _is_few(found: AddedFiles) -> bool:
    return len(found.files) <= MOST_FILES and found.bytes <= MOST_BYTES and (found.rows or 0) <= MOST_ROWS


def _is_small(table: PlainTable, is_kept: bool) -> bool:
    rows, most_bytes = table.rows, MOST_KEPT_BYTES if is_kept else MOST_BYTES
    is_short = len(table.files) <= MOST_FILES and table.bytes <= most_bytes
    return is_short and rows is not None and rows <= _most_rows(is_kept)


def _most_rows(is_kept: bool) -> int:
    return MOST_KEPT if is_kept else MOST_ROWS
