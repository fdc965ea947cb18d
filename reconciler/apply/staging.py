"""Staging: new versions of views built beside those that serve, without making them active (`apply --no-promote`).

Rules:
- What can be staged is a plan that changes stored views, and plain views and functions, and nothing else: what is in its way
  is named, and is to be applied first (A570).
- It is planned and approved as an apply is, and built from the published step, beside a live run, too. Nobody sees anything
  of it but who asks for the version by its number. What is in force stays as it is.
- Nothing is recorded until all is built. Then one commit of the head, under the lease, says what is staged: plan, approval,
  snapshot, folders, numbers of versions. The history of versions is told after that commit, again by whoever comes next, so
  that one that is killed in between leaves no number without its definition, and no definition without its number.
- Who is killed before that commit leaves folders that nobody names; they go when old files go. Others are removed.
- What is staged stays until it is promoted or dropped, or something else is staged, applied or restored. The numbers of its
  versions are theirs for good: a definition that comes back has its number again.

To promote it, or drop it: `promoting`.
"""

import uuid
from collections.abc import Callable, Iterable
from dataclasses import replace

from reconciler.apply.planning import plan_between
from reconciler.apply.prebuilding import as_stored
from reconciler.apply.requiring_approval import approval_for
from reconciler.apply.sizes import measure_hazards
from reconciler.apply.wanted import from_files, pinned_apply, remember_unchanged
from reconciler.base.boundaries import BEFORE, EFFECTED, INTENDED, RECORDED
from reconciler.base.dataclass import dataclass
from reconciler.base.errors import EngineError, ReconcileError
from reconciler.base.moments import this_moment
from reconciler.base.names import fold
from reconciler.delta.opening import join_location
from reconciler.delta.removal import remove_if_empty
from reconciler.diff.model import Action
from reconciler.diff.objects import changed_objects
from reconciler.environment.bases import required_branches
from reconciler.environment.commits import who_is_at_work
from reconciler.environment.merged import passed, reach
from reconciler.environment.progress import Progress, in_built_rows
from reconciler.environment.session import Session
from reconciler.environment.target import Target
from reconciler.materialize.apply_effects import remove
from reconciler.materialize.building import Building, PlannedBuilds
from reconciler.plan.model import Plan
from reconciler.plan.operations.bootstrap_view import BootstrapView
from reconciler.plan.operations.commit_snapshot import CommitSnapshot
from reconciler.plan.operations.publish_view import PublishView
from reconciler.project.snapshot.codec import encode_program
from reconciler.project.snapshot.model import Snapshot
from reconciler.project.snapshot.objects import object_keys
from reconciler.registry.entries import BuildResult
from reconciler.registry.model import Approval, Head, Staged, StagedView
from reconciler.registry.protocol import History
from reconciler.state.applied import AppliedState, read_applied
from reconciler.state.events import Event
from reconciler.state.failed_commands import telling_of_failure
from reconciler.state.lease import hold_lease, this_process
from reconciler.state.staged import placements_of, staged_folders, staged_names
from reconciler.versions.column_types import require_recorded_types, with_types
from reconciler.versions.numbering import active_versions, versions_after, versions_beside
from reconciler.versions.staged_history import record_staged
from reconciler.workspace.declared import places_told

# How long a run may take to come to the end of its step.
HANDOVER_WAIT_SECONDS = 1800.0


@dataclass(frozen=True, slots=True)
class StageResult:
    """What staging did. `staged` is what is staged now (None: there was nothing to stage); `did_nothing`: it was before."""

    pipeline: str
    plan: Plan
    staged: Staged | None
    did_nothing: bool


@dataclass(frozen=True, slots=True)
class _Approved:
    """A plan that may be staged, and what it was made from; `commit` as in `Desired`."""

    plan: Plan
    applied: AppliedState
    desired: Snapshot
    commit: Callable[[], str]
    approval: Approval
    head: Head


def stage_pipeline(target: Target, pipeline: str, session: Session) -> StageResult:
    """Build what the files bring beside what is in force. Raises ApprovalRequired, PlanRejected, ReconcileError (A570,
    A572), with nothing touched; ManifestInvalid, LeaseHeld, RegistryError, EngineError."""
    with telling_of_failure(target.registry, pipeline, "apply --no-promote", Event.APPLY_FAILED, session.tell):
        return _stage(target, pipeline, session)


