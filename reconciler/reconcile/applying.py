"""Apply: derive the plan again, check the approval, carry the steps out as a journal.

Rules:
- The approval is checked before the lease is taken, so that a refusal touches nothing, and again under the lease, where
  the plan is derived from what is really applied.
- An open journal is finished first, under the digest that it recorded, whatever the files say now; then the files are
  planned again.
- A run's step that its writer left open is replayed first, so that the plan starts from a published step.
- Until the first table is cleared, extended or published or the first view published, nothing that anybody reads has
  changed. If the engine fails before that point, the apply takes itself back: staged folders and new tables go, the journal
  is closed, everything is as it was. After that point it can only go forward, and applying again does so.
- The last entry is one commit: applied snapshot, published versions and positions change together. Histories are
  written before it, under the apply's id, so that no applied snapshot lacks its record.
"""

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from reconciler import __version__
from reconciler.digest import canonical_json
from reconciler.engine.protocol import Engine
from reconciler.errors import EngineError, RegistryError
from reconciler.names import fold
from reconciler.plan.json_form import step_from_json, step_to_json
from reconciler.plan.model import Outcome, Plan
from reconciler.plan.words import describe_step, summarise
from reconciler.program.model import Program, empty_program
from reconciler.reconcile.approving import require_approval
from reconciler.reconcile.boundaries import BEFORE, EFFECTED, INTENDED, RECORDED, Boundary, no_boundary
from reconciler.reconcile.compiling import read_desired, read_snapshot
from reconciler.reconcile.effects import Effects, placements_after, remove
from reconciler.reconcile.emitting import outputs_after, pin_emissions, planned_starts
from reconciler.reconcile.journal import OpenJournal
from reconciler.reconcile.lease import hold_lease, this_process
from reconciler.reconcile.planning import plan_between, read_applied
from reconciler.reconcile.running import replay_intent
from reconciler.reconcile.sizes import measure_hazards
from reconciler.reconcile.source import read_commit
from reconciler.reconcile.target import Target
from reconciler.registry.model import (
    Applied,
    Approval,
    EntryState,
    Head,
    Journal,
    JournalEntry,
    Published,
    Stored,
)
from reconciler.registry.protocol import History
from reconciler.snapshot.codec import encode_program
from reconciler.snapshot.model import Snapshot

# A rename is done by the last step: by itself it changes nothing that anybody reads.
_POINT_OF_NO_RETURN = (
    "clear_table",
    "extend_table",
    "publish_table",
    "publish_view",
    "drop_relation",
    "commit_snapshot",
)


@dataclass(frozen=True, slots=True)
class Progress:
    """Told before and after each step: `number` of `total`; `done` with a detail such as `1200 rows`."""

    number: int
    total: int
    step: str
    done: bool
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Applying:
    """What an apply is told besides its target: how to compute, whom to tell, where to die in tests, and the clock (in
    seconds) by which bootstraps are measured."""

    engine: Engine
    report: Callable[[Progress], None] = lambda progress: None
    tell: Callable[[str], None] = lambda message: None
    boundary: Boundary = no_boundary
    clock: Callable[[], float] = time.monotonic


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


def apply_pipeline(target: Target, pipeline: str, applying: Applying) -> ApplyResult:
    """Apply what the repository says of one pipeline.

    Raises ApprovalRequired or PlanRejected (nothing was touched), ManifestInvalid, LeaseHeld, RegistryError, EngineError.
    """
    applied = read_applied(target, pipeline)
    if applied.head is None or applied.head.value.journal is None:
        desired = read_desired(target, pipeline)
        plan = plan_between(target, pipeline, applied, desired)
        if plan.changes_nothing:
            return ApplyResult(pipeline, plan, finished=False, steps=())
        require_approval(target, plan, measure_hazards(target, plan, applied, desired))
    with hold_lease(target.registry, pipeline, this_process("apply"), report=applying.tell):
        # Before the files are looked at: what is open needs none of them, and they may be broken.
        finished = _finish_open_work(target, pipeline, applying)
        desired = read_desired(target, pipeline)
        applied = read_applied(target, pipeline)
        if desired is None and applied.snapshot is None:
            return ApplyResult(pipeline, None, finished=bool(finished), steps=finished)
        plan = plan_between(target, pipeline, applied, desired)
        if plan.changes_nothing:
            return ApplyResult(pipeline, plan, finished=bool(finished), steps=finished)
        approval = require_approval(target, plan, measure_hazards(target, plan, applied, desired))
        work = _open_journal(target, plan, approval, applied.head, desired, applying)
        steps = _carry_out(target, work, applying)
        return ApplyResult(pipeline, plan, finished=bool(finished), steps=(*finished, *steps))


