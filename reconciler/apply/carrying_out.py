"""Carrying out the journal of an apply: its steps one by one, then the one commit that switches.

If the engine fails before anything that anybody reads has changed, the apply takes itself back (`taking_back`). After that
point it can only go forward, and whoever comes next does so from here.
"""

from contextlib import suppress
from dataclasses import replace

from reconciler.apply.prebuilding import Prebuilding
from reconciler.apply.wanted import require_engine_of
from reconciler.base.boundaries import BEFORE, EFFECTED, INTENDED, RECORDED
from reconciler.base.digest import canonical_json
from reconciler.base.errors import EngineError, ReconcileError, RegistryError
from reconciler.base.moments import moment_after
from reconciler.base.names import fold
from reconciler.base.version import __version__
from reconciler.delta.opening import join_location
from reconciler.delta.removal import remove_if_empty
from reconciler.environment.commits import author_of
from reconciler.environment.progress import Progress, in_built_rows, in_kept_rows
from reconciler.environment.session import Session
from reconciler.environment.target import Target
from reconciler.materialize.apply_effects import Effects, builds_of, placements_after, remove
from reconciler.materialize.kept_rows import KeptRows
from reconciler.materialize.registry_backups import with_ids
from reconciler.materialize.taking_back import can_take_back, take_back
from reconciler.plan.operations.bootstrap_view import BootstrapView
from reconciler.project.program.model import Program, empty_program
from reconciler.project.snapshot.model import Snapshot
from reconciler.registry.entries import (
    BuildIntent,
    BuildResult,
    EntryIntent,
    EntryResult,
    JournalEntry,
    KeptIntent,
    intent_to_json,
    result_to_json,
    staging_of,
)
from reconciler.registry.model import Applied, Head, Journal, Published
from reconciler.registry.protocol import History
from reconciler.run.output_starts import outputs_after
from reconciler.run.outputs_by_place import left_after_change, still_known
from reconciler.run.publishing_head import publish_head, record_applied, with_program
from reconciler.state.applied import read_snapshot
from reconciler.state.events import Event, EventLog
from reconciler.state.journal import OpenJournal
from reconciler.state.staged import describe_promotion, staged_folders
from reconciler.state.step_history import ToldOfStep, next_step
from reconciler.versions.column_types import require_recorded_types, with_types
from reconciler.versions.numbering import Switch, record_versions


def carry_out(target: Target, work: OpenJournal, session: Session, beside: Prebuilding) -> tuple[str, ...]:
    """Run what is left of the journal and close it; returns the steps that ran, in words."""
    journal, head = work.journal, work.head
    if journal.aborting:
        take_back(target, work, session.engine)
        return ()
    desired, program = _desired(target, head, journal)
    try:
        require_engine_of(target, desired)
    except EngineError:
        # It was opened before an upgrade.
        if can_take_back(journal):
            take_back(target, work, session.engine)
        raise
    placements = head.published.relations if head.published else {}
    kept_rows = KeptRows(target, head, program, journal.versions)
    planned = builds_of(journal, program, placements, head.staged.views if head.staged is not None else {})
    effects = Effects(session.engine, target.warehouse, journal, planned, beside.builder, kept_rows)
    total = len(journal.entries)
    done: list[str] = []

    def pin(entry: JournalEntry) -> EntryIntent:
        intent = effects.pin(entry.step) if entry.intent is None else effects.pin_again(entry.step, entry.intent)
        staging = staging_of(intent)
        if staging is not None:
            beside.use(staging)
        return intent

    def effect(entry: JournalEntry) -> EntryResult | None:
        step, intent = entry.step, entry.intent
        assert intent is not None
        words = step.describe()
        session.report(Progress(int(entry.id), total, words, done=False))
        result = effects.run(step, intent)
        if isinstance(step, BootstrapView) and isinstance(result, BuildResult):
            require_recorded_types(target.registry, head, journal.versions, program, step.relation, result.columns)
        detail = ""
        match intent, result:
            case KeptIntent(), BuildResult():
                detail = in_kept_rows(result.rows, intent.kept.number)
            case BuildIntent(), BuildResult():
                published = head.published.step if head.published else None
                detail = in_built_rows(result) + beside.describe(intent.folder, published)
                if isinstance(step, BootstrapView):
                    detail += describe_promotion(head.staged, step.relation, intent.staging)
        session.report(Progress(int(entry.id), total, words, done=True, detail=detail))
        done.append(words)
        return result

    for batch in work.batches():
        try:
            work.run_batch(batch, pin, effect)
        except ReconcileError as error:
            # What the engine refuses it refuses each time; a store that is away, or another writer, is another matter.
            if isinstance(error, EngineError) and can_take_back(work.journal):
                take_back(target, work, session.engine)
            raise
        except Exception:
            # A mistake of ours is made each time, too: the pipeline must not stay between two programs for it.
            if can_take_back(work.journal):
                take_back(target, work, session.engine)
            raise
    words = journal.entries[-1].step.describe()
    session.report(Progress(total, total, words, done=False))
    _commit(target, work, desired, program, session)
    session.report(Progress(total, total, words, done=True))
    return (*done, words)


