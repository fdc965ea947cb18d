"""Files that become the whole table on a disk, by an entry of the log that is made here: what Delta writes for an overwrite.

deltalake lists the whole log for such a commit. What is not surely such a table (another feature, setting or partition,
paths that are written otherwise) is left to it, and so is every answer but that the commit was made: that it was made
before, that the table stands elsewhere, that somebody else was first.
"""

import json
import time
from typing import TYPE_CHECKING, Any, Final

from reconciler.base.digest import JsonObject, canonical_json
from reconciler.base.version import __version__
from reconciler.delta.arrow_rows import is_plain, plain_files
from reconciler.delta.arrow_writes import has_known_settings, needs_features, removed, with_schema
from reconciler.delta.log_entries import after_commit, put_entry
from reconciler.delta.opening import is_local
from reconciler.delta.short_logs import open_log
from reconciler.delta.transactions import USER_METADATA, has_transaction, mark_of, name_of
from reconciler.delta.writing import writing
from reconciler.engine.stored import Transaction

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from deltalake.transaction import AddAction

_ABOUT_AN_ACTION: Final = 1000


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
    table = open_log(location)
    if table is None or has_transaction(table, transaction, location) or table.version() != expected:
        return None
    wanted: JsonObject = json.loads(schema.to_json())
    gone = plain_files(table) if _can_be_overwritten(table, wanted) else None
    if gone is None:
        return None
    now = time.time_ns() // 1_000_000
    information = {
        "timestamp": now,
        "operation": "WRITE",
        "operationParameters": {"mode": "Overwrite", "partitionBy": "[]"},
        "readVersion": expected,
        "engineInfo": f"reconcile/{__version__}",
        "reconcile.transaction": name_of(transaction),
        **({USER_METADATA: canonical_json(commit)} if commit else {}),
    }
    first = [] if wanted == json.loads(table.schema().to_json()) else [with_schema(table, wanted)]
    adds: list[JsonObject] = [{"add": added_action(action)} for action in actions]
    removes = [removed(file, changes_rows=True) for file in gone]
    with writing(location, expected, data=_ABOUT_AN_ACTION * (len(adds) + len(removes))):
        is_done = put_entry(
            location, expected + 1, information, [{"txn": mark_of(transaction, now)}, *first, *adds, *removes]
        )
    if not is_done:
        return None
    after_commit(location, expected + 1, table.metadata().configuration)
    return expected + 1


def _can_be_overwritten(table: "DeltaTable", schema: JsonObject) -> bool:
    features = set(table.protocol().writer_features or ())
    # Where features are missing, deltalake adds them first.
    lacks = table.protocol().min_writer_version > 2 and not {"timestampNtz", "invariants", "appendOnly"} <= features
    return is_plain(table) and has_known_settings(table) and not lacks and (bool(features) or not _has_others(schema))


def _has_others(schema: JsonObject) -> bool:
    return needs_features(schema) or '"variant"' in json.dumps(schema)


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
