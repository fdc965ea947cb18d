"""Which rows this process took out of tables and added to them, commit by commit: what was written last, and is not much.

A row that goes takes its file with it, and the log says of a file only that it was written anew. Whoever wrote it knows
better: a few rows of a large file. So whoever follows the table in this process need not compare files.

Only what was written to a disk is remembered. A commit is known again by its entry in the log. What another process wrote is
not known: whoever asks then compares files.
"""

from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING, Final

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject
from reconciler.base.recently_used import RecentlyUsed
from reconciler.delta.entries import Entry, entry_of

if TYPE_CHECKING:
    import pyarrow as pa

MOST_ROWS: Final = 20_000
"""Of a commit, and of all commits that one asks about."""
_MOST_BYTES: Final = 32 << 20
"""Of all that is remembered."""


@dataclass(frozen=True, slots=True)
class KnownChanges:
    """Rows that went and rows that came, in the columns of a schema (Delta's). A row may have gone and come again."""

    schema: JsonObject
    went: "pa.Table"
    came: "pa.Table"

    @property
    def rows(self) -> int:
        return int(self.went.num_rows + self.came.num_rows)

    @property
    def bytes(self) -> int:
        return int(self.went.nbytes + self.came.nbytes)


@dataclass(frozen=True, slots=True)
class _Committed:
    entry: Entry
    changes: KnownChanges


_committed: Final[RecentlyUsed[tuple[str, int], _Committed]] = RecentlyUsed(_MOST_BYTES, lambda one: one.changes.bytes)
_lock: Final = Lock()


def remember_changes(location: str, version: int, changes: KnownChanges) -> None:
    """Remember what the commit of this version did, which was made just now."""
    entry = entry_of(location, version)
    if entry is None or changes.rows > MOST_ROWS or changes.went.schema != changes.came.schema:
        return
    with _lock:
        _committed.put((location, version), _Committed(entry, changes))


def known_changes(location: str, ranges: Sequence[tuple[int, int]]) -> KnownChanges | None:
    """What changed in a table in these ranges of versions, after the first one, up to the second. None where that is not
    known of each of their commits, or is much."""
    known: list[KnownChanges] = []
    for version in (version for before, after in ranges for version in range(before + 1, after + 1)):
        one = _of_commit(location, version)
        if one is None:
            return None
        known.append(one)
    if not known or sum(one.rows for one in known) > MOST_ROWS:
        return None
    if len(known) == 1:
        return known[0]
    if any(one.schema != known[-1].schema for one in known):
        return None
    import pyarrow as pa

    went, came = pa.concat_tables([one.went for one in known]), pa.concat_tables([one.came for one in known])
    return KnownChanges(known[-1].schema, went, came)


def _of_commit(location: str, version: int) -> KnownChanges | None:
    with _lock:
        found = _committed.get((location, version))
    return found.changes if found is not None and found.entry == entry_of(location, version) else None
