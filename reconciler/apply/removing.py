"""Removing a pipeline with all that is stored of it: an apply whose files are gone, whatever the files say."""

from reconciler.apply.applying import ApplyResult, apply_pipeline
from reconciler.apply.planning import Planned, planned_between
from reconciler.apply.wanted import Desired, Wanted
from reconciler.environment.session import Session
from reconciler.environment.target import Target
from reconciler.state.applied import read_applied


def plan_removal(target: Target, pipeline: str) -> Planned | None:
    """The plan that removes a pipeline; None where nothing of it is applied. Raises as planning does."""
    applied = read_applied(target, pipeline)
    return None if applied.snapshot is None else planned_between(target, pipeline, applied, None)


def remove_pipeline(target: Target, pipeline: str, session: Session) -> ApplyResult:
    """Carry that out. Raises as `apply_pipeline` does."""
    return apply_pipeline(target, pipeline, session, Wanted(lambda applied: Desired(None, lambda: "")))
