"""A step under way, as the head holds it: everything that it reads and writes is pinned, so that a repeat does the same.

What a step does is one of a closed union (`StepWork`). A kind that a newer version of reconciler wrote is kept as it is
stored (`UnknownWork`): such a head can be read, and its step can't be carried out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from reconciler.base.digest import JsonObject
from reconciler.registry.placements import ForeignStep, Placement


@dataclass(frozen=True, slots=True)
class Writer:
    """A process that wrote an intent: where it runs, and its number and start there."""

    host: str
    process: str


@dataclass(frozen=True, slots=True)
class Ingest:
    """What one connector (its qualified name) brings: the range that is read, and its position after it. Paths within the
    repository are stored without its root."""

    connector: str
    range: JsonObject
    position: JsonObject

    @property
    def files(self) -> tuple[str, ...]:
        """The files that it reads, as they are stored; none of what reads no files."""
        return tuple(str(one["path"]) for one in self.range.get("files", ()))


@dataclass(frozen=True, slots=True)
class ReadInputs:
    """Inputs are read."""

    ingests: tuple[Ingest, ...]


@dataclass(frozen=True, slots=True)
class RunStatement:
    """One INSERT or DELETE is run on a table (folded); `relations` are those that it reads, as it names them."""

    sql: str
    table: str
    relations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FollowPipelines:
    """Other pipelines are read at newer steps of theirs, by pipeline."""

    foreign: Mapping[str, ForeignStep]


@dataclass(frozen=True, slots=True)
class PutBack:
    """A relation goes back to the Delta version `read` of its own table, which `placement` tells; `expected` is the version
    that stands there now."""

    location: str
    expected: int
    read: int
    placement: Placement


@dataclass(frozen=True, slots=True)
class CopyRows:
    """A table takes the rows that the Delta version `read` of another pipeline's table (`source`) has. `expected` is the
    version that stands at its place now (None: no table)."""

    location: str
    expected: int | None
    source: str
    read: int


@dataclass(frozen=True, slots=True)
class ComputeAgain:
    """A view is computed from the tables that were brought back before it."""

    location: str
    expected: int | None


RestoredRelation: TypeAlias = PutBack | CopyRows | ComputeAgain


@dataclass(frozen=True, slots=True)
class RestoreCheckpoint:
    """A pipeline goes to a checkpoint of itself or of another one (`source`), taken at step `step` of that.

    `record`, `digest`, `apply_id`, `by` and `follows` are those of what is applied afterwards, `positions` those of its
    inputs. `restored` has every relation (folded) that is written, `foreign` what the checkpoint had read of others.
    """

    checkpoint: str
    source: str
    step: int
    record: str
    digest: str
    apply_id: str
    by: str
    follows: str
    positions: Mapping[str, JsonObject]
    restored: Mapping[str, RestoredRelation]
    foreign: Mapping[str, ForeignStep] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UnknownWork:
    """What a newer version of reconciler left open."""

    kind: str
    details: JsonObject


StepWork: TypeAlias = ReadInputs | RunStatement | FollowPipelines | RestoreCheckpoint | UnknownWork


@dataclass(frozen=True, slots=True)
class Intent:
    """A step under way. `withdrawn`: it is being put back, since the engine refused it or (`taken_over`) its writer lost the
    pipeline, and may still be alive. `writer` is None of an intent that an older version wrote."""

    step: int
    work: StepWork
    at: str
    withdrawn: bool = False
    taken_over: bool = False
    writer: Writer | None = None

    @property
    def ingests(self) -> tuple[Ingest, ...]:
        """What connectors bring in this step."""
        return self.work.ingests if isinstance(self.work, ReadInputs) else ()

    @property
    def foreign(self) -> Mapping[str, ForeignStep]:
        """What is read of other pipelines by this step, where it goes on with them, or back."""
        return self.work.foreign if isinstance(self.work, FollowPipelines | RestoreCheckpoint) else {}
