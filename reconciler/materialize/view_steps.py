"""What a step of a view has around it, and what it makes of the view."""

from collections.abc import Callable, Collection
from typing import Final

from reconciler.base.dataclass import dataclass
from reconciler.engine.protocol import Built
from reconciler.environment.given_up import GivenUp
from reconciler.incremental.choice import Choice, Size
from reconciler.incremental.derive import stored_reads
from reconciler.incremental.linked_reads import KeptKeys, TermReads, linked_reads
from reconciler.incremental.model import Method, Way, froms_of, read_whole
from reconciler.incremental.needed_rows import Within, needed_rows
from reconciler.materialize.changed_sources import StepChanges
from reconciler.project.program.model import Program, View
from reconciler.registry.placements import StreamState

ENDED: Final = frozenset({"X701", "X707"})
"""Where the engine is gone, nothing is tried again."""


@dataclass(frozen=True, slots=True)
class Around:
    """What a step of a view has around it: the folder of the view, what changed below it, what says which way to take, and
    which views could not follow. `kept` is told when what is kept was written, `check` raises where this process lost the
    pipeline."""

    location: str
    changes: StepChanges
    choice: Choice
    given_up: GivenUp
    kept: Callable[[], None]
    check: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Brought:
    """What a step made of a view: its staged rows, what is kept of it, and which way it took. `added` is the folder of rows
    that are to be added, `changed` that of rows that come and go (None: the staged rows are all rows). `beside` is one that
    nobody needs any more."""

    built: Built
    state: StreamState | None
    way: Way
    added: str | None = None
    changed: str | None = None
    beside: str | None = None


def sizes_of(program: Program, view: View, changes: StepChanges) -> dict[str, Size]:
    """Of all relations that a view reads, itself or by what is computed in place. Of those of others nothing is known."""
    placements = {key: changes.now.get(key) for key in stored_reads(program, view)}
    return {key: Size(place.rows, place.bytes) if place else Size(None, None) for key, place in placements.items()}


def needed_by(method: Method, changes: StepChanges, changed: Collection[str]) -> dict[str, Within]:
    """What the terms of what changed need of what they read, by the names of sources. Subqueries may need all."""
    needed = needed_rows(froms_of(method), changed, changes.changed_keys)
    return {name: within for name, within in needed.items() if name not in read_whole(method)}


def terms_of(method: Method, changed: Collection[str], kept: KeptKeys | None = None) -> tuple[TermReads, ...]:
    """What the terms of what changed read, and what leads from one to the next."""
    return linked_reads(froms_of(method), changed, read_whole(method), kept)
