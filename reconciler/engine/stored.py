"""Columns as they are stored, what is told of a computation, and the marks of commits: what storage and engine share."""

from datetime import date

from reconciler.base.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A column as stored: its name, its Spark type in SQL (`decimal(9,6)`, `string`), whether NULL may stand in it."""

    name: str
    type: str
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class Between:
    """Rows whose value of a column, of whole numbers or dates, lies between these two, both included."""

    column: str
    least: int | date
    greatest: int | date


@dataclass(frozen=True, slots=True)
class FailedCalls:
    """How many calls of a function failed while a view was computed, and gave NULL instead. Spark may call a function more
    than once for a row. `first` is what the first of them said that was heard of."""

    function: str
    count: int
    first: str


@dataclass(frozen=True, slots=True)
class Transaction:
    """Marks a Delta commit so that a repeat is skipped: Delta's `txn` action (application id and a rising version)."""

    application: str
    version: int


def first_part_of(ingest: Transaction) -> Transaction:
    """The transaction of the first commit of a range that is written in two: `ingest` is that of the last."""
    return Transaction(f"{ingest.application}/proven", ingest.version)


def dead_letters_of(ingest: Transaction) -> Transaction:
    """The transaction of the records that an ingestion rejected, in the table of dead letters."""
    return Transaction(f"{ingest.application}/dead-letters", ingest.version)


def compaction_of(write: Transaction) -> Transaction:
    """The transaction of the commit after a write in which small files are put together."""
    return Transaction(f"{write.application}/compaction", write.version)
