"""What is applied: the head of a pipeline, and snapshots, compiled again by the running version; through the cache."""

from reconciler.base.dataclass import dataclass
from reconciler.base.errors import RegistryError
from reconciler.environment.target import Target
from reconciler.project.snapshot.codec import decode_program
from reconciler.project.snapshot.model import Snapshot, take_snapshot
from reconciler.registry.model import Head, Stored


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


def read_snapshot(target: Target, pipeline: str, record: str) -> Snapshot:
    """A snapshot by its record digest. Raises RegistryError when it is missing or damaged."""
    objects = target.registry.snapshot(pipeline, record)
    try:
        return take_snapshot(decode_program(objects, target.cache), record)
    except (KeyError, TypeError, ValueError) as error:
        raise RegistryError("G602", f"the applied definitions {record} of {pipeline!r} are damaged: {error!r}") from error


def has_moved(target: Target, pipeline: str, state: AppliedState) -> bool:
    """Whether an apply was opened, or done, since the state was read."""
    stored = target.registry.head(pipeline)
    if stored is None or state.head is None:
        return stored is not None
    return stored.value.journal is not None or stored.value.applied != state.head.value.applied
