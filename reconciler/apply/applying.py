"""Apply: derive the plan again, check the approval, carry the steps out as a journal.

Rules:
- The approval is checked before the lease is taken, so that a refusal touches nothing, and again under the lease, where
  the plan is derived from what is really applied.
- While a run is live, the long part is built beside it first (`prebuilding`). Then the run is asked to hand over between two
  steps; what moved meanwhile is built again, readers switch, and the run goes on with what is applied then.
- An open journal is finished first, under the digest that it recorded, whatever the files say now; then the files are
  planned again.
- A run's step that its writer left open is replayed first, so that the plan starts from a published step.
- If the engine fails before anything that anybody reads has changed, the apply takes itself back (`taking_back`): the
  journal is closed, everything is as it was. After that point it can only go forward, and applying again does so.
- The lease is looked at before each effect, and whoever lost it stops. One who loses it in between can still do no harm:
  see `effects`.
- What is staged (`staging`) serves an apply of the same plan: its approval, and the rows of views. After any apply nothing
  is staged any more; folders that it did not take are removed.
- An apply that finds nothing to do remembers how far along the branch it looked (`merged`).
- The last entry is one commit: applied snapshot, published versions and positions change together. Histories are
  written before it, under the apply's id, so that no applied snapshot lacks its record.
"""

import getpass
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from reconciler.apply.approving import (
    require_approval,
    require_newest,
    require_promotable,
    require_unpassed,
    require_vouched,
)
from reconciler.apply.planning import plan_between
from reconciler.apply.prebuilding import Prebuilding, prebuilding, run_is_live
from reconciler.apply.sizes import measure_hazards
from reconciler.base.boundaries import BEFORE, EFFECTED, INTENDED, RECORDED
from reconciler.base.digest import canonical_json
from reconciler.base.errors import EngineError, LeaseHeld, ReconcileError, RegistryError
from reconciler.base.moments import moment_after, this_moment
from reconciler.base.names import fold
from reconciler.base.version import __version__
from reconciler.delta.opening import join_location
from reconciler.delta.removal import remove_if_empty
from reconciler.environment.bases import home_now
from reconciler.environment.commits import author_of, commit_of, short_commit, who_is_at_work
from reconciler.environment.merged import overtaken, remember
from reconciler.environment.planned_engine import require_planned_engine
from reconciler.environment.progress import Progress as Progress
from reconciler.environment.progress import in_built_rows, in_kept_rows
from reconciler.environment.session import Session as Session
from reconciler.environment.source import files_of
from reconciler.environment.target import Target
from reconciler.materialize.effects import Effects, placements_after, remove
from reconciler.materialize.following import PinnedApply, pin_apply, register_reader
from reconciler.materialize.kept_rows import KeptRows
from reconciler.materialize.older_registry import require_newest_registry
from reconciler.materialize.taking_back import can_take_back, take_back
from reconciler.plan.model import Hazard, Outcome, Plan
from reconciler.plan.operations.bootstrap_view import BootstrapView
from reconciler.plan.words import summarise
from reconciler.project.program.model import Program, empty_program
from reconciler.project.snapshot.codec import encode_program
from reconciler.project.snapshot.model import Snapshot
from reconciler.registry.entries import (
    BuildIntent,
    BuildResult,
    EntryIntent,
    EntryResult,
    EntryState,
    JournalEntry,
    KeptIntent,
    staging_of,
)
from reconciler.registry.entry_codec import intent_to_json, result_to_json
from reconciler.registry.model import Applied, Approval, Head, Journal, Published, Stored
from reconciler.registry.protocol import History
from reconciler.run.emitting import outputs_after, planned_starts
from reconciler.run.pausing import carry_out_waiting
from reconciler.run.replaying import replay_intent
from reconciler.run.transition import publish_head, record_applied, with_program
from reconciler.state.applied import AppliedState, has_moved, read_applied
from reconciler.state.events import Event, EventLog
from reconciler.state.failed_commands import telling_of_failure
from reconciler.state.journal import OpenJournal
from reconciler.state.lease import hold_lease, this_process
from reconciler.state.past_applies import ROLLBACK
from reconciler.state.snapshots import read_snapshot
from reconciler.state.staged import describe_promotion, staged_folders
from reconciler.state.steps import next_step
from reconciler.versions.column_types import require_recorded_types, with_types
from reconciler.versions.numbering import Switch, record_versions, versions_after
from reconciler.versions.staged_history import record_staged
from reconciler.workspace.declared import places_told
from reconciler.workspace.desired import compile_desired

# How long a run may take to come to the end of its step: all that was built by then waits for it.
_HANDOVER_WAIT_SECONDS = 1800.0


