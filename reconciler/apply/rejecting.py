"""Rejecting: what is recorded when somebody says no to a plan.

A rejection is of one digest, that of a plan that waits (`waiting_plans`). It stops the plan until it is taken back or
overruled (`decisions`). Who made the change may reject it, too. A rejection without a name is refused (A582). One that comes
while the plan is carried out is recorded, and whoever rejects is told that it may be too late.
"""

from collections.abc import Iterator

from reconciler.apply.decisions import require_something_to_decide
from reconciler.apply.people import require_named
from reconciler.apply.waiting_plans import find_waiting
from reconciler.base.dataclass import dataclass
from reconciler.environment.target import Target
from reconciler.plan.model import Plan
from reconciler.registry.model import Head
from reconciler.state.rejections import new_rejection, record_rejection


@dataclass(frozen=True, slots=True)
class Rejected:
    """A rejection that was recorded: of which plan. `notes`: that it may come too late."""

    plan: Plan
    notes: tuple[str, ...] = ()


def reject_plan(target: Target, pipeline: str, digest: str, by: str, reason: str) -> Rejected:
    """Record that somebody rejects the plan that waits under a digest (whole, or its first 12 digits or more). Raises
    ReconcileError (A504, A582)."""
    plan = find_waiting(target, pipeline, digest)
    require_named(by, "a rejection", "person who rejects")
    require_something_to_decide(plan, "reject")
    record_rejection(target.registry, new_rejection(pipeline, plan.digest, plan.environment, by, reason))
    stored = target.registry.head(pipeline)
    return Rejected(plan, tuple(_too_late(stored.value, plan)) if stored is not None else ())


def _too_late(head: Head, plan: Plan) -> Iterator[str]:
    if head.applied is not None and head.applied.plan_digest == plan.digest:
        yield f"{head.applied.by or 'somebody'} applied this plan at {head.applied.at}: the rejection comes too late"
    elif head.journal is not None and head.journal.plan_digest == plan.digest:
        opened = f"{head.journal.by or 'somebody'} began to apply this plan at {head.journal.opened_at}"
        yield f"{opened}: the rejection may come too late, since an apply that has begun is finished"