def _stage(target: Target, pipeline: str, session: Session) -> StageResult:
    builder = str(uuid.uuid4())
    while True:
        found = _approved(target, pipeline)
        if isinstance(found, StageResult):
            return found
        chosen: set[str] = set()
        try:
            views = _build(target, found, session, builder, chosen)
            if _is_staged(target, found, views):
                record_staged(target, found.head)
                return StageResult(pipeline, found.plan, found.head.staged, did_nothing=True)
            holder, waiting = this_process("apply"), HANDOVER_WAIT_SECONDS
            with hold_lease(target.registry, pipeline, holder, wait_seconds=waiting, report=session.tell) as lease:
                staged = _record(target, found, views, replace(session, check=lease.check), chosen.clear)
        except (Exception, KeyboardInterrupt):
            remove_folders(target, session, chosen)
            raise
        if staged is not None:
            return StageResult(pipeline, found.plan, staged, did_nothing=False)
        remove_folders(target, session, chosen)
        session.tell(f"another process applied or staged {pipeline} meanwhile; planning again")


def _approved(target: Target, pipeline: str) -> _Approved | StageResult:
    applied = read_applied(target, pipeline)
    if applied.head is None or applied.snapshot is None or applied.head.value.published is None:
        message = f"pipeline {pipeline} is not applied, so nothing can be staged beside it"
        raise ReconcileError("A570", message, f"run: reconcile apply {pipeline}")
    head = applied.head.value
    require_closed(head)
    found = from_files(target, pipeline, applied)
    desired = found.snapshot
    plan = plan_between(target, pipeline, applied, desired)
    if plan.changes_nothing:
        if not remember_unchanged(target, pipeline, applied, found):
            return _approved(target, pipeline)
        return StageResult(pipeline, plan, None, did_nothing=True)
    in_the_way = _in_the_way(plan, applied.snapshot, desired)
    if in_the_way or desired is None:
        message = f"{pipeline}: only new versions of views can be staged; in the way: {'; '.join(in_the_way)}"
        raise ReconcileError("A570", message, "apply that first, as a separate change")
    approval = approval_for(target, plan, head, found, measure_hazards(target, plan, applied, desired))
    return _Approved(plan, applied, desired, found.commit, approval, head)


def _in_the_way(plan: Plan, applied: Snapshot, desired: Snapshot | None) -> list[str]:
    """What of a plan can't be staged, in words."""
    if desired is None:
        return [f"the removal of pipeline {plan.pipeline}"]
    steps = [step for step in plan.steps if not isinstance(step, BootstrapView | PublishView | CommitSnapshot)]
    found = [step.describe() for step in steps]
    changes = changed_objects(applied.program, desired.program, plan.diff)
    told = {fold(name) for step in steps if (name := step.relation) is not None}
    found += [f"remove {key.replace(':', ' ')}" for key in changes.gone if key.partition(":")[2] not in told]
    found += [f"rename {key.replace(':', ' ')}" for key in changes.renamed if key.partition(":")[2] not in told]
    found += [f"{one.action.value} connector {one.name}" for one in plan.diff.connectors]
    found += [
        f"{one.action.value} table {one.name}"
        for one in plan.diff.relations
        if one.kind.value == "table" and one.action is not Action.REMOVED and fold(one.name) not in told
    ]
    if not found and not any(isinstance(step, BootstrapView) for step in plan.steps):
        return ["the plan computes no view, so there is nothing to build"]
    return found


def _build(target: Target, found: _Approved, session: Session, builder: str, chosen: set[str]) -> dict[str, StagedView]:
    """Build the views from what is published; what `chosen` has is this process's to remove."""
    head, published = found.head, found.head.published
    assert published is not None
    pinned = pinned_apply(target, found.plan, found.applied, found.desired)
    steps = [step for step in pinned.steps if isinstance(step, BootstrapView)]
    program = as_stored(target, found.desired.program)
    before = head.staged.views if head.staged is not None else {}
    planned = PlannedBuilds(program, pinned.steps, published.relations, pinned.foreign, before)
    building = Building(session.engine, target.warehouse, planned, builder, session.clock)
    views: dict[str, StagedView] = {}
    assert found.applied.snapshot is not None
    settled = versions_after(target.registry, head, found.applied.snapshot.program, found.desired, found.plan.diff)
    for number, step in enumerate(steps, start=1):
        key = fold(step.relation)
        if building.has_staged(step):
            views[key] = before[key]
            continue
        session.boundary(f"stage_view:{BEFORE}")
        words = step.describe()
        session.report(Progress(number, len(steps), words, done=False))
        staging, location = building.choose(step), building.folder(step.relation)
        chosen.add(building.staged_folder(step.relation))
        with places_told(target, program.name):
            result = building.build(step)
        require_recorded_types(target.registry, head, settled, program, step.relation, result.columns)
        session.boundary(f"stage_view:{EFFECTED}")
        views[key] = StagedView(location, staging, builder, result)
        session.report(Progress(number, len(steps), words, done=True, detail=_detail(result, published.step)))
    return dict(sorted(views.items()))


