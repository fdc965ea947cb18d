"""What is applied: the head of a pipeline, and the snapshot that is in force, compiled by the running version."""

from dataclasses import dataclass

from reconciler.environment.target import Target
from reconciler.project.snapshot.model import Snapshot
from reconciler.registry.model import Head, Stored
from reconciler.state.snapshots import read_snapshot


@dataclass(frozen=True, slots=True)
class AppliedState:
    """What the registry says: the head (None: never applied) and the snapshot in force (None: nothing is applied)."""

    head: Stored[Head] | None
    snapshot: Snapshot | None


def read_applied(target: Target, pipeline: str) -> AppliedState:
    """What is applied. Raises RegistryError when that can't be told."""
    stored = target.registry.head(pipeline)
    if stored is None or stored.value.applied is None or stored.value.applied.record is None:
        return AppliedState(stored, None)
    return AppliedState(stored, read_snapshot(target, pipeline, stored.value.applied.record))


def has_moved(target: Target, pipeline: str, state: AppliedState) -> bool:
    """Whether an apply was opened, or done, since the state was read."""
    stored = target.registry.head(pipeline)
    if stored is None or state.head is None:
        return stored is not None
    return stored.value.journal is not None or stored.value.applied != state.head.value.applied
