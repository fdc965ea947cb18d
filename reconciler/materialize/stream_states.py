"""What streams remembered before: it goes, step by step.

After a step, a stream needs what it remembers then. What it remembered the step before stays for one step more, for whoever
writes a checkpoint of that step meanwhile; what a checkpoint needs stays with it, until a prune takes it. What is left where
a process died before it removed a folder, a prune finds as well.
"""

from contextlib import suppress

from reconciler.base.errors import EngineError
from reconciler.delta.opening import join_location
from reconciler.engine.protocol import Engine
from reconciler.environment.target import Target
from reconciler.materialize.apply_effects import remove
from reconciler.registry.model import Head
from reconciler.state.checkpoints import is_checkpointed


def remove_former_states(target: Target, engine: Engine, before: Head, after: Head) -> None:
    """Remove what streams remembered two steps before `after`, the head of a step that is published; `before` is the head of
    the step before it."""
    if before.published is None or after.published is None:
        return
    now = after.published.relations
    for key, placement in before.published.relations.items():
        state = placement.state
        going_on = now[key].state if key in now else None
        if state is None or state.former is None or going_on is None or going_on == state:
            continue
        if is_checkpointed(target, after.pipeline, state.former.step):
            continue
        with suppress(EngineError):  # on an object store: a prune removes it
            remove(engine, join_location(target.warehouse, placement.location, state.former.folder))