def _detail(result: BuildResult, step: int) -> str:
    return f"{in_built_rows(result)}, staged as of step {step}"


def _is_staged(target: Target, found: _Approved, views: dict[str, StagedView]) -> bool:
    staged = found.head.staged
    if staged is None or passed(target, found.plan.pipeline, staged.commit) is not None:
        return False
    return (staged.plan_digest, staged.record, dict(staged.views)) == (
        found.plan.digest,
        found.desired.record,
        views,
    )


def _record(
    target: Target,
    found: _Approved,
    views: dict[str, StagedView],
    session: Session,
    keep: Callable[[], None],
) -> Staged | None:
    """Say in the head what is staged; None where something else is applied or staged by now. Under the lease. `keep` is
    called before the folders may be named: whatever happens then, they are not removed."""
    registry = target.registry
    stored = registry.head(found.plan.pipeline)
    if stored is None or (stored.value.applied, stored.value.staged) != (found.head.applied, found.head.staged):
        return None
    head, desired = stored.value, found.desired
    if head.journal is not None:
        return None
    before = found.applied.snapshot
    assert found.head.published is not None
    assert before is not None
    # Of what was staged before, the numbers have to be known by their definitions.
    record_staged(target, head)
    placements = {**found.head.published.relations, **placements_of(views)}
    settled = versions_after(registry, head, before.program, desired, found.plan.diff)
    after = with_types(registry, head, settled, desired, placements)
    active = active_versions(registry, head)
    numbers = {
        key: one.active
        for key in object_keys(desired.program)
        if (one := after[key]).active is not None and active.get(key) != one.active
    }
    last = {one.id: one.last for one in head.versions.values()}
    staged = Staged(
        id=str(uuid.uuid4()),
        plan_digest=found.plan.digest,
        digest=desired.digest,
        record=desired.record,
        approval=found.approval,
        at=this_moment(),
        by=who_is_at_work(target.root),
        commit=found.commit(),
        step=found.head.published.step,
        numbers=dict(sorted(numbers.items())),
        minted=tuple(sorted(key for key, number in numbers.items() if number > last.get(after[key].id, -1))),
        views=views,
    )
    registry.write_snapshot(found.plan.pipeline, desired.record, encode_program(desired.program))
    session.boundary(f"stage:{INTENDED}")
    session.check()
    if required_branches(target, head.pipeline):
        # Before the head names it, so that whatever was looked at after it is known by being another one.
        reach(target, head.pipeline, staged.commit)
    keep()
    now = replace(head, staged=staged, versions=versions_beside(registry, head, after, numbers))
    registry.replace_head(stored.token, now, staged.id)
    session.boundary(f"stage:{RECORDED}")
    record_staged(target, now)
    audit(target, head.pipeline, "staged", staged)
    session.boundary("stage:told")
    replaced = head.staged.views.values() if head.staged is not None else ()
    kept = staged_folders(now)
    gone = [one.folder for one in replaced if one.folder not in kept]
    remove_folders(target, session, gone)
    return staged


def audit(target: Target, pipeline: str, event: str, staged: Staged) -> None:
    """Tell the audit what became of what was staged."""
    now = this_moment()
    row = {"event": event, "at": now, "by": who_is_at_work(target.root), "details": staged_names(staged)}
    target.registry.record(History.AUDIT, pipeline, [row], f"{event}:{staged.id}")


def remove_folders(target: Target, session: Session, folders: Iterable[str]) -> None:
    """Remove staging folders (below the warehouse) that nothing names any more."""
    for folder in sorted(folders):
        place = join_location(target.warehouse, folder)
        try:
            remove(session.engine, place)
        except EngineError as error:
            # On an object store; a prune removes it.
            session.tell(f"{place} stays: {error.message}")
        remove_if_empty(place.rpartition("/")[0])


def require_closed(head: Head) -> None:
    """Raises ReconcileError (A572) where an apply was left open."""
    if head.journal is not None:
        message = f"an apply of {head.pipeline} is unfinished; finish it first"
        raise ReconcileError("A572", message, f"run: reconcile apply {head.pipeline}")
