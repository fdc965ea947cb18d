"""The loop of a run under its lease: look what people want, write outputs, take input, and wait when nothing is new.

Rules:
- Between two steps it looks at the lease (is it wanted, is it lost) and at the controls (stop, pause, connectors, seeks).
- After a step it looks again at once; when nothing was new it waits, longer each time, up to the interval. An idle run
  starts no job of the engine, writes nothing, and reads two small documents a second.
- What is done beside a live run (`upkeep`) is given a moment between two steps, no more.
- A registry that can't be reached holds a live run up and does not end it: it goes on from the head, as if started anew.
- In a run that ends by itself (`once`) nothing is tried twice, and the first failure is raised when all else is done.

What it leaves to others: taking the lease and giving it back (`running`), what is moved (`moving`), what a checkpoint is
(`checkpoints`).
"""

import time
from dataclasses import replace
from enum import Enum, auto

from reconciler.base.errors import ReconcileError, RegistryConflict, RegistryError
from reconciler.environment.session import Session
from reconciler.environment.target import Target
from reconciler.registry.model import Controls, Head
from reconciler.run.failures import wait_after
from reconciler.run.moving import Moving
from reconciler.run.pace import Pace
from reconciler.run.recovering import ready_for_steps
from reconciler.run.reporting import Reporter
from reconciler.run.stepping import StepResult
from reconciler.state.checkpoints import write_checkpoint
from reconciler.state.controls import read_controls, take_away_stop
from reconciler.state.events import Event, EventLog
from reconciler.state.lease import HeldLease
from reconciler.state.lifecycle import Happening, State, after

_LOOK_EVERY_SECONDS = 1.0
_SLICE_SECONDS = 0.05
_FIRST_WAIT_SECONDS = 0.1


class Outcome(Enum):
    """Why the loop let go: the run ended, somebody wants the pipeline, or an apply that was begun must be finished first."""

    ENDED = auto()
    HANDED_OVER = auto()
    AWAITS_APPLY = auto()


