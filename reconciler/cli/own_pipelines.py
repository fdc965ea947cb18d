"""The pipelines that a command works on where none is named."""

from reconciler.cli.output import note
from reconciler.environment.target import Target
from reconciler.workspace.pipelines import own_and_others


def own_pipelines_told(target: Target) -> tuple[str, ...]:
    """All pipelines of this project. Those of other projects in the warehouse are left alone, and that is told."""
    own, others = own_and_others(target)
    if others:
        note(f"skipped, because they belong to other projects: {', '.join(others)}")
    return own
