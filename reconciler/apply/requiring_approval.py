"""Approving: whether a plan may be applied, and the words when it may not.

The rules are those of docs/promises.md. A plan that writes nothing needs nothing. One that changes nothing that anybody has
to agree to needs no approval; nor does `allow`; `reject` forbids. A first apply needs none, but where the environment says
`first_apply: await_approval`: there it needs one, whatever the new pipeline says of itself. Everything else needs one of
- a lock that matches, in a commit (of the environment's branch, if it names one): merging it was the approval;
- an approval of this very digest recorded in the registry by `reconcile approve`, which is the only one for a rollback.
An approval is of one digest: because the digest covers the plan that it follows, it can't serve twice.
Whatever allows a plan, it waits while a rejection of its digest is open (A585, `decisions`).
Policy (policy.yaml of the base branch) comes on top, whatever `bootstrap_policy` says, first applies included: a hazard that
it denies stops the plan; one that asks for approvals needs that many, recorded by as many people, besides the above. There
the authors of the change don't count (`authors`), and where git can't tell who they are, nobody does (A583); where no lock
was merged, the recorded approval that stands for it is one more.
Where the environment names a branch, whatever is written comes from there, whether it needs an approval or not; a recorded
one stands for the lock, never for the merge; and nothing is applied from a commit that is older than what was applied or
looked at, whatever approves it (`merged`). The branch is what the base branch's reconcile.yaml says (`bases`).
A rollback brings what was applied before; the files have no part in it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, assert_never

from reconciler.apply.authors import COMMIT_FIRST, authors_of_change, files_of_nobody
from reconciler.apply.decisions import Decisions, read_decisions, recorded_approvals, require_unrejected
from reconciler.apply.people import names_of, people_of
from reconciler.apply.wanted import Desired
from reconciler.base.declarations import BootstrapPolicy
from reconciler.base.digest import short
from reconciler.base.errors import ApprovalRequired, PlanRejected
from reconciler.base.printing import printable
from reconciler.base.version import __version__
from reconciler.environment.bases import required_branches
from reconciler.environment.commits import short_commit
from reconciler.environment.merged import outdated, passed, staged_unmerged, unmerged
from reconciler.environment.source import lock_path, read_optional
from reconciler.environment.target import Target
from reconciler.plan.lock import Differs, LockState, Matches, Missing, OtherVersion, Spent, judge_lock
from reconciler.plan.model import Hazard, Judgement, Plan
from reconciler.plan.policy import approvals_demanded, demanding, denied, describe_demand, judge
from reconciler.plan.words import summarise
from reconciler.project.manifest.verdicts import POLICY_FILE
from reconciler.registry.model import Approval, Head, Staged


def require_approval(
    target: Target, plan: Plan, measured: Sequence[Hazard] = (), files: Mapping[str, str] | None = None
) -> Approval:
    """The approval under which this plan may be applied. Raises PlanRejected (A502, A508), ApprovalRequired (A501, A509,
    A580, A585). `measured` are hazards of size, which are no part of the plan; `files` the pipeline's that it was made of
    (None: as they stand)."""
    if plan.changes_nothing and not plan.judges_rows_that_go_back:
        return Approval("empty")
    judgements = (*plan.judgements, *judge(measured, plan.policies.policy, plan.pipeline))
    forbid_denied(plan, judgements)
    decisions = read_decisions(target, plan) if plan.is_rejected else require_unrejected(target, plan)
    approval = _bootstrap_approval(target, plan, decisions, files)
    _require_more(target, plan, judgements, approval, decisions.counting, files)
    return _with_people(approval, decisions)


def approval_for(target: Target, plan: Plan, head: Head | None, found: Desired, measured: Sequence[Hazard]) -> Approval:
    """The approval under which a plan may be applied: where the very same was staged, the one that was given for that. What
    was staged may mean the same and have other settings, which nobody agreed to. What the environment asks for now counts,
    not what it asked for then. Raises as `require_approval` does."""
    staged, desired = head.staged if head is not None else None, found.snapshot
    if staged is not None and desired is not None and (staged.plan_digest, staged.record) == (plan.digest, desired.record):
        approval = staged_approval(target, plan, staged, measured, found.files)
        if found.files is not None:
            require_vouched(target, plan, found.files)
        else:
            require_promotable(target, plan, staged.commit)
        return approval
    return require_approval(target, plan, measured, found.files)


def staged_approval(
    target: Target, plan: Plan, staged: Staged, measured: Sequence[Hazard], files: Mapping[str, str] | None = None
) -> Approval:
    """The approval that was given for staging. Where somebody rejected the plan since, he took back what he had approved:
    then the approvals that are left are counted again. Raises ApprovalRequired (A501, A509, A585)."""
    decisions, approval = require_unrejected(target, plan), staged.approval
    if not decisions.rejections:
        return approval
    if approval.kind == "recorded" and not decisions.counting:
        raise awaiting(plan, "the approval under which it was staged was taken back")
    judgements = (*plan.judgements, *judge(measured, plan.policies.policy, plan.pipeline))
    _require_more(target, plan, judgements, approval, decisions.counting, files)
    return _with_people(approval, decisions)


def _with_people(approval: Approval, decisions: Decisions) -> Approval:
    """With everybody who recorded an approval of the plan that counts, whether it needed one or not: of a plan that others
    rejected that is who overruled them."""
    rows = decisions.counting
    return Approval(approval.kind, decisions.approvers, rows[0]["at"] if rows else "")


def forbid_denied(plan: Plan, judgements: Sequence[Judgement]) -> None:
    """Raises PlanRejected (A508) when policy denies a hazard of the plan."""
    found = denied(judgements)
    if found:
        raise PlanRejected(
            "A508",
            f"{plan.pipeline}: {POLICY_FILE} denies the plan: {'; '.join(map(_words, found))}",
            f"{'' if plan.rollback else 'change the files to avoid the hazard; or '}"
            f"change the rule in {POLICY_FILE} and merge that first",
        )


def _words(judgement: Judgement) -> str:
    reason = f" ({printable(judgement.reason)})" if judgement.reason else ""
    return f"{judgement.hazard.code} {judgement.hazard.message}{reason}"


def _require_more(
    target: Target,
    plan: Plan,
    judgements: Sequence[Judgement],
    approval: Approval,
    rows: Sequence[Mapping[str, Any]],
    files: Mapping[str, str] | None = None,
) -> None:
    """Raises ApprovalRequired (A509) unless as many people approved as policy asks for; `rows` are their approvals."""
    wanted = approvals_demanded(judgements)
    if wanted == 0:
        return
    approvers = people_of(str(row["by"]) for row in rows)
    authors = _names_of_all(authors_of_change(target, plan, files)) if approvers else frozenset()
    others = [one for one in approvers if not one.names & authors]
    missing = wanted - len(others)
    if approval.kind == "recorded" and lock_problem(target, plan, files) is not None:
        missing = max(missing, wanted + 1 - len(approvers))
    if missing <= 0:
        return
    given = f"approved so far by {', '.join(sorted(one.named for one in others))}" if others else "approved by nobody so far"
    barred = sorted(one.named for one in approvers if one.names & authors)
    if barred:
        given += f"; {', '.join(barred)} made the change and can't approve it"
    hazards = "; ".join(map(_words, demanding(judgements)))
    who = "another person" if missing == 1 else f"{missing} other people"
    raise ApprovalRequired(
        "A509",
        f"{plan.pipeline}: plan {short(plan.digest)} needs {describe_demand(judgements)}: {hazards}. "
        f"Missing: {missing} ({printable(given)})",
        f"{COMMIT_FIRST if files_of_nobody(target, plan, files) else ''}ask {who} to run "
        f"`reconcile approve {plan.pipeline} {short(plan.digest)}`",
    )


def missing_approvals(target: Target, plan: Plan) -> str | None:
    """What policy still asks for besides what was recorded, in words; None when that is nothing."""
    try:
        _require_more(target, plan, plan.judgements, Approval("lock"), recorded_approvals(target, plan))
    except ApprovalRequired as missing:
        return str(missing)
    return None


def made_the_change(target: Target, plan: Plan, name: str) -> bool:
    """Whether somebody wrote what the plan is made of. Raises ReconcileError (A583) where git can't tell."""
    return bool(names_of(name) & _names_of_all(authors_of_change(target, plan)))


