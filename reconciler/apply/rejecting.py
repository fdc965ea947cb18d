"""Rejecting: what is recorded when somebody says no to a plan.

A rejection is of one digest, that of a plan that waits (`waiting_plans`). It stops the plan until it is taken back or
overruled (`decisions`). Who made the change may reject it, too. A rejection without a name is refused (A582).
"""

from reconciler.apply.decisions import require_something_to_decide
from reconciler.apply.people import require_named
from reconciler.apply.waiting_plans import find_waiting
from reconciler.environment.target import Target
from reconciler.plan.model import Plan
from reconciler.state.rejections import new_rejection, record_rejection


def reject_plan(target: Target, pipeline: str, digest: str, by: str, reason: str) -> Plan:
    """Record that somebody rejects the plan that waits under a digest (whole, or its first 12 digits or more); that plan.
    Raises ReconcileError (A504, A582)."""
    plan = find_waiting(target, pipeline, digest)
    require_named(by, "a rejection", "person who rejects")
    require_something_to_decide(plan, "reject")
    record_rejection(target.registry, new_rejection(pipeline, plan.digest, plan.environment, by, reason))
    return plan
