"""A document table: one JSON document in a Delta table of one row, replaced by compare-and-set.

Rules:
- `read` gives the document and the Delta version that holds it; `replace` writes the next one only if that version is
  still the newest (Delta's own optimistic commit, no retries). Of two writers one wins, the other gets RegistryConflict.
  What the system refuses (a full disk, say) is no conflict: `delta.writing` tells them apart.
- Each write carries an id of its own, so that a commit whose answer was lost is recognised as ours and not as a conflict.
- On a disk the commit is mostly made here (`registry_commits`), else by deltalake.
- Reading costs the same however many writes there were: Delta checkpoints every 10 commits, and every 50 the files
  go that are older than an hour, and log entries that are older than ten minutes.
- What this process saw last of a document on a disk serves it again (`seen_tables`): an apply asks for the head some twenty
  times.
"""

import json
from contextlib import suppress
from dataclasses import field
from typing import TYPE_CHECKING, Any

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject, canonical_json
from reconciler.base.errors import RegistryConflict, RegistryError
from reconciler.delta.opening import first_line, open_table, store_hint
from reconciler.delta.registry_clean_up import FORGETS_FILES, clean_up, forget_files
from reconciler.delta.seen_tables import SeenTables
from reconciler.delta.writing import writing

if TYPE_CHECKING:
    from deltalake import DeltaTable

    from reconciler.delta.arrow_rows import StoredFile

_CHECKPOINT_EVERY = 10
_CONFIGURATION = {"delta.checkpointInterval": str(_CHECKPOINT_EVERY), **FORGETS_FILES}
_CLEAN_EVERY = 50
_KEEP_HOURS = 1
_TEXT = "document"
"""A column, and the question to a table that was seen for which it has the document's text."""
_WRITE_ID = "write_id"
_SAID = "reconcile.write"
"""Under this name a commit says the id of its write."""
_FILE = "file"
"""The question for which it has the file that holds the document, if a commit made here may replace it."""


@dataclass(frozen=True, slots=True)
class Document:
    """A document as read. `version` is the Delta version that holds it; pass it to `replace`."""

    version: int
    value: JsonObject


@dataclass(frozen=True, slots=True)
class DocumentTable:
    """The document table at a location. Readers of a replaced version find its file for `keep_hours`. `seen`: what its
    process saw of documents."""

    location: str
    keep_hours: int = _KEEP_HOURS
    seen: SeenTables = field(default_factory=SeenTables)

    def read(self) -> Document | None:
        """The document, or None when none was ever written. Raises RegistryError when it can't be read."""
        known = self.seen.newest(self.location)
        if known is not None and _TEXT in known.answers:
            return Document(known.version, _value(known.answers[_TEXT], self.location))
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
            self.seen.keep(self.location, table.version(), table, {_TEXT: text})
            return Document(table.version(), value)
        raise AssertionError("unreachable")

    def replace(self, expected: int | None, value: JsonObject, write_id: str) -> Document:
        """Write `value` if the newest version is `expected` (None: there is no document yet).

        Raises RegistryConflict (G604) when somebody else wrote first, RegistryError (G603) when the system refuses; then
        nothing of ours was written.
        """
        from reconciler.delta.registry_commits import asks_nothing, only_file

        text = canonical_json(value)
        seen = self.seen.take(self.location, expected) if expected is not None else None
        file = None if seen is None else seen.answers.get(_FILE)
        table = None if seen is None else seen.table
        if file is None:
            table = self._opened_at(expected) if table is None else table
            if expected is None and table is not None:
                raise RegistryConflict("G604", f"another process created {self.location} meanwhile")
            if expected is not None and table is None:
                raise RegistryError("G601", f"the document at {self.location} no longer exists")
            file = only_file(table) if table is not None and asks_nothing(self.location, table) else None
        try:
            with writing(self.location, expected, conflict="G604", refused="G603", data=len(text)):
                if file is None or expected is None:
                    _write(self.location if table is None else table, text, write_id)
                else:
                    file, table = self._put(expected, file, text, write_id), None
        except RegistryError:
            current = self._current_if_ours(write_id)
            if current is not None:
                return current
            raise
        if expected is None:
            return Document(0, value)
        written = Document(expected + 1, value)
        if written.version % _CLEAN_EVERY == 0:
            return self._clean(written, table)
        if table is None or table.version() == written.version:
            self.seen.keep(self.location, written.version, table, {_TEXT: text, _FILE: file})
        return written

    def _put(self, expected: int, former: "StoredFile", text: str, write_id: str) -> "StoredFile":
        """The commit made here; the file that holds the document then."""
        from reconciler.delta.log_entries import make_checkpoint
        from reconciler.delta.registry_commits import put_row

        row = {_TEXT: text, _WRITE_ID: write_id}
        file = put_row(self.location, expected, former, row, {_SAID: write_id})
        if file is None:
            raise RegistryConflict("G604", f"another process wrote {self.location} meanwhile")
        if (expected + 1) % _CHECKPOINT_EVERY == 0:
            make_checkpoint(self.location, expected + 1)
        return file

    def _clean(self, written: Document, table: "DeltaTable | None") -> Document:
        """Remove what nobody needs any more; the document as it is then. `table`: as it was opened for the write, if it
        was."""
        if table is None:
            with suppress(RegistryError):
                table = open_table(self.location, written.version)
        if table is None:
            return written
        if table.version() == written.version:
            # It may make a commit, which then is the document's newest version: still as it was just written.
            forget_files(table)
            written = Document(table.version(), written.value)
        clean_up(table, self.location, self.keep_hours)
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


def _write(place: "str | DeltaTable", text: str, write_id: str) -> None:
    """The commit as deltalake makes it: at a location, that of a new table."""
    import arro3.core
    from deltalake import CommitProperties, write_deltalake

    kind = arro3.core.DataType.utf8()
    row = arro3.core.Table.from_pydict(
        {_TEXT: arro3.core.Array([text], type=kind), _WRITE_ID: arro3.core.Array([write_id], type=kind)}
    )
    properties = CommitProperties(max_commit_retries=0, custom_metadata={_SAID: write_id})
    if isinstance(place, str):
        write_deltalake(place, row, mode="error", configuration=dict(_CONFIGURATION), commit_properties=properties)
    else:
        write_deltalake(place, row, mode="overwrite", commit_properties=properties)


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
