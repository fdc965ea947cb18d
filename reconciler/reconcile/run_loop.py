"""The loop of a run under its lease: look what people want, write outputs, take input, and wait when nothing is new.

Rules:
- Between two steps it looks at the lease (is it wanted, is it lost) and at the controls (stop, pause, connectors, seeks).
- A step takes what all connectors have that may run now (`orchestration`). An input that has ended is not looked at again.
- After a step it looks again at once; when nothing was new it waits, longer each time, up to the interval. An idle run
  starts no job of the engine, writes nothing, and reads two small documents a second.
- A connector that fails is left out until its next try (`failures`); the others go on. If a view fails over what several
  connectors brought, the step is made anew with one of them at a time, so that the failure finds its connector.
- A registry that can't be reached holds a live run up and does not end it: it goes on from the head, as if started anew.
- In a run that ends by itself (`once`) nothing is tried twice, and the first failure is raised when all else is done.

What it leaves to others: taking the lease and giving it back (`running`), what a step is (`stepping`), what is written out
(`emitting`), what a checkpoint is (`checkpoints`).
"""

import time
import uuid
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final

from reconciler.connectors.transport import Direction
from reconciler.digest import JsonObject
from reconciler.errors import EngineError, IngestFailed, ReconcileError, RegistryConflict, RegistryError
from reconciler.names import fold
from reconciler.program.model import Program
from reconciler.reconcile.boundaries import BEFORE
from reconciler.reconcile.controls import read_controls, take_away_stop
from reconciler.reconcile.emitting import emit_pinned, pin_emissions
from reconciler.reconcile.events import Event, EventLog, Happened
from reconciler.reconcile.failures import Failures, wait_after
from reconciler.reconcile.lease import HeldLease
from reconciler.reconcile.lifecycle import Happening, State, after
from reconciler.reconcile.locations import with_absolute_location, with_root, without_root
from reconciler.reconcile.orchestration import Activity, Decision, decide, has_ended
from reconciler.reconcile.replaying import Running, describe_step_result, ready_for_steps
from reconciler.reconcile.reporting import Reporter
from reconciler.reconcile.seeking import carry_out_seeks
from reconciler.reconcile.stepping import StepResult, carry_out, write_intent
from reconciler.reconcile.target import Target
from reconciler.registry.model import Controls, Head, Stored, Wish

KEPT_RESULTS: Final = 1000
"""How many steps a run remembers: a live one makes any number of them."""

_LOOK_EVERY_SECONDS = 1.0
_SLICE_SECONDS = 0.05
_FIRST_WAIT_SECONDS = 0.1


class Outcome(Enum):
    """Why the loop let go: the run ended, somebody wants the pipeline, or an apply that was begun must be finished first."""

    ENDED = auto()
    HANDED_OVER = auto()
    AWAITS_APPLY = auto()


@dataclass(frozen=True, slots=True)
class Pace:
    """`once`: until nothing is new, else until `stop` (a signal) or a wish; `interval_seconds`: how often to look."""

    once: bool
    interval_seconds: float = 1.0
    stop: Callable[[], bool] = lambda: False


