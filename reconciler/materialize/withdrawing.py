"""Withdrawing a step: every table and view that it may have written goes back to the published step, its dead letters go.

Two reasons, by the intent:
- the engine refused the step;
- its writer was taken over and may still be alive (`lease`).

Where another process than the one that withdraws it wrote the step, something of it may still be on its way, even if that
process is dead: its JVM ends a moment later than it. Then each relation, and the dead letters, also get a commit with the
transactions of all that the step would write there. Whatever of it is committed later conflicts with that commit, and what
begins later is told that it is done. Which transactions these are is said here, for writer and fence alike. A compaction of
the step's is made on the version right after its write's, or not at all: no mark is needed against it.

An intent stays marked until all this is done, so that whoever comes next finishes it. The step's number is never used again.
"""

import uuid
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace

from reconciler.base.boundaries import EFFECTED, INTENDED, Boundary
from reconciler.base.errors import RegistryConflict
from reconciler.base.names import fold
from reconciler.delta.opening import is_on_s3, join_location
from reconciler.delta.removal import remove_written
from reconciler.delta.restoring import put_back, take_out_rows
from reconciler.delta.tables import create_table
from reconciler.engine.dead_letters import DEAD_LETTER_COLUMNS
from reconciler.engine.stored import Transaction, dead_letters_of, first_part_of
from reconciler.environment.target import Target
from reconciler.project.program.model import Program
from reconciler.registry.intents import Intent, RestoreCheckpoint, RunStatement
from reconciler.registry.model import Head, Stored
from reconciler.registry.placements import foreign_key
from reconciler.state.folders import dead_letters_location
from reconciler.state.lease import this_writer
from reconciler.state.past_applies import record_restore_taken_back
from reconciler.state.step_history import record_withdrawal

STEP_TRANSACTION = "reconcile/step"


def ingest_transaction(connector: str, step: int) -> Transaction:
    """What marks the rows that a connector (its qualified name) brought in a step."""
    return Transaction(f"{STEP_TRANSACTION}/{fold(connector)}", step)


def statement_transaction(step: int) -> Transaction:
    """What marks the rows of a statement."""
    return Transaction(f"{STEP_TRANSACTION}/statement", step)


def view_transaction(step: int) -> Transaction:
    """What marks a view's contents as of a step."""
    return Transaction(STEP_TRANSACTION, step)


def late_rows_transaction(stream: str, step: int) -> Transaction:
    """What marks the dead letters of a stream: rows that came too late for it in a step."""
    return dead_letters_of(Transaction(f"{STEP_TRANSACTION}/stream/{fold(stream)}", step))


def transactions_of(program: Program, intent: Intent) -> dict[str, tuple[Transaction, ...]]:
    """Of every relation (folded) that a step may write, the transactions that it may write there."""
    if isinstance(intent.work, RestoreCheckpoint):
        return {key: (view_transaction(intent.step),) for key in sorted(intent.work.restored)}
    found: dict[str, list[Transaction]] = {}
    for one in intent.ingests:
        relation = fold(program.connectors[fold(one.connector)].relation)
        ingest = ingest_transaction(one.connector, intent.step)
        found.setdefault(relation, []).extend((ingest, first_part_of(ingest)))
    if isinstance(intent.work, RunStatement):
        found.setdefault(intent.work.table, []).append(statement_transaction(intent.step))
    foreign = {foreign_key(name, key) for name, one in intent.foreign.items() for key in one.relations}
    changed = {*found, *foreign}
    for key in program.order:
        if not changed.isdisjoint(fold(read.relation) for read in program.relations[key].reads):
            changed.add(key)
            if program.is_stored(key):
                found[key] = [view_transaction(intent.step)]
    return {key: tuple(transactions) for key, transactions in sorted(found.items())}


def put_step_back(target: Target, stored: Stored[Head], program: Program, boundary: Boundary) -> Stored[Head]:
    """Put back what the withdrawn step may have written, and close the intent."""
    head = stored.value
    intent = head.intent
    assert intent is not None
    placements = head.published.relations if head.published else {}
    boundary(f"withdrawal:{INTENDED}")
    is_others = intent.taken_over or intent.writer != this_writer()
    # A request to S3 that failed may still be done there, later: then our own writer is one that comes back.
    is_fenced = is_others or is_on_s3(target.warehouse)
    written = transactions_of(program, intent)
    for key, transactions in written.items():
        if key in placements:
            location = join_location(target.warehouse, placements[key].location)
            put_back(location, placements[key].version, transactions if is_fenced else ())
        else:
            # What a restore made where nothing was.
            assert isinstance(intent.work, RestoreCheckpoint)
            remove_written(join_location(target.warehouse, intent.work.restored[key].location), transactions[0])
    letters = _dead_letters_of(program, intent, written)
    if letters:
        _take_out_dead_letters(dead_letters_location(target, head.pipeline), intent.step, letters if is_fenced else ())
    boundary(f"withdrawal:{EFFECTED}")
    if isinstance(intent.work, RestoreCheckpoint):
        record_restore_taken_back(target.registry, head.pipeline, intent.work)
    record_withdrawal(target.registry, head, intent.step)
    closed = replace(head, intent=None, last_step=intent.step)
    return target.registry.replace_head(stored.token, closed, str(uuid.uuid4()))


def _dead_letters_of(program: Program, intent: Intent, written: Collection[str]) -> list[Transaction]:
    """The transactions of all dead letters that a step may have written."""
    streams = [view for key, view in program.views.items() if key in written and view.stream is not None]
    return [
        *(dead_letters_of(ingest_transaction(one.connector, intent.step)) for one in intent.ingests),
        *(late_rows_transaction(one.name, intent.step) for one in streams if one.stream and one.stream.keeps_late),
    ]


def _take_out_dead_letters(location: str, step: int, fenced: Sequence[Transaction]) -> None:
    if fenced:
        # Made if need be: where there is no table, nothing would stop its first writer.
        with suppress(RegistryConflict):
            create_table(location, DEAD_LETTER_COLUMNS, view_transaction(step))
    take_out_rows(location, f"step = {step}", fenced)
