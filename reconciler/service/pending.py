"""What waits to be applied of a pipeline: the plan of its files, and why apply would refuse it."""

from reconciler.apply.decisions import open_rejections
from reconciler.apply.planning import plan_between, plan_unchanged
from reconciler.apply.requiring_approval import require_approval, staged_approval
from reconciler.apply.sizes import measure_hazards
from reconciler.base.dataclass import dataclass
from reconciler.base.errors import ApprovalRequired, PlanRejected, ReconcileError
from reconciler.environment.source import files_of
from reconciler.environment.target import Target
from reconciler.plan.model import Plan
from reconciler.state.applied import AppliedState, read_applied
from reconciler.state.rejections import Rejection
from reconciler.workspace.desired import read_desired


@dataclass(frozen=True, slots=True)
class Pending:
    """A plan, and what apply would refuse it with: ApprovalRequired, PlanRejected, or A583 (nobody can tell who made the
    change). None: it would carry it out. `rejections` are those by people that stop it."""

    plan: Plan
    refusal: ReconcileError | None
    rejections: tuple[Rejection, ...] = ()


def read_pending(target: Target, pipeline: str, applied: AppliedState | None = None) -> Pending | None:
    """What waits; None where there are neither files nor anything applied. `applied`, if that was read already. Raises as
    planning does."""
    unchanged = plan_unchanged(target, pipeline, files_of(target.root, pipeline))
    if unchanged is not None:
        return Pending(unchanged, None)
    if applied is None:
        applied = read_applied(target, pipeline)
    desired = read_desired(target, pipeline, applied.snapshot)
    if desired is None and applied.snapshot is None:
        return None
    plan = plan_between(target, pipeline, applied, desired)
    staged = applied.head.value.staged if applied.head is not None else None
    try:
        measured = measure_hazards(target, plan, applied, desired)
        if staged is not None and staged.plan_digest == plan.digest:
            staged_approval(target, plan, staged, measured)
        else:
            require_approval(target, plan, measured)
    except (ApprovalRequired, PlanRejected) as refusal:
        return Pending(plan, refusal, open_rejections(target, plan))
    except ReconcileError as error:
        # Nobody's approval counts as long as git can't tell who made the change; that keeps nobody from looking.
        if error.code != "A583":
            raise
        return Pending(plan, error, open_rejections(target, plan))
    return Pending(plan, None)
