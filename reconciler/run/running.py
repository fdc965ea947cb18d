"""Running: `run` on what is applied, never on the files.

Rules: what waits for approval does not run; the applied snapshot goes on. A pipeline with an open journal accepts no
steps until an apply has finished it; queries are answered from the published step all the while. A step that a dead
writer left open is replayed before anything else. Between steps a run hands the pipeline over to whoever asks, and goes on
when that is done. One process at a time runs a pipeline. A live run warms the engine first (`warming`). What happens while
the lease is held: `run_loop`.
"""

import time
from collections.abc import Callable
from dataclasses import field
from datetime import UTC, datetime

from reconciler.base.dataclass import dataclass
from reconciler.base.errors import LeaseHeld, ReconcileError
from reconciler.environment.session import Session
from reconciler.environment.target import Target
from reconciler.registry.model import Lease
from reconciler.run.forced_stops import watching_for_force
from reconciler.run.pace import Pace
from reconciler.run.recovering import replay_intent as replay_intent
from reconciler.run.reporting import Reporter
from reconciler.run.run_loop import Outcome, RunLoop
from reconciler.run.stepping import StepResult
from reconciler.run.warming import warm_up
from reconciler.state.controls import read_controls, take_away_stop
from reconciler.state.events import Event, EventLog
from reconciler.state.failed_commands import unexpected
from reconciler.state.lease import hold_lease, is_free, somebody_holds, this_process
from reconciler.state.lifecycle import ENDED, Happening

_POLL_SECONDS = 0.2
_HANDOVER_STARTS_WITHIN = 30.0


@dataclass(frozen=True, slots=True)
class RunResult:
    """The steps of a run (of many, the last), how many there were, their rows, and the connectors that it left alone with
    the reason."""

    pipeline: str
    steps: tuple[StepResult, ...]
    skipped: dict[str, str] = field(default_factory=dict)
    step_count: int = 0
    row_count: int = 0


def run_pipeline(target: Target, pipeline: str, session: Session, pace: Pace) -> RunResult:
    """Ingest what the inputs have and bring every view up to date, for as long as `pace` says."""
    holder = this_process("run")
    if read_controls(target.registry, pipeline).stops and not somebody_holds(target.registry, pipeline):
        # It was meant for another run, which has ended.
        take_away_stop(target.registry, pipeline)
    reporter = Reporter(target.registry, pipeline, holder, once=pace.once)
    log = EventLog(target.registry, pipeline, session.tell)
    loop = RunLoop(target, pipeline, session, pace, reporter, log)
    try:
        with watching_for_force(target.registry, pipeline, pace.abandon):
            if not pace.once:
                warm_up(target, pipeline, session, pace.stop)
            pace.warmed()
            _run(target, pipeline, session, loop, log, pace.stop)
    except LeaseHeld:
        # Somebody else runs the pipeline now, and tells of it.
        raise
    except Exception as raised:
        error = raised if isinstance(raised, ReconcileError) else unexpected(raised)
        reporter.failing_as_a_whole(error)
        log.record(Event.RUN_FAILED, details={"code": error.code, "message": error.message})
        if reporter.state not in ENDED:
            loop.happen(Happening.FAIL)
        raise
    finally:
        if pace.upkeep is not None:
            pace.upkeep.end()
    moved = loop.moving
    return RunResult(pipeline, tuple(moved.steps), moved.skipped, moved.step_count, moved.row_count)


def _run(target: Target, pipeline: str, session: Session, loop: RunLoop, log: EventLog, stop: Callable[[], bool]) -> None:
    former = None
    while True:
        mine, held = this_process("run"), False
        try:
            with hold_lease(target.registry, pipeline, mine, report=session.tell) as lease:
                held = True
                outcome = loop.under_lease(lease)
        except LeaseHeld:
            # One who was asked to wait goes on waiting, whoever comes in between; but not for another run.
            found = target.registry.document(pipeline, Lease)
            if held or former is None or found is None or found.value.command == "run":
                raise
            outcome = Outcome.HANDED_OVER
        else:
            former = mine.id
            if outcome is Outcome.HANDED_OVER:
                session.tell(f"handed {pipeline} over to another command; waiting to go on")
        match outcome:
            case Outcome.ENDED:
                return
            case Outcome.HANDED_OVER:
                goes_on = _wait_for_handover(target, pipeline, former, stop)
            case Outcome.AWAITS_APPLY:
                goes_on = _wait_for_apply(target, pipeline, stop)
        if not goes_on:
            loop.checkpoint_aside()
            take_away_stop(target.registry, pipeline)
            log.record(Event.RUN_STOPPED)
            loop.happen(Happening.STOP)
            loop.happen(Happening.END)
            return


def _wait_for_handover(target: Target, pipeline: str, mine: str, stop: Callable[[], bool]) -> bool:
    """Until whoever asked has taken the lease and let it go again, or never came. `mine` is the holder that let go. False:
    the run is to stop."""
    deadline = time.monotonic() + _HANDOVER_STARTS_WITHIN
    host = this_process("run").host
    while time.monotonic() < deadline:
        found = target.registry.document(pipeline, Lease)
        if found is not None and found.value.holder != mine:
            deadline = time.monotonic() + _HANDOVER_STARTS_WITHIN
            if is_free(found.value, datetime.now(UTC), host):
                # Also where the run is to stop: it ends in good order under the lease, with a checkpoint.
                return True
        if _is_to_stop(target, pipeline, stop):
            return False
        time.sleep(_POLL_SECONDS)
    return True


def _wait_for_apply(target: Target, pipeline: str, stop: Callable[[], bool]) -> bool:
    """Until an apply has closed the journal. False: the run is to stop."""
    while not _is_to_stop(target, pipeline, stop):
        head = target.registry.head(pipeline)
        if head is None or head.value.journal is None:
            return True
        time.sleep(_POLL_SECONDS)
    return False


def _is_to_stop(target: Target, pipeline: str, stop: Callable[[], bool]) -> bool:
    return stop() or read_controls(target.registry, pipeline).stops
