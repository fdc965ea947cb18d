"""The intent of a step to JSON and back: its `kind`, its `step`, and everything else of it in `details`.

What is stored is what older versions of reconciler read, too. A value that does not have the shape it should raises
KeyError, TypeError or ValueError: whoever reads the whole head says that it is damaged.
"""

from dataclasses import asdict
from typing import Final, assert_never

from reconciler.base.digest import JsonObject
from reconciler.base.json_objects import from_json
from reconciler.registry.intents import (
    ComputeAgain,
    CopyRows,
    FollowPipelines,
    Intent,
    PutBack,
    ReadInputs,
    RestoreCheckpoint,
    RestoredRelation,
    RunStatement,
    StepWork,
    UnknownWork,
)
from reconciler.registry.placement_codec import foreign_to_json, placement_to_json

_WRITER: Final = "writer"
_TAKEN_OVER: Final = "taken_over"


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
        case ReadInputs() | RunStatement():
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
