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
from reconciler.registry.placements import Placement
from reconciler.state.checkpoints import is_checkpointed


def remove_former_states(target: Target, engine: Engine, before: Head, after: Head) -> None:
    """Remove what streams remembered two steps before `after`, the head of a step that is published; `before` is the head of
    the step before it. The step stands, whatever becomes of this."""
    going = _folders(before, after)
    with suppress(ReconcileError, OSError):
        for step in sorted(going):
            if not is_checkpointed(target, after.pipeline, step):
                for folder in going[step]:
                    remove(engine, join_location(target.warehouse, folder))


def _folders(before: Head, after: Head) -> dict[int, list[str]]:
    """The folders (below the warehouse) that nobody needs but for a checkpoint of the step that wrote them, by that step."""
    found: dict[int, list[str]] = {}
    if before.published is None or after.published is None:
        return found
    now = after.published.relations
    for key, placement in before.published.relations.items():
        if placement.state is None or placement.state.former is None or _goes_on(placement, now.get(key)):
            continue
        former = placement.state.former
        found.setdefault(former.step, []).append(f"{placement.location}/{former.folder}")
    return found


def _goes_on(before: Placement, after: Placement | None) -> bool:
    """Whether a stream remembers what it remembered before the step."""
    return after is None or after.state is None or after.state == before.state
