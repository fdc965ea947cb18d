"""Changing a document beside the head that others may change at the same time."""

import uuid
from collections.abc import Callable

from reconciler.base.errors import RegistryConflict
from reconciler.registry.model import Value
from reconciler.registry.protocol import Registry


def change_document(
    registry: Registry, pipeline: str, kind: type[Value], change: Callable[[Value | None], Value | None]
) -> None:
    """Have what `change` makes of a document (None: there is none yet) in its place; nothing is written where it gives None.
    Where somebody else was faster, it is asked again, of what is there then."""
    while True:
        stored = registry.document(pipeline, kind)
        changed = change(stored.value if stored is not None else None)
        if changed is None:
            return
        try:
            registry.replace_document(pipeline, stored.token if stored is not None else None, changed, str(uuid.uuid4()))
            return
        except RegistryConflict:
            continue
