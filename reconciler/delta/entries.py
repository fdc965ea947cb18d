"""By what the entry of a version in a table's log is known again.

Whoever remembers something of a version asks, before using it, whether its entry is still the file that it was.
"""

import os
from typing import TypeAlias

from reconciler.delta.opening import is_local, local_path

Entry: TypeAlias = tuple[int, ...]


def entry_of(location: str, version: int) -> Entry | None:
    """The entry of a version; None where it is not there, or on no disk of this machine's."""
    if not is_local(location):
        return None
    try:
        found = os.stat(os.path.join(local_path(location), "_delta_log", f"{version:020d}.json"))
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
