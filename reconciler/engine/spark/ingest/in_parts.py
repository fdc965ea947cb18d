"""A large range of records in two parts, each a commit of its own: those that can be read alone for less work
(`Incoming.proven`), then the others, by a second look at the range that only happens if there are any.

- Each part carries a transaction of its own. If the first wrote as many rows as the range has records, there is nothing
  else, and no second commit. So a range whose first part is there is never read in one part again, whatever was decided
  for it: `is_large` decides by the range alone whether to look for that commit.
- A range with others costs a look more than it would in one part. So the transport looks at its first record before
  (`Proven.is_likely`), and a connector of which there were others is read in one part for some ranges.
"""

from dataclasses import field, replace
from typing import Final

from pyspark.sql import SparkSession

from reconciler.base.dataclass import dataclass
from reconciler.engine.protocol import Ingestion, Written
from reconciler.engine.spark.ingest.changes import write_changes, write_proven
from reconciler.engine.spark.ingest.incoming import Incoming
from reconciler.engine.spark.locations import Sessions
from reconciler.engine.spark.writes import already_written
from reconciler.engine.stored import first_part_of

_LARGE: Final = 20_000
_RANGES_IN_ONE_PART: Final = 20


@dataclass(slots=True)
class Mixed:
    """The connectors of which a range had other records, each with how many large ranges more are read in one part."""

    _left: dict[str, int] = field(default_factory=dict)

    def tell(self, ingestion: Ingestion) -> None:
        """A range had others."""
        self._left[_key(ingestion)] = _RANGES_IN_ONE_PART

    def ask(self, ingestion: Ingestion) -> bool:
        """Whether to read this range in one part. Counts it."""
        left = self._left.pop(_key(ingestion), 0)
        if left > 1:
            self._left[_key(ingestion)] = left - 1
        return left > 0


def is_large(records: int | None) -> bool:
    """Whether a range of so many records can be worth two parts. Who lowers or raises this meets ranges half written."""
    return records is not None and records >= _LARGE


def first_part(sessions: Sessions, ingestion: Ingestion) -> Written | None:
    """What the first part wrote, if it did. The rows are 0 where they are not known any more."""
    return already_written(sessions, ingestion.target, first_part_of(ingestion.transaction))


def write(
    session: SparkSession, ingestion: Ingestion, incoming: Incoming, records: int, first: Written | None, mixed: Mixed
) -> Written:
    """Write a range of so many records; `first` is what its first part wrote, if it did before."""
    if incoming.proven is None or ingestion.first_on_time:
        # Late rows are found among those that fit, and counted.
        return write_changes(session, ingestion, replace(incoming, proven=None))
    if first is None:
        if mixed.ask(ingestion) or not incoming.proven.is_likely:
            return write_changes(session, ingestion, replace(incoming, proven=None))
        first = write_proven(session, ingestion, incoming.proven, first_part_of(ingestion.transaction))
    if first.rows >= records:
        return first
    mixed.tell(ingestion)
    others = write_changes(session, ingestion, incoming)
    return replace(others, rows=first.rows + others.rows)


def _key(ingestion: Ingestion) -> str:
    return f"{ingestion.target.location} {ingestion.connector}"
