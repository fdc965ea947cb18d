"""Transactions: all rows that come over HTTP between its begin and its commit are read in one step.

- What it has is held back in the folders of requests (`engine.http_transactions`), and outlives every kill.
- It is committed under the pipeline's lease: no run is looking for input then, so no step sees a part of it. A run lets the
  lease go between two steps.
- An INSERT or DELETE within it becomes such rows: its query is answered from what is published, and its rows come with the
  commit. Connectors go on as ever: what they read is no part of it.
- It is over when a published step has read its rows, and every output was sent them.
"""

from enum import StrEnum
from pathlib import Path

from reconciler.base.dataclass import dataclass
from reconciler.base.moments import this_moment
from reconciler.base.names import fold
from reconciler.engine.http_requests import next_number
from reconciler.engine.http_transactions import RequestTransaction, read_transaction, write_transaction
from reconciler.environment.target import Target
from reconciler.project.program.model import Program
from reconciler.registry.model import Head
from reconciler.rest.descriptions import HTTP_CONNECTOR, are_requests_read, folder_of_requests
from reconciler.rest.errors import Refused
from reconciler.rest.read_requests import position_of
from reconciler.rest.requests import outputs_have_all
from reconciler.state.applied import read_applied
from reconciler.state.lease import hold_lease, this_process


class Phase(StrEnum):
    """Where a pipeline stands with transactions, by the names that the client knows."""

    NONE = "NoTransaction"
    OPEN = "TransactionInProgress"
    COMMITTING = "CommitInProgress"


@dataclass(frozen=True, slots=True)
class TransactionNow:
    """The transaction of a pipeline; `id` is 0 where there is none."""

    phase: Phase
    id: int = 0
    began_at: str = ""


def transaction_now(target: Target, pipeline: str) -> TransactionNow:
    """How it stands."""
    found = read_transaction(_above(target, pipeline))
    if found is None:
        return TransactionNow(Phase.NONE)
    if found.is_open:
        return TransactionNow(Phase.OPEN, found.id, found.began_at)
    stored = target.registry.head(pipeline)
    if stored is not None and _was_read(target, pipeline, found, stored.value) and _was_sent(target, pipeline, stored.value):
        return TransactionNow(Phase.NONE)
    return TransactionNow(Phase.COMMITTING, found.id, found.began_at)


def begin(target: Target, pipeline: str, program: Program) -> int:
    """Begin a transaction; its id. Raises Refused where one is under way, or there is no table that takes rows."""
    if transaction_now(target, pipeline).phase is not Phase.NONE:
        raise Refused(400, "TransactionInProgress", f"pipeline {pipeline} has a transaction that is not over")
    last = read_transaction(_above(target, pipeline))
    tables = [table for table in _tables(program) if are_requests_read(target, program, table)]
    if not tables:
        raise Refused(400, "NoHttpInput", f"no table of pipeline {pipeline} takes rows over HTTP")
    held = {table: _first_free(target, pipeline, table) for table in tables}
    begun = RequestTransaction(1 if last is None else last.id + 1, this_moment(), held)
    write_transaction(_above(target, pipeline), begun)
    return begun.id


def commit(target: Target, pipeline: str) -> int:
    """Have what came since the begin read in one step; the transaction's id. Raises Refused where none is open, and
    LeaseHeld."""
    wanted = transaction_now(target, pipeline)
    if wanted.phase is not Phase.OPEN:
        raise _none_open(pipeline)
    with hold_lease(target.registry, pipeline, this_process("connector")):
        # That may have taken long.
        found = read_transaction(_above(target, pipeline))
        if found is None or not found.is_open or (found.id, found.began_at) != (wanted.id, wanted.began_at):
            raise _none_open(pipeline)
        whole = {table: (first, _first_free(target, pipeline, table)) for table, first in found.held.items()}
        write_transaction(_above(target, pipeline), RequestTransaction(found.id, found.began_at, {}, whole))
    return found.id


def _none_open(pipeline: str) -> Refused:
    return Refused(400, "NoTransactionInProgress", f"pipeline {pipeline} has no transaction that is open")


def _above(target: Target, pipeline: str) -> Path:
    return folder_of_requests(target, pipeline)


def _tables(program: Program) -> list[str]:
    return sorted(fold(one.relation) for one in program.connectors.values() if one.name == HTTP_CONNECTOR)


def _first_free(target: Target, pipeline: str, table: str) -> int:
    stored = target.registry.head(pipeline)
    position = position_of(stored.value, table) if stored is not None else 1
    return max(position, next_number(folder_of_requests(target, pipeline, table)))


def _was_read(target: Target, pipeline: str, found: RequestTransaction, head: Head) -> bool:
    """Whether all of it was read that anybody will read: rows of a table that was dropped since went with it."""
    left = {table for table, (first, after) in found.whole.items() if first < after and position_of(head, table) < after}
    if not left:
        return True
    snapshot = read_applied(target, pipeline).snapshot
    return snapshot is not None and left.isdisjoint(_tables(snapshot.program))


def _was_sent(target: Target, pipeline: str, head: Head) -> bool:
    return outputs_have_all(head, target.registry.report(pipeline) or {})
