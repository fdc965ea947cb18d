"""The entries of an apply's journal: a step of the plan, what was pinned before its effect, and what that gave.

What is pinned is one of a closed union (`EntryIntent`), by what a repeat has to know. Locations are below the warehouse,
staging folders below the location.

What is stored is what older versions of reconciler read, too. A value that does not have the shape it should raises
KeyError, TypeError or ValueError: whoever reads the whole head says that it is damaged. So does a kind of step that this
version does not know.
"""

from dataclasses import asdict
from enum import StrEnum
from typing import TypeAlias, assert_never

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject
from reconciler.base.json_objects import from_json
from reconciler.engine.stored import ColumnType, FailedCalls
from reconciler.plan.operations.bootstrap_view import BootstrapView
from reconciler.plan.operations.clear_table import ClearTable
from reconciler.plan.operations.commit_snapshot import CommitSnapshot
from reconciler.plan.operations.create_table import CreateTable
from reconciler.plan.operations.drop_relation import DropRelation
from reconciler.plan.operations.evolve_table import EvolveTable
from reconciler.plan.operations.extend_table import ExtendTable
from reconciler.plan.operations.publish_table import PublishTable
from reconciler.plan.operations.publish_view import PublishView
from reconciler.plan.operations.rename_relation import RenameRelation
from reconciler.plan.operations.step import Step, step_from_json


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


def entry_to_json(entry: JournalEntry) -> JsonObject:
    """An entry as it stands in a head."""
    return {
        "id": entry.id,
        "step": entry.step.to_json(),
        "state": entry.state.value,
        "intent": intent_to_json(entry.intent),
        "result": result_to_json(entry.result),
    }


def entry_from_json(value: JsonObject) -> JournalEntry:
    """An entry as it stands in a head."""
    step = step_from_json(value["step"])
    intent = _intent(step, value["intent"]) if value["intent"] else None
    result = _result(step, value["result"]) if value["result"] else None
    return JournalEntry(value["id"], step, EntryState(value["state"]), intent, result)


def intent_to_json(intent: EntryIntent | None) -> JsonObject:
    """What was pinned before an effect, as heads and the history of journals have it."""
    match intent:
        case None:
            return {}
        case TableIntent() | PublishIntent() | RenameIntent():
            return asdict(intent)
        case BuildIntent():
            return _known(asdict(intent))
        case KeptIntent():
            return _known({**asdict(intent), "kept": _kept_to_json(intent.kept)})
        case PublishKeptIntent():
            return {"location": intent.location, "expected": intent.expected, "kept": intent.version}
        case PublishCopyIntent():
            stands = {"location": intent.location, "expected": intent.expected, "staging": intent.staging}
            return {**stands, "copied": {"location": intent.source, "version": intent.version}}
        case DropIntent():
            if intent.aside is None:
                return {"location": intent.location}
            return {"location": intent.location, "identity": intent.identity, "aside": intent.aside}
        case _:
            assert_never(intent)


def result_to_json(result: EntryResult | None) -> JsonObject:
    """What an effect gave, as heads and the history of journals have it."""
    match result:
        case None:
            return {}
        case CommitResult():
            return {"version": result.version}
        case BuildResult():
            return build_result_to_json(result)
        case _:
            assert_never(result)


def build_result_to_json(result: BuildResult) -> JsonObject:
    """What is known of rows that were built."""
    value = {key: part for key, part in asdict(result).items() if key in ("rows", "bytes") or part not in (None, ())}
    return {key: list(part) if isinstance(part, tuple) else part for key, part in value.items()}


def _intent(step: Step, value: JsonObject) -> EntryIntent:
    location = value["location"]
    match step:
        case CreateTable() | ClearTable() | ExtendTable():
            return TableIntent(location, value["expected"])
        case BootstrapView() if "kept" in value:
            return KeptIntent(location, Kept(**value["kept"]), value.get("staging"))
        case BootstrapView() | EvolveTable():
            return BuildIntent(location, value["staging"], value.get("read"))
        case PublishView() if "copied" in value:
            copied = value["copied"]
            staging, source = value["staging"], copied["location"]
            return PublishCopyIntent(location, value["expected"], staging, source, copied["version"])
        case PublishView() if "kept" in value:
            return PublishKeptIntent(location, value["expected"], value["kept"])
        case PublishTable() | PublishView():
            return PublishIntent(location, value["expected"], value["staging"])
        case RenameRelation():
            return RenameIntent(location)
        case DropRelation():
            return DropIntent(location, value.get("identity"), value.get("aside"))
        case CommitSnapshot():
            raise ValueError("the last entry of a journal pins nothing")
        case _:
            assert_never(step)


def _result(step: Step, value: JsonObject) -> EntryResult:
    if isinstance(step, BootstrapView | EvolveTable):
        return from_json(BuildResult, value)
    return CommitResult(value["version"])


def _kept_to_json(kept: Kept) -> JsonObject:
    found = {"version": kept.version, "step": kept.step, "number": kept.number}
    return found if kept.location is None else {**found, "location": kept.location}


def _known(value: JsonObject) -> JsonObject:
    return {key: part for key, part in value.items() if part is not None}
