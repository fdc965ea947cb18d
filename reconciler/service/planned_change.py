"""A change other than the files': a promotion or a rollback, planned, to be looked at and carried out."""

from collections.abc import Callable

from reconciler.apply.applying import ApplyResult
from reconciler.apply.decisions import Overrides, open_rejections
from reconciler.apply.giving_approval import Given, give_approval
from reconciler.apply.impact import impact_of_planned
from reconciler.apply.planning import Planned
from reconciler.base.dataclass import dataclass
from reconciler.environment.target import Target
from reconciler.plan.impact import Impact
from reconciler.plan.model import Plan
from reconciler.state.rejections import Rejection


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """See the module. `carry_out` raises ApprovalRequired or PlanRejected, with nothing touched."""

    target: Target
    planned: Planned
    carry_out: Callable[[], ApplyResult]

    @property
    def plan(self) -> Plan:
        """The plan: what would change, and why."""
        return self.planned.plan

    def impact(self) -> Impact:
        """What it reads and writes, and how long it may take."""
        return impact_of_planned(self.target, self.planned)

    def rejections(self) -> tuple[Rejection, ...]:
        """The rejections by people that stop it."""
        return open_rejections(self.target, self.plan)

    def approve(self, by: str, comment: str = "", *, overrides: Overrides = False) -> Given:
        """Record an approval of the plan; `overrides`: which rejections by others it lifts. Raises ReconcileError (A582,
        A585)."""
        return give_approval(self.target, self.plan, by, comment, overrides=overrides)
