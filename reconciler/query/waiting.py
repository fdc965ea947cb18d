"""What is not there yet: a relation that the files have and nobody has applied."""

from reconciler.base.errors import ReconcileError
from reconciler.environment.target import Target
from reconciler.state.applied import read_applied
from reconciler.workspace.desired import read_desired


def waiting_hint(target: Target, pipeline: str, name: str) -> str | None:
    """What to tell somebody who asks for a relation that is not applied; None: the files don't have it either, or have
    errors."""
    try:
        desired = read_desired(target, pipeline, read_applied(target, pipeline).snapshot)
    except ReconcileError:
        return None
    if desired is None or desired.program.relation(name) is None:
        return None
    return f"the files define it, but are not applied yet: reconcile plan {pipeline}"