class RunLoop:
    """One run, over all the leases that it holds; see the module."""

    def __init__(
        self, target: Target, pipeline: str, running: Running, pace: Pace, reporter: Reporter, log: EventLog
    ) -> None:
        self._target = target
        self._pipeline = pipeline
        self._running = running
        self._pace = pace
        self._report = reporter
        self._log = log
        self._lease: HeldLease
        self._stored: Stored[Head]
        self._program: Program
        self._dirty = False
        self._decisions: dict[str, Decision] = {}
        self._failures = Failures()
        self._suspects: set[str] = set()
        self._look_at = 0.0
        self._wait = 0.0
        self._troubles = 0
        self._began = False
        self._checkpoint_at = 0.0
        self._checkpointed: int | None = None
        self.steps: deque[StepResult] = deque(maxlen=KEPT_RESULTS)
        self.step_count = 0
        self.row_count = 0

    @property
    def skipped(self) -> dict[str, str]:
        """The inputs that were left alone, with the reason."""
        return {
            self._program.connectors[key].qualified_name: decision.reason
            for key, decision in self._decisions.items()
            if decision.activity in (Activity.WAITING, Activity.PAUSED, Activity.LEFT_ALONE)
        }

    def happen(self, happening: Happening) -> None:
        """Go over to the state to which a happening leads."""
        self._report.set_state(after(self._report.state, happening))

    def under_lease(self, lease: HeldLease) -> Outcome:
        """Run as long as the lease may be held. Raises LeaseHeld when it was lost, and ReconcileError."""
        self._lease = lease
        try:
            self._begin()
        except ReconcileError as error:
            if error.code != "A507" or not self._began:
                raise
            self._running.tell(f"{error.message}; waiting for it")
            self.happen(Happening.APPLY)
            return Outcome.AWAITS_APPLY
        while True:
            try:
                outcome = self._go_round(lease)
            except (RegistryError, OSError) as error:
                if self._pace.once or isinstance(error, RegistryConflict):
                    raise
                self._sit_out(lease, error)
                continue
            if outcome is not None:
                return outcome

    def _begin(self) -> None:
        """From the newest head on, as if nothing were known."""
        if self._report.state is State.BOOTSTRAPPING:
            self.happen(Happening.RUN)
        head = self._target.registry.head(self._pipeline)
        if head is not None and head.value.intent is not None:
            if self._report.state is State.INITIALIZING:
                self.happen(Happening.FIND)
            self._log.record(Event.STEP_REPLAYED, step=head.value.intent.step)
        replayed: list[StepResult] = []
        self._stored, self._program = ready_for_steps(
            self._target, self._pipeline, self._running, replayed, self._lease.check
        )
        published = self._stored.value.published
        self._report.set_program(self._program, published.step if published else None)
        self._decisions = {key: one for key, one in self._decisions.items() if key in self._program.connectors}
        self._dirty, self._wait, self._look_at = False, 0.0, 0.0
        for result in replayed:
            self._stepped(result)
        if not self._began:
            self._began = True
            self._checkpoint_at = time.monotonic() + self._program.settings.checkpoint_interval_seconds
            self._log.record(Event.RUN_STARTED, details={"once": self._pace.once})
        if self._report.state in (State.INITIALIZING, State.REPLAYING):
            paused = read_controls(self._target.registry, self._pipeline).wish is Wish.PAUSE
            self.happen(Happening.HOLD if paused else Happening.READY)

    def _go_round(self, lease: HeldLease) -> Outcome | None:
        lease.check()
        controls = read_controls(self._target.registry, self._pipeline)
        worked = self._emit(controls)
        if lease.wanted():
            self._settle()
            self._log.record(Event.HANDED_OVER)
            self.happen(Happening.APPLY)
            return Outcome.HANDED_OVER
        if self._pace.stop() or controls.wish is Wish.STOP:
            self._end()
            return Outcome.ENDED
        self._pause_or_resume(controls)
        if controls.seeks:
            self._seek(controls)
        if time.monotonic() >= self._look_at:
            worked = self._take_input(controls) or worked
        if self._troubles:
            self._troubles = 0
            self._report.failing_as_a_whole(None)
        self._checkpoint_if_due()
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
        self.happen(Happening.STOP)
        self._settle()
        self._write_checkpoint("stop")
        take_away_stop(self._target.registry, self._pipeline)
        failure = self._failures.first()
        if self._pace.once and failure is not None:
            raise failure
        self._log.record(Event.RUN_STOPPED, step=self._report_step())
        self.happen(Happening.END)

    def _sit_out(self, lease: HeldLease, error: Exception) -> None:
        """Wait until the registry can be reached again."""
        self._troubles += 1
        told = error if isinstance(error, ReconcileError) else RegistryError("G603", f"{type(error).__name__}: {error}")
        self._running.tell(f"{told.code}: {told.message}; trying again")
        self._report.failing_as_a_whole(told)
        self._report.write()
        while True:
            self._sleep(wait_after(self._troubles))
            lease.check()
            try:
                self._begin()
                return
            except (RegistryError, OSError):
                self._troubles += 1
                if self._pace.stop():
                    raise

    def _settle(self) -> None:
        """Write into the head what was written out since its last commit."""
        if self._dirty:
            self._stored = self._target.registry.replace_head(self._stored.token, self._stored.value, str(uuid.uuid4()))
            self._dirty = False

    def _pause_or_resume(self, controls: Controls) -> None:
        wanted = State.PAUSED if controls.wish is Wish.PAUSE else State.RUNNING
        if self._report.state is wanted:
            return
        pauses = wanted is State.PAUSED
        self._settle()
        self.happen(Happening.PAUSE if pauses else Happening.RESUME)
        self._log.record(Event.PAUSED if pauses else Event.RESUMED, details={"by": controls.by})
        self._running.tell(f"{self._pipeline} is {'paused: no input is taken' if pauses else 'resumed'}")
        self._look_at = 0.0

    def _seek(self, controls: Controls) -> None:
        self._stored, happened = carry_out_seeks(
            self._target, self._stored, self._program, controls.seeks, self._running.tell
        )
        self._dirty = False
        for one in happened:
            self._failures.forget(fold(one.subject))
            self._report.recovered(fold(one.subject))
        self._log.record_all(happened)
        self._look_at = 0.0

    # Outputs.

    def _emit(self, controls: Controls) -> bool:
        """Write out what is pinned, and what came meanwhile. Whether anything was written."""
        worked = False
        while True:
            pinned = pin_emissions(self._stored.value, self._program)
            if pinned != self._stored.value:
                # Pinned before it is written, so that a repeat writes the same.
                self._stored = Stored(self._stored.token, pinned)
                self._dirty = True
                self._settle()
            waiting = self._failures.waiting(self._pace.once) | {key for key, said in controls.connectors.items() if said}
            if not any(state.sending is not None and key not in waiting for key, state in pinned.outputs.items()):
                return worked
            head, results = emit_pinned(
                self._target,
                self._pipeline,
                self._program,
                pinned,
                self._running.engine,
                self._running.boundary,
                leave_out=waiting,
            )
            if head != pinned:
                self._stored, self._dirty = Stored(self._stored.token, head), True
            for result in results:
                key = fold(result.connector)
                if result.error is not None:
                    self._failed(key, result.error)
                    continue
                worked = True
                self._recovered(key, result.connector, result.step)
                rows = {"inserted": result.inserted, "deleted": result.deleted}
                self._report.moved(key, result.seconds, rows=result.inserted + result.deleted, **rows)
                self._report.add_phase("emit", result.seconds)
                self._log.record(Event.EMITTED, result.connector, result.step, rows)
            if not results:
                return worked

    # Inputs.

    def _take_input(self, controls: Controls) -> bool:
        """One step over all that there is. Whether anything was tried."""
        decisions = decide(self._program, self._stored.value.positions, controls.connectors)
        self._decided(decisions)
        if self._report.state is not State.RUNNING:
            return False
        ingests = self._available(decisions)
        if self._suspects:
            ingests = [one for one in ingests if fold(one["connector"]) in self._suspects][:1]
            self._suspects -= {fold(one["connector"]) for one in ingests}
            if not ingests:
                # They have nothing more, or wait for their next try: all others as before.
                self._suspects.clear()
                return True
        if not ingests:
            return False
        self._carry_out(ingests)
        return True

    def _available(self, decisions: dict[str, Decision]) -> list[JsonObject]:
        found: list[JsonObject] = []
        waiting = self._failures.waiting(self._pace.once)
        for key, connector in sorted(self._program.connectors.items()):
            if connector.direction is not Direction.INPUT or key in waiting:
                continue
            if decisions[key].activity is not Activity.RUNNING:
                continue
            settings = with_absolute_location(connector.settings, self._target.root)
            known = with_root(self._stored.value.positions.get(key), self._target.root)
            try:
                available = self._running.engine.discover(connector.qualified_name, settings, known)
            except EngineError as error:
                self._failed(key, error)
                continue
            self._report.backlog(key, {} if available is None else available.backlog)
            if available is None:
                self._recovered(key, connector.qualified_name, None)
                continue
            position: dict[str, Any] = {**available.position, "end_of_input": available.end_of_input}
            ingest = {"connector": connector.qualified_name, "range": available.range, "position": position}
            found.append(without_root(ingest, self._target.root))
        return found

    def _carry_out(self, ingests: list[JsonObject]) -> None:
        self._running.boundary(f"intent:{BEFORE}")
        self._stored = write_intent(self._target, self._stored, "ingest", {"ingests": ingests})
        self._dirty = False
        intent = self._stored.value.intent
        step = intent.step if intent is not None else None
        try:
            self._stored, result = carry_out(
                self._target, self._stored, self._program, self._running.engine, self._running.boundary, self._lease.check
            )
        except EngineError as error:
            # The step was withdrawn: nothing of it stays, and its input is offered again.
            keys = [fold(ingest["connector"]) for ingest in ingests]
            details = {"code": error.code, "message": error.message}
            self._log.record(Event.STEP_WITHDRAWN, error.connector if isinstance(error, IngestFailed) else "", step, details)
            if isinstance(error, IngestFailed):
                self._failed(fold(error.connector), error)
            elif len(keys) == 1:
                self._failed(keys[0], error)
            else:
                self._running.tell(f"{error.code}: {error.message}; looking which input it is")
                self._suspects = set(keys)
            found = self._target.registry.head(self._pipeline)
            if found is None:
                raise
            self._stored = found
            return
        self._stepped(result, ingests)

    def _stepped(self, result: StepResult, ingests: list[JsonObject] | None = None) -> None:
        self.steps.append(result)
        self.step_count += 1
        self.row_count += sum(result.rows.values())
        self._running.tell(describe_step_result(self._pipeline, result))
        self._report.stepped(result.step, result.seconds)
        happened = [Happened(Event.STEP_PUBLISHED, "", result.step, _details(result))]
        for name, rows in sorted(result.rows.items()):
            key = fold(name)
            if key not in self._program.connectors:
                continue
            self._report.moved(
                key,
                result.seconds.get("ingest", 0.0),
                rows=rows,
                rejected=result.rejected.get(name, 0),
                unmatched=result.unmatched.get(name, 0),
            )
            if self._failures.forget(key):
                self._report.recovered(key)
                happened.append(Happened(Event.CONNECTOR_RECOVERED, name, result.step))
        for ingest in ingests or ():
            if has_ended(ingest["position"]):
                happened.append(Happened(Event.CONNECTOR_ENDED, ingest["connector"], result.step))
                self._report.backlog(fold(ingest["connector"]), {})
        self._log.record_all(happened)

    def _decided(self, decisions: dict[str, Decision]) -> None:
        """Tell what each connector does now, and log what is new about it."""
        happened = []
        for key, decision in decisions.items():
            connector, before = self._program.connectors[key], self._decisions.get(key)
            if before is None:
                known = self._report.activity_before(key)
                before = None if known is None else Decision(known)
            event = _event_between(before, decision, self._stored.value.positions.get(key), connector.direction)
            if event is not None:
                details = {"reason": decision.reason} if decision.reason else {}
                happened.append(Happened(event, connector.qualified_name, None, details))
        self._decisions = decisions
        self._log.record_all(happened)
        self._tell_decisions()

    def _tell_decisions(self) -> None:
        told = dict(self._decisions)
        for key, decision in told.items():
            failure = self._failures.of(key)
            if failure is not None and decision.activity is Activity.RUNNING:
                told[key] = Decision(Activity.FAILING, f"{failure.error.code}: {failure.error.message}")
        self._report.decided(told)

    def _failed(self, key: str, error: EngineError) -> None:
        failure = self._failures.add(key, error)
        name = self._program.connectors[key].qualified_name
        self._report.failed(key, error, None if self._pace.once else failure.retry_at)
        self._tell_decisions()
        if failure.attempts == 1:
            self._running.tell(f"{error.code}: {error.message}")
            details = {"code": error.code, "message": error.message}
            self._log.record(Event.CONNECTOR_FAILING, name, None, details)

    def _recovered(self, key: str, name: str, step: int | None) -> None:
        if self._failures.forget(key):
            self._report.recovered(key)
            self._tell_decisions()
            self._log.record(Event.CONNECTOR_RECOVERED, name, step)

    # Checkpoints.

    def _checkpoint_if_due(self) -> None:
        if time.monotonic() >= self._checkpoint_at:
            self._checkpoint_at = time.monotonic() + self._program.settings.checkpoint_interval_seconds
            self._write_checkpoint("interval")

    def _write_checkpoint(self, cause: str) -> None:
        step = self._report_step()
        if step is None or step == self._checkpointed:
            return
        self._settle()
        self._checkpointed = step

    def _report_step(self) -> int | None:
        published = self._stored.value.published
        return published.step if published is not None else None


def _event_between(
    before: Decision | None, now: Decision, position: JsonObject | None, direction: Direction
) -> Event | None:
    was = before.activity if before is not None else None
    match now.activity:
        case Activity.PAUSED if was is not Activity.PAUSED:
            return Event.CONNECTOR_PAUSED
        case Activity.RUNNING if was is Activity.PAUSED:
            return Event.CONNECTOR_RESUMED
        case Activity.RUNNING if direction is Direction.INPUT and position is None:
            return None if was in (Activity.RUNNING, Activity.FAILING) else Event.CONNECTOR_STARTED
        case _:
            return None


def _details(result: StepResult) -> JsonObject:
    details: dict[str, Any] = {"rows": dict(sorted(result.rows.items())), "views": len(result.views)}
    for name, counts in (("rejected", result.rejected), ("unmatched", result.unmatched)):
        found = {connector: count for connector, count in sorted(counts.items()) if count}
        if found:
            details[name] = found
    return details
