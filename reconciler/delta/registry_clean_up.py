"""Removing what tables of the registry need no more: files of replaced versions, and old entries of the log.

No commit is made. Delta's own VACUUM makes two where it removes something, and whoever replaces a document by
compare-and-set would take them for a write of somebody else.

Delta's checkpoints name each file that was replaced for a week, where a table does not say otherwise. A document that is
replaced twice a second has a million of those by then, and each tenth write would write them all. So tables of the registry
say so (`FORGETS_FILES`): longer than replaced files stay, so that each is removed before it is forgotten.

Their logs are listed with each write and whenever they are opened. Who opens one needs its newest checkpoint and what came
after, and nobody asks for an earlier version but who read it and is to replace it: whom the log no longer tells that it was
replaced, its newest version does. So entries stay for minutes, where files stay for an hour.
"""

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from reconciler.base.errors import RegistryError
from reconciler.delta.objects import remove_objects

if TYPE_CHECKING:
    from deltalake import DeltaTable


FORGETS_FILES: Final = {
    "delta.deletedFileRetentionDuration": "interval 2 hours",
    "delta.logRetentionDuration": "interval 10 minutes",
}
"""Of a table whose checkpoints name replaced files for so long, and whose log is so long."""


def forget_files(table: "DeltaTable") -> None:
    """Have a table that an earlier version made say so, too. One commit, once, on the version at which it is opened; where
    somebody else writes meanwhile, the next round tries again."""
    from deltalake import CommitProperties
    from deltalake.exceptions import DeltaError

    known = table.metadata().configuration
    if any(known.get(name) != value for name, value in FORGETS_FILES.items()):
        with suppress(DeltaError, OSError):
            table.alter.set_table_properties(FORGETS_FILES, commit_properties=CommitProperties(max_commit_retries=0))


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
