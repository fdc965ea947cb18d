"""The entries of an apply's journal: a step of the plan, what was pinned before its effect, and what that gave.

What is pinned is one of a closed union (`EntryIntent`), by what a repeat has to know. Locations are below the warehouse,
staging folders below the location.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from reconciler.engine.stored import ColumnType, FailedCalls
from reconciler.plan.operations import Step


class EntryState(StrEnum):
    """A journal entry's life: planned, then its intent is recorded, then its result."""

    PENDING = "pending"
    INTENDED = "intended"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Kept:
    """Rows of a view as they were at a published step: those of its table at the Delta version `version`; with `location`,
    those of another view's table there. `number` is that of the view's version."""

    version: int
    step: int
    number: int | None
    location: str | None = None


@dataclass(frozen=True, slots=True)
class TableIntent:
    """A table is made, cleared or extended; `expected` is the Delta version that is there (None: no table)."""

    location: str
    expected: int | None


@dataclass(frozen=True, slots=True)
class BuildIntent:
    """Rows are written into a staging folder: of a view, or of a table that is evolved from its version `read`."""

    location: str
    staging: str
    read: int | None = None

    @property
    def folder(self) -> str:
        """The staging folder, below the warehouse."""
        return f"{self.location}/{self.staging}"


@dataclass(frozen=True, slots=True)
class KeptIntent:
    """A view takes rows that are kept. Those of another view are copied into `staging`."""

    location: str
    kept: Kept
    staging: str | None = None


@dataclass(frozen=True, slots=True)
class PublishIntent:
    """The rows of a staging folder become those of a relation."""

    location: str
    expected: int | None
    staging: str


@dataclass(frozen=True, slots=True)
class PublishKeptIntent:
    """A view gets the rows again that its table had at the Delta version `version`."""

    location: str
    expected: int | None
    version: int


@dataclass(frozen=True, slots=True)
class PublishCopyIntent:
    """A view gets the rows that another view's table (`source`) has at the Delta version `version`; their files were copied
    into `staging`."""

    location: str
    expected: int | None
    staging: str
    source: str
    version: int


@dataclass(frozen=True, slots=True)
class RenameIntent:
    """A relation goes by another name; its folder stays."""

    location: str


@dataclass(frozen=True, slots=True)
class DropIntent:
    """The table of this id is moved to the folder `aside` and removed. `aside` is None of an apply that an older version
    began: the folder is removed, whatever is there."""

    location: str
    identity: str | None
    aside: str | None


EntryIntent: TypeAlias = (
    TableIntent
    | BuildIntent
    | KeptIntent
    | PublishIntent
    | PublishKeptIntent
    | PublishCopyIntent
    | RenameIntent
    | DropIntent
)


@dataclass(frozen=True, slots=True)
class CommitResult:
    """What was committed to a relation's table: its Delta version since."""

    version: int


@dataclass(frozen=True, slots=True)
class BuildResult:
    """What is known of rows that were built, or kept. `seconds` and `rows_read` are of the build of a view: how long it took
    (None: it was there already), and how many rows it read. `columns` are known of views."""

    rows: int | None = None
    bytes: int | None = None
    columns: tuple[ColumnType, ...] = ()
    seconds: float | None = None
    rows_read: int | None = None
    failed_calls: tuple[FailedCalls, ...] = ()


EntryResult: TypeAlias = CommitResult | BuildResult


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One step of an apply under way; `intent` is recorded before its effect, `result` after it, where it gives any."""

    id: str
    step: Step
    state: EntryState = EntryState.PENDING
    intent: EntryIntent | None = None
    result: EntryResult | None = None


def staging_of(intent: EntryIntent | None) -> str | None:
    """The staging folder that an intent names, below the warehouse; None where it names none."""
    match intent:
        case BuildIntent() | KeptIntent() | PublishIntent() | PublishCopyIntent() if intent.staging is not None:
            return f"{intent.location}/{intent.staging}"
        case _:
            return None
