"""Checkpoints: durable named points of a pipeline, and going back to one.

A checkpoint is one row of a history: the step, the record of the program that was applied, where every relation stood, how
far every connector had read and written. It copies no rows: the Delta versions that it names hold them, as long as retention
lets them. A run writes one at intervals and when it stops; anybody writes one by name.

Rules:
- The newest row of a name counts. A checkpoint without a name of its own is `step-N`: each step has at most one.
- To restore is a step of its own (`restoring`), under the lease: a crash in the midst of it is finished by whoever comes
  next. Everything goes back together: tables, views, positions of inputs, and the program. The files are not looked at; the
  next plan compares them with the checkpoint's program, and what differs needs its approval as ever. A restore that changes
  the program, or its settings, is a plan itself (`restore_plans`). A plan approved
  before serves no more: a digest covers what was applied before, and a restore is part of that.
- Outputs are not put back, since what was sent is out: each goes on from what it sent last, and the next emission is the
  difference between that and the view as restored.
- Another pipeline's checkpoint is taken over with copies of its tables' rows; views are computed from them. That pipeline is
  left as it is. Outputs begin anew.
- Whatever could be missing is looked at first: a version that was pruned, or that a vacuum took, is X730, and nothing was
  touched then.
"""

import getpass
import json
import re
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from reconciler.delta.opening import join_location
from reconciler.delta.restoring import require_version
from reconciler.delta.tables import table_version
from reconciler.digest import JsonObject, canonical_json, digest_json
from reconciler.engine.protocol import Engine
from reconciler.errors import EngineError, NotFound, ReconcileError, RegistryError
from reconciler.names import did_you_mean, is_foreign, is_version
from reconciler.reconcile.approvals import give_approval
from reconciler.reconcile.boundaries import BEFORE, Boundary, no_boundary
from reconciler.reconcile.events import Event
from reconciler.reconcile.failed_commands import RESTORING, telling_of_failure
from reconciler.reconcile.folders import folder_for
from reconciler.reconcile.following import register_reader
from reconciler.reconcile.lease import hold_lease, this_process
from reconciler.reconcile.pausing import carry_out_waiting
from reconciler.reconcile.replaying import replay_intent
from reconciler.reconcile.restore_plans import (
    Restore,
    needs_approval,
    plan_restore,
    remember_commit,
    require_consent,
    require_merged,
)
from reconciler.reconcile.restoring import RESTORE, is_kept
from reconciler.reconcile.snapshots import read_snapshot
from reconciler.reconcile.stepping import carry_out, write_intent
from reconciler.reconcile.steps import removed_since
from reconciler.reconcile.target import Target
from reconciler.reconcile.versions.pruned import require_kept
from reconciler.registry.codec import foreign_to_json, head_from_json, head_to_json, placement_to_json
from reconciler.registry.model import ForeignStep, Head, OutputState, Placement, Stored, foreign_key, recorded_place
from reconciler.registry.protocol import HISTORY_COLUMNS, History
from reconciler.snapshot.codec import encode_program
from reconciler.snapshot.model import Snapshot, take_snapshot

LISTED: Final = 100
CAUSES: Final = ("periodic", "stop", "named")
_PIPELINE = re.compile(r"[a-z][a-z0-9_-]{0,62}")
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


@dataclass(frozen=True, slots=True)
class Restored:
    """What a restore did: the step that it published."""

    pipeline: str
    checkpoint: str
    source: str
    step: int
    relations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Restoring:
    """What a restore is told besides its target: how to compute, whom to tell, where to die in tests."""

    engine: Engine
    tell: Callable[[str], None] = lambda message: None
    boundary: Boundary = no_boundary


def write_checkpoint(target: Target, head: Head, name: str | None, cause: str) -> Checkpoint:
    """Write down where a pipeline stands, as its head says. Raises NotFound (A506) when nothing is applied, ReconcileError
    (A516) for what can't be a name."""
    if head.published is None or head.applied is None or head.applied.record is None:
        raise NotFound("A506", f"nothing of {head.pipeline} is applied", "run: reconcile apply")
    if name is not None and not _NAME.fullmatch(name):
        raise ReconcileError("A516", f"{name!r} can't name a checkpoint", "letters, digits, '.', '_' and '-', at most 100")
    value = head_to_json(head)
    row = {
        "name": name or f"step-{head.published.step}",
        "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "step": str(head.published.step),
        "record": head.applied.record,
        "cause": cause,
        "relations": canonical_json({**value["published"]["relations"], **_foreign_to_row(value["published"])}),
        "positions": canonical_json(value["positions"]),
        "outputs": canonical_json(value["outputs"]),
    }
    target.registry.append(History.CHECKPOINTS, head.pipeline, [row], None)
    return _decoded(head.pipeline, row)


def create_checkpoint(target: Target, pipeline: str, name: str | None) -> Checkpoint:
    """Write a checkpoint of the last published step. Takes no lease: the head is one document."""
    stored = target.registry.head(pipeline)
    return write_checkpoint(target, stored.value if stored else Head(pipeline), name, "named")