@dataclass(frozen=True, slots=True)
class ApplyResult:
    """What an apply did. `finished` says that it finished what an earlier one had left; `plan` is None when nothing but
    that was to do."""

    pipeline: str
    plan: Plan | None
    finished: bool
    steps: tuple[str, ...]

    @property
    def did_nothing(self) -> bool:
        """Whether everything was applied already."""
        return not self.finished and not self.steps


@dataclass(frozen=True, slots=True)
class Desired:
    """What is to be in force; `commit` looks up which commit that is of (`commits.commit_of`). `files` are the pipeline's as
    they were read, where it comes from files: what stands there later is not what is applied."""

    snapshot: Snapshot | None
    commit: Callable[[], str]
    files: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an apply is to bring, which is found anew whenever something else may be applied. `rollback`: as in a plan.
    `promotes` names the versions that are staged, where it is these (empty: it comes from elsewhere)."""

    desired: Callable[[AppliedState], Desired]
    rollback: str = ""
    promotes: str = ""


def apply_pipeline(target: Target, pipeline: str, session: Session, wanted: Wanted | None = None) -> ApplyResult:
    """Apply what the repository says of one pipeline, or what else is wanted.

    Raises ApprovalRequired or PlanRejected (nothing was touched), ManifestInvalid, LeaseHeld, RegistryError, EngineError.
    """
    if wanted is None:
        wanted = Wanted(lambda applied: from_files(target, pipeline, applied))
    command = "promote" if wanted.promotes else "rollback" if wanted.rollback else "apply"
    with (
        telling_of_failure(target.registry, pipeline, command, Event.APPLY_FAILED, session.tell),
        places_told(target, pipeline),
        prebuilding(target, session, str(uuid.uuid4())) as beside,
    ):
        unchanged = _prepare(target, pipeline, wanted, session, beside)
        if unchanged is not None:
            return ApplyResult(pipeline, unchanged, finished=False, steps=())
        holder = this_process("apply")
        waiting = _HANDOVER_WAIT_SECONDS
        with hold_lease(target.registry, pipeline, holder, wait_seconds=waiting, report=session.tell) as lease:
            return _apply_under_lease(target, pipeline, wanted, replace(session, check=lease.check), beside)


def from_files(target: Target, pipeline: str, applied: AppliedState) -> Desired:
    """What the files say. Raises ManifestInvalid with every error."""
    files = files_of(target.root, pipeline)
    snapshot = compile_desired(target, pipeline, files, applied=applied.snapshot)
    return Desired(snapshot, lambda: commit_of(target.root, pipeline, files), files or {})


def _prepare(target: Target, pipeline: str, wanted: Wanted, session: Session, beside: Prebuilding) -> Plan | None:
    """Look whether the plan may be applied, and build beside a run that is live; a plan that changes nothing is returned."""
    while True:
        applied = read_applied(target, pipeline)
        head = applied.head.value if applied.head is not None else None
        if head is not None and head.journal is not None:
            return None
        found = wanted.desired(applied)
        desired = found.snapshot
        try:
            plan = plan_between(target, pipeline, applied, desired, wanted.rollback)
        except LeaseHeld:
            # What it makes is there now, and so is its head.
            continue
        if plan.changes_nothing:
            if not remember_unchanged(target, pipeline, applied, found):
                continue
            return plan
        _require_planned_engine(target, desired)
        approval_for(target, plan, head, found, measure_hazards(target, plan, applied, desired))
        pinned = pinned_apply(target, plan, applied, desired)
        if head is None or plan.digest == beside.plan_digest or not run_is_live(target, pipeline):
            return None
        try:
            beside.build(plan, head, applied.snapshot, desired, pinned)
        except EngineError:
            now = target.registry.head(pipeline)
            if now is not None and now.value.applied == head.applied and now.value.journal is None:
                raise
        # The files may say something else by now: that is better found out, and built, while the run goes on.


def remember_unchanged(target: Target, pipeline: str, applied: AppliedState, found: Desired) -> bool:
    """Remember that what was found changes nothing of what is applied. Whether that is still so: whoever opened a journal
    meanwhile may have looked before this was remembered."""
    if found.files is not None:
        remember(target, pipeline, found.files)
    return not has_moved(target, pipeline, applied)


def _apply_under_lease(
    target: Target,
    pipeline: str,
    wanted: Wanted,
    session: Session,
    beside: Prebuilding,
) -> ApplyResult:
    # Before the files are looked at: what is open needs none of them, and they may be broken.
    finished = _finish_open_work(target, pipeline, session, beside)
    carry_out_waiting(target, pipeline, session.tell, session.boundary)
    while True:
        applied = read_applied(target, pipeline)
        found = wanted.desired(applied)
        desired = found.snapshot
        if desired is None and applied.snapshot is None:
            return ApplyResult(pipeline, None, finished=bool(finished), steps=finished)
        plan = plan_between(target, pipeline, applied, desired, wanted.rollback)
        if plan.changes_nothing:
            if found.files is not None:
                remember(target, pipeline, found.files)
            return ApplyResult(pipeline, plan, finished=bool(finished), steps=finished)
        _require_planned_engine(target, desired)
        head = applied.head.value if applied.head is not None else None
        commit = found.commit()
        approval = approval_for(target, plan, head, found, measure_hazards(target, plan, applied, desired))
        if found.commit() == commit:
            break
        # What is recorded as applied is what was judged.
        session.tell(f"another commit was checked out while the plan of {pipeline} was judged; planning again")
    if head is not None:
        # The numbers of what is staged are known by its definitions.
        record_staged(target, head)
    stored = _open_journal(target, plan, approval, applied, desired, commit, session, wanted.promotes)
    work = OpenJournal(target.registry, stored, session.boundary, session.check)
    try:
        _require_still_newest(target, plan, head, found)
    except ReconcileError:
        take_back(target, work, session.engine)
        raise
    steps = _carry_out(target, work, session, beside)
    return ApplyResult(pipeline, plan, finished=bool(finished), steps=(*finished, *steps))


def _require_planned_engine(target: Target, desired: Snapshot | None) -> None:
    """Raises EngineError (X780). A removal computes nothing."""
    if desired is not None:
        require_planned_engine(target, desired.program)


def _finish_open_work(target: Target, pipeline: str, session: Session, beside: Prebuilding) -> tuple[str, ...]:
    stored = target.registry.head(pipeline)
    if stored is None:
        return ()
    require_newest_registry(target, stored.value)
    if stored.value.journal is not None:
        journal = stored.value.journal
        work = OpenJournal(target.registry, stored, session.boundary, session.check)
        newer = _overtaken(target, stored.value, journal)
        if newer is not None:
            session.tell(
                f"the apply of {pipeline} that was opened at {journal.opened_at} by {journal.by} is not begun: commit "
                f"{short_commit(newer)}, which is newer than its own, was looked at since"
            )
            take_back(target, work, session.engine)
            return ()
        session.tell(f"finishing the apply of {pipeline} that was begun at {journal.opened_at} by {journal.by}")
        return _carry_out(target, work, session, beside)
    if stored.value.intent is not None:
        session.tell(f"replaying step {stored.value.intent.step} of {pipeline}, which was left open")
        replay_intent(target, stored, session)
    return ()


def _overtaken(target: Target, head: Head, journal: Journal) -> str | None:
    """The commit that was looked at while a journal was opened of an older one, and by which nothing was begun: its writer
    died before it looked again (`_require_still_newest`). What comes of the commit in force, such as a rollback, is not."""
    begun = any(entry.intent is not None or entry.state is not EntryState.PENDING for entry in journal.entries)
    in_force = head.applied is not None and journal.commit == head.applied.commit
    return None if begun or in_force or not journal.commit else overtaken(target, head.pipeline, journal.commit)


def _require_still_newest(target: Target, plan: Plan, head: Head | None, found: Desired) -> None:
    """Raises ApprovalRequired (A580) where a newer commit was looked at while the journal was opened: another apply said of
    that one that nothing is to be done, and did not see the journal yet."""
    if found.files is not None:
        require_newest(target, plan, found.files)
    elif head is not None and head.staged is not None and not plan.rollback:
        require_unpassed(target, plan, head.staged.commit)


def _open_journal(
    target: Target,
    plan: Plan,
    approval: Approval,
    applied: AppliedState,
    desired: Snapshot | None,
    commit: str,
    session: Session,
    promotes: str,
) -> Stored[Head]:
    stored, before = applied.head, applied.snapshot.program if applied.snapshot else None
    head = stored.value if stored else Head(plan.pipeline)
    home = head.applied.home if head.applied is not None else None
    pinned = pinned_apply(target, plan, applied, desired)
    if desired is not None:
        if desired.program.foreign:
            register_reader(target, desired.program)
        target.registry.write_snapshot(plan.pipeline, desired.record, encode_program(desired.program))
    entries = tuple(JournalEntry(f"{number:04d}", step) for number, step in enumerate(pinned.steps, start=1))
    journal = Journal(
        apply_id=str(uuid.uuid4()),
        plan_digest=plan.digest,
        digest=desired.digest if desired else None,
        record=desired.record if desired else None,
        approval=approval,
        by=who_is_at_work(target.root) or (getpass.getuser() if plan.rollback or promotes else ""),
        commit=commit,
        opened_at=this_moment(),
        summary=_summary(plan, promotes),
        follows=plan.digest if not plan.is_empty or plan.follows is None else plan.follows,
        serial=(stored.token + 1) if stored else 0,
        resumes=tuple(item.connector for item in plan.connectors if item.outcome is Outcome.RESUMES),
        formerly={
            fold(item.connector): fold(item.renamed_from) for item in plan.connectors if item.renamed_from is not None
        },
        outputs=planned_starts(plan),
        entries=entries,
        versions=versions_after(target.registry, head, before, desired, plan.diff),
        foreign=pinned.foreign,
        # Files play no part in a rollback, nor in what was staged of others.
        home=home if plan.rollback or promotes else home_now(target, home),
    )
    session.boundary(f"open:{BEFORE}")
    written = target.registry.replace_head(
        stored.token if stored else None, replace(head, journal=journal), journal.apply_id
    )
    session.boundary(f"open:{RECORDED}")
    return written


def _summary(plan: Plan, promotes: str) -> str:
    if plan.rollback:
        return f"{ROLLBACK}{plan.rollback} ({summarise(plan)})"
    return f"promote: {promotes} ({summarise(plan)})" if promotes else summarise(plan)


def approval_for(target: Target, plan: Plan, head: Head | None, found: Desired, measured: Sequence[Hazard]) -> Approval:
    """The approval under which a plan may be applied: where the very same was staged, the one that was given for that. What
    was staged may mean the same and have other settings, which nobody agreed to. What the environment asks for now counts,
    not what it asked for then. Raises as `require_approval` does."""
    staged, desired = head.staged if head is not None else None, found.snapshot
    if staged is not None and desired is not None and (staged.plan_digest, staged.record) == (plan.digest, desired.record):
        if found.files is not None:
            require_vouched(target, plan, found.files)
        else:
            require_promotable(target, plan, staged.commit)
        return staged.approval
    return require_approval(target, plan, measured, found.files)


def pinned_apply(target: Target, plan: Plan, applied: AppliedState, desired: Snapshot | None) -> PinnedApply:
    """What the plan's steps read of other pipelines. Raises UpstreamDiffers (A560)."""
    head = applied.head.value if applied.head is not None else None
    before = applied.snapshot.program if applied.snapshot is not None else None
    return pin_apply(target, head, before, desired.program if desired is not None else None, plan.steps)


