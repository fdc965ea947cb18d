"""What this process saw last of small tables on a disk: the opened table, and what was read of it. It serves again as long
as the log shows that it is still the newest version of the same table.

Two looks at the log's folder take a hundredth of the time that it takes to open a table and to query it, and a command asks
for the same head and the same rows many times.

An opened table serves one writer at a time: who is to write takes it away, and puts it back as written. Who writes without
an opened table puts back what it knows of what it wrote. Threads of a process share what it saw.
"""

import threading
import time
from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any, Final

from reconciler.base.dataclass import dataclass
from reconciler.delta.entries import entry_of

if TYPE_CHECKING:
    from deltalake import DeltaTable

_SEEN_SECONDS: Final = 60.0
"""So long what was seen may serve. Within it no clean-up takes a log entry that came after: which takes ten minutes."""

_MOST_TABLES: Final = 500
_MOST_ANSWERS: Final = 20


@dataclass(frozen=True, slots=True)
class SeenTable:
    """A table as it was seen last: opened, at this version or one before (None: it was not), with what was read of it by
    question, which file its commit was, and when that was so."""

    version: int
    table: "DeltaTable | None"
    answers: dict[Hashable, Any]
    commit: tuple[int, ...]
    at: float

    def remember(self, question: Hashable, answer: object) -> None:
        """Keep what was read of the table."""
        if len(self.answers) < _MOST_ANSWERS:
            self.answers[question] = answer


class SeenTables:
    """The tables that this process saw, by location: only those on a disk, where a look at the log costs next to nothing."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._seen: dict[str, SeenTable] = {}
        self._one_at_a_time = threading.Lock()

    def keep(self, location: str, version: int, table: "DeltaTable | None", answers: Mapping[Hashable, object]) -> None:
        """What was just read, or written, as the newest version. `table` was opened at this version or one before
        (None: it was not)."""
        commit = entry_of(location, version)
        if commit is None:
            return
        seen = SeenTable(version, table, dict(answers), commit, self._clock())
        with self._one_at_a_time:
            self._seen.pop(location, None)
            self._seen[location] = seen
            for old in list(self._seen)[:-_MOST_TABLES]:
                del self._seen[old]

    def newest(self, location: str) -> SeenTable | None:
        """The table, if what was seen is certainly its newest version."""
        seen = self._seen.get(location)
        if seen is None or not self._still_stands(location, seen) or entry_of(location, seen.version + 1) is not None:
            return None
        return seen

    def take(self, location: str, version: int) -> SeenTable | None:
        """The table at this version."""
        with self._one_at_a_time:
            seen = self._seen.pop(location, None)
        if seen is None or seen.version != version or not self._still_stands(location, seen):
            return None
        return seen

    def _still_stands(self, location: str, seen: SeenTable) -> bool:
        return 0 <= self._clock() - seen.at < _SEEN_SECONDS and entry_of(location, seen.version) == seen.commit
