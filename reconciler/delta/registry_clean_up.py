"""Removing what tables of the registry need no more: files of replaced versions, and old entries of the log.

No commit is made. Delta's own VACUUM makes two where it removes something, and whoever replaces a document by
compare-and-set would take them for a write of somebody else.
"""

from typing import TYPE_CHECKING

from reconciler.base.errors import RegistryError
from reconciler.delta.objects import remove_objects

if TYPE_CHECKING:
    from deltalake import DeltaTable


def clean_up(table: "DeltaTable", location: str, hours: int) -> None:
    """Remove files that no version of the last `hours` has, and entries of the log that are as old and not needed.

    Clean-up is housekeeping: where it fails, what was to be written is written, and the next round tries again.
    """
    from deltalake.exceptions import DeltaError

    try:
        table.update_incremental()
        remove_objects(location, table.vacuum(retention_hours=hours, enforce_retention_duration=False, dry_run=True))
        table.cleanup_metadata()
    except (DeltaError, RegistryError, OSError):
        return