def list_checkpoints(target: Target, pipeline: str) -> tuple[Checkpoint, ...]:
    """The last checkpoints, oldest first."""
    limit = LISTED
    while True:
        rows = target.registry.last_rows(History.CHECKPOINTS, pipeline, HISTORY_COLUMNS[History.CHECKPOINTS], "at", limit)
        newest = {row["name"]: row for row in rows}
        if len(newest) >= LISTED or len(rows) < limit:
            break
        # A name may have been given many times.
        limit *= 4
    ordered = sorted(newest.values(), key=lambda row: (row["at"], int(row["step"])))
    return tuple(_decoded(pipeline, row) for row in ordered[-LISTED:])


def find_checkpoint(target: Target, pipeline: str, name: str) -> Checkpoint:
    """The newest checkpoint of that name. Raises NotFound (A516)."""
    rows = target.registry.history(History.CHECKPOINTS, pipeline, name=name)
    if not rows:
        known = [one.name for one in list_checkpoints(target, pipeline)]
        hint = did_you_mean(name, known) or f"run: reconcile checkpoint list {pipeline}"
        raise NotFound("A516", f"{pipeline} has no checkpoint {name!r}", hint)
    return _decoded(pipeline, rows[-1])


def restore_checkpoint(
    target: Target,
    pipeline: str,
    name: str,
    restoring: Restoring,
    from_pipeline: str | None = None,
    *,
    replaces: bool = False,
    approve_as: str | None = None,
) -> Restored:
    """Bring a pipeline back to a checkpoint, its own or (with `from_pipeline`) another's.

    `replaces`: another's, though something of this pipeline is applied. `approve_as` approves the plan that this is, by that
    name. Raises NotFound (A516), ReconcileError (A507, A517), ApprovalRequired and PlanRejected where the program changes by
    it (`restore_plans`), LeaseHeld, EngineError (X730 and what the engine refuses); nothing has changed then.
    """
    source = from_pipeline or pipeline
    if not _PIPELINE.fullmatch(pipeline):
        raise ReconcileError("A517", f"{pipeline!r} can't name a pipeline", "lower-case letters, digits, - and _")
    checkpoint = find_checkpoint(target, source, name)
    with hold_lease(target.registry, pipeline, this_process(RESTORING), report=restoring.tell) as lease:
        stored = _ready(target, pipeline, restoring, lease.check)
        if source == pipeline:
            if stored is None:
                raise NotFound("A506", f"nothing of {pipeline} is applied", "run: reconcile apply")
            details = _own_details(target, stored.value, checkpoint)
        else:
            if stored is not None and stored.value.applied and stored.value.applied.record and not replaces:
                raise ReconcileError(
                    "A517",
                    f"something of {pipeline} is applied, and {source}'s checkpoint {name} would take its place",
                    "add --replace if that is meant",
                )
            details = _foreign_details(target, pipeline, stored, source, checkpoint)
        restored = read_snapshot(target, pipeline, details["record"])
        restore = Restore(pipeline, checkpoint.name, source, details["record"])
        plan = plan_restore(target, restore, restored)
        require_merged(target, plan, restore)
        if approve_as is not None and needs_approval(target, plan, restore, restored):
            give_approval(target, plan, approve_as, "")
        require_consent(target, plan, restore, restored)
        # What was refused until here touched nothing.
        remember_commit(target, plan, restore)
        with telling_of_failure(target.registry, pipeline, RESTORING, Event.RESTORE_FAILED, restoring.tell):
            restoring.boundary(f"restore_intent:{BEFORE}")
            stored = write_intent(target, stored if stored else _new_head(target, pipeline), RESTORE, details)
            program = restored.program
            stored, result = carry_out(target, stored, program, restoring.engine, restoring.boundary, lease.check)
    return Restored(pipeline, checkpoint.name, source, result.step, tuple(sorted(details["restored"])))


def _ready(target: Target, pipeline: str, restoring: Restoring, check: Callable[[], None]) -> Stored[Head] | None:
    """The head without an open step or apply; what was left open is finished, or withdrawn, first."""
    stored = target.registry.head(pipeline)
    if stored is not None and stored.value.journal is not None:
        raise ReconcileError("A507", f"an apply of {pipeline} is not finished", "run: reconcile apply")
    if stored is not None and stored.value.intent is not None:
        restoring.tell(f"step {stored.value.intent.step} of {pipeline} was left open; finishing it")
        replay_intent(target, stored, restoring.engine, restoring.boundary, check)
    carry_out_waiting(target, pipeline, restoring.tell, restoring.boundary)
    return target.registry.head(pipeline)


def _new_head(target: Target, pipeline: str) -> Stored[Head]:
    return target.registry.replace_head(None, Head(pipeline), str(uuid.uuid4()))


