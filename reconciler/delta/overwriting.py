"""Files that become the whole table on a disk, by an entry of the log that is made here: what Delta writes for an overwrite.

deltalake lists the whole log for such a commit. What is not surely such a table (another feature, setting or partition,
paths that are written otherwise) is left to it, and so is every answer but that the commit was made: that it was made
before, that the table stands elsewhere, that somebody else was first.

What a table is after such a commit is remembered, and the log is not read for the next one, while the commit's entry is the
file that it was. Then nobody made another commit of that version, and one of the next version is met when it is put.
"""

import json
import time
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject, canonical_json
from reconciler.base.recently_used import RecentlyUsed
from reconciler.delta.arrow_rows import StoredFile, is_plain, is_plain_path, plain_files
from reconciler.delta.arrow_writes import has_known_settings, needs_features, removed, with_schema
from reconciler.delta.entries import Entry, entry_of
from reconciler.delta.log_entries import ENGINE_INFO, after_commit, put_entry
from reconciler.delta.opening import is_local
from reconciler.delta.short_logs import open_log
from reconciler.delta.transactions import USER_METADATA, has_transaction, mark_of, name_of
from reconciler.delta.writing import writing
from reconciler.engine.stored import Transaction

if TYPE_CHECKING:
    from deltalake import Metadata
    from deltalake.table import ProtocolVersions
    from deltalake.transaction import AddAction

_ABOUT_AN_ACTION: Final = 1000
_TABLES: Final = 1_000
_MOST_FILES: Final = 100
"""So many tables are remembered, of so many files at most."""


def overwrite_on_disk(
    location: str,
    schema: Any,
    actions: "list[AddAction]",
    expected: int | None,
    transaction: Transaction,
    commit: JsonObject | None,
) -> int | None:
    """Make these files and this schema the whole table, in one commit on version `expected`; returns the new version. None
    where that was not done: then nothing was. Raises RegistryError for what the system refuses."""
    if expected is None or not is_local(location):
        return None
    table = _remembered(location, expected, transaction) or _read(location, expected, transaction)
    wanted: JsonObject = json.loads(schema.to_json())
    if table is None or not _can_be_overwritten(table, wanted):
        return None
    now = time.time_ns() // 1_000_000
    information = {
        "timestamp": now,
        "operation": "WRITE",
        "operationParameters": {"mode": "Overwrite", "partitionBy": "[]"},
        "readVersion": expected,
        "engineInfo": ENGINE_INFO,
        "reconcile.transaction": name_of(transaction),
        **({USER_METADATA: canonical_json(commit)} if commit else {}),
    }
    first = [] if wanted == table.schema else [with_schema(table.metadata, wanted)]
    adds: list[JsonObject] = [{"add": added_action(action)} for action in actions]
    removes = [removed(file, changes_rows=True) for file in table.files]
    with writing(location, expected, data=_ABOUT_AN_ACTION * (len(adds) + len(removes))):
        is_done = put_entry(
            location, expected + 1, information, [{"txn": mark_of(transaction, now)}, *first, *adds, *removes]
        )
    if not is_done:
        return None
    after_commit(location, expected + 1, table.metadata.configuration)
    _remember(location, expected + 1, replace(table, schema=wanted, files=_files(actions)), transaction)
    return expected + 1


@dataclass(frozen=True, slots=True)
class _Table:
    """What a commit on a table asks of it. Its metadata may have older columns than `schema`."""

    protocol: "ProtocolVersions"
    metadata: "Metadata"
    schema: JsonObject
    files: tuple[StoredFile, ...]


@dataclass(frozen=True, slots=True)
class _Committed:
    """A table after a commit that was made here."""

    version: int
    entry: Entry
    transaction: Transaction
    table: _Table


_committed: Final[RecentlyUsed[str, _Committed]] = RecentlyUsed(_TABLES)
_lock: Final = Lock()


def _remembered(location: str, version: int, transaction: Transaction) -> _Table | None:
    """The table at a version, if the commit of that was made here, by an earlier transaction of the same application."""
    with _lock:
        found = _committed.get(location)
    if found is None or found.version != version or found.entry != entry_of(location, version):
        return None
    is_next = found.transaction.application == transaction.application and found.transaction.version < transaction.version
    return found.table if is_next else None


def _remember(location: str, version: int, table: _Table, transaction: Transaction) -> None:
    entry = entry_of(location, version)
    with _lock:
        if entry is None or len(table.files) > _MOST_FILES or not all(is_plain_path(file.path) for file in table.files):
            _committed.pop(location)
        else:
            _committed.put(location, _Committed(version, entry, transaction, table))


def _read(location: str, version: int, transaction: Transaction) -> _Table | None:
    """The table, if it stands at this version and has not the transaction. Raises RegistryConflict (G605) where it has a
    later one."""
    table = open_log(location)
    if table is None or has_transaction(table, transaction, location) or table.version() != version or not is_plain(table):
        return None
    files = plain_files(table)
    schema: JsonObject = json.loads(table.schema().to_json())
    return None if files is None else _Table(table.protocol(), table.metadata(), schema, files)


def _files(actions: "list[AddAction]") -> tuple[StoredFile, ...]:
    return tuple(StoredFile(action.path, action.size, None) for action in actions)


def _can_be_overwritten(table: _Table, schema: JsonObject) -> bool:
    features = set(table.protocol.writer_features or ())
    # Where features are missing, deltalake adds them first.
    lacks = table.protocol.min_writer_version > 2 and not {"timestampNtz", "invariants", "appendOnly"} <= features
    return has_known_settings(table.protocol, table.metadata) and not lacks and _features_of(schema) <= features


def _features_of(schema: JsonObject) -> set[str]:
    """The features of Delta that columns need, of those that columns of ours have."""
    moments = {"timestampNtz"} if needs_features(schema) else set()
    return moments | ({"variantType"} if '"variant"' in json.dumps(schema) else set())


def added_action(action: "AddAction") -> JsonObject:
    """A file that a commit adds, as the log has it."""
    return {
        "path": action.path,
        "partitionValues": {},
        "size": action.size,
        "modificationTime": action.modification_time,
        "dataChange": action.data_change,
        "stats": action.stats,
    }
