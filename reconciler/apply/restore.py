"""Restore: a pipeline goes back to a checkpoint, its own or another pipeline's.

Rules:
- A restore is a step of its own (`restoring_checkpoints`), under the lease: whoever comes next finishes one that
  crashed. Everything goes back together: tables, views, positions of inputs, and the program. The files are not looked at;
  the next plan compares them with the checkpoint's program, and what differs needs its approval as ever. A restore that
  changes the program, or its settings, is a plan itself (`restore_plans`). A plan that was approved before serves no more: a
  digest covers what was applied before, and a restore is part of that.
- Outputs are not put back, since what was sent is out. Where this pipeline knows what it sent to the place that one writes
  to, the next emission is the difference between that and the view as restored (`outputs_by_place`); else it begins anew.
  What each does is told before (`restored_outputs`).
- Another pipeline's checkpoint is taken over with copies of its tables' rows; views are computed from them. That pipeline is
  left as it is. Its outputs' sinks hold its rows, so outputs begin with what changes from then on.
- Whatever could be missing is looked at first: a version that was pruned, or that a vacuum took, is X730, and nothing was
  touched then.
"""

import getpass
import re
import uuid
from collections.abc import Mapping
from dataclasses import replace

from reconciler.apply.decisions import require_unrejected
from reconciler.apply.giving_approval import give_approval
from reconciler.apply.restore_plans import (
    Restore,
    needs_approval,
    plan_restore,
    remember_commit,
    require_consent,
    require_merged,
)
from reconciler.apply.restored_outputs import RestoredOutput, restored_outputs, taken_over_folders
from reconciler.base.boundaries import BEFORE
from reconciler.base.dataclass import dataclass
from reconciler.base.digest import digest_json
from reconciler.base.errors import EngineError, NotFound, ReconcileError
from reconciler.delta.opening import join_location
from reconciler.delta.restoring import require_version
from reconciler.delta.tables import table_version
from reconciler.environment.session import Session
from reconciler.environment.target import Target
from reconciler.materialize.following import register_reader
from reconciler.materialize.registry_backups import require_newest_registry
from reconciler.plan.text_form import render_text
from reconciler.project.snapshot.codec import encode_program
from reconciler.project.snapshot.model import Snapshot, take_snapshot
from reconciler.registry.intents import ComputeAgain, CopyRows, PutBack, RestoreCheckpoint, RestoredRelation
from reconciler.registry.model import Head, Stored
from reconciler.run.connector_controls import carry_out_waiting
from reconciler.run.recovering import replay_intent
from reconciler.run.restoring_checkpoints import is_kept
from reconciler.run.stepping import carry_out, write_intent
from reconciler.state.applied import read_snapshot
from reconciler.state.checkpoints import Checkpoint, find_checkpoint
from reconciler.state.events import Event
from reconciler.state.failed_commands import RESTORING, telling_of_failure
from reconciler.state.lease import hold_lease, this_process
from reconciler.state.pruned import require_kept
from reconciler.state.step_history import removed_since

_PIPELINE = re.compile(r"[a-z][a-z0-9_-]{0,62}")


@dataclass(frozen=True, slots=True)
class Restored:
    """What a restore did: the step that it published, and what becomes of outputs."""

    pipeline: str
    checkpoint: str
    source: str
    step: int
    relations: tuple[str, ...]
    outputs: tuple[RestoredOutput, ...] = ()


@dataclass(frozen=True, slots=True)
class WantedRestore:
    """The checkpoint that a pipeline is to go back to: its own or another pipeline's. `replaces`: another's is meant, though
    something of this pipeline is applied. `approve_as` is the name in which the plan of this restore is approved, if any."""

    checkpoint: str
    from_pipeline: str | None = None
    replaces: bool = False
    approve_as: str | None = None


def restore_checkpoint(target: Target, pipeline: str, wanted: WantedRestore, session: Session) -> Restored:
    """Bring a pipeline back to a checkpoint.

    Raises NotFound (A516), ReconcileError (A507, A517), ApprovalRequired and PlanRejected where the program changes by
    it (`restore_plans`), LeaseHeld, EngineError (X730 and what the engine refuses); nothing has changed then.
    """
    source, name, approve_as = wanted.from_pipeline or pipeline, wanted.checkpoint, wanted.approve_as
    if not _PIPELINE.fullmatch(pipeline):
        raise ReconcileError(
            "A517", f"{pipeline!r} is not a valid name of a pipeline", "use lower-case letters, digits, - and _"
        )
    checkpoint = find_checkpoint(target, source, name)
    with hold_lease(target.registry, pipeline, this_process(RESTORING), report=session.tell) as lease:
        session = replace(session, check=lease.check)
        stored = _ready(target, pipeline, session)
        if source == pipeline:
            if stored is None:
                raise NotFound("A506", f"pipeline {pipeline} is not applied", "run: reconcile apply")
            work = _own_work(target, stored.value, checkpoint)
        else:
            if stored is not None and stored.value.applied and stored.value.applied.record and not wanted.replaces:
                raise ReconcileError(
                    "A517",
                    f"{pipeline} is already applied, and checkpoint {name} of {source} would replace it",
                    "to replace it, add --replace",
                )
            work = _others_work(target, pipeline, stored, source, checkpoint)
        restored = read_snapshot(target, pipeline, work.record)
        restore = Restore(pipeline, checkpoint.name, source, work.record)
        plan = plan_restore(target, restore, restored)
        require_merged(target, plan, restore)
        if needs_approval(target, plan, restore, restored):
            for line in render_text(plan).splitlines():
                session.tell(line)
            if approve_as is not None:
                give_approval(target, plan, approve_as, "")
        require_consent(target, plan, restore, restored)
        # What was refused until here touched nothing.
        remember_commit(target, plan, restore)
        locations = {key: one.location for key, one in work.restored.items()}
        head = stored.value if stored else Head(pipeline)
        outputs = restored_outputs(target, head, source, restored.program, locations)
        for output in outputs:
            session.tell(output.words)
        with telling_of_failure(target.registry, pipeline, RESTORING, Event.RESTORE_FAILED, session.tell):
            session.boundary(f"restore_intent:{BEFORE}")
            # Finding out what there is to restore takes a while, in which somebody may have said no.
            require_unrejected(target, plan)
            stored = write_intent(target, stored if stored else _new_head(target, pipeline), work)
            program = restored.program
            stored, result = carry_out(target, stored, program, session)
    return Restored(pipeline, checkpoint.name, source, result.step, tuple(sorted(work.restored)), outputs)


