"""Rows that were written elsewhere are added to a table, in one commit, without a JVM: the files stand below the table's own
folder already (a staging folder), and one commit names them beside those that are there.

On a disk the commit is an entry of the log that is made here (`log_entries`), where the table is surely plain: deltalake
lists the whole log for one. Everything else is deltalake's. What every commit here keeps to is said in `tables`.
"""

import json
import time
from typing import Final

from reconciler.base.digest import JsonObject, canonical_json
from reconciler.base.errors import RegistryConflict
from reconciler.delta.arrow_rows import is_plain
from reconciler.delta.arrow_writes import has_known_settings
from reconciler.delta.commits import version_of
from reconciler.delta.log_entries import ENGINE_INFO, after_commit, put_entry
from reconciler.delta.opening import is_local, join_location, open_table
from reconciler.delta.overwriting import added_action
from reconciler.delta.short_logs import open_log
from reconciler.delta.staged_tables import staged_table
from reconciler.delta.transactions import USER_METADATA, commit_properties, has_transaction, mark_of, name_of
from reconciler.delta.writing import writing
from reconciler.engine.stored import Transaction

_ABOUT_AN_ACTION: Final = 1000


def publish_added(
    location: str,
    staging: str,
    transaction: Transaction,
    commit: JsonObject | None = None,
    *,
    after: int | None = None,
) -> int | None:
    """Add the rows that are staged in the folder `staging` (relative to `location`) to the table; returns the version that
    has them. Both have the same columns. A repeat adds nothing. `after` is where the table stands: where somebody else wrote
    it since, nothing is done (None). Raises RegistryConflict (G605) where there is no table, nothing is staged, the columns
    differ, or somebody else writes the table meanwhile."""
    table = open_log(location)
    if table is None:
        raise RegistryConflict("G605", f"there is no table at {location}")
    if has_transaction(table, transaction, location):
        return version_of(location, int(table.version()), transaction)
    if after is not None and table.version() != after:
        return None
    staged = staged_table(join_location(location, staging), staging)
    if staged is None:
        raise RegistryConflict("G605", f"nothing is staged at {join_location(location, staging)}")
    if _columns(staged.schema.to_json()) != _columns(table.schema().to_json()):
        raise RegistryConflict("G605", f"the staged table at {join_location(location, staging)} has other columns")
    expected = int(table.version())
    with writing(location, expected, data=_ABOUT_AN_ACTION * len(staged.files)):
        if is_local(location) and is_plain(table) and has_known_settings(table.protocol(), table.metadata()):
            now = time.time_ns() // 1_000_000
            information = {
                "timestamp": now,
                "operation": "WRITE",
                "operationParameters": {"mode": "Append", "partitionBy": "[]"},
                "readVersion": expected,
                "isBlindAppend": True,
                "engineInfo": ENGINE_INFO,
                "reconcile.transaction": name_of(transaction),
                **({USER_METADATA: canonical_json(commit)} if commit else {}),
            }
            entry = [{"txn": mark_of(transaction, now)}, *({"add": added_action(action)} for action in staged.files)]
            if put_entry(location, expected + 1, information, entry):
                after_commit(location, expected + 1, table.metadata().configuration)
                return expected + 1
        else:
            current = open_table(location)
            if current is not None and int(current.version()) == expected:
                properties = commit_properties(transaction, commit)
                current.create_write_transaction(
                    [*staged.files], "append", current.schema(), [], commit_properties=properties
                )
                return expected + 1
    # Somebody else made that commit: the same, perhaps.
    again = open_table(location)
    if again is not None and has_transaction(again, transaction):
        return version_of(location, int(again.version()), transaction)
    raise RegistryConflict("G605", f"another process wrote {location} meanwhile")


def _columns(schema: str) -> list[tuple[str, str]]:
    return [(field["name"], json.dumps(field["type"], sort_keys=True)) for field in json.loads(schema)["fields"]]
