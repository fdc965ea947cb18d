"""The plans that wait for somebody to decide: rollbacks and restores that somebody asked for, the promotion of what is
staged, and the plan of the files."""

from typing import Final

from reconciler.apply.planning import plan_pipeline
from reconciler.apply.promoting import plan_promotion
from reconciler.apply.restore_plans import proposed_restore
from reconciler.apply.rolling_back import plan_rollback, proposed
from reconciler.base.digest import short
from reconciler.base.errors import NotFound, ReconcileError
from reconciler.environment.target import Target
from reconciler.plan.model import Plan

_LEAST_DIGITS: Final = 12


def find_waiting(target: Target, pipeline: str, digest: str) -> Plan:
    """The plan that waits under a digest: whole, or its first 12 digits or more. Raises ReconcileError (A504)."""
    wanted = digest.removeprefix("sha256:")
    # The files may be broken, or say something else by now, while a rollback, a restore or a promotion waits.
    is_told = len(wanted) >= _LEAST_DIGITS
    plan = (_asked_for(target, pipeline, wanted) or _promotion(target, pipeline, wanted)) if is_told else None
    plan = plan or plan_pipeline(target, pipeline)
    if not is_told or not _begins(plan, wanted):
        few = "" if is_told else f" (give at least {_LEAST_DIGITS} digits of it)"
        files = (
            "its files change nothing" if plan.changes_nothing else f"the plan of its files has digest {short(plan.digest)}"
        )
        raise ReconcileError(
            "A504",
            f"no pending plan of {pipeline} has digest {digest}{few}; {files}",
            "run `reconcile plan` again: the files or the registry changed. To approve a rollback or a restore, add "
            "--approve to its command, or give the digest of the pending plan that its command shows",
        )
    return plan


def _asked_for(target: Target, pipeline: str, wanted: str) -> Plan | None:
    """The plan of a rollback or a restore that somebody asked for."""
    rollback = proposed(target, pipeline, wanted)
    return proposed_restore(target, pipeline, wanted) if rollback is None else plan_rollback(target, rollback).plan


def _promotion(target: Target, pipeline: str, wanted: str) -> Plan | None:
    """The plan that makes active what is staged, where its digest begins so."""
    stored = target.registry.head(pipeline)
    if stored is None or stored.value.staged is None:
        return None
    try:
        plan = plan_promotion(target, pipeline, stored.value.staged).plan
    except NotFound:
        # Somebody promoted or dropped it this moment.
        return None
    return plan if _begins(plan, wanted) else None


def _begins(plan: Plan, wanted: str) -> bool:
    return plan.digest.removeprefix("sha256:").startswith(wanted)
