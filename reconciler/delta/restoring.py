"""Putting tables back to what they were: after a step that was withdrawn, after a writer that was taken over, and to a
checkpoint. No row is copied: Delta's restore names the files of the earlier version again.

`put_back` is for what a writer left behind that may still be alive. It gives a table the contents of a version and marks it
with that writer's transactions: what that writer still commits conflicts with the mark or is skipped for it, in Spark and in
`delta.tables`. So the order does not matter in which the two meet.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reconciler.base.errors import EngineError, RegistryConflict, RegistryError
from reconciler.delta.commits import version_of
from reconciler.delta.contents import has_missing_files
from reconciler.delta.opening import open_table
from reconciler.delta.tables import table_version
from reconciler.delta.transactions import commit_properties, has_transaction, marking_properties
from reconciler.delta.writing import writing
from reconciler.engine.stored import Transaction

if TYPE_CHECKING:
    from deltalake import CommitProperties, DeltaTable

_ATTEMPTS = 10


def restore(location: str, version: int, expected: int | None, transaction: Transaction) -> int:
    """Give a table that stands at `expected` (None: it was gone already) the contents that it had at `version`, in one
    commit; returns the version that holds them, which is `version` itself where it stands there. Raises EngineError (X730)
    when that version is gone, or the table."""
    current = open_table(location)
    if current is None:
        raise EngineError("X730", f"the table at {location} no longer exists")
    if has_transaction(current, transaction):
        return version_of(location, int(current.version()), transaction)
    if current.version() != expected:
        raise RegistryConflict("G605", f"the table at {location} is at version {current.version()}, expected {expected}")
    if version == expected:
        return version
    require_version(location, version)
    _restore(current, location, version, commit_properties(transaction))
    return version_of(location, table_version(location) or 0, transaction)


def put_back(location: str, version: int, marks: Sequence[Transaction] = ()) -> None:
    """Give a table the contents that it had at `version`, whatever was written since; nothing is done when it stands there
    already. With `marks`, the table has these transactions afterwards, in any case: a writer of one of them that is still at
    work conflicts, and one that begins is told that its write is done.

    Transactions that came after `version` stay on record: whoever writes next must use later ones.
    """
    for attempt in range(1, _ATTEMPTS + 1):
        current = open_table(location)
        if current is None or (current.version() == version and not marks):
            return
        properties = marking_properties(marks)
        try:
            if current.version() == version:
                with writing(location, current.version()):
                    current.create_write_transaction([], "append", current.schema(), [], commit_properties=properties)
            else:
                _restore(current, location, version, properties)
            return
        except RegistryConflict as error:
            # The writer that is fenced off committed meanwhile: that is put back, too. It has no second such commit.
            if attempt == _ATTEMPTS:
                raise RegistryConflict(
                    "G605", f"the table at {location} can't be restored to version {version}: {error}"
                ) from error


def take_out_rows(location: str, condition: str, marks: Sequence[Transaction] = ()) -> None:
    """Delete the rows that meet a condition; nothing is done where there is no table. `marks` as for `put_back`."""
    for attempt in range(1, _ATTEMPTS + 1):
        current = open_table(location)
        if current is None:
            return
        try:
            if any((current.transaction_version(mark.application) or -1) < mark.version for mark in marks):
                # By itself: a deletion that finds nothing commits nothing.
                properties = marking_properties(marks)
                with writing(location, current.version()):
                    current.create_write_transaction([], "append", current.schema(), [], commit_properties=properties)
                current = open_table(location) or current
            with writing(location, current.version()):
                current.delete(condition, commit_properties=marking_properties(()))
            return
        except RegistryConflict as error:
            if attempt == _ATTEMPTS:
                raise RegistryConflict("G605", f"rows can't be removed from {location}: {error}") from error


def require_version(location: str, version: int) -> None:
    """Raise EngineError (X730) unless a table can be read as it was at `version`: log and all data files are there."""
    try:
        table = open_table(location, version)
    except RegistryError as error:
        raise EngineError(
            "X730", f"version {version} of the table at {location} no longer exists: {error.message}"
        ) from error
    if table is None:
        raise EngineError("X730", f"the table at {location} no longer exists")
    if has_missing_files(table, location):
        raise EngineError(
            "X730", f"version {version} of the table at {location} no longer exists: a vacuum deleted its files"
        )


def _restore(table: "DeltaTable", location: str, version: int, properties: "CommitProperties") -> None:
    with writing(location, table.version()):
        table.restore(version, commit_properties=properties)