def _names_of_all(texts: Iterable[str]) -> frozenset[str]:
    return frozenset().union(*map(names_of, texts))


def _bootstrap_approval(target: Target, plan: Plan, decisions: Decisions, files: Mapping[str, str] | None) -> Approval:
    """What `bootstrap_policy` and the environment ask for."""
    if plan.is_rejected:
        raise PlanRejected(
            "A502",
            f"{plan.pipeline}: bootstrap_policy is reject, and the pipeline was modified: {_changes(plan)}",
            "revert the modifications; or change bootstrap_policy and apply that change first: the stricter of "
            "both policies holds",
        )
    if not plan.needs_approval:
        require_vouched(target, plan, files)
        if plan.is_empty:
            return Approval("empty")
        return Approval("policy" if plan.policies.bootstrap is BootstrapPolicy.ALLOW else "first")
    if decisions.counting:
        # A digest does not cover all that is written: descriptions, and settings of what is new.
        require_vouched(target, plan, files)
        return Approval("recorded")
    if plan.rollback:
        raise awaiting(plan, f"{plan.rollback} needs a recorded approval; plan.lock can't approve it")
    reason = lock_problem(target, plan, files)
    if reason is None:
        require_newest(target, plan, files)
        return Approval("lock")
    raise awaiting(plan, reason, lock_is_there=isinstance(read_lock_state(target, plan), Matches))


