"""What an apply is to bring: the files of a pipeline, or what else is wanted."""

from collections.abc import Callable, Mapping

from reconciler.base.dataclass import dataclass
from reconciler.base.errors import ReconcileError
from reconciler.environment.commits import commit_of
from reconciler.environment.merged import remember
from reconciler.environment.planned_engine import require_planned_engine
from reconciler.environment.source import files_of
from reconciler.environment.target import Target
from reconciler.materialize.following import PinnedApply, pin_apply
from reconciler.plan.model import Plan
from reconciler.project.snapshot.model import Snapshot
from reconciler.state.applied import AppliedState, has_moved
from reconciler.workspace.desired import compile_desired


@dataclass(frozen=True, slots=True)
class Desired:
    """What is to be in force; `commit` looks up which commit that is of (`commits.commit_of`). `files` are the pipeline's as
    they were read, where it comes from files: what stands there later is not what is applied."""

    snapshot: Snapshot | None
    commit: Callable[[], str]
    files: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an apply is to bring, which is found anew whenever something else may be applied. `rollback`: as in a plan.
    `promotes` names the versions that are staged, where it is these (empty: it comes from elsewhere). `only`: the digest of
    the one plan that is meant (empty: whatever plan it comes to)."""

    desired: Callable[[AppliedState], Desired]
    rollback: str = ""
    promotes: str = ""
    only: str = ""

    def require_meant(self, plan: Plan) -> None:
        """Raises ReconcileError (A504) for another plan than the one that is meant."""
        if self.only and plan.digest != self.only:
            raise ReconcileError(
                "A504",
                f"the plan of {plan.pipeline} changed since it was shown: it has digest {plan.digest}, not {self.only}",
                "look at the plan again",
            )


def from_files(target: Target, pipeline: str, applied: AppliedState) -> Desired:
    """What the files say. Raises ManifestInvalid with every error."""
    files = files_of(target.root, pipeline)
    snapshot = compile_desired(target, pipeline, files, applied=applied.snapshot)
    return Desired(snapshot, lambda: commit_of(target.root, pipeline, files), files or {})


def remember_unchanged(target: Target, pipeline: str, applied: AppliedState, found: Desired) -> bool:
    """Remember that what was found changes nothing of what is applied. Whether that is still so: whoever opened a journal
    meanwhile may have looked before this was remembered."""
    if found.files is not None:
        remember(target, pipeline, found.files)
    return not has_moved(target, pipeline, applied)


def pinned_apply(target: Target, plan: Plan, applied: AppliedState, desired: Snapshot | None) -> PinnedApply:
    """What the plan's steps read of other pipelines. Raises UpstreamDiffers (A560)."""
    head = applied.head.value if applied.head is not None else None
    before = applied.snapshot.program if applied.snapshot is not None else None
    return pin_apply(target, head, before, desired.program if desired is not None else None, plan.steps)


def require_engine_of(target: Target, desired: Snapshot | None) -> None:
    """Raises EngineError (X780). A removal computes nothing."""
    if desired is not None:
        require_planned_engine(target, desired.program)
