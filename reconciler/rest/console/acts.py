"""What people do in the console, each with a record of who did it.

Whoever approves or rejects names the digest of the plan that was shown: another plan is not meant.
"""

from reconciler.apply.giving_approval import record_approval
from reconciler.base.moments import this_moment
from reconciler.environment.target import Target
from reconciler.registry.protocol import History
from reconciler.rest.console.views import REJECTED
from reconciler.rest.errors import Refused
from reconciler.rest.shared import Service
from reconciler.service.pending import read_pending


def approve(service: Service, pipeline: str, digest: str, by: str, comment: str) -> str:
    """Approve a plan. One that a start waits for is carried out then. What was done, in words. Raises Refused and
    ReconcileError."""
    wish = service.deployments.wish(pipeline)
    record_approval(service.target, pipeline, digest, by, comment)
    if wish.awaits == digest:
        service.deployments.approve(pipeline, by)
        return f"{by} approved the plan; it is being carried out"
    return f"{by} approved the plan; start the pipeline, or run reconcile apply, to carry it out"


def reject(service: Service, pipeline: str, digest: str, by: str, comment: str) -> str:
    """Reject a plan: that stands in the audit, and a start waits for it no more. Raises Refused where the plan is another by
    now."""
    pending = read_pending(service.target, pipeline)
    if pending is None or pending.plan.digest != digest:
        raise Refused(409, "PlanChanged", f"the plan of pipeline {pipeline} changed since it was shown: look at it again")
    record_rejection(service.target, pipeline, digest, by, comment)
    if service.deployments.wish(pipeline).awaits:
        service.deployments.stop(pipeline, by, force=True)
    return f"{by} rejected the plan"


def record_rejection(target: Target, pipeline: str, digest: str, by: str, comment: str) -> None:
    """Write down that somebody rejected a plan."""
    now = this_moment()
    row = {"event": REJECTED, "at": now, "by": by, "details": f"{digest} {comment}".strip()}
    target.registry.record(History.AUDIT, pipeline, [row], f"rejected:{digest}:{by}:{now}")