def _desired(target: Target, head: Head, journal: Journal) -> tuple[Snapshot | None, Program]:
    """The snapshot that a journal brings, and its program; of a removal, an empty one."""
    if journal.record is not None:
        snapshot = read_snapshot(target, head.pipeline, journal.record)
        return snapshot, snapshot.program
    if head.applied is None or head.applied.record is None:
        raise RegistryError("G602", f"the journal of {head.pipeline!r} removes a pipeline that was never applied")
    return None, empty_program(read_snapshot(target, head.pipeline, head.applied.record).program.settings)


def _commit(target: Target, work: OpenJournal, desired: Snapshot | None, program: Program, session: Session) -> None:
    """The last entry: histories, then the one commit that closes the journal and switches readers."""
    journal, head = work.journal, work.head
    session.boundary(f"commit_snapshot:{BEFORE}")
    work.check()
    # Applies are numbered by their time (`versions.history`).
    now = moment_after(head.applied.at if head.applied is not None else None)
    applied = Applied(
        digest=journal.digest,
        record=journal.record,
        apply_id=journal.apply_id,
        plan_digest=journal.plan_digest,
        at=now,
        by=journal.by,
        commit=journal.commit,
        approval=journal.approval,
        reconciler=__version__,
        follows=journal.follows,
        home=journal.home,
    )
    _record_journal(target, head.pipeline, journal, now)
    record_applied(target.registry, head.pipeline, applied, journal.commit, journal.summary)
    session.boundary(f"commit_snapshot:{INTENDED}")
    before = head.published
    published = Published(
        step=next_step(head),
        at=now,
        relations=with_ids(target, placements_after(program, journal, before.relations if before else {})),
        foreign=journal.foreign,
    )
    versions = with_types(target.registry, head, journal.versions, desired, published.relations)
    applied_program = _applied_program(target, head, program)
    left = left_after_change(head, applied_program, program, journal.formerly) if journal.record is not None else ()
    kept = {name: journal.formerly.get(name, name) for name in sorted(map(fold, journal.resumes))}
    closed = replace(
        with_program(head, applied, program if journal.record is not None else None, versions),
        published=published if journal.record is not None else None,
        positions={key: head.positions[former] for key, former in kept.items() if former in head.positions},
        outputs=outputs_after(head, journal, applied_program, program, published),
        left=still_known(target, left, program, published.relations),
        journal=None,
        last_step=published.step,
    )
    switch = Switch(
        published.step,
        now,
        journal.by,
        journal.commit,
        journal.approval,
        journal.plan_digest,
        journal.apply_id,
        author_of(target.root, journal.commit),
        published.relations,
    )
    record_versions(target.registry, head, versions, desired, switch)
    publish_head(target.registry, work.stored, closed, program, ToldOfStep("apply"))
    session.boundary(f"commit_snapshot:{EFFECTED}")
    taken = {staging_of(entry.intent) for entry in journal.entries}
    for folder in sorted(staged_folders(head) - taken):
        with suppress(EngineError):  # on an object store; a prune removes what stays there
            remove(session.engine, join_location(target.warehouse, folder))
        remove_if_empty(join_location(target.warehouse, folder.rpartition("/")[0]))
    streams = _bootstrapped_streams(journal, program)
    details = {"apply_id": journal.apply_id, "summary": journal.summary, **({"streams": streams} if streams else {})}
    EventLog(target.registry, head.pipeline, session.tell).record(Event.APPLY_SWITCHED, "", published.step, details)
    session.boundary(f"commit_snapshot:{RECORDED}")


def _bootstrapped_streams(journal: Journal, program: Program) -> list[str]:
    """The streams that were computed anew: what was late for one before this step is among its rows from now on."""
    anew = (
        one.step.relation
        for one in journal.entries
        if isinstance(one.step, BootstrapView) and isinstance(one.intent, BuildIntent)
    )
    views = (program.views.get(fold(name)) for name in anew)
    return [view.name for view in views if view is not None and view.stream is not None]


def _applied_program(target: Target, head: Head, program: Program) -> Program:
    """What is applied until now; nothing, where that is so."""
    if head.applied is None or head.applied.record is None:
        return empty_program(program.settings)
    return read_snapshot(target, head.pipeline, head.applied.record).program


def _record_journal(target: Target, pipeline: str, journal: Journal, now: str) -> None:
    rows = [
        {
            "apply_id": journal.apply_id,
            "entry": entry.id,
            "step": canonical_json(entry.step.to_json()),
            "intent": canonical_json(intent_to_json(entry.intent)),
            "result": canonical_json(result_to_json(entry.result)),
            "at": now,
        }
        for entry in journal.entries
    ]
    target.registry.record(History.JOURNAL, pipeline, rows, f"journal:{journal.apply_id}")
