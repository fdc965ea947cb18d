"""The values of an explanation: a pipeline's relations in a line each, and one relation with everything about it."""

from collections.abc import Mapping
from enum import StrEnum

from reconciler.base.dataclass import dataclass
from reconciler.base.diagnostics import Location
from reconciler.diff.model import MetadataChange, RelationChange, Spared
from reconciler.diff.moves import Renames
from reconciler.incremental.model import Maintenance
from reconciler.plan.explain.origins import Origins
from reconciler.plan.impact import Measure
from reconciler.plan.model import ConnectorOutcome, Hazard, Plan
from reconciler.project.program.model import Program, Read
from reconciler.sql.spelling import Spelling


class State(StrEnum):
    """What the plan says of a relation. UNKNOWN: the files have errors, so that there is no plan."""

    ADDED = "added"
    MODIFIED = "modified"
    REMOVED = "removed"
    SPARED = "spared"
    UNTOUCHED = "untouched"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Sides:
    """What is applied and what is desired (None: nothing), the plan between them (None: the files have errors), and what
    of it concerns each relation by folded desired name (`make.sides_of`)."""

    plan: Plan | None
    applied: Program | None
    desired: Program | None
    renames: Renames
    changes: Mapping[str, tuple[RelationChange, ...]]
    spared: Mapping[str, tuple[Spared, ...]]
    metadata: Mapping[str, tuple[MetadataChange, ...]]

    @property
    def spelling(self) -> Spelling:
        """What of the spelling of texts is meaning. Both sides are compared by one rule."""
        sides = [program.spelling for program in (self.applied, self.desired) if program is not None]
        return max(sides, default=Spelling.EVENED_OUT)


@dataclass(frozen=True, slots=True)
class RelationLine:
    """A relation in the overview. `columns` is their number, None when it can't be known without Spark."""

    name: str
    kind: str
    columns: int | None
    state: State
    why: str


@dataclass(frozen=True, slots=True)
class ColumnExplanation:
    """A column. `type` is None where only Spark knows it, and it was never computed; `origins` is None for a table."""

    name: str
    type: str | None
    nullable: bool
    origins: Origins | None


@dataclass(frozen=True, slots=True)
class KeyCount:
    """How many keys of a stream the rows of a step had."""

    keys: int
    rows: int
    step: int


@dataclass(frozen=True, slots=True)
class Stored:
    """Where a relation stands, and how much it holds; `state`: how much a stream remembers, once it went a step; `keys`: how
    many keys the last step with many rows had."""

    location: str
    version: int
    columns: Mapping[str, str]
    measure: Measure
    state: Measure | None = None
    keys: KeyCount | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a fingerprint: its digest on either side, shortened; None where the relation is not."""

    name: str
    applied: str | None
    desired: str | None


@dataclass(frozen=True, slots=True)
class Written:
    """Something that is written and not hashed, and whether it differs between the sides."""

    what: str
    differs: bool


@dataclass(frozen=True, slots=True)
class RelationExplanation:
    """See the module. `same_meaning` is the canonical text of a query whose written text differs and whose meaning does
    not; `texts` are then both of these. `rows_from` is None for a table. `maintained`: how steps bring a stored view up to
    date; None for everything else."""

    name: str
    kind: str
    state: State
    effect: str
    why: tuple[str, ...]
    declared: Location | None
    is_declared: bool
    stored: Stored | None
    columns: tuple[ColumnExplanation, ...]
    rows_from: Origins | None
    reads: tuple[Read, ...]
    read_by: tuple[str, ...]
    parts: tuple[Part, ...]
    written: tuple[Written, ...]
    same_meaning: str | None
    texts: tuple[str, str] | None
    connectors: tuple[ConnectorOutcome, ...]
    hazards: tuple[Hazard, ...]
    maintained: Maintenance | None = None