def _own_details(target: Target, head: Head, checkpoint: Checkpoint) -> JsonObject:
    snapshot = read_snapshot(target, head.pipeline, checkpoint.record)
    wanted = {key: place for key, place in checkpoint.relations.items() if is_kept(snapshot.program, key)}
    gone = removed_since(target.registry, head, checkpoint.step, wanted)
    restored = {}
    for key, placement in sorted(wanted.items()):
        location = join_location(target.warehouse, placement.location)
        if key in gone:
            raise _missing(checkpoint, key, "its folder was removed by a later apply")
        _require(target, head.pipeline, checkpoint, key, location, placement.version)
        restored[key] = {
            "location": placement.location,
            "read": placement.version,
            "expected": table_version(location),
            "placement": placement_to_json(placement),
        }
    return _details(head, checkpoint, snapshot, head.pipeline, restored)


def _foreign_details(
    target: Target, pipeline: str, stored: Stored[Head] | None, source: str, checkpoint: Checkpoint
) -> JsonObject:
    theirs = read_snapshot(target, source, checkpoint.record).program
    # What was rolled back there was so of their files.
    ours = replace(theirs, settings=replace(theirs.settings, name=pipeline, held={}))
    if any(one.pipeline == pipeline for one in ours.foreign.values()):
        message = f"{source} reads {pipeline}: as {pipeline} it would read itself"
        raise ReconcileError("A517", message, "take it over under another name")
    if any(one.is_own for one in ours.foreign.values()):
        raise ReconcileError("A517", f"{source} reads versions of its own relations, which {pipeline} does not have")
    if ours.foreign:
        register_reader(target, ours)
    snapshot = take_snapshot(ours)
    target.registry.write_snapshot(pipeline, snapshot.record, encode_program(ours))
    head = stored.value if stored else Head(pipeline)
    their_head = target.registry.head(source)
    wanted = {key: place for key, place in checkpoint.relations.items() if key in theirs.tables}
    gone = removed_since(target.registry, their_head.value, checkpoint.step, wanted) if their_head else frozenset()
    known = dict(head.published.relations) if head.published else {}
    restored: dict[str, Any] = {}
    for key in ours.order:
        if not is_kept(ours, key):
            continue
        folder = folder_for(pipeline, key, known)
        restored[key] = {"location": folder, "expected": table_version(join_location(target.warehouse, folder))}
        known[key] = Placement(folder, 0)
        if key in ours.tables:
            placement = checkpoint.relations[key]
            location = join_location(target.warehouse, placement.location)
            if key in gone:
                raise _missing(checkpoint, key, "its folder was removed by a later apply")
            _require(target, source, checkpoint, key, location, placement.version)
            restored[key] |= {"source": placement.location, "read": placement.version}
    return _details(head, checkpoint, snapshot, source, restored)


def _details(
    head: Head, checkpoint: Checkpoint, snapshot: Snapshot, source: str, restored: Mapping[str, JsonObject]
) -> JsonObject:
    apply_id = str(uuid.uuid4())
    before = head.applied.follows if head.applied else None
    return {
        "checkpoint": checkpoint.name,
        "source": source,
        "step": checkpoint.step,
        "record": snapshot.record,
        "digest": snapshot.digest,
        "apply_id": apply_id,
        "by": getpass.getuser(),
        # Every plan that was made before follows another, so that no approval of one serves again.
        "follows": digest_json([before, checkpoint.name, apply_id]),
        "positions": dict(checkpoint.positions),
        "restored": dict(restored),
        **({"foreign": foreign_to_json(checkpoint.foreign)} if checkpoint.foreign else {}),
    }


def _require(target: Target, pipeline: str, checkpoint: Checkpoint, key: str, location: str, version: int) -> None:
    """The files of what was pruned may be there still, and be going: so that is asked first."""
    try:
        require_kept(target.registry, pipeline, target.warehouse, checkpoint.step, location, version)
        require_version(location, version)
    except EngineError as error:
        raise _missing(checkpoint, key, error.message) from error


def _missing(checkpoint: Checkpoint, key: str, why: str) -> EngineError:
    message = f"checkpoint {checkpoint.name} can't be restored, since what {key} held then is gone: {why}"
    return EngineError("X730", message, "restore a later checkpoint")


def _decoded(pipeline: str, row: Mapping[str, str]) -> Checkpoint:
    """A row as a checkpoint, by the codec of heads, whose parts it holds."""
    relations, foreign = _foreign_from_row(json.loads(row["relations"]))
    published = {"step": int(row["step"]), "at": row["at"], "relations": relations, "foreign": foreign}
    parts = {"published": published, "positions": json.loads(row["positions"]), "outputs": json.loads(row["outputs"])}
    head = head_from_json({**head_to_json(Head(pipeline)), **parts}, f"the checkpoint {row['name']} of {pipeline}")
    if head.published is None:
        raise RegistryError("G602", f"the checkpoint {row['name']} of {pipeline} is damaged")
    return Checkpoint(
        row["name"],
        row["at"],
        int(row["step"]),
        row["record"],
        row["cause"],
        head.published.relations,
        head.positions,
        head.outputs,
        head.published.foreign,
    )


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
