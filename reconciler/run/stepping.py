"""One step of a running pipeline: inputs to a point, every view at that point, published in one commit.

A step is first written down as an intent in the head: what is read (connectors and their ranges, one statement, or newer
steps of other pipelines), and which process wrote it. Then its effects, each repeatable (`run_effects`): tables are written
under the step's transaction, the stored views that depend on what changed are computed from pinned versions into staging
folders and published. Then the step's row in the history (`step_history`). Last, one commit of the head publishes the new
versions and positions, pins what outputs are to send, and closes the intent. A step whose writer died is replayed from its
intent: what happened is recognised and skipped, what is missing is done, with the same inputs.

A step that the engine refuses (a file that does not fit, a view that divides by zero over the new rows) is withdrawn: the
intent is marked, tables and views that it wrote are put back to the published step, the intent is closed (`withdrawing`).
Nothing of it stays, its input is offered again, and neither data nor a query that fails can block the pipeline. So is a step
that stumbles over a mistake of ours, which it would do each time; so is one whose writer was taken over and may still be
alive, and one with a file that its input is to go on without (`skipping`).

The session's check is asked before each effect, and raises if this process lost the pipeline meanwhile. An intent of kind
`restore` is carried out by `restoring_checkpoints`.
"""

import uuid
from collections.abc import Mapping
from dataclasses import field, replace

from reconciler.base.boundaries import BEFORE, INTENDED, RECORDED, Boundary
from reconciler.base.dataclass import dataclass
from reconciler.base.errors import EngineError, ReconcileError, RegistryError
from reconciler.base.moments import seconds_between, this_moment
from reconciler.base.names import fold
from reconciler.engine.protocol import FailedCalls
from reconciler.environment.locations import told_path
from reconciler.environment.planned_engine import require_planned_engine
from reconciler.environment.session import Session
from reconciler.environment.target import Target
from reconciler.materialize.run_effects import StepEffects
from reconciler.materialize.step_progress import Doing, untold
from reconciler.materialize.stream_states import remove_former_states
from reconciler.materialize.withdrawing import put_step_back
from reconciler.project.program.model import Program
from reconciler.registry.intents import Intent, RestoreCheckpoint, StepWork, kind_of
from reconciler.registry.model import Head, Published, Stored
from reconciler.registry.placements import KeysSeen
from reconciler.run.publishing_head import publish_head
from reconciler.run.restoring_checkpoints import carry_out_restore
from reconciler.run.skipping import file_to_skip
from reconciler.state.lease import this_writer
from reconciler.state.step_history import ToldOfStep, next_step
from reconciler.workspace.declared import places_told


@dataclass(frozen=True, slots=True)
class StepResult:
    """What a step did: rows by connector (or by table, for a statement), the views that were computed, the records that went
    to the dead letters, the deletes that found no row and the records that were left out as late, by connector (rows that
    came too late for a stream, by stream), and the seconds of each phase (`ingest`, `views`, `publish`; whoever writes the
    outputs afterwards adds `emit`). `followed` are the steps of other pipelines that it went on to. `unknown` says by
    connector in how many rows fields came that no column takes, `missing` which fields a header or schema lacked.
    `failed_calls` are by view those of functions that gave NULL where they failed. `without_spark` are the connectors,
    tables and views that were so small that this process wrote them by itself. `ways` says by view which way it was brought
    up to date (`incremental.model.Way`). `freshness` is by connector how old, in
    seconds, the oldest change that it brought was when the step was published (None: nobody knows). `lost_states` are the
    streams whose state was gone, and was computed from the rows that their tables had. `keys` says of streams how many rows
    that came were divided among their keys."""

    step: int
    rows: Mapping[str, int]
    views: tuple[str, ...]
    rejected: Mapping[str, int] = field(default_factory=dict)
    unmatched: Mapping[str, int] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    followed: Mapping[str, int] = field(default_factory=dict)
    unknown: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    missing: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    failed_calls: Mapping[str, tuple[FailedCalls, ...]] = field(default_factory=dict)
    without_spark: tuple[str, ...] = ()
    freshness: Mapping[str, float | None] = field(default_factory=dict)
    late: Mapping[str, int] = field(default_factory=dict)
    lost_states: tuple[str, ...] = ()
    keys: Mapping[str, KeysSeen] = field(default_factory=dict)
    ways: Mapping[str, str] = field(default_factory=dict)


