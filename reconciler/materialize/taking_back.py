"""Taking an apply back: until it changed something that anybody reads, an apply that fails is undone.

Rules:
- Until the first step begins that readers may see (`IS_SEEN` of its kind), nothing that anybody reads has changed. After
  that point an apply can only go forward.
- What was staged before to be promoted stays staged.
- Where the histories may tell of the apply already, the step of the apply is withdrawn, like one of a run.
- What the journal staged is removed, and tables that it created, known by its own transaction. Nothing else is: a folder
  that is there for other reasons stays, whoever comes late.
"""

from dataclasses import replace

from reconciler.delta.opening import join_location
from reconciler.delta.removal import identity_if_written_by, remove_if_empty, remove_table
from reconciler.engine.protocol import Engine, Transaction
from reconciler.environment.target import Target
from reconciler.materialize.apply_effects import APPLY_TRANSACTION, aside, remove
from reconciler.plan.operations.bootstrap_view import BootstrapView
from reconciler.plan.operations.commit_snapshot import CommitSnapshot
from reconciler.plan.operations.create_table import CreateTable
from reconciler.plan.operations.evolve_table import EvolveTable
from reconciler.registry.entries import EntryState, staging_of
from reconciler.registry.model import Head, Journal
from reconciler.registry.protocol import Registry
from reconciler.state.journal import OpenJournal
from reconciler.state.past_applies import record_apply_taken_back
from reconciler.state.staged import staged_folders
from reconciler.state.step_history import next_step, record_withdrawal


def can_take_back(journal: Journal) -> bool:
    """Whether nothing that anybody reads has changed, or may have."""
    return all(entry.state is EntryState.PENDING for entry in journal.entries if entry.step.IS_SEEN)


def take_back(target: Target, work: OpenJournal, engine: Engine) -> None:
    """Undo an apply that changed nothing visible: remove what it staged and created, close the journal."""
    journal, head = work.journal, work.head
    if not journal.aborting:
        work.replace_head(replace(head, journal=replace(journal, aborting=True)))
    kept = staged_folders(head)
    # What has no intent was not begun.
    for entry in journal.entries:
        if entry.intent is None:
            continue
        location, staging = join_location(target.warehouse, entry.intent.location), staging_of(entry.intent)
        match entry.step:
            case CreateTable():
                work.check()
                beside = join_location(target.warehouse, aside(head.pipeline, journal.apply_id, entry.intent.location))
                _remove_created(engine, location, Transaction(APPLY_TRANSACTION, journal.serial), beside)
            case BootstrapView() | EvolveTable() if staging is not None and staging not in kept:
                remove(engine, join_location(target.warehouse, staging))
                remove_if_empty(location)
    record_apply_taken_back(target.registry, head.pipeline, journal.apply_id, journal.by)
    last_step = _after_its_step(target.registry, work.head) if _may_be_recorded(journal) else head.last_step
    work.replace_head(replace(work.head, journal=None, last_step=last_step))


def _may_be_recorded(journal: Journal) -> bool:
    """Whether the histories may tell of it: they are written last, before the head switches."""
    return all(entry.state is EntryState.DONE for entry in journal.entries if not isinstance(entry.step, CommitSnapshot))


def _after_its_step(registry: Registry, head: Head) -> int:
    """The last step once that of an apply, which was not to be, is withdrawn: its rows count for nothing, and no other step
    gets its number, under which rows are written once."""
    step = next_step(head)
    # A head whose last step is 0 has had none.
    last = max(step, 1)
    for number in range(step, last + 1):
        record_withdrawal(registry, head, number)
    return last


def _remove_created(engine: Engine, location: str, transaction: Transaction, beside: str) -> None:
    identity = identity_if_written_by(location, transaction)
    if identity is not None and not remove_table(location, identity, beside):
        engine.remove(location)
    if identity is None:
        remove(engine, beside)  # what a former try moved there
        remove_if_empty(location)
