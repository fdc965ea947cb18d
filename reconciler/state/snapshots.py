"""Snapshots of the registry: stored definitions, compiled again by the running version; through the cache."""

from reconciler.base.errors import RegistryError
from reconciler.environment.target import Target
from reconciler.project.snapshot.codec import decode_program
from reconciler.project.snapshot.model import Snapshot, take_snapshot


def read_snapshot(target: Target, pipeline: str, record: str) -> Snapshot:
    """A snapshot by its record digest. Raises RegistryError when it is missing or damaged."""
    objects = target.registry.snapshot(pipeline, record)
    try:
        snapshot = take_snapshot(decode_program(objects, target.cache), record)
    except (KeyError, TypeError, ValueError) as error:
        raise RegistryError("G602", f"the applied definitions {record} of {pipeline!r} are damaged: {error!r}") from error
    return snapshot