class RunLoop:
    """One run, over all the leases that it holds; see the module."""

    def __init__(
        self, target: Target, pipeline: str, session: Session, pace: Pace, reporter: Reporter, log: EventLog
    ) -> None:
        self._target = target
        self._pipeline = pipeline
        self._session = session
        self._pace = pace
        self._report = reporter
        self._log = log
        self._look_at = 0.0
        self._wait = 0.0
        self._troubles = 0
        self._began = False
        self._checkpoint_at = 0.0
        self._checkpointed: int | None = None
        self.moving = Moving(target, pipeline, session, pace.once, reporter, log)

    def happen(self, happening: Happening) -> None:
        """Go over to the state to which a happening leads."""
        self._report.set_state(after(self._report.state, happening))

    def under_lease(self, lease: HeldLease) -> Outcome:
        """Run as long as the lease may be held. Raises LeaseHeld when it was lost, and ReconcileError."""
        try:
            self._begin(lease)
        except ReconcileError as error:
            if error.code != "A507" or not self._began:
                raise
            self._session.tell(f"{error.message}; waiting for it")
            self.happen(Happening.APPLY)
            return Outcome.AWAITS_APPLY
        while True:
            try:
                outcome = self._go_round(lease)
            except (RegistryError, OSError) as error:
                if isinstance(error, RegistryConflict):
                    # Most often, somebody who wrote first is somebody who took over; that says more.
                    lease.check()
                # Who is told to stop tries once more, and then leaves the rest to the next run.
                gives_up = self._pace.stop() and self._troubles > 0
                if self._pace.once or gives_up or isinstance(error, RegistryConflict):
                    raise
                self._sit_out(lease, error)
                continue
            if outcome is not None:
                return outcome

    def _begin(self, lease: HeldLease) -> None:
        """From the newest head on, as if nothing were known."""
        if self._report.state is State.BOOTSTRAPPING:
            self.happen(Happening.RUN)
            self._log.record(Event.TAKEN_BACK)
        head = self._target.registry.head(self._pipeline)
        if head is not None and head.value.intent is not None:
            if self._report.state is State.INITIALIZING:
                self.happen(Happening.FIND)
            self._log.record(Event.STEP_REPLAYED, step=head.value.intent.step)
        replayed: list[StepResult] = []
        stored, program = ready_for_steps(self._target, self._pipeline, replace(self._session, check=lease.check), replayed)
        self.moving.start_from(lease, stored, program, replayed)
        self._wait, self._look_at = 0.0, 0.0
        if not self._began:
            self._began = True
            self._checkpoint_at = time.monotonic() + self.moving.checkpoint_seconds
            self._log.record(Event.RUN_STARTED, details={"once": self._pace.once})
        if self._report.state in (State.INITIALIZING, State.REPLAYING):
            paused = read_controls(self._target.registry, self._pipeline).paused
            self.happen(Happening.HOLD if paused else Happening.READY)
            if paused:
                self._tell_of_pause()

    def _go_round(self, lease: HeldLease) -> Outcome | None:
        lease.check()
        controls = read_controls(self._target.registry, self._pipeline)
        worked = self.moving.emit(controls)
        if lease.wanted():
            self.moving.settle()
            self._log.record(Event.HANDED_OVER)
            self.happen(Happening.APPLY)
            return Outcome.HANDED_OVER
        if self._pace.stop() or controls.stops:
            self._end()
            return Outcome.ENDED
        self._pause_or_resume(controls)
        if controls.seeks:
            self.moving.seek(controls)
            # What was sent nothing because of a wish is sent in the next round, be it that the wish is only taken away here.
            worked, self._look_at = True, 0.0
        if time.monotonic() >= self._look_at:
            worked = self.moving.take_input(controls, paused=self._report.state is State.PAUSED) or worked
        if self._troubles:
            self._troubles = 0
            self._report.failing_as_a_whole(None)
        self._checkpoint_if_due()
        upkeep = None if self._pace.once else self._pace.upkeep
        if upkeep is not None and upkeep.between_steps(lease):
            self._begin(lease)
        self._report.write()
        if worked:
            self._wait, self._look_at = 0.0, 0.0
            return None
        if self._pace.once:
            self._end()
            return Outcome.ENDED
        self._idle()
        return None

    def _idle(self) -> None:
        now = time.monotonic()
        if now >= self._look_at:
            self._wait = min(max(self._wait * 2, _FIRST_WAIT_SECONDS), self._pace.interval_seconds)
            self._look_at = now + self._wait
        self._sleep(min(self._look_at - now, _LOOK_EVERY_SECONDS))

    def _sleep(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while not self._pace.stop() and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, _SLICE_SECONDS))

    def _end(self) -> None:
        """Everything else is done: write what is only known here, and let go. Raises the first failure of a run `once`."""
        if self._report.state is not State.STOPPING:
            self.happen(Happening.STOP)
        self.moving.settle()
        if not read_controls(self._target.registry, self._pipeline).forced:
            self._write_checkpoint("stop")
        take_away_stop(self._target.registry, self._pipeline)
        failure = self.moving.first_failure
        if self._pace.once and failure is not None:
            raise failure
        self._log.record(Event.RUN_STOPPED, step=self.moving.published_step)
        self.happen(Happening.END)

    def _sit_out(self, lease: HeldLease, error: Exception) -> None:
        """Wait until the registry can be reached again."""
        self._troubles += 1
        told = error if isinstance(error, ReconcileError) else RegistryError("G603", f"{type(error).__name__}: {error}")
        self._session.tell(f"{told.code}: {told.message}; trying again")
        self._report.failing_as_a_whole(told)
        self._report.write()
        while True:
            self._sleep(wait_after(self._troubles))
            try:
                # The lease may have run out meanwhile, for the same reason.
                lease.check()
                self._begin(lease)
                return
            except (RegistryError, OSError):
                self._troubles += 1
                if self._pace.stop():
                    raise

    def _pause_or_resume(self, controls: Controls) -> None:
        wanted = State.PAUSED if controls.paused else State.RUNNING
        if self._report.state is wanted:
            return
        pauses = wanted is State.PAUSED
        self.moving.settle()
        self.happen(Happening.PAUSE if pauses else Happening.RESUME)
        self._log.record(Event.PAUSED if pauses else Event.RESUMED, details={"by": controls.by})
        if pauses:
            self._tell_of_pause()
        else:
            self._session.tell(f"{self._pipeline} is resumed")
        self._look_at = 0.0

    def _tell_of_pause(self) -> None:
        name = self._pipeline
        self._session.tell(f"{name} is paused and reads no input; to go on: reconcile resume {name}")

    def _checkpoint_if_due(self) -> None:
        if time.monotonic() >= self._checkpoint_at:
            self._checkpoint_at = time.monotonic() + self.moving.checkpoint_seconds
            self._write_checkpoint("periodic")

    def _write_checkpoint(self, cause: str) -> None:
        """Write a checkpoint, if there was a step since the last one. None is worth a run that ends."""
        step = self.moving.published_step
        if step is None or step == self._checkpointed:
            return
        self.moving.settle()
        self._checkpoint(self.moving.stored.value, step, cause)

    def checkpoint_aside(self) -> None:
        """Write the checkpoint of a run that is told to stop while somebody else has the pipeline: that needs no lease."""
        stored = self._target.registry.head(self._pipeline)
        if stored is None or stored.value.published is None or stored.value.journal is not None:
            return
        step = stored.value.published.step
        if step != self._checkpointed:
            self._checkpoint(stored.value, step, "stop")

    def _checkpoint(self, head: Head, step: int, cause: str) -> None:
        try:
            written = write_checkpoint(self._target, head, None, cause, self._session.boundary)
        except RegistryError as error:
            self._session.tell(f"no checkpoint was written: {error.code}: {error.message}")
            return
        self._checkpointed = step
        self._log.record(Event.CHECKPOINT, "", step, {"name": written.name, "cause": cause})