def _finish_open_work(target: Target, pipeline: str, applying: Applying) -> tuple[str, ...]:
    stored = target.registry.head(pipeline)
    if stored is None:
        return ()
    if stored.value.journal is not None:
        journal = stored.value.journal
        applying.tell(f"finishing the apply of {pipeline} that was begun at {journal.opened_at} by {journal.by}")
        return _carry_out(target, OpenJournal(target.registry, stored, applying.boundary), applying)
    if stored.value.intent is not None:
        applying.tell(f"replaying step {stored.value.intent.step} of {pipeline}, which was left open")
        replay_intent(target, stored, applying.engine, applying.boundary)
    return ()


def _open_journal(
    target: Target,
    plan: Plan,
    approval: Approval,
    stored: Stored[Head] | None,
    desired: Snapshot | None,
    applying: Applying,
) -> OpenJournal:
    if desired is not None:
        target.registry.write_snapshot(plan.pipeline, desired.record, encode_program(desired.program))
    commit = read_commit(target.root)
    entries = tuple(JournalEntry(f"{number:04d}", step_to_json(step)) for number, step in enumerate(plan.steps, start=1))
    journal = Journal(
        apply_id=str(uuid.uuid4()),
        plan_digest=plan.digest,
        digest=desired.digest if desired else None,
        record=desired.record if desired else None,
        approval=approval,
        by=commit.author,
        commit=commit.id,
        opened_at=_now(),
        summary=summarise(plan),
        follows=plan.digest if not plan.is_empty or plan.follows is None else plan.follows,
        serial=(stored.token + 1) if stored else 0,
        resumes=tuple(item.connector for item in plan.connectors if item.outcome is Outcome.RESUMES),
        formerly={
            fold(item.connector): fold(item.renamed_from) for item in plan.connectors if item.renamed_from is not None
        },
        outputs=planned_starts(plan),
        entries=entries,
    )
    head = stored.value if stored else Head(plan.pipeline)
    applying.boundary(f"open:{BEFORE}")
    written = target.registry.replace_head(
        stored.token if stored else None, replace(head, journal=journal), journal.apply_id
    )
    applying.boundary(f"open:{RECORDED}")
    return OpenJournal(target.registry, written, applying.boundary)


def _carry_out(target: Target, work: OpenJournal, applying: Applying) -> tuple[str, ...]:
    """Run what is left of the journal and close it; returns the steps that ran, in words."""
    journal, head = work.journal, work.head
    if journal.aborting:
        _take_back(target, work, applying)
        return ()
    program = _desired_program(target, head, journal)
    placements = head.published.relations if head.published else {}
    effects = Effects(applying.engine, target.warehouse, program, journal, placements, applying.clock)
    done: list[str] = []
    for number, entry in enumerate(journal.entries, start=1):
        step = step_from_json(entry.step)
        if entry.state is EntryState.DONE:
            continue
        if entry.step["kind"] == "commit_snapshot":
            break
        words = describe_step(step)
        applying.report(Progress(number, len(journal.entries), words, done=False))
        try:
            entry = work.run_entry(entry, partial(effects.pin, step), partial(effects.run, step))
        except EngineError:
            if _can_take_back(work.journal):
                _take_back(target, work, applying)
            raise
        detail = _rows(entry.result["rows"]) if "rows" in entry.result else ""
        applying.report(Progress(number, len(journal.entries), words, done=True, detail=detail))
        done.append(words)
    total = len(journal.entries)
    words = describe_step(step_from_json(journal.entries[-1].step))
    applying.report(Progress(total, total, words, done=False))
    _commit(target, work, program, applying)
    applying.report(Progress(total, total, words, done=True))
    return (*done, words)


