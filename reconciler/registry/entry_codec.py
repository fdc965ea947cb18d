"""Entries of a journal to JSON and back. What is stored is what older versions of reconciler read, too.

A value that does not have the shape it should raises KeyError, TypeError or ValueError: whoever reads the whole head says
that it is damaged. So does a kind of step that this version does not know.
"""

from dataclasses import asdict
from typing import assert_never

from reconciler.base.digest import JsonObject
from reconciler.base.json_objects import from_json
from reconciler.plan.operations import (
    BootstrapView,
    ClearTable,
    CommitSnapshot,
    CreateTable,
    DropRelation,
    EvolveTable,
    ExtendTable,
    PublishTable,
    PublishView,
    RenameRelation,
    Step,
    step_from_json,
)
from reconciler.registry.entries import (
    BuildIntent,
    BuildResult,
    CommitResult,
    DropIntent,
    EntryIntent,
    EntryResult,
    EntryState,
    JournalEntry,
    Kept,
    KeptIntent,
    PublishCopyIntent,
    PublishIntent,
    PublishKeptIntent,
    RenameIntent,
    TableIntent,
)


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
