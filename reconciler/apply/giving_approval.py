"""Giving an approval: what is recorded when somebody approves a plan, and what he is told of it.

An approval is of one digest. It is looked up among the plans that wait: rollbacks and restores that somebody asked for, then
the plan of the files. The command says at once whether the approval counts. The author of the change is refused if his
approval would have no effect, and told if it only stands for the lock. An approval without a name is refused (A582).
"""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from reconciler.apply.people import names_of
from reconciler.apply.planning import plan_pipeline
from reconciler.apply.requiring_approval import forbid_denied, lock_problem, made_the_change, recorded_approvals
from reconciler.apply.restore_plans import proposed_restore
from reconciler.apply.rolling_back import plan_rollback, proposed
from reconciler.base.digest import digest_text
from reconciler.base.errors import PlanRejected, ReconcileError
from reconciler.base.moments import this_moment
from reconciler.environment.bases import required_branches
from reconciler.environment.target import Target
from reconciler.plan.model import Plan
from reconciler.registry.protocol import History

_LEAST_DIGITS: Final = 12


@dataclass(frozen=True, slots=True)
class Given:
    """An approval that was recorded: of which plan, with notes for whoever gave it."""

    plan: Plan
    notes: tuple[str, ...]


def record_approval(target: Target, pipeline: str, digest: str, by: str, comment: str) -> Given:
    """Record an approval in the registry, if `digest` (whole, or its first 12 digits or more) is that of a plan that waits.
    Raises ReconcileError (A504, A582) and PlanRejected."""
    wanted = digest.removeprefix("sha256:")
    # The files may be broken while a rollback or a restore waits.
    plan = None
    if len(wanted) >= _LEAST_DIGITS:
        rollback = proposed(target, pipeline, wanted)
        plan = plan_rollback(target, rollback).plan if rollback is not None else proposed_restore(target, pipeline, wanted)
    if plan is None:
        plan = plan_pipeline(target, pipeline)
    if len(wanted) < _LEAST_DIGITS or not plan.digest.removeprefix("sha256:").startswith(wanted):
        raise ReconcileError(
            "A504",
            f"no pending plan of {pipeline} has digest {digest}; the plan of its files has digest {plan.digest}",
            "run `reconcile plan` again: the files or the registry changed. To approve a rollback or a restore, add "
            "--approve to its command, or give the digest of the pending plan that its command shows",
        )
    return give_approval(target, plan, by, comment)


def give_approval(target: Target, plan: Plan, by: str, comment: str) -> Given:
    """Record an approval of this plan. Raises ReconcileError (A504, A582) and PlanRejected."""
    if not names_of(by):
        # ann@example.org counts as ann; @ann has nothing before the @, so it names nobody.
        name = by.strip().lstrip("@")
        is_handle = by.strip().startswith("@") and bool(names_of(name)) and "." not in name
        hint = f"write the name without @: --by {shlex.quote(name)}" if is_handle else "name the approver: --by NAME"
        raise ReconcileError("A582", f"an approval records who gives it, and {by!r} is not a name", hint)
    if plan.is_empty and not plan.needs_approval and not plan.judges_rows_that_go_back:
        raise ReconcileError("A504", f"the plan of {plan.pipeline} is empty: there is nothing to approve")
    if plan.is_rejected:
        message = f"bootstrap_policy rejects the plan of {plan.pipeline}; an approval can't change that"
        raise PlanRejected("A502", message)
    forbid_denied(plan, plan.judgements)
    notes = tuple(_notes(target, plan, by))
    now = this_moment()
    row = {"plan_digest": plan.digest, "environment": plan.environment, "by": by, "at": now, "comment": comment}
    # One row a person: policy may ask for several people.
    known = digest_text(by)
    target.registry.record(History.APPROVALS, plan.pipeline, [row], f"approval:{plan.environment}:{plan.digest}:{known}")
    return Given(plan, notes)


def _notes(target: Target, plan: Plan, by: str) -> Iterator[str]:
    asked = plan.extra_approvals
    if any(names_of(row["by"]) & names_of(by) for row in recorded_approvals(target, plan)):
        yield f"{by} has already approved this plan; each person counts once"
    if not plan.needs_approval and not asked:
        yield "the plan needs no approval"
    if asked and made_the_change(target, plan, by):
        policy = f"the approvals that policy.yaml requires ({asked})"
        if not plan.needs_approval or lock_problem(target, plan) is None:
            message = f"{by} made the change and does not count towards {policy}: nothing was recorded"
            raise ReconcileError("A582", message, "ask another person to approve it")
        yield f"{by} made the change: the approval replaces plan.lock, but does not count towards {policy}"
    branches = required_branches(target, plan.pipeline)
    if branches and not plan.rollback:
        yield (
            f"the approval replaces plan.lock, but {plan.environment} applies only files that are merged to "
            f"{' and '.join(branches)}"
        )
