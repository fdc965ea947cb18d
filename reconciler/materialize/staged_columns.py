"""The columns of tables in staging folders, remembered: such a folder is written once, and a step asks for those of the step
before. On an object store they are read each time."""

from threading import Lock
from typing import Final

from reconciler.base.recently_used import RecentlyUsed
from reconciler.delta.entries import Entry, entry_of
from reconciler.delta.tables import typed_columns
from reconciler.engine.protocol import ColumnType

_MOST: Final = 2_000

_known: Final[RecentlyUsed[tuple[str, Entry], tuple[ColumnType, ...]]] = RecentlyUsed(_MOST)
_lock: Final = Lock()


def staged_columns(location: str) -> tuple[ColumnType, ...]:
    """The columns of the table in a staging folder, with their types as Spark names them, in order. Empty when there is no
    table."""
    entry = entry_of(location, 0)
    with _lock:
        known = _known.get((location, entry)) if entry is not None else None
    if known is not None:
        return known
    found = typed_columns(location, 0)
    if found:
        remember_columns(location, found)
    return found


def remember_columns(location: str, columns: tuple[ColumnType, ...]) -> None:
    """Remember those of a table that was just written."""
    entry = entry_of(location, 0)
    if entry is None:
        return
    with _lock:
        _known.put((location, entry), columns)
