"""Hazards of size, as they are when somebody asks: they vary by themselves, so no plan holds them.

For apply they are measured only where policy would act upon one; elsewhere nobody's apply should wait for figures.
"""

from reconciler.apply.impact import impact_of
from reconciler.environment.target import Target
from reconciler.plan.hazards.large import find_impact_hazards
from reconciler.plan.impact import Impact
from reconciler.plan.model import Hazard, Judgement, Plan
from reconciler.plan.policy import judge, may_stop
from reconciler.project.manifest.verdicts import Limits
from reconciler.project.snapshot.model import Snapshot
from reconciler.state.applied import AppliedState


def judge_impact(plan: Plan, impact: Impact) -> tuple[Judgement, ...]:
    """The hazards of a plan's impact and what policy does about them, for whoever shows both."""
    policy = plan.policies.policy
    limits = policy.limits if policy is not None else Limits()
    return judge(find_impact_hazards(impact, limits), policy, plan.pipeline)


def measure_hazards(target: Target, plan: Plan, applied: AppliedState, desired: Snapshot | None) -> tuple[Hazard, ...]:
    """The hazards of size that policy may stop an apply for; none are looked for where it would not."""
    policy = plan.policies.policy
    if plan.is_empty or policy is None or not may_stop(policy, plan.pipeline, "H912"):
        return ()
    programs = [snapshot.program if snapshot is not None else None for snapshot in (applied.snapshot, desired)]
    impact = impact_of(target, plan, applied.head.value if applied.head is not None else None, *programs)
    return find_impact_hazards(impact, policy.limits)
