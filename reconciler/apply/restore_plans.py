"""The plan of a restore (`restore`): what goes back to a checkpoint brings the program back that was applied then.

Where that is another program than the one that is applied, or other settings, it is a plan as any other, from the one to
the other: judged by policy, and approved as a rollback is (`reconcile approve`, or `--approve`; no lock is for it). Its
digest says which checkpoint it is of, so that no approval of files serves for rows that go back. Where the program is the
one that is applied, only rows go back, and nothing is asked: as for a statement, who may write the registry may do it. That
holds for protected tables as well: they had these rows, and those of now stay in checkpoints and earlier steps.

Another pipeline's rows are not theirs: where such a checkpoint takes the place of what a protected table holds, that is
H911, whether the program is the same or not, and policy decides about it.

Where nothing of the pipeline is applied, or the checkpoint is another pipeline's, that program never was in force here. Then
it is asked for what a first apply is. Where the environment names a branch, the pipeline has to be merged there; and where
its merged files say another program than the checkpoint, the restore is approved by its digest, whatever the policy is.
"""

import json
from dataclasses import replace

from reconciler.apply.decisions import recorded_approvals
from reconciler.apply.planning import policies_for, require_apart, what_is_beside
from reconciler.apply.requiring_approval import awaiting, not_of_the_branch, require_approval
from reconciler.apply.restored_outputs import restored_outcomes, restored_outputs, taken_over_folders
from reconciler.base.dataclass import dataclass
from reconciler.base.digest import canonical_json, digest_json
from reconciler.base.errors import ApprovalRequired
from reconciler.base.moments import this_moment
from reconciler.diff.compare import compare
from reconciler.environment.bases import required_branches
from reconciler.environment.commits import checked_out, who_is_at_work
from reconciler.environment.homes import homes_beside
from reconciler.environment.merged import outdated, reach, unmerged
from reconciler.environment.source import files_of
from reconciler.environment.target import Target
from reconciler.plan.make import Known, diff_between, make_plan
from reconciler.plan.model import ConnectorOutcome, Plan
from reconciler.project.snapshot.model import Snapshot
from reconciler.registry.model import Head, Stored
from reconciler.registry.protocol import History
from reconciler.state.applied import read_applied, read_snapshot
from reconciler.state.checkpoints import find_checkpoint
from reconciler.workspace.desired import compile_desired

_PROPOSED = "restore proposed"


@dataclass(frozen=True, slots=True)
class Restore:
    """A checkpoint that a pipeline goes back to: its name and the pipeline that it is of, and the record of the program that
    is in force then."""

    pipeline: str
    checkpoint: str
    source: str
    record: str


def plan_restore(target: Target, restore: Restore, restored: Snapshot) -> Plan:
    """The plan from what is applied to what a checkpoint has."""
    applied = read_applied(target, restore.pipeline)
    if applied.head is None:
        require_apart(target, restore.pipeline)
    last = applied.head.value.applied if applied.head is not None else None
    homes = homes_beside(target, restore.pipeline, last.home if last is not None else None)
    bootstrap = [one.program.settings.bootstrap_policy for one in (applied.snapshot, restored) if one is not None]
    diff = diff_between(applied.snapshot, restored, {})
    beside = replace(
        what_is_beside(target, restore.pipeline, applied.snapshot, restored, diff),
        rollback=f"checkpoint {restore.checkpoint} of {restore.source}",
        rows_of=restore.source if restore.source != restore.pipeline else "",
    )
    plan = make_plan(
        restore.pipeline,
        target.environment.name,
        applied.snapshot,
        restored,
        policies_for(target, bootstrap, homes),
        Known(last.follows if last else None, diff, beside),
    )
    plan = replace(plan, connectors=_outcomes(target, restore, restored, plan, applied.head))
    said = {"plan": plan.digest, "checkpoint": restore.checkpoint, "source": restore.source, "record": restore.record}
    return replace(plan, digest=digest_json(said))


