"""The journal of an apply: every step records its intent, runs, and records its result, in the pipeline's head.

Each record is a compare-and-set of the head, so that a process that lost the pipeline can record nothing more. An entry's
effect may happen without its record (the process died in between); effects are therefore repeatable, and the intent holds
everything that a repeat needs to be the same: paths, expected versions, transaction numbers.

The head holds the whole journal, so a record costs in proportion to the number of entries. Of long journals, therefore,
consecutive entries of one kind are recorded together, so many at a time that the number of records stays the same, however
long the journal is: their intents before the first effect, their results after the last. Whoever dies in between leaves
more effects to be recognised, and nothing else.
"""

import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from reconciler.base.boundaries import BEFORE, EFFECTED, INTENDED, RECORDED, Boundary
from reconciler.base.errors import RegistryError
from reconciler.registry.entries import EntryIntent, EntryResult, EntryState, JournalEntry
from reconciler.registry.model import Head, Journal, Stored
from reconciler.registry.protocol import Registry

# Journals of up to so many entries record each by itself; longer ones take so many records for each kind of record.
_RECORDS = 200

Pin: TypeAlias = Callable[[JournalEntry], EntryIntent]
Effect: TypeAlias = Callable[[JournalEntry], EntryResult | None]


class OpenJournal:
    """The journal of one pipeline while it is worked on: the newest head that this process knows, and its records. `check`
    raises when this process has lost the pipeline; it is asked before each effect."""

    def __init__(
        self, registry: Registry, stored: Stored[Head], boundary: Boundary, check: Callable[[], None] = lambda: None
    ) -> None:
        self._registry = registry
        self._stored = stored
        self._boundary = boundary
        self.check = check

    @property
    def stored(self) -> Stored[Head]:
        """The newest head that this process knows."""
        return self._stored

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

    def batches(self) -> Iterator[tuple[JournalEntry, ...]]:
        """The entries that are not done, but for the last of the journal, in order; those together that are recorded
        together."""
        entries = self.journal.entries
        size = max(1, len(entries) // _RECORDS)
        batch: list[JournalEntry] = []
        for entry in entries[:-1]:
            if entry.state is EntryState.DONE:
                continue
            if batch and (len(batch) == size or type(batch[-1].step) is not type(entry.step)):
                yield tuple(batch)
                batch = []
            batch.append(entry)
        if batch:
            yield tuple(batch)

    def run_batch(self, batch: Sequence[JournalEntry], pin: Pin, effect: Effect) -> tuple[JournalEntry, ...]:
        """Bring entries of one kind to done: pin and record their intents, run their effects, record the results. `pin`
        gives an entry's intent; of one that has an intent already it gives that, or another one in its place."""
        kind = batch[0].step.KIND
        intended = []
        for entry in batch:
            if entry.state is EntryState.PENDING:
                self._boundary(f"{kind}:{BEFORE}")
            intended.append(replace(entry, state=EntryState.INTENDED, intent=pin(entry)))
        if intended != list(batch):
            self._record(intended)
        done = []
        for entry in intended:
            self._boundary(f"{kind}:{INTENDED}")
            self.check()
            result = effect(entry)
            self._boundary(f"{kind}:{EFFECTED}")
            done.append(replace(entry, state=EntryState.DONE, result=result))
        self._record(done)
        for _ in done:
            self._boundary(f"{kind}:{RECORDED}")
        return tuple(done)

    def _record(self, changed: Sequence[JournalEntry]) -> None:
        journal, by_id = self.journal, {entry.id: entry for entry in changed}
        entries = tuple(by_id.get(known.id, known) for known in journal.entries)
        self.replace_head(replace(self.head, journal=replace(journal, entries=entries)))
