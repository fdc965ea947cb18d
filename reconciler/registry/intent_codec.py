"""The intent of a step to JSON and back: its `kind`, its `step`, and everything else of it in `details`.

What is stored is what older versions of reconciler read, too. A value that does not have the shape it should raises
KeyError, TypeError or ValueError: whoever reads the whole head says that it is damaged.
"""

from collections.abc import Mapping
from typing import Any, Final, assert_never

from reconciler.base.digest import JsonObject
from reconciler.registry.intents import (
    ComputeAgain,
    CopyRows,
    FollowPipelines,
    Ingest,
    Intent,
    PutBack,
    ReadInputs,
    RestoreCheckpoint,
    RestoredRelation,
    RunStatement,
    StepWork,
    UnknownWork,
    Writer,
)
from reconciler.registry.placement_codec import (
    foreign_from_json,
    foreign_to_json,
    placement_from_json,
    placement_to_json,
)

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
        details[_WRITER] = {"host": intent.writer.host, "process": intent.writer.process}
    if intent.taken_over:
        details[_TAKEN_OVER] = True
    kind = kind_of(intent.work)
    return {"step": intent.step, "kind": kind, "details": details, "at": intent.at, "withdrawn": intent.withdrawn}


def intent_from_json(value: JsonObject) -> Intent:
    """An intent as it stands in a head."""
    details = dict(value["details"])
    writer, taken_over = details.pop(_WRITER, None), bool(details.pop(_TAKEN_OVER, False))
    return Intent(
        step=value["step"],
        work=_work(value["kind"], details),
        at=value["at"],
        # A head that an older version wrote may not say it.
        withdrawn=value.get("withdrawn", False),
        taken_over=taken_over,
        writer=None if writer is None else Writer(**writer),
    )


def _details(work: StepWork) -> JsonObject:
    match work:
        case ReadInputs():
            ingests = [{"connector": one.connector, "range": one.range, "position": one.position} for one in work.ingests]
            return {"ingests": ingests}
        case RunStatement():
            return {"sql": work.sql, "table": work.table, "relations": list(work.relations)}
        case FollowPipelines():
            return {"foreign": foreign_to_json(work.foreign)}
        case RestoreCheckpoint():
            return {
                "checkpoint": work.checkpoint,
                "source": work.source,
                "step": work.step,
                "record": work.record,
                "digest": work.digest,
                "apply_id": work.apply_id,
                "by": work.by,
                "follows": work.follows,
                "positions": dict(work.positions),
                "restored": {key: _restored_to_json(one) for key, one in work.restored.items()},
                **({"foreign": foreign_to_json(work.foreign)} if work.foreign else {}),
            }
        case UnknownWork():
            return work.details
        case _:
            assert_never(work)


def _work(kind: str, details: JsonObject) -> StepWork:
    match kind:
        case "ingest":
            return ReadInputs(tuple(Ingest(one["connector"], one["range"], one["position"]) for one in details["ingests"]))
        case "statement":
            return RunStatement(details["sql"], details["table"], tuple(details["relations"]))
        case "follow":
            return FollowPipelines(foreign_from_json(details["foreign"]))
        case "restore":
            restored = {key: _restored_from_json(one) for key, one in details["restored"].items()}
            foreign = foreign_from_json(details.get("foreign", {}))
            return RestoreCheckpoint(**{**details, "restored": restored, "foreign": foreign})
        case _:
            return UnknownWork(kind, details)


def _restored_to_json(one: RestoredRelation) -> JsonObject:
    stands = {"location": one.location, "expected": one.expected}
    match one:
        case PutBack():
            return {**stands, "read": one.read, "placement": placement_to_json(one.placement)}
        case CopyRows():
            return {**stands, "source": one.source, "read": one.read}
        case ComputeAgain():
            return stands
        case _:
            assert_never(one)


def _restored_from_json(value: Mapping[str, Any]) -> RestoredRelation:
    location, expected = value["location"], value["expected"]
    if "placement" in value:
        return PutBack(location, expected, value["read"], placement_from_json(value["placement"]))
    if "source" in value:
        return CopyRows(location, expected, value["source"], value["read"])
    return ComputeAgain(location, expected)
