"""A document table: one JSON document in a Delta table of one row, replaced by compare-and-set.

Rules:
- `read` gives the document and the Delta version that holds it; `replace` writes the next one only if that version is
  still the newest (Delta's own optimistic commit, no retries). Of two writers one wins, the other gets RegistryConflict.
  What the system refuses (a full disk, say) is no conflict: `delta.writing` tells them apart.
- Each write carries an id of its own, so that a commit whose answer was lost is recognised as ours and not as a conflict.
- Reading costs the same however many writes there were: Delta checkpoints every 10 commits, and every 50 the files
  go that are older than an hour, and log entries that are older than ten minutes.
- What this process saw last of a document on a disk serves it again (`SeenDocuments`), as long as the log shows that it is
  still the newest version of the same table. Two looks at the log's folder take a hundredth of the time that it takes to
  open the table and to query it, and an apply asks for the head some twenty times.
"""

import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from reconciler.base.digest import JsonObject, canonical_json
from reconciler.base.errors import RegistryConflict, RegistryError
from reconciler.delta.opening import first_line, is_local, local_path, open_table, store_hint
from reconciler.delta.registry_clean_up import FORGETS_FILES, clean_up, forget_files
from reconciler.delta.writing import writing

if TYPE_CHECKING:
    from arro3.core import Table
    from deltalake import DeltaTable

_CONFIGURATION = {"delta.checkpointInterval": "10", **FORGETS_FILES}
_CLEAN_EVERY = 50
_KEEP_HOURS = 1
_SEEN_SECONDS = 60.0
"""So long what was seen may serve. Within it no clean-up takes a log entry that came after: which takes ten minutes."""


@dataclass(frozen=True, slots=True)
class Document:
    """A document as read. `version` is the Delta version that holds it; pass it to `replace`."""

    version: int
    value: JsonObject


@dataclass(frozen=True, slots=True)
class _Seen:
    """A document as it was seen last: its text, the opened table, which file its commit was, and when that was so."""

    version: int
    text: str
    table: "DeltaTable"
    commit: tuple[int, ...]
    at: float


class SeenDocuments:
    """The documents that this process saw, by location: only those on a disk, where a look at the log costs next to nothing.

    An opened table serves one writer at a time: who is to write takes it away, and puts it back as written.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._seen: dict[str, _Seen] = {}

    def keep(self, location: str, version: int, text: str, table: "DeltaTable") -> None:
        """What was just read, or written, as the newest version."""
        commit = _commit_file(location, version) if is_local(location) else None
        if commit is not None:
            self._seen[location] = _Seen(version, text, table, commit, self._clock())

    def newest(self, location: str) -> tuple[int, str] | None:
        """The version and the text of the document, if what was seen is certainly the newest."""
        seen = self._seen.get(location)
        if seen is None or not self._still_stands(location, seen) or _commit_file(location, seen.version + 1) is not None:
            return None
        return seen.version, seen.text

    def take(self, location: str, version: int) -> "DeltaTable | None":
        """The table, opened at this version."""
        seen = self._seen.pop(location, None)
        if seen is None or seen.version != version or not self._still_stands(location, seen):
            return None
        return seen.table

    def _still_stands(self, location: str, seen: _Seen) -> bool:
        return 0 <= self._clock() - seen.at < _SEEN_SECONDS and _commit_file(location, seen.version) == seen.commit


def _commit_file(location: str, version: int) -> tuple[int, ...] | None:
    """Which file a version's commit is; None: it is not there, or nobody can tell."""
    try:
        found = os.stat(os.path.join(local_path(location), "_delta_log", f"{version:020}.json"))
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