def _ready(target: Target, pipeline: str, session: Session) -> Stored[Head] | None:
    """The head without an open step or apply; what was left open is finished, or withdrawn, first."""
    stored = target.registry.head(pipeline)
    if stored is not None:
        require_newest_registry(target, stored.value)
    if stored is not None and stored.value.journal is not None:
        raise ReconcileError("A507", f"an apply of {pipeline} is unfinished", "run: reconcile apply")
    if stored is not None and stored.value.intent is not None:
        session.tell(f"step {stored.value.intent.step} of {pipeline} is unfinished; finishing it")
        replay_intent(target, stored, session)
    carry_out_waiting(target, pipeline, session.tell, session.boundary)
    return target.registry.head(pipeline)


def _new_head(target: Target, pipeline: str) -> Stored[Head]:
    return target.registry.replace_head(None, Head(pipeline), str(uuid.uuid4()))


def _own_work(target: Target, head: Head, checkpoint: Checkpoint) -> RestoreCheckpoint:
    snapshot = read_snapshot(target, head.pipeline, checkpoint.record)
    wanted = {key: place for key, place in checkpoint.relations.items() if is_kept(snapshot.program, key)}
    gone = removed_since(target.registry, head, checkpoint.step, wanted)
    restored: dict[str, RestoredRelation] = {}
    for key, placement in sorted(wanted.items()):
        location = join_location(target.warehouse, placement.location)
        if key in gone:
            raise _missing(checkpoint, key, "a later apply removed its folder")
        _require(target, head.pipeline, checkpoint, key, location, placement.version)
        expected = table_version(location)
        if expected is None:
            raise _missing(checkpoint, key, "its table no longer exists")
        restored[key] = PutBack(placement.location, expected, placement.version, placement)
    return _work(head, checkpoint, snapshot, head.pipeline, restored)


def _others_work(
    target: Target, pipeline: str, stored: Stored[Head] | None, source: str, checkpoint: Checkpoint
) -> RestoreCheckpoint:
    theirs = read_snapshot(target, source, checkpoint.record).program
    # What was rolled back there was so of their files.
    ours = replace(theirs, settings=replace(theirs.settings, name=pipeline, held={}))
    if any(one.pipeline == pipeline for one in ours.foreign.values()):
        message = f"{source} reads {pipeline}; restored as {pipeline}, it would read itself"
        raise ReconcileError("A517", message, "restore it under another name")
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
    restored: dict[str, RestoredRelation] = {}
    for key, folder in taken_over_folders(pipeline, ours, head.published.relations if head.published else {}).items():
        expected = table_version(join_location(target.warehouse, folder))
        if key in ours.tables:
            placement = checkpoint.relations[key]
            location = join_location(target.warehouse, placement.location)
            if key in gone:
                raise _missing(checkpoint, key, "a later apply removed its folder")
            _require(target, source, checkpoint, key, location, placement.version)
            restored[key] = CopyRows(folder, expected, placement.location, placement.version)
        else:
            restored[key] = ComputeAgain(folder, expected)
    return _work(head, checkpoint, snapshot, source, restored)


def _work(
    head: Head, checkpoint: Checkpoint, snapshot: Snapshot, source: str, restored: Mapping[str, RestoredRelation]
) -> RestoreCheckpoint:
    apply_id = str(uuid.uuid4())
    before = head.applied.follows if head.applied else None
    return RestoreCheckpoint(
        checkpoint=checkpoint.name,
        source=source,
        step=checkpoint.step,
        record=snapshot.record,
        digest=snapshot.digest,
        apply_id=apply_id,
        by=getpass.getuser(),
        # Every plan that was made before follows another, so that no approval of one serves again.
        follows=digest_json([before, checkpoint.name, apply_id]),
        positions=dict(checkpoint.positions),
        restored=restored,
        foreign=checkpoint.foreign,
    )


def _require(target: Target, pipeline: str, checkpoint: Checkpoint, key: str, location: str, version: int) -> None:
    """The files of what was pruned may be there still, and be going: so that is asked first."""
    try:
        require_kept(target.registry, pipeline, target.warehouse, checkpoint.step, location, version)
        require_version(location, version)
    except EngineError as error:
        raise _missing(checkpoint, key, error.message) from error


def _missing(checkpoint: Checkpoint, key: str, why: str) -> EngineError:
    message = f"checkpoint {checkpoint.name} can't be restored: the rows that {key} held then no longer exist: {why}"
    return EngineError("X730", message, "restore a later checkpoint")
