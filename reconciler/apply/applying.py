"""Apply: derive the plan again, check the approval, carry the steps out as a journal.

Rules:
- The approval is checked before the lease is taken, so that a refusal touches nothing, and again under the lease, where
  the plan is derived from what is really applied.
- While a run is live, the long part is built beside it first (`prebuilding`). Then the run is asked to hand over between two
  steps; what moved meanwhile is built again, readers switch, and the run goes on with what is applied then.
- Whoever rejected the plan while its journal was opened is heard: rejections are asked for again right after that.
- An open journal is finished first, under the digest that it recorded, whatever the files say now; then the files are
  planned again.
- A run's step that its writer left open is replayed first, so that the plan starts from a published step.
- If the engine fails before anything that anybody reads has changed, the apply takes itself back (`taking_back`): the
  journal is closed, everything is as it was. After that point it can only go forward, and applying again does so.
- The lease is looked at before each effect, and whoever lost it stops. One who loses it in between can still do no harm:
  see `apply_effects`.
- What is staged (`staging`) serves an apply of the same plan: its approval, and the rows of views. After any apply nothing
  is staged any more; folders that it did not take are removed.
- An apply that finds nothing to do remembers how far along the branch it looked (`merged`).
- The last entry is one commit: applied snapshot, published versions and positions change together. Histories are
  written before it, under the apply's id, so that no applied snapshot lacks its record.
"""

import getpass
import uuid
from dataclasses import replace

from reconciler.apply.carrying_out import carry_out
from reconciler.apply.decisions import decisions_of, require_unrejected
from reconciler.apply.planning import plan_between, require_tables
from reconciler.apply.prebuilding import Prebuilding, prebuilding, run_is_live
from reconciler.apply.requiring_approval import approval_for, require_newest, require_unpassed
from reconciler.apply.sizes import measure_hazards
from reconciler.apply.wanted import Desired, Wanted, from_files, pinned_apply, remember_unchanged, require_engine_of
from reconciler.base.boundaries import BEFORE, RECORDED
from reconciler.base.dataclass import dataclass
from reconciler.base.errors import EngineError, LeaseHeld, ReconcileError
from reconciler.base.moments import this_moment
from reconciler.base.names import fold
from reconciler.environment.bases import home_now
from reconciler.environment.commits import short_commit, who_is_at_work
from reconciler.environment.merged import overtaken, remember
from reconciler.environment.session import Session
from reconciler.environment.target import Target
from reconciler.materialize.following import register_reader
from reconciler.materialize.registry_backups import require_newest_registry
from reconciler.materialize.taking_back import can_take_back, take_back
from reconciler.plan.model import Outcome, Plan
from reconciler.plan.operations.step import Step
from reconciler.plan.words import summarise
from reconciler.project.snapshot.codec import encode_program
from reconciler.project.snapshot.model import Snapshot
from reconciler.registry.entries import EntryState, JournalEntry
from reconciler.registry.model import Approval, Head, Journal, Stored
from reconciler.run.connector_controls import carry_out_waiting
from reconciler.run.output_starts import planned_starts
from reconciler.run.recovering import replay_intent
from reconciler.state.applied import AppliedState, read_applied
from reconciler.state.events import Event
from reconciler.state.failed_commands import telling_of_failure
from reconciler.state.journal import OpenJournal
from reconciler.state.lease import hold_lease, this_process
from reconciler.state.past_applies import ROLLBACK
from reconciler.versions.numbering import versions_after
from reconciler.versions.staged_history import record_staged
from reconciler.workspace.declared import places_told

# How long a run may take to come to the end of its step: all that was built by then waits for it.
_HANDOVER_WAIT_SECONDS = 1800.0


@dataclass(frozen=True, slots=True)
class ApplyResult:
    """What an apply did. `finished` says that it finished what an earlier one had left; `plan` is None when nothing but
    that was to do. `steps` tells all that was done, `carried_out` are the steps of the plan, with those that the apply
    brought along."""

    pipeline: str
    plan: Plan | None
    finished: bool
    steps: tuple[str, ...]
    carried_out: tuple[Step, ...] = ()

    @property
    def did_nothing(self) -> bool:
        """Whether everything was applied already."""
        return not self.finished and not self.steps


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
        wanted.require_meant(plan)
        require_tables(target, head, plan)
        if plan.changes_nothing:
            if not remember_unchanged(target, pipeline, applied, found):
                continue
            return plan
        require_engine_of(target, desired)
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
        wanted.require_meant(plan)
        if plan.changes_nothing:
            if found.files is not None:
                remember(target, pipeline, found.files)
            return ApplyResult(pipeline, plan, finished=bool(finished), steps=finished)
        require_engine_of(target, desired)
        head = applied.head.value if applied.head is not None else None
        commit = found.commit()
        approval = approval_for(target, plan, head, found, measure_hazards(target, plan, applied, desired))
        if found.commit() == commit:
            break
        # What is recorded as applied is what was judged.
        session.tell(f"the checked-out commit changed while the plan of {pipeline} was checked; planning again")
    if head is not None:
        # The numbers of what is staged are known by its definitions.
        record_staged(target, head)
    stored = _open_journal(target, _Judged(plan, approval, applied, desired, commit), session, wanted.promotes)
    work = OpenJournal(target.registry, stored, session.boundary, session.check)
    try:
        _require_still_newest(target, plan, head, found)
        require_unrejected(target, plan)
    except ReconcileError:
        take_back(target, work, session.engine)
        raise
    journal = stored.value.journal
    carried_out = tuple(entry.step for entry in journal.entries) if journal is not None else ()
    steps = carry_out(target, work, session, beside)
    return ApplyResult(pipeline, plan, bool(finished), (*finished, *steps), carried_out)