def require_vouched(target: Target, plan: Plan, files: Mapping[str, str] | None) -> None:
    """Raises ApprovalRequired (A580) where the environment names a branch, and the files are not merged there: but for a
    lock, that is all that vouches for them."""
    branches = required_branches(target, plan.pipeline)
    if plan.rollback or not branches:
        return
    reason = unmerged(target, plan.pipeline, files=files) or outdated(target, plan.pipeline, files)
    if reason is not None:
        raise not_of_the_branch(plan, branches, reason)


def require_newest(target: Target, plan: Plan, files: Mapping[str, str] | None) -> None:
    """Raises ApprovalRequired (A580) where the environment names a branch, and the commit is older than what was applied or
    looked at: a job that is run again brings back nothing, whatever approves it."""
    reason = outdated(target, plan.pipeline, files)
    if reason is not None:
        raise not_of_the_branch(plan, required_branches(target, plan.pipeline), reason)


def require_unpassed(target: Target, plan: Plan, commit: str) -> None:
    """Raises ApprovalRequired (A580) where what was staged of a commit is not wanted any more: since then the files of
    another one were looked at, and found to be what is applied."""
    newer = passed(target, plan.pipeline, commit)
    if newer is not None:
        raise ApprovalRequired(
            "A580",
            f"{plan.pipeline}: not promoted: it was staged from commit {short_commit(commit)}; commit {short_commit(newer)} "
            "is newer, and its files are what is applied",
            f"to drop it: reconcile unstage --pipeline {plan.pipeline}; to stage the current files: "
            f"reconcile apply --no-promote {plan.pipeline}",
        )


def require_promotable(target: Target, plan: Plan, commit: str) -> None:
    """Raises ApprovalRequired (A580) where what was staged of a commit is not of the branches that the environment names
    now, whatever it named when it was staged; and as `require_unpassed` does."""
    reason = staged_unmerged(target, plan.pipeline, commit)
    if reason is not None:
        raise ApprovalRequired(
            "A580",
            f"{plan.pipeline}: not promoted: {reason}",
            f"{plan.environment} applies only files merged to {' and '.join(required_branches(target, plan.pipeline))}: "
            f"merge the change and stage it again; or drop it: reconcile unstage --pipeline {plan.pipeline}",
        )
    require_unpassed(target, plan, commit)


def not_of_the_branch(plan: Plan, branches: Sequence[str], reason: str) -> ApprovalRequired:
    """The error (A580) that says why a plan is not what the environment's branches say."""
    what = summarise(plan) if not plan.is_empty else "no result changes"
    return ApprovalRequired(
        "A580",
        f"{plan.pipeline}: not applied ({what}): {reason}",
        f"{plan.environment} applies only files merged to {' and '.join(branches)}: merge the change, and apply from there",
    )


def awaiting(plan: Plan, reason: str, *, lock_is_there: bool = False) -> ApprovalRequired:
    """The error (A501) that says why a plan waits, and how it is approved."""
    return ApprovalRequired(
        "A501",
        f"{plan.pipeline}: awaiting approval of plan {short(plan.digest)} ({summarise(plan)}): {reason}",
        f"{_how(plan, lock_is_there)}`reconcile approve {plan.pipeline} {short(plan.digest)}`",
    )


def _how(plan: Plan, lock_is_there: bool) -> str:
    if plan.rollback:
        return "add --approve if you may approve it; or ask an approver to run "
    if lock_is_there:
        return "plan.lock matches this plan: have it reviewed and merged; or "
    return f"run `reconcile plan {plan.pipeline} --write-lock`, review and merge plan.lock; or "


def read_lock_state(target: Target, plan: Plan) -> LockState:
    """What the lock file in the working tree says of the plan."""
    return judge_lock(read_optional(lock_path(target.root, plan.pipeline), target.root), plan, __version__)


def lock_problem(target: Target, plan: Plan, files: Mapping[str, str] | None = None) -> str | None:
    """Why the lock does not approve the plan, or None when it does; `files` as for `require_approval`."""
    state = read_lock_state(target, plan)
    if not isinstance(state, Matches):
        return describe_lock(state)
    return unmerged(target, plan.pipeline, (lock_path(target.root, plan.pipeline),), files)


def describe_lock(state: LockState) -> str:
    """A lock's state as a clause."""
    match state:
        case Matches():
            return "plan.lock approves this plan"
        case Missing():
            return "there is no plan.lock"
        case Spent():
            return "plan.lock is spent: its plan is already applied. A revert needs a new lock"
        case OtherVersion():
            return f"reconciler {state.version} wrote plan.lock, and this is {__version__}; write the lock again"
        case Differs():
            return f"plan.lock is for another plan: {state.reason}. A revert needs a new lock, too"
        case _:
            assert_never(state)


def _changes(plan: Plan) -> str:
    words = [f"{change.kind.value} {change.name} {change.action.value}" for change in plan.diff.relations]
    words += [f"connector {change.name} {change.action.value}" for change in plan.diff.connectors]
    return ", ".join(words)