def _carry_out(target: Target, work: OpenJournal, session: Session, beside: Prebuilding) -> tuple[str, ...]:
    """Run what is left of the journal and close it; returns the steps that ran, in words."""
    journal, head = work.journal, work.head
    if journal.aborting:
        take_back(target, work, session.engine)
        return ()
    desired, program = _desired(target, head, journal)
    try:
        _require_planned_engine(target, desired)
    except EngineError:
        # It was opened before an upgrade.
        if can_take_back(journal):
            take_back(target, work, session.engine)
        raise
    placements = head.published.relations if head.published else {}
    kept_rows = KeptRows(target, head, program, journal.versions)
    staged = head.staged.views if head.staged is not None else {}
    effects = Effects(session.engine, target.warehouse, program, journal, placements, beside.builder, kept_rows, staged)
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
            require_recorded_types(target.registry, head, journal.versions, program, step.view, result.columns)
        detail = ""
        match intent, result:
            case KeptIntent(), BuildResult():
                detail = in_kept_rows(result.rows, intent.kept.number)
            case BuildIntent(), BuildResult():
                published = head.published.step if head.published else None
                detail = in_built_rows(result) + beside.describe(intent.folder, published)
                if isinstance(step, BootstrapView):
                    detail += describe_promotion(head.staged, step.view, intent.staging)
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
        raise RegistryError("G602", f"the journal of {head.pipeline!r} removes what was never applied")
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
        relations=placements_after(program, journal, before.relations if before else {}),
        foreign=journal.foreign,
    )
    versions = with_types(target.registry, head, journal.versions, desired, published.relations)
    kept = {name: journal.formerly.get(name, name) for name in sorted(map(fold, journal.resumes))}
    closed = replace(
        with_program(head, applied, program if journal.record is not None else None, versions),
        published=published if journal.record is not None else None,
        positions={key: head.positions[former] for key, former in kept.items() if former in head.positions},
        outputs=outputs_after(head, journal, program, published),
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
    publish_head(target.registry, work.stored, closed, program, "apply")
    session.boundary(f"commit_snapshot:{EFFECTED}")
    taken = {staging_of(entry.intent) for entry in journal.entries}
    for folder in sorted(staged_folders(head) - taken):
        with suppress(EngineError):  # on an object store; a prune removes what stays there
            remove(session.engine, join_location(target.warehouse, folder))
        remove_if_empty(join_location(target.warehouse, folder.rpartition("/")[0]))
    details = {"apply_id": journal.apply_id, "summary": journal.summary}
    EventLog(target.registry, head.pipeline, session.tell).record(Event.APPLY_SWITCHED, "", published.step, details)
    session.boundary(f"commit_snapshot:{RECORDED}")


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
