"""The plans that wait for somebody to decide: rollbacks and restores that somebody asked for, and the plan of the files."""

from typing import Final

from reconciler.apply.planning import plan_pipeline
from reconciler.apply.restore_plans import proposed_restore
from reconciler.apply.rolling_back import plan_rollback, proposed
from reconciler.base.errors import ReconcileError
from reconciler.environment.target import Target
from reconciler.plan.model import Plan

_LEAST_DIGITS: Final = 12


def find_waiting(target: Target, pipeline: str, digest: str) -> Plan:
    """The plan that waits under a digest: whole, or its first 12 digits or more. Raises ReconcileError (A504)."""
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
    return plan