def _finish_open_work(target: Target, pipeline: str, session: Session, beside: Prebuilding) -> tuple[str, ...]:
    stored = target.registry.head(pipeline)
    if stored is None:
        return ()
    require_newest_registry(target, stored.value)
    if stored.value.journal is not None:
        journal = stored.value.journal
        work = OpenJournal(target.registry, stored, session.boundary, session.check)
        why_not = None if _is_begun(journal) else _unwanted(target, stored.value, journal)
        if why_not is not None:
            session.tell(
                f"the apply of {pipeline} that {journal.by} opened at {journal.opened_at} does not start: {why_not}"
            )
            take_back(target, work, session.engine)
            return ()
        session.tell(f"finishing the apply of {pipeline} that {journal.by} began at {journal.opened_at}")
        return carry_out(target, work, session, beside)
    if stored.value.intent is not None:
        session.tell(f"replaying step {stored.value.intent.step} of {pipeline}, which is unfinished")
        replay_intent(target, stored, session)
    return ()


def close_open_apply(target: Target, pipeline: str, session: Session) -> None:
    """Close the journal of an apply whose process died, and whose change nobody wants any more: it is taken back as long as
    nobody can have read anything of it, else finished. Raises as `apply_pipeline` does."""
    with (
        prebuilding(target, session, str(uuid.uuid4())) as beside,
        hold_lease(target.registry, pipeline, this_process("apply"), report=session.tell) as lease,
    ):
        own = replace(session, check=lease.check)
        stored = target.registry.head(pipeline)
        if stored is None or stored.value.journal is None:
            return
        require_newest_registry(target, stored.value)
        if not can_take_back(stored.value.journal):
            _finish_open_work(target, pipeline, own, beside)
            return
        own.tell(
            f"taking back the apply of {pipeline} that {stored.value.journal.by} began at {stored.value.journal.opened_at}"
        )
        take_back(target, OpenJournal(target.registry, stored, own.boundary, own.check), own.engine)


def _is_begun(journal: Journal) -> bool:
    return any(entry.intent is not None or entry.state is not EntryState.PENDING for entry in journal.entries)


def _unwanted(target: Target, head: Head, journal: Journal) -> str | None:
    """Why a journal by which nothing was begun is not wanted any more: its writer died before it looked again. Somebody
    rejected the plan, or a newer commit was looked at. What comes of the commit in force, such as a rollback, is not
    overtaken."""
    rejections = decisions_of(target, head.pipeline, journal.plan_digest).open
    if rejections:
        return "; ".join(one.words for one in rejections)
    in_force = head.applied is not None and journal.commit == head.applied.commit
    newer = None if in_force or not journal.commit else overtaken(target, head.pipeline, journal.commit)
    return None if newer is None else f"commit {short_commit(newer)}, which is newer than its own commit, was checked since"


def _require_still_newest(target: Target, plan: Plan, head: Head | None, found: Desired) -> None:
    """Raises ApprovalRequired (A580) where a newer commit was looked at while the journal was opened: another apply said of
    that one that nothing is to be done, and did not see the journal yet."""
    if found.files is not None:
        require_newest(target, plan, found.files)
    elif head is not None and head.staged is not None and not plan.rollback:
        require_unpassed(target, plan, head.staged.commit)


@dataclass(frozen=True, slots=True)
class _Judged:
    """A plan that may be carried out, what it was made from, and the commit of the files that were judged."""

    plan: Plan
    approval: Approval
    applied: AppliedState
    desired: Snapshot | None
    commit: str


def _open_journal(target: Target, judged: _Judged, session: Session, promotes: str) -> Stored[Head]:
    plan, applied, desired = judged.plan, judged.applied, judged.desired
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
        approval=judged.approval,
        by=who_is_at_work(target.root) or (getpass.getuser() if plan.rollback or promotes else ""),
        commit=judged.commit,
        opened_at=this_moment(),
        summary=_summary(plan, pinned.steps, promotes),
        follows=plan.digest if not plan.is_empty or plan.follows is None else plan.follows,
        serial=(stored.token + 1) if stored else 0,
        resumes=tuple(item.connector for item in plan.connectors if item.outcome is Outcome.RESUMES),
        formerly={
            fold(item.connector): fold(item.renamed_from) for item in plan.connectors if item.renamed_from is not None
        },
        outputs=planned_starts(plan),
        back=tuple(sorted(fold(item.connector) for item in plan.connectors if item.goes_back)),
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


def _summary(plan: Plan, steps: tuple[Step, ...], promotes: str) -> str:
    words = summarise(plan, steps)
    if plan.rollback:
        return f"{ROLLBACK}{plan.rollback} ({words})"
    return f"promote: {promotes} ({words})" if promotes else words
