"""The journal of an apply: every step records its intent, runs, and records its result, in the pipeline's head.

Each record is a compare-and-set of the head, so that a process that lost the pipeline can record nothing more. An entry's
effect may happen without its record (the process died in between); effects are therefore repeatable, and the intent holds
everything that a repeat needs to be the same: paths, expected versions, transaction numbers.
"""

import uuid
from collections.abc import Callable
from dataclasses import replace

from reconciler.digest import JsonObject
from reconciler.errors import RegistryError
from reconciler.reconcile.boundaries import BEFORE, EFFECTED, INTENDED, RECORDED, Boundary
from reconciler.registry.model import EntryState, Head, Journal, JournalEntry, Stored
from reconciler.registry.protocol import Registry


class OpenJournal:
    """The journal of one pipeline while it is worked on: the newest head that this process knows, and its records."""

    def __init__(self, registry: Registry, stored: Stored[Head], boundary: Boundary) -> None:
        self._registry = registry
        self._stored = stored
        self._boundary = boundary

    @property
    def head(self) -> Head:
        return self._stored.value

    @property
    def journal(self) -> Journal:
        journal = self._stored.value.journal
        if journal is None:
            raise RegistryError("G602", f"the journal of {self.head.pipeline!r} is not open")
        return journal

    def replace_head(self, head: Head) -> None:
        """Write the head. Raises RegistryConflict when this process lost the pipeline."""
        self._stored = self._registry.replace_head(self._stored.token, head, str(uuid.uuid4()))

    def run_entry(
        self,
        entry: JournalEntry,
        pin: Callable[[], JsonObject],
        effect: Callable[[JsonObject], JsonObject],
    ) -> JournalEntry:
        """Bring one entry to done: pin and record its intent unless that happened, run its effect, record the result."""
        kind = str(entry.step["kind"])
        if entry.state is EntryState.DONE:
            return entry
        if entry.state is EntryState.PENDING:
            self._boundary(f"{kind}:{BEFORE}")
            entry = replace(entry, state=EntryState.INTENDED, intent=pin())
            self._record(entry)
        self._boundary(f"{kind}:{INTENDED}")
        result = effect(entry.intent)
        self._boundary(f"{kind}:{EFFECTED}")
        entry = replace(entry, state=EntryState.DONE, result=result)
        self._record(entry)
        self._boundary(f"{kind}:{RECORDED}")
        return entry

    def _record(self, entry: JournalEntry) -> None:
        journal = self.journal
        entries = tuple(entry if known.id == entry.id else known for known in journal.entries)
        self.replace_head(replace(self.head, journal=replace(journal, entries=entries)))