@dataclass(frozen=True, slots=True)
class DocumentTable:
    """The document table at a location. Readers of a replaced version find its file for `keep_hours`. `seen`: what its
    process saw of documents."""

    location: str
    keep_hours: int = _KEEP_HOURS
    seen: SeenDocuments = field(default_factory=SeenDocuments)

    def read(self) -> Document | None:
        """The document, or None when none was ever written. Raises RegistryError when it can't be read."""
        known = self.seen.newest(self.location)
        if known is not None:
            return Document(known[0], _value(known[1], self.location))
        for attempt in (1, 2, 3):
            table = open_table(self.location)
            if table is None:
                return None
            try:
                text = _read_raw(table)[0]
                value = _value(text, self.location)
            except Exception as error:
                # A writer's clean-up may take the file of a version that was replaced while we looked: look again.
                if attempt < 3:
                    continue
                message = f"the document at {self.location} can't be read: {first_line(error)}"
                raise RegistryError("G602", message, store_hint(self.location, error)) from error
            version = table.version()
            self.seen.keep(self.location, version, text, table)
            return Document(version, value)
        raise AssertionError("unreachable")

    def replace(self, expected: int | None, value: JsonObject, write_id: str) -> Document:
        """Write `value` if the newest version is `expected` (None: there is no document yet).

        Raises RegistryConflict (G604) when somebody else wrote first, RegistryError (G603) when the system refuses; then
        nothing of ours was written.
        """
        from deltalake import CommitProperties, write_deltalake

        text = canonical_json(value)
        row = _row(text, write_id)
        properties = CommitProperties(max_commit_retries=0, custom_metadata={"reconcile.write": write_id})
        table = self.seen.take(self.location, expected) if expected is not None else None
        if table is None:
            table = self._opened_at(expected)
        if expected is None and table is not None:
            raise RegistryConflict("G604", f"another process created {self.location} meanwhile")
        if expected is not None and table is None:
            raise RegistryError("G601", f"the document at {self.location} no longer exists")
        try:
            with writing(self.location, expected, conflict="G604", refused="G603", data=len(text)):
                if table is None:
                    write_deltalake(
                        self.location,
                        row,
                        mode="error",
                        configuration=dict(_CONFIGURATION),
                        commit_properties=properties,
                    )
                    return Document(0, value)
                write_deltalake(table, row, mode="overwrite", commit_properties=properties)
        except RegistryError:
            current = self._current_if_ours(write_id)
            if current is not None:
                return current
            raise
        assert expected is not None
        written = Document(expected + 1, value)
        if written.version % _CLEAN_EVERY == 0:
            if table.version() == written.version:
                # It may make a commit, which then is the document's newest version: still as it was just written.
                forget_files(table)
                written = Document(table.version(), value)
            clean_up(table, self.location, self.keep_hours)
        elif table.version() == written.version:
            self.seen.keep(self.location, written.version, text, table)
        return written

    def _opened_at(self, expected: int | None) -> "DeltaTable | None":
        """The table at the version that is to be replaced. Raises RegistryConflict (G604) where its log no longer has it."""
        refused = None
        try:
            table = open_table(self.location, expected)
        except RegistryError as error:
            table, refused = None, error
        if table is None and expected is not None:
            newest = open_table(self.location)
            if newest is not None and newest.version() > expected:
                raise RegistryConflict("G604", f"another process wrote {self.location} meanwhile") from refused
        if refused is not None:
            raise refused
        return table

    def _current_if_ours(self, write_id: str) -> Document | None:
        # Where that can't be told, why the write failed says more.
        with suppress(Exception):
            table = open_table(self.location)
            if table is not None:
                text, found = _read_raw(table)
                if found == write_id:
                    return Document(table.version(), _value(text, self.location))
        return None


def _row(document: str, write_id: str) -> "Table":
    import arro3.core

    text = arro3.core.DataType.utf8()
    return arro3.core.Table.from_pydict(
        {
            "document": arro3.core.Array([document], type=text),
            "write_id": arro3.core.Array([write_id], type=text),
        }
    )


def _read_raw(table: "DeltaTable") -> tuple[str, str]:
    from deltalake import QueryBuilder

    rows = QueryBuilder().register("d", table).execute("select document, write_id from d").read_all()
    if rows.num_rows != 1:
        raise RegistryError("G602", f"{table.table_uri} should hold one document, but holds {rows.num_rows}")
    return rows["document"][0].as_py(), rows["write_id"][0].as_py()


def _value(text: str, location: str) -> dict[str, Any]:
    value = json.loads(text)
    if not isinstance(value, dict):
        raise RegistryError("G602", f"{location} does not hold a JSON object")
    return value
