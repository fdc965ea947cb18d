"""A document table: one JSON document in a Delta table of one row, replaced by compare-and-set.

Rules:
- `read` gives the document and the Delta version that holds it; `replace` writes the next one only if that version is
  still the newest (Delta's own optimistic commit, no retries). Of two writers one wins, the other gets RegistryConflict.
  What the system refuses (a full disk, say) is no conflict: `delta.writing` tells them apart.
- Each write carries an id of its own, so that a commit whose answer was lost is recognised as ours and not as a conflict.
- Reading costs the same however many writes there were: Delta checkpoints every 10 commits, and every 50 the files
  go that are older than an hour, and log entries that are older than ten minutes.
- What this process saw last of a document on a disk serves it again (`seen_tables`): an apply asks for the head some twenty
  times.
"""

import json
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from reconciler.base.digest import JsonObject, canonical_json
from reconciler.base.errors import RegistryConflict, RegistryError
from reconciler.delta.opening import first_line, open_table, store_hint
from reconciler.delta.registry_clean_up import FORGETS_FILES, clean_up, forget_files
from reconciler.delta.seen_tables import SeenTables
from reconciler.delta.writing import writing

if TYPE_CHECKING:
    from arro3.core import Table
    from deltalake import DeltaTable

_CONFIGURATION = {"delta.checkpointInterval": "10", **FORGETS_FILES}
_CLEAN_EVERY = 50
_KEEP_HOURS = 1
_TEXT = "document"
"""The question to a table that was seen for which it has the document's text."""


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
            self.seen.keep(self.location, table, {_TEXT: text})
            return Document(table.version(), value)
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
            self.seen.keep(self.location, table, {_TEXT: text})
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
