"""What streams remembered before: it goes, step by step.

After a step, a stream needs what it remembers then. What it remembered the step before stays for one step more, for whoever
writes a checkpoint of that step meanwhile; what a checkpoint needs stays with it, until a prune takes it. What is left where
a process died before it removed a folder, or could not, a prune finds as well.
"""

from contextlib import suppress

from reconciler.base.errors import ReconcileError
from reconciler.delta.opening import join_location
from reconciler.engine.protocol import Engine
from reconciler.environment.target import Target
from reconciler.materialize.apply_effects import remove
from reconciler.registry.model import Head
from reconciler.registry.placements import FormerState, Placement
from reconciler.state.checkpoints import is_checkpointed


def remove_former_states(target: Target, engine: Engine, before: Head, after: Head) -> None:
    """Remove what streams no longer remember by since two steps before `after`, the head of a step that is published;
    `before` is the head of the step before it. The step stands, whatever becomes of this."""
    is_needed: dict[tuple[int, int], bool] = {}
    with suppress(ReconcileError, OSError):
        for location, former in _left(before, after):
            steps = former.step if former.since is None else former.since, former.step
            # Of many streams these are the same steps.
            if steps not in is_needed:
                is_needed[steps] = is_checkpointed(target, after.pipeline, *steps)
            if not is_needed[steps]:
                for folder in (former.folder, *former.others):
                    remove(engine, join_location(target.warehouse, f"{location}/{folder}"))


def _left(before: Head, after: Head) -> list[tuple[str, FormerState]]:
    """What nobody needs but for a checkpoint, each with the location of its stream (below the warehouse)."""
    if before.published is None or after.published is None:
        return []
    now = after.published.relations
    return [
        (placement.location, placement.state.former)
        for key, placement in sorted(before.published.relations.items())
        if placement.state is not None and placement.state.former is not None and not _goes_on(placement, now.get(key))
    ]


def _goes_on(before: Placement, after: Placement | None) -> bool:
    """Whether a stream remembers what it remembered before the step."""
    return after is None or after.state is None or after.state == before.state
