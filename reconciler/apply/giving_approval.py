"""Giving an approval: what is recorded when somebody approves a plan, and what he is told of it.

An approval is of one digest, that of a plan that waits (`waiting_plans`). The command says at once whether the approval
counts. The author of the change is refused if his approval would have no effect, and told if it only stands for the lock. An
approval without a name is refused (A582).

An approval of a plan that somebody else rejected is refused (A585) unless it overrules that. Who overrules what he was
shown overrules nothing that came since: then the approval is refused, too, and nothing is recorded. Where policy asks for
approvals of others, the author of the change overrules nobody; nor where it would ask for them if the change were large,
which only an apply measures (H912). What approvals and rejections mean for each other: `decisions`.
"""

from collections.abc import Iterator, Sequence

from reconciler.apply.decisions import (
    Decisions,
    Overrides,
    lifts_text,
    read_decisions,
    rejected,
    require_something_to_decide,
)
from reconciler.apply.people import names_of, require_named
from reconciler.apply.requiring_approval import forbid_denied, lock_problem, made_the_change
from reconciler.apply.waiting_plans import find_waiting
from reconciler.base.dataclass import dataclass
from reconciler.base.digest import digest_text
from reconciler.base.errors import PlanRejected, ReconcileError
from reconciler.base.moments import this_moment
from reconciler.environment.bases import required_branches
from reconciler.environment.target import Target
from reconciler.plan.model import Plan
from reconciler.plan.policy import may_ask_for_others
from reconciler.registry.protocol import History
from reconciler.state.rejections import Rejection


@dataclass(frozen=True, slots=True)
class Given:
    """An approval that was recorded: of which plan, with notes for whoever gave it."""

    plan: Plan
    notes: tuple[str, ...]


def record_approval(
    target: Target, pipeline: str, digest: str, by: str, comment: str, *, overrides: Overrides = False
) -> Given:
    """Record an approval in the registry, if `digest` (whole, or its first 12 digits or more) is that of a plan that waits.
    `overrides`: which rejections by others are lifted, too. Raises ReconcileError (A504, A582), ApprovalRequired (A585) and
    PlanRejected."""
    return give_approval(target, find_waiting(target, pipeline, digest), by, comment, overrides=overrides)


def give_approval(target: Target, plan: Plan, by: str, comment: str, *, overrides: Overrides = False) -> Given:
    """Record an approval of this plan. `overrides` and errors as for `record_approval`."""
    require_named(by, "an approval", "approver")
    require_something_to_decide(plan, "approve")
    if plan.is_rejected:
        message = f"bootstrap_policy rejects the plan of {plan.pipeline}; an approval can't change that"
        raise PlanRejected("A502", message)
    forbid_denied(plan, plan.judgements)
    decisions = read_decisions(target, plan)
    own = decisions.of(by)
    others = tuple(one for one in decisions.open if one not in own)
    standing = _not_overruled(others, overrides)
    if standing:
        raise rejected(plan, standing)
    notes = tuple(_notes(target, plan, by, decisions, others))
    lifts = lifts_text({*own, *others})
    now = this_moment()
    row = {"plan_digest": plan.digest, "environment": plan.environment, "by": by, "at": now, "comment": comment}
    # One row a person, and one more after each rejection: policy may ask for several people.
    known = digest_text(by + lifts)
    batch = f"approval:{plan.environment}:{plan.digest}:{known}"
    target.registry.record(History.APPROVALS, plan.pipeline, [{**row, "lifts": lifts}], batch)
    return Given(plan, notes)


def _not_overruled(others: Sequence[Rejection], overrides: Overrides) -> tuple[Rejection, ...]:
    if isinstance(overrides, bool):
        return () if overrides else tuple(others)
    return tuple(one for one in others if one.id not in overrides)


def _notes(target: Target, plan: Plan, by: str, decisions: Decisions, others: Sequence[Rejection]) -> Iterator[str]:
    asked = plan.extra_approvals
    for one in decisions.open:
        yield f"{'overruled' if one in others else 'taken back'}: {one.words}"
    if any(names_of(row["by"]) & names_of(by) for row in decisions.counting):
        yield f"{by} has already approved this plan; each person counts once"
    if not plan.needs_approval and not asked and not decisions.open:
        yield "the plan needs no approval"
    may_ask = asked or (not plan.is_empty and may_ask_for_others(plan.policies.policy, plan.pipeline, "H912"))
    if others and may_ask and made_the_change(target, plan, by):
        message = f"{by} made the change and can't overrule who rejected it: nothing was recorded"
        raise ReconcileError("A582", message, "ask another person to approve it")
    if asked and made_the_change(target, plan, by):
        policy = f"the approvals that policy.yaml requires ({asked})"
        replaces = plan.needs_approval and lock_problem(target, plan) is not None
        if not replaces and not decisions.open:
            message = f"{by} made the change and does not count towards {policy}: nothing was recorded"
            raise ReconcileError("A582", message, "ask another person to approve it")
        yield f"{by} made the change: the approval {'replaces plan.lock, but ' * replaces}does not count towards {policy}"
    branches = required_branches(target, plan.pipeline)
    if branches and not plan.rollback:
        yield (
            f"the approval replaces plan.lock, but {plan.environment} applies only files that are merged to "
            f"{' and '.join(branches)}"
        )