def _outcomes(
    target: Target, restore: Restore, restored: Snapshot, plan: Plan, stored: Stored[Head] | None
) -> tuple[ConnectorOutcome, ...]:
    """What becomes of connectors; of outputs, what the restore does."""
    head = stored.value if stored is not None else Head(restore.pipeline)
    if restore.source == restore.pipeline:
        checkpoint = find_checkpoint(target, restore.source, restore.checkpoint)
        locations = {key: placement.location for key, placement in checkpoint.relations.items()}
    else:
        placements = head.published.relations if head.published is not None else {}
        locations = taken_over_folders(restore.pipeline, restored.program, placements)
    outputs = restored_outputs(target, head, restore.source, restored.program, locations)
    return restored_outcomes(plan.connectors, outputs, restored.program)


def require_merged(target: Target, plan: Plan, restore: Restore) -> None:
    """Raises ApprovalRequired (A580) where the program never was in force here, and the pipeline is not merged to the
    environment's branch."""
    if not _is_new_here(target, plan, restore):
        return
    files = files_of(target.root, restore.pipeline)
    reason: str | None = f"{restore.pipeline} has no files"
    if files is not None:
        reason = unmerged(target, restore.pipeline, files=files) or outdated(target, restore.pipeline, files)
    if reason is not None:
        raise not_of_the_branch(plan, required_branches(target, restore.pipeline), reason)


def remember_commit(target: Target, plan: Plan, restore: Restore) -> None:
    """Note the commit whose merged files let a program come that never was in force here: what is restored is of no commit,
    and nothing older than this one is wanted afterwards. Done before the restore writes anything, so that one that dies
    leaves nothing to be brought back."""
    commit = checked_out(target.root) if _is_new_here(target, plan, restore) else None
    if commit is not None:
        reach(target, restore.pipeline, commit)


def needs_approval(target: Target, plan: Plan, restore: Restore, restored: Snapshot) -> bool:
    """Whether somebody has to approve this plan by its digest. Raises ManifestInvalid for files with errors."""
    return plan.needs_approval or plan.extra_approvals > 0 or _departs(target, plan, restore, restored)


def _is_new_here(target: Target, plan: Plan, restore: Restore) -> bool:
    is_new = plan.is_first or restore.source != restore.pipeline
    return is_new and not plan.changes_nothing and bool(required_branches(target, restore.pipeline))


def _departs(target: Target, plan: Plan, restore: Restore, restored: Snapshot) -> bool:
    """Whether the program never was in force here, and the merged files say another one."""
    if not _is_new_here(target, plan, restore):
        return False
    said = compile_desired(target, restore.pipeline, files_of(target.root, restore.pipeline))
    return said is None or not compare(said, restored).is_empty


def require_consent(target: Target, plan: Plan, restore: Restore, restored: Snapshot) -> None:
    """Raises as `require_approval` does; who asked is noted then, so that others can approve it."""
    try:
        require_approval(target, plan)
        if _departs(target, plan, restore, restored) and not recorded_approvals(target, plan):
            raise awaiting(plan, f"the files of {restore.pipeline} define another program than the checkpoint")
    except ApprovalRequired:
        _propose(target, restore, plan)
        raise


def proposed_restore(target: Target, pipeline: str, digest: str) -> Plan | None:
    """The plan of the restore, asked for in this environment, whose digest begins so."""
    for row in reversed(target.registry.history(History.AUDIT, pipeline, event=_PROPOSED)):
        details = json.loads(row["details"])
        known = details["digest"].removeprefix("sha256:")
        if details["environment"] == target.environment.name and known.startswith(digest):
            restore = Restore(pipeline, details["checkpoint"], details["source"], details["record"])
            return plan_restore(target, restore, read_snapshot(target, pipeline, restore.record))
    return None


def _propose(target: Target, restore: Restore, plan: Plan) -> None:
    details = {
        "environment": plan.environment,
        "digest": plan.digest,
        "checkpoint": restore.checkpoint,
        "source": restore.source,
        "record": restore.record,
    }
    now = this_moment()
    row = {"event": _PROPOSED, "at": now, "by": who_is_at_work(target.root), "details": canonical_json(details)}
    target.registry.record(History.AUDIT, restore.pipeline, [row], f"restore:{plan.environment}:{plan.digest}")
