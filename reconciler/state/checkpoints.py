"""Checkpoints: durable named points of a pipeline.

A checkpoint is one row of a history: the step, the record of the program that was applied, where every relation stood, how
far every connector had read and written. It copies no rows: the Delta versions that it names hold them, as long as retention
lets them. A run writes one at intervals and when it stops; anybody writes one by name.

The newest row of a name counts: that of the latest step, and of several at one step the one written last, whatever clocks
said. A checkpoint without a name of its own is `step-N`: each step has at most one.

Going back to one is `restore`'s.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from reconciler.base.boundaries import BEFORE, EFFECTED, Boundary, no_boundary
from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject, canonical_json
from reconciler.base.errors import NotFound, ReconcileError, RegistryError
from reconciler.base.json_objects import from_json
from reconciler.base.moments import moment_after
from reconciler.base.names import did_you_mean, is_foreign, is_version
from reconciler.environment.target import Target
from reconciler.registry.codec import head_to_json
from reconciler.registry.model import Head, OutputState
from reconciler.registry.placements import ForeignStep, Placement, foreign_key, recorded_place
from reconciler.registry.protocol import HISTORY_COLUMNS, History

LISTED: Final = 100
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """See the module. `cause`: `periodic`, `stop` or `named`."""

    name: str
    at: str
    step: int
    record: str
    cause: str
    relations: Mapping[str, Placement]
    positions: Mapping[str, JsonObject]
    outputs: Mapping[str, OutputState]
    foreign: Mapping[str, ForeignStep]


def write_checkpoint(
    target: Target, head: Head, name: str | None, cause: str, boundary: Boundary = no_boundary
) -> Checkpoint:
    """Write down where a pipeline stands, as its head says. Raises NotFound (A506) when nothing is applied, ReconcileError
    (A516) for what can't be a name."""
    if head.published is None or head.applied is None or head.applied.record is None:
        raise NotFound("A506", f"pipeline {head.pipeline} is not applied", "run: reconcile apply")
    if name is not None and not _NAME.fullmatch(name):
        raise ReconcileError(
            "A516", f"{name!r} is not a valid name of a checkpoint", "use letters, digits, '.', '_' and '-', at most 100"
        )
    value = head_to_json(head)
    step = str(head.published.step)
    of_step = target.registry.last_rows(History.CHECKPOINTS, head.pipeline, ("at",), "at", 1, None, step=step)
    row = {
        "name": name or f"step-{head.published.step}",
        "at": moment_after(of_step[0]["at"] if of_step else None),
        "step": step,
        "record": head.applied.record,
        "cause": cause,
        "relations": canonical_json({**value["published"]["relations"], **_foreign_to_row(value["published"])}),
        "positions": canonical_json(value["positions"]),
        "outputs": canonical_json(value["outputs"]),
    }
    boundary(f"checkpoint:{BEFORE}")
    target.registry.append(History.CHECKPOINTS, head.pipeline, [row], None)
    boundary(f"checkpoint:{EFFECTED}")
    return _decoded(head.pipeline, row)


def create_checkpoint(target: Target, pipeline: str, name: str | None, boundary: Boundary = no_boundary) -> Checkpoint:
    """Write a checkpoint of the last published step. Takes no lease: the head is one document."""
    stored = target.registry.head(pipeline)
    return write_checkpoint(target, stored.value if stored else Head(pipeline), name, "named", boundary)


def list_checkpoints(target: Target, pipeline: str) -> tuple[Checkpoint, ...]:
    """The last checkpoints, oldest first."""
    limit = LISTED
    while True:
        rows = target.registry.last_rows(History.CHECKPOINTS, pipeline, HISTORY_COLUMNS[History.CHECKPOINTS], "step", limit)
        newest = {row["name"]: row for row in sorted(rows, key=age_order)}
        if len(newest) >= LISTED or len(rows) < limit:
            break
        # A name may have been given many times.
        limit *= 4
    ordered = sorted(newest.values(), key=age_order)
    return tuple(_decoded(pipeline, row) for row in ordered[-LISTED:])


def all_checkpoints(target: Target, pipeline: str) -> tuple[Checkpoint, ...]:
    """Every row of the history: also those whose name was given again."""
    return tuple(_decoded(pipeline, row) for row in target.registry.history(History.CHECKPOINTS, pipeline))


def is_checkpointed(target: Target, pipeline: str, first: int, last: int) -> bool:
    """Whether there is a checkpoint of one of these steps."""
    return bool(target.registry.last_rows(History.CHECKPOINTS, pipeline, ("at",), "step", 1, (first, last)))


def find_checkpoint(target: Target, pipeline: str, name: str) -> Checkpoint:
    """The newest checkpoint of that name. Raises NotFound (A516)."""
    rows = target.registry.history(History.CHECKPOINTS, pipeline, name=name)
    if not rows:
        known = [one.name for one in list_checkpoints(target, pipeline)]
        hint = did_you_mean(name, known) or f"run: reconcile checkpoint list {pipeline}"
        raise NotFound("A516", f"{pipeline} has no checkpoint {name!r}", hint)
    return _decoded(pipeline, max(rows, key=age_order))


def age_order(row: Mapping[str, str]) -> tuple[int, str]:
    """What rows of checkpoints are sorted by, so that the newest is the last: the step, which only rises; then the time."""
    return int(row["step"]), row["at"]


def _decoded(pipeline: str, row: Mapping[str, str]) -> Checkpoint:
    """A row as a checkpoint. Its parts are stored as those of heads are."""
    try:
        relations, foreign = _foreign_from_row(json.loads(row["relations"]))
        parts = {name: json.loads(row[name]) for name in ("positions", "outputs")}
        members = {**row, **parts, "step": int(row["step"]), "relations": relations, "foreign": foreign}
        return from_json(Checkpoint, members)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        where = f"the checkpoint {row['name']} of {pipeline}"
        raise RegistryError("G602", f"the head in {where} is damaged: {error!r}") from error


def _foreign_to_row(published: JsonObject) -> JsonObject:
    """What was read of other pipelines, as it stands among a checkpoint's relations: by `pipeline.name`."""
    return {
        foreign_key(pipeline, name): {
            **placement,
            "step": one["step"],
            "id": one["ids"].get(name, ""),
            **({"followed": True} if is_version(name) else {}),
        }
        for pipeline, one in published.get("foreign", {}).items()
        for name, placement in one["relations"].items()
    }


def _foreign_from_row(relations: JsonObject) -> tuple[JsonObject, JsonObject]:
    """A checkpoint's own relations, and what was read of other pipelines, as heads have them."""
    foreign: dict[str, Any] = {}
    for key in sorted(key for key in relations if is_foreign(key) and "step" in relations[key]):
        pipeline, name = recorded_place(key, relations[key])
        placement = dict(relations[key])
        placement.pop("followed", None)
        one = foreign.setdefault(pipeline, {"step": placement.pop("step"), "relations": {}, "ids": {}})
        placement.pop("step", None)
        one["ids"][name] = placement.pop("id")
        one["relations"][name] = placement
    own = {key: place for key, place in relations.items() if not (is_foreign(key) and "step" in place)}
    return own, foreign