def write_intent(target: Target, stored: Stored[Head], work: StepWork) -> Stored[Head]:
    """Write down the next step. Raises RegistryConflict when this process lost the pipeline."""
    if not isinstance(work, RestoreCheckpoint):
        _published(stored.value)
    # Nothing is step 0 but a first apply: a step that is withdrawn uses its number up.
    intent = Intent(max(next_step(stored.value), 1), work, this_moment(), writer=this_writer())
    return target.registry.replace_head(stored.token, replace(stored.value, intent=intent), str(uuid.uuid4()))


def carry_out(
    target: Target,
    stored: Stored[Head],
    program: Program,
    session: Session,
    doing: Doing = untold,
) -> tuple[Stored[Head], StepResult]:
    """Do, or do again, what the head's intent says, and publish it.

    Raises EngineError when the engine refuses; then the step was withdrawn, and the head has no intent any more. It is
    withdrawn, too, when something is raised that nobody foresaw. Raises LeaseHeld when the session's check does.
    """
    try:
        with places_told(target, stored.value.pipeline):
            return _carry_out(target, stored, program, session, doing)
    except RegistryError:
        # Most often, somebody who wrote first is somebody who took over; that says more.
        session.check()
        raise


def _carry_out(
    target: Target,
    stored: Stored[Head],
    program: Program,
    session: Session,
    doing: Doing,
) -> tuple[Stored[Head], StepResult]:
    boundary, check, clock = session.boundary, session.check, session.clock
    head = stored.value
    intent = head.intent
    if intent is None:
        raise RegistryError("G602", f"{head.pipeline!r} has no step to carry out")
    if intent.withdrawn:
        put_step_back(target, stored, program, boundary)
        why = "another process took it over" if intent.taken_over else "the engine refused it"
        raise EngineError("X723", f"step {intent.step} of {head.pipeline} was withdrawn: {why}")
    boundary(f"step:{INTENDED}")
    unwanted = file_to_skip(target.registry, head)
    if unwanted is not None:
        _withdraw(target, stored, program, boundary)
        why = f"it reads {told_path(unwanted)}, which `connector skip` leaves out"
        raise EngineError("X723", f"step {intent.step} of {head.pipeline} was withdrawn: {why}")
    try:
        if isinstance(intent.work, RestoreCheckpoint):
            return carry_out_restore(target, stored, session), StepResult(intent.step, {}, ())
        require_planned_engine(target, program)
        effects = StepEffects(target, program, head, session, doing)
        effects.write_tables()
        views = effects.compute_views()
    except EngineError:
        check()
        _withdraw(target, stored, program, boundary)
        raise
    except (ReconcileError, OSError):
        # A store that is away, or another writer: the same step may well do later.
        raise
    except Exception:
        # A mistake of ours is made each time: the step must not stay open, and the pipeline be of no use, for it.
        check()
        _withdraw(target, stored, program, boundary)
        raise
    boundary(f"step:{BEFORE}")
    check()
    started = clock()
    work = effects.progress
    positions = dict(head.positions)
    for ingest in intent.ingests:
        positions[fold(ingest.connector)] = ingest.position
    at, without_spark = this_moment(), tuple(sorted(work.without_spark))
    done = replace(
        head,
        published=Published(intent.step, at, dict(sorted(work.placements.items())), work.foreign),
        positions=dict(sorted(positions.items())),
        intent=None,
        last_step=intent.step,
    )
    since = {one.connector: one.since for one in intent.ingests}
    told = ToldOfStep(kind_of(intent.work), since, without_spark, dict(sorted(work.ways.items())))
    written = publish_head(target.registry, stored, done, program, told, boundary)
    boundary(f"step:{RECORDED}")
    remove_former_states(target, session.engine, head, done)
    seconds = {**work.seconds, "publish": work.seconds["publish"] + clock() - started}
    return written, StepResult(
        intent.step,
        work.rows,
        views,
        work.rejected,
        work.unmatched,
        {phase: round(taken, 6) for phase, taken in seconds.items()},
        {name: one.step for name, one in sorted(intent.foreign.items())},
        work.unknown,
        work.missing,
        work.failed_calls,
        without_spark,
        {one.connector: seconds_between(one.since, at) for one in intent.ingests},
        work.late,
        tuple(work.lost),
        work.keys,
        work.ways,
    )


def _withdraw(target: Target, stored: Stored[Head], program: Program, boundary: Boundary) -> None:
    assert stored.value.intent is not None
    marked = replace(stored.value, intent=replace(stored.value.intent, withdrawn=True))
    put_step_back(target, target.registry.replace_head(stored.token, marked, str(uuid.uuid4())), program, boundary)


def _published(head: Head) -> Published:
    if head.published is None:
        raise RegistryError("G602", f"pipeline {head.pipeline!r} has no published step")
    return head.published
