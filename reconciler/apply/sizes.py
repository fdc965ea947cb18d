"""Hazards of size, as they are when somebody asks: they vary by themselves, so no plan holds them.

For apply they are measured only where policy would act upon one; elsewhere nobody's apply should wait for figures.
"""

from reconciler.apply.impact import impact_of
from reconciler.environment.target import Target
from reconciler.plan.hazards.large import find_impact_hazards
from reconciler.plan.model import Hazard, Plan
from reconciler.plan.policy import may_stop
from reconciler.project.snapshot.model import Snapshot
from reconciler.state.applied import AppliedState


def measure_hazards(target: Target, plan: Plan, applied: AppliedState, desired: Snapshot | None) -> tuple[Hazard, ...]:
    """The hazards of size that policy may stop an apply for; none are looked for where it would not."""
    policy = plan.policies.policy
    if plan.is_empty or policy is None or not may_stop(policy, plan.pipeline, "H912"):
        return ()
    programs = [snapshot.program if snapshot is not None else None for snapshot in (applied.snapshot, desired)]
    impact = impact_of(target, plan, applied.head.value if applied.head is not None else None, *programs)
    return find_impact_hazards(impact, policy.limits)