def _desired_program(target: Target, head: Head, journal: Journal) -> Program:
    if journal.record is not None:
        return read_snapshot(target, head.pipeline, journal.record).program
    if head.applied is None or head.applied.record is None:
        raise RegistryError("G602", f"the journal of {head.pipeline!r} removes what was never applied")
    return empty_program(read_snapshot(target, head.pipeline, head.applied.record).program.settings)


def _commit(target: Target, work: OpenJournal, program: Program, applying: Applying) -> None:
    """The last entry: histories, then the one commit that closes the journal and switches readers."""
    journal, head = work.journal, work.head
    applying.boundary(f"commit_snapshot:{BEFORE}")
    now = _now()
    _record_histories(target, head.pipeline, journal, now)
    applying.boundary(f"commit_snapshot:{INTENDED}")
    before = head.published
    published = Published(
        step=before.step + 1 if before else 0,
        at=now,
        relations=placements_after(program, journal, before.relations if before else {}),
    )
    kept = {name: journal.formerly.get(name, name) for name in sorted(map(fold, journal.resumes))}
    closed = replace(
        head,
        applied=Applied(
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
        ),
        published=published if journal.record is not None else None,
        positions={key: head.positions[former] for key, former in kept.items() if former in head.positions},
        outputs=outputs_after(head, journal, program, published),
        journal=None,
    )
    work.replace_head(pin_emissions(closed, program))
    applying.boundary(f"commit_snapshot:{EFFECTED}")
    applying.boundary(f"commit_snapshot:{RECORDED}")


def _record_histories(target: Target, pipeline: str, journal: Journal, now: str) -> None:
    registry = target.registry
    registry.record(
        History.JOURNAL,
        pipeline,
        [
            {
                "apply_id": journal.apply_id,
                "entry": entry.id,
                "step": canonical_json(entry.step),
                "intent": canonical_json(entry.intent),
                "result": canonical_json(entry.result),
                "at": now,
            }
            for entry in journal.entries
        ],
        f"journal:{journal.apply_id}",
    )
    registry.record(
        History.APPLIES,
        pipeline,
        [
            {
                "apply_id": journal.apply_id,
                "digest": journal.digest or "",
                "record": journal.record or "",
                "plan_digest": journal.plan_digest,
                "at": now,
                "by": journal.by,
                "commit": journal.commit,
                "approval": journal.approval.kind,
                "reconciler": __version__,
                "summary": journal.summary,
            }
        ],
        f"apply:{journal.apply_id}",
    )


def _can_take_back(journal: Journal) -> bool:
    return all(entry.state is EntryState.PENDING for entry in journal.entries if entry.step["kind"] in _POINT_OF_NO_RETURN)


def _take_back(target: Target, work: OpenJournal, applying: Applying) -> None:
    """Undo an apply that changed nothing visible: remove what it staged and created, close the journal."""
    journal, head = work.journal, work.head
    if not journal.aborting:
        work.replace_head(replace(head, journal=replace(journal, aborting=True)))
    known = {placement.location for placement in (head.published.relations if head.published else {}).values()}
    for entry in journal.entries:
        # What has no intent was not begun; what was there before keeps all but what was staged below it.
        folder, staging = entry.intent.get("location"), entry.intent.get("staging")
        match entry.step["kind"]:
            case "create_table" if folder is not None and folder not in known:
                remove(applying.engine, f"{target.warehouse}/{folder}")
            case "bootstrap_view" | "evolve_table" if folder is not None:
                location = f"{target.warehouse}/{folder}"
                remove(applying.engine, f"{location}/{staging}" if folder in known else location)
    registry_row = {"event": "apply taken back", "at": _now(), "by": journal.by, "details": journal.plan_digest}
    target.registry.record(History.AUDIT, head.pipeline, [registry_row], f"abort:{journal.apply_id}")
    work.replace_head(replace(work.head, journal=None))


def _rows(count: int) -> str:
    return f"{count} row" if count == 1 else f"{count} rows"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
