"""What people do in the console, each with a record of who did it.

Whoever approves or rejects names the digest of the plan that was shown: another plan is not meant.
"""

from typing import Final

from reconciler.apply.decisions import Overrides
from reconciler.apply.giving_approval import record_approval
from reconciler.apply.rejecting import reject_plan
from reconciler.base.errors import ReconcileError
from reconciler.rest.errors import Refused
from reconciler.rest.shared import Service
from reconciler.service.pending import read_pending

ANOTHER_PLAN: Final = "A504"
"""The code of errors that say that a plan is not the one that was meant."""


def approve(service: Service, pipeline: str, digest: str, by: str, comment: str, *, overrides: Overrides = False) -> str:
    """Approve a plan; `overrides`: which rejections by others it lifts. One that a start waits for is carried out then. What
    was done, in words. Raises Refused and ReconcileError."""
    is_awaited = service.deployments.wish(pipeline).awaits == digest
    given = record_approval(service.target, pipeline, digest, by, comment, overrides=overrides)
    pending = read_pending(service.target, pipeline)
    if pending is not None and pending.refusal is not None:
        return "; ".join((f"{by} approved the plan", *given.notes, f"it still waits: {pending.refusal.message}"))
    if is_awaited:
        service.deployments.go_on(pipeline)
        return f"{by} approved the plan; it is being carried out"
    return f"{by} approved the plan; start the pipeline, or run reconcile apply, to carry it out"


def reject(service: Service, pipeline: str, digest: str, by: str, reason: str) -> str:
    """Reject a plan, and a start waits for it no more. What was done, in words. Raises Refused where the plan is another by
    now, and ReconcileError."""
    try:
        made = reject_plan(service.target, pipeline, digest, by, reason)
    except ReconcileError as error:
        if error.code != ANOTHER_PLAN:
            raise
        message = f"the plan of pipeline {pipeline} changed since it was shown: look at it again"
        raise Refused(409, "PlanChanged", message) from error
    if service.deployments.wish(pipeline).awaits:
        service.deployments.stop(pipeline, by, force=True)
    return "; ".join((f"{by} rejected the plan", *made.notes))
