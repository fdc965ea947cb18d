"""Approving: whether a plan may be applied, and the words when it may not.

The rules are those of docs/promises.md. A plan that changes nothing that anybody can see needs nothing; `allow` needs
nothing; `reject` forbids; a first apply needs nothing unless the environment says `first_apply: await_approval`. Everything
else needs one of
- a lock that matches, in a commit (of the environment's branch, if it names one): merging it was the approval;
- an approval of this very digest recorded in the registry by `reconcile approve`.
An approval is of one digest: because the digest covers the plan that it follows, it can't serve twice.
Where the environment names a branch, plans that need no approval are applied from that branch only, too.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, assert_never

from reconciler import __version__
from reconciler.digest import short
from reconciler.errors import ApprovalRequired, PlanRejected
from reconciler.manifest.model import BootstrapPolicy
from reconciler.plan.lock import Differs, LockState, Matches, Missing, OtherVersion, Spent, judge_lock
from reconciler.plan.model import Plan
from reconciler.plan.words import summarise
from reconciler.reconcile.source import (
    PIPELINES_FOLDER,
    PROJECT_FILE,
    is_on_branch,
    is_pipeline_folder,
    lock_path,
    read_optional,
    read_pipeline_files,
    uncommitted,
)
from reconciler.reconcile.target import Target
from reconciler.registry.model import Approval
from reconciler.registry.protocol import History


def require_approval(target: Target, plan: Plan) -> Approval:
    """The approval under which this plan may be applied. Raises PlanRejected (A502), ApprovalRequired (A501)."""
    if plan.is_empty:
        return Approval("empty")
    if plan.is_rejected:
        raise PlanRejected(
            "A502",
            f"{plan.pipeline}: bootstrap_policy is reject, and the pipeline was modified: {_changes(plan)}",
            "undo the modifications; or change bootstrap_policy and apply that first: the stricter of both holds",
        )
    if not plan.needs_approval:
        # Without an approval, what the environment's branch says is all that vouches for the files.
        reason = unmerged(target, plan.pipeline) if target.environment.branch is not None else None
        if reason is not None:
            raise _awaiting(plan, reason)
        return Approval("policy" if plan.policies.bootstrap is BootstrapPolicy.ALLOW else "first")
    recorded = recorded_approval(target, plan)
    if recorded is not None:
        return Approval("recorded", recorded["by"], recorded["at"])
    reason = lock_problem(target, plan)
    if reason is None:
        return Approval("lock")
    raise _awaiting(plan, reason)


def _awaiting(plan: Plan, reason: str) -> ApprovalRequired:
    return ApprovalRequired(
        "A501",
        f"{plan.pipeline}: awaiting approval of plan {short(plan.digest)} ({summarise(plan)}): {reason}",
        "run `reconcile plan --write-lock`, review and merge plan.lock; or `reconcile approve "
        f"{plan.pipeline} {short(plan.digest)}`",
    )


def recorded_approval(target: Target, plan: Plan) -> Mapping[str, Any] | None:
    """The approval of this digest in this environment that the registry holds, if any."""
    rows = target.registry.history(History.APPROVALS, plan.pipeline, plan_digest=plan.digest, environment=plan.environment)
    return rows[0] if rows else None


def read_lock_state(target: Target, plan: Plan) -> LockState:
    """What the lock file in the working tree says of the plan."""
    return judge_lock(read_optional(lock_path(target.root, plan.pipeline), target.root), plan, __version__)


def lock_problem(target: Target, plan: Plan) -> str | None:
    """Why the lock does not approve the plan, or None when it does."""
    state = read_lock_state(target, plan)
    if not isinstance(state, Matches):
        return describe_lock(state)
    return unmerged(target, plan.pipeline, (lock_path(target.root, plan.pipeline),))


def unmerged(target: Target, pipeline: str, more: tuple[Path, ...] = ()) -> str | None:
    """Why what the files of the pipeline say (and reconcile.yaml, and `more`) can't have been merged, or None."""
    folder = target.root / PIPELINES_FOLDER / pipeline
    files = [*more, *(path for path in (target.root / PROJECT_FILE,) if path.exists())]
    if is_pipeline_folder(folder):
        files += [target.root / name for name in read_pipeline_files(target.root, pipeline)]
    changed = uncommitted(target.root, folder, tuple(files))
    if changed is None:
        return "this is not a git repository, so nobody can have merged anything"
    if changed:
        return f"not committed: {', '.join(changed)}"
    branch = target.environment.branch
    if branch is not None and not is_on_branch(target.root, branch):
        return f"not merged: this commit is not on branch {branch}"
    return None


def describe_lock(state: LockState) -> str:
    """A lock's state as a clause."""
    match state:
        case Matches():
            return "plan.lock approves this plan"
        case Missing():
            return "there is no plan.lock for it"
        case Spent():
            return "plan.lock is spent: its plan was applied already. A revert needs its lock written again"
        case OtherVersion():
            return f"plan.lock was written by reconciler {state.version}, this is {__version__}; write it again"
        case Differs():
            return f"plan.lock is for another plan: {state.reason}. A revert, too, needs its lock written again"
        case _:
            assert_never(state)


def _changes(plan: Plan) -> str:
    words = [f"{change.kind.value} {change.name} {change.action.value}" for change in plan.diff.relations]
    words += [f"connector {change.name} {change.action.value}" for change in plan.diff.connectors]
    return ", ".join(words)
