"""What a commit of ours carries: its transaction, by which a repeat is told, and what it says for readers of the history.

A transaction's number only rises for its application. So a table that has a later one was written by somebody who came
after: whoever asks for an earlier one was taken over, and is told so (G605).
"""

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from reconciler.base.digest import JsonObject, canonical_json
from reconciler.base.errors import RegistryConflict
from reconciler.delta.opening import is_local, local_path
from reconciler.delta.short_logs import open_log
from reconciler.engine.stored import Transaction

if TYPE_CHECKING:
    from deltalake import CommitProperties, DeltaTable

USER_METADATA = "userMetadata"
"""Where a commit keeps what it says for people and programs, as one JSON text: in Spark's commits, too."""


def has_transaction(table: "DeltaTable", transaction: Transaction, location: str | None = None) -> bool:
    """Whether the table has the transaction. Raises RegistryConflict where it has a later one. `location` is where the table
    is, if it was opened for its log alone."""
    found = table.transaction_version(transaction.application)
    if found is not None and found > transaction.version:
        name = transaction.application
        raise RegistryConflict(
            "G605", f"{location or table.table_uri} already has {name} at {found}, which is later than {transaction.version}"
        )
    return bool(found == transaction.version)


def has_commit_after(location: str, version: int) -> bool:
    """Whether a table has a later commit than this Delta version. On a disk two looks tell, and nothing is opened."""
    if is_local(location):
        at, after = (os.path.join(local_path(location), "_delta_log", f"{one:020d}.json") for one in (version, version + 1))
        # Commits have no gaps, and old ones are cleaned up in their order.
        if os.path.exists(at) and not os.path.exists(after):
            return False
    table = open_log(location)
    return table is not None and int(table.version()) > version


def last_numbers(location: str, applications: Iterable[str]) -> tuple[int, ...]:
    """The numbers of the last transactions of these applications that a table has; none where there is no table."""
    table = open_log(location)
    if table is None:
        return ()
    found = (table.transaction_version(one) for one in sorted(applications))
    return tuple(one for one in found if one is not None)


def name_of(transaction: Transaction) -> str:
    """A transaction as a commit names it for people."""
    return f"{transaction.application}@{transaction.version}"


def mark_of(transaction: Transaction, now: int) -> JsonObject:
    """A transaction as the log has it (`txn`)."""
    return {"appId": transaction.application, "version": transaction.version, "lastUpdated": now}


def commit_properties(transaction: Transaction, commit: JsonObject | None = None) -> "CommitProperties":
    """Of a commit that is made at once or not at all; `commit` is what it says of itself."""
    from deltalake import CommitProperties
    from deltalake import Transaction as DeltaTransaction

    told = {USER_METADATA: canonical_json(commit)} if commit else {}
    return CommitProperties(
        max_commit_retries=0,
        app_transactions=[DeltaTransaction(transaction.application, transaction.version)],
        custom_metadata={"reconcile.transaction": name_of(transaction), **told},
    )


def marking_properties(marks: Sequence[Transaction]) -> "CommitProperties":
    """Of a commit that leaves these transactions on a table, made at once or not at all."""
    from deltalake import CommitProperties
    from deltalake import Transaction as DeltaTransaction

    return CommitProperties(
        max_commit_retries=0,
        app_transactions=[DeltaTransaction(mark.application, mark.version) for mark in marks],
    )
