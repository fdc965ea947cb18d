"""A step under way, as the head holds it: everything that it reads and writes is pinned, so that a repeat does the same.

What a step does is one of a closed union (`StepWork`). A kind that a newer version of reconciler wrote is kept as it is
stored (`UnknownWork`): such a head can be read, and its step can't be carried out.

Stored are its `kind`, its `step`, and everything else of it in `details`, as older versions of reconciler read it, too. A
value that does not have the shape it should raises KeyError, TypeError or ValueError: whoever reads the whole head says that
it is damaged.
"""

from collections.abc import Mapping
from dataclasses import asdict, field
from typing import Final, TypeAlias, assert_never

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject
from reconciler.base.json_objects import from_json, to_json
from reconciler.registry.placements import ForeignStep, Placement, foreign_to_json, placement_to_json


@dataclass(frozen=True, slots=True)
class Writer:
    """A process that wrote an intent: where it runs, and its number and start there."""

    host: str
    process: str


@dataclass(frozen=True, slots=True)
class Ingest:
    """What one connector (its qualified name) brings: the range that is read, and its position after it. Paths within the
    repository are stored without its root. `since` is when the oldest change of the range could first be seen at its source;
    None: nobody knows."""

    connector: str
    range: JsonObject
    position: JsonObject
    since: str | None = None

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


_WRITER: Final = "writer"
_TAKEN_OVER: Final = "taken_over"
_ALWAYS: Final = ("connector", "range", "position")


def kind_of(work: StepWork) -> str:
    """The name of a kind of step, as heads and the history of steps have it. Permanent."""
    match work:
        case ReadInputs():
            return "ingest"
        case RunStatement():
            return "statement"
        case FollowPipelines():
            return "follow"
        case RestoreCheckpoint():
            return "restore"
        case UnknownWork():
            return work.kind
        case _:
            assert_never(work)


def intent_to_json(intent: Intent) -> JsonObject:
    """An intent as it stands in a head."""
    details = dict(_details(intent.work))
    if intent.writer is not None:
        details[_WRITER] = asdict(intent.writer)
    if intent.taken_over:
        details[_TAKEN_OVER] = True
    kind = kind_of(intent.work)
    return {"step": intent.step, "kind": kind, "details": details, "at": intent.at, "withdrawn": intent.withdrawn}


def intent_from_json(value: JsonObject) -> Intent:
    """An intent as it stands in a head."""
    details = dict(value["details"])
    beside = {name: details.pop(name) for name in (_WRITER, _TAKEN_OVER) if name in details}
    members = {name: value[name] for name in ("step", "at", "withdrawn") if name in value}
    return from_json(Intent, {**members, **beside}, work=_work(value["kind"], details))


def _details(work: StepWork) -> JsonObject:
    match work:
        case ReadInputs():
            return {"ingests": [to_json(one, _ALWAYS) for one in work.ingests]}
        case RunStatement():
            return asdict(work)
        case FollowPipelines():
            return {"foreign": foreign_to_json(work.foreign)}
        case RestoreCheckpoint():
            value = {**asdict(work), "restored": {key: _restored_to_json(one) for key, one in work.restored.items()}}
            foreign = {"foreign": foreign_to_json(work.foreign)} if work.foreign else {}
            return {**{name: part for name, part in value.items() if name != "foreign"}, **foreign}
        case UnknownWork():
            return work.details
        case _:
            assert_never(work)


def _work(kind: str, details: JsonObject) -> StepWork:
    match kind:
        case "ingest":
            return from_json(ReadInputs, details)
        case "statement":
            return from_json(RunStatement, details)
        case "follow":
            return from_json(FollowPipelines, details)
        case "restore":
            restored = {key: _restored_from_json(one) for key, one in details["restored"].items()}
            return from_json(RestoreCheckpoint, details, restored=restored)
        case _:
            return UnknownWork(kind, details)


def _restored_to_json(one: RestoredRelation) -> JsonObject:
    value = asdict(one)
    return {**value, "placement": placement_to_json(one.placement)} if isinstance(one, PutBack) else value


def _restored_from_json(value: JsonObject) -> RestoredRelation:
    if "placement" in value:
        return from_json(PutBack, value)
    if "source" in value:
        return from_json(CopyRows, value)
    return from_json(ComputeAgain, value)
