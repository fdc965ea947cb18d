"""Which sinks are reached in this process: on a disk of this machine, by a path that everybody reads the same, without
options of the connector."""

import re
from collections.abc import Collection
from typing import Final

from reconciler.base.digest import JsonObject
from reconciler.delta.opening import path_of

_PLAIN: Final = re.compile(r"(/[A-Za-z0-9_.=+@,~-]+)+")


def plain_place(config: JsonObject, name: str, options: Collection[str]) -> str | None:
    """The path that the setting `name` has; None where it is none of these, or there are others than `options`."""
    path = path_of(str(config[name]).rstrip("/")) if set(config) <= set(options) else None
    if path is None or ".." in path.parts or not _PLAIN.fullmatch(str(path)):
        return None
    return str(path)
