"""What a commit of ours carries: its transaction, by which a repeat is told, and what it says for readers of the history.

A transaction's number only rises for its application. So a table that has a later one was written by somebody who came
after: whoever asks for an earlier one was taken over, and is told so (G605).
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from reconciler.base.digest import JsonObject, canonical_json
from reconciler.base.errors import RegistryConflict
from reconciler.delta.opening import open_table
from reconciler.engine.stored import Transaction

if TYPE_CHECKING:
    from deltalake import CommitProperties, DeltaTable

USER_METADATA = "userMetadata"
"""Where a commit keeps what it says for people and programs, as one JSON text: in Spark's commits, too."""


def has_transaction(table: "DeltaTable", transaction: Transaction) -> bool:
    """Whether the table has the transaction. Raises RegistryConflict where it has a later one."""
    found = table.transaction_version(transaction.application)
    if found is not None and found > transaction.version:
        name = transaction.application
        raise RegistryConflict(
            "G605", f"{table.table_uri} has {name} at {found} already, which is after {transaction.version}"
        )
    return bool(found == transaction.version)


def last_numbers(location: str, since: int, applications: Iterable[str]) -> tuple[int, ...]:
    """The numbers of the last transactions of these applications that a table has; none where there is no table, or no
    commit after the Delta version `since`."""
    table = open_table(location)
    if table is None or table.version() <= since:
        return ()
    found = (table.transaction_version(one) for one in sorted(applications))
    return tuple(one for one in found if one is not None)


def commit_properties(transaction: Transaction, commit: JsonObject | None = None) -> "CommitProperties":
    """Of a commit that is made at once or not at all; `commit` is what it says of itself."""
    from deltalake import CommitProperties
    from deltalake import Transaction as DeltaTransaction

    told = {USER_METADATA: canonical_json(commit)} if commit else {}
    return CommitProperties(
        max_commit_retries=0,
        app_transactions=[DeltaTransaction(transaction.application, transaction.version)],
        custom_metadata={"reconcile.transaction": f"{transaction.application}@{transaction.version}", **told},
    )


def marking_properties(marks: Sequence[Transaction]) -> "CommitProperties":
    """Of a commit that leaves these transactions on a table, made at once or not at all."""
    from deltalake import CommitProperties
    from deltalake import Transaction as DeltaTransaction

    return CommitProperties(
        max_commit_retries=0,
        app_transactions=[DeltaTransaction(mark.application, mark.version) for mark in marks],
    )
