"""Rows of versions that were brought up to date once, as they stand in the head: where they are read, how long they count.
What brings them up to date: `refreshing`.

They count until the version is active again, which has rows of its own from then on, or its view is removed, or until they
are pruned with what else the version has.
"""

from collections.abc import Mapping

from reconciler.base.names import fold
from reconciler.registry.model import Head, ObjectVersions, Refreshed
from reconciler.registry.placements import Placement


def refreshed_key(object_id: str, number: int) -> str:
    """How the head names rows of a version."""
    return f"{object_id}@v{number}"


def refreshed_after(refreshed: Mapping[str, Refreshed], versions: Mapping[str, ObjectVersions]) -> dict[str, Refreshed]:
    """What goes on counting once these versions are in force."""
    active = {one.id: one.active for one in versions.values()}
    return {
        key: one
        for key, one in sorted(refreshed.items())
        if active.get(key.rpartition("@v")[0]) not in (None, int(key.rpartition("@v")[2]))
    }


def refreshed_folders(head: Head) -> frozenset[str]:
    """The folders (below the warehouse) that hold such rows: nobody removes them while they count."""
    return frozenset(one.folder for one in head.refreshed.values())


def refreshed_placement(one: Refreshed) -> dict[str, Placement]:
    """Where the rows can be read: by the folded name that the version has there, a table of one version."""
    location = one.folder
    return {fold(one.name): Placement(location, 0, one.result.rows, one.result.columns)}
