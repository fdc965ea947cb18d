"""What a run moves between two looks at its controls: outputs that are due, one step over the inputs, a seek.

Rules:
- A step takes what all connectors have that may run now (`orchestration`). An input that has ended is not looked at again.
- What other pipelines have published since is read by a step of its own (`following`), before any input.
- A connector that fails is left out until its next try (`failures`), or until somebody resumes it; the others go on. If a
  view fails over what several connectors brought, the step is made anew with one of them at a time, so that the failure
  finds its connector.
- What is written out is pinned in the head before. What was written is ticked off in memory (`stored` is `dirty`): the next
  commit of the head, whatever it is for, takes it along; `settle` makes one for it.
- All that happens is told: in the report, in the event log.
"""

import uuid
from collections import deque
from dataclasses import replace
from typing import Any, Final

from reconciler.base.boundaries import BEFORE
from reconciler.base.digest import JsonObject
from reconciler.base.errors import EngineError, IngestFailed
from reconciler.base.names import fold
from reconciler.connectors.transport import Direction
from reconciler.environment.locations import with_absolute_location, with_root, without_root
from reconciler.environment.progress import in_failed_calls
from reconciler.environment.session import Session
from reconciler.environment.target import Target
from reconciler.materialize.following import ForeignStates, newer_steps
from reconciler.project.program.model import Program
from reconciler.registry.intents import FollowPipelines, Ingest, ReadInputs, StepWork
from reconciler.registry.model import Controls, Head, Sending, Stored
from reconciler.run.emitting import emit_pinned, pin_emissions, ticked_off
from reconciler.run.failures import Failures
from reconciler.run.orchestration import Activity, Decision, decide, has_ended
from reconciler.run.reporting import Reporter
from reconciler.run.seeking import carry_out_seeks
from reconciler.run.step_words import describe_missing, describe_step_result, describe_unknown, details_of_step
from reconciler.run.stepping import StepResult, carry_out, write_intent
from reconciler.run.ways_on import with_a_way_on
from reconciler.state.events import Event, EventLog, Happened
from reconciler.state.lease import HeldLease

KEPT_RESULTS: Final = 1000
"""How many steps a run remembers: a live one makes any number of them."""


class Moving:
    """What a run moves, from a head and the program in force; see the module."""

    def __init__(self, target: Target, pipeline: str, session: Session, once: bool, report: Reporter, log: EventLog) -> None:
        self._target = target
        self._pipeline = pipeline
        self._session = session
        self._once = once
        self._report = report
        self._log = log
        self._program: Program
        self._dirty = False
        self._sent: dict[str, Sending] = {}
        self._decisions: dict[str, Decision] = {}
        self._failures = Failures()
        self._suspects: set[str] = set()
        self._states = ForeignStates(target)
        self._held: tuple[str, ...] = ()
        self._refused_steps: dict[str, int] = {}
        self._refusal: EngineError | None = None
        self._heeded_at = ""
        self.stored: Stored[Head]
        self.steps: deque[StepResult] = deque(maxlen=KEPT_RESULTS)
        self.step_count = 0
        self.row_count = 0

    def start_from(self, lease: HeldLease, stored: Stored[Head], program: Program, replayed: list[StepResult]) -> None:
        """Go on from a head that was read anew; `replayed` are steps that were finished, and told, on the way."""
        # What was sent before the registry was lost is neither sent nor counted again.
        known = ticked_off(stored.value, self._sent)
        self._program = program
        self._session = replace(self._session, check=lease.check)
        self.stored, self._dirty = Stored(stored.token, known), known != stored.value
        self._report.set_program(program, self.published_step)
        self._decisions = {key: one for key, one in self._decisions.items() if key in program.connectors}
        self._failures.keep(program.connectors)
        self._suspects.clear()
        self._refused_steps, self._refusal = {}, None
        for result in replayed:
            self._stepped(result, is_told=True)

    @property
    def published_step(self) -> int | None:
        published = self.stored.value.published
        return published.step if published is not None else None

    @property
    def checkpoint_seconds(self) -> float:
        """How often the pipeline wants a checkpoint."""
        return self._program.settings.checkpoint_interval_seconds

    @property
    def first_failure(self) -> EngineError | None:
        """The error of the connector that fails for the longest time, else of what reads other pipelines."""
        return self._failures.first() or self._refusal

    @property
    def skipped(self) -> dict[str, str]:
        """The inputs that were left alone, with the reason."""
        return {
            self._program.connectors[key].qualified_name: decision.reason
            for key, decision in self._decisions.items()
            if decision.activity in (Activity.WAITING, Activity.PAUSED)
        }

    def settle(self) -> None:
        """Write into the head what was written out since its last commit."""
        if self._dirty:
            self.stored = self._target.registry.replace_head(self.stored.token, self.stored.value, str(uuid.uuid4()))
            self._dirty = False

    def seek(self, controls: Controls) -> None:
        """Put connectors where their users want them; they are tried at once, whatever failed before."""
        before = self.stored.token
        self.stored, happened = carry_out_seeks(
            self._target, self.stored, self._program, controls.seeks, self._session.tell, self._session.boundary
        )
        # Its commit took along what was ticked off; where nothing came of the seeks, there was none.
        self._dirty = self._dirty and self.stored.token == before
        for one in happened:
            self._failures.forget(fold(one.subject))
            self._report.recovered(fold(one.subject))
        self._log.record_all(happened)

    def emit(self, controls: Controls) -> bool:
        """Write out what is pinned, and what came meanwhile. Whether anything was written."""
        worked = False
        while True:
            pinned = pin_emissions(self.stored.value, self._program)
            if pinned != self.stored.value:
                # Pinned before it is written, so that a repeat writes the same.
                self.stored = Stored(self.stored.token, pinned)
                self._dirty = True
                self.settle()
            # What is to be put elsewhere is sent nothing more from where it is.
            waiting = self._failures.waiting(self._once) | set(controls.seeks)
            waiting |= {key for key, said in controls.connectors.items() if said}
            if not any(state.sending is not None and key not in waiting for key, state in pinned.outputs.items()):
                return worked
            head, results = emit_pinned(
                self._target,
                self._pipeline,
                self._program,
                pinned,
                self._session,
                waiting,
            )
            if head != pinned:
                self.stored, self._dirty = Stored(self.stored.token, head), True
            for result in results:
                key = fold(result.connector)
                if result.error is not None:
                    self._failed(key, result.error)
                    continue
                worked = True
                sending = pinned.outputs[key].sending
                assert sending is not None
                self._sent[key] = sending
                self._recovered(key, result.connector, result.step)
                rows = {"inserted": result.inserted, "deleted": result.deleted}
                if result.dropped:
                    rows["dropped"] = result.dropped
                if result.without_spark:
                    rows["without_spark"] = 1
                self._report.moved(key, result.seconds, rows=result.inserted + result.deleted, **rows)
                self._report.sent(result)
                self._log.record(Event.EMITTED, result.connector, result.step, rows)
            if not results:
                return worked

    def take_input(self, controls: Controls, *, paused: bool) -> bool:
        """One step over all that there is; `paused`: none, but tell what each connector does. Whether anything was tried."""
        if controls.at != self._heeded_at:
            self._failures.try_now(key for key, said in controls.connectors.items() if not said)
            self._heeded_at = controls.at
        decisions = decide(self._program, self.stored.value.positions, controls.connectors)
        self._decided(decisions)
        if paused:
            return False
        if self._program.foreign and self._follow():
            return True
        ingests = self._available(decisions)
        if self._suspects:
            ingests = [one for one in ingests if fold(one.connector) in self._suspects][:1]
            self._suspects -= {fold(one.connector) for one in ingests}
            if not ingests:
                # They have nothing more, or wait for their next try: all others as before.
                self._suspects.clear()
                return True
        if not ingests:
            return False
        self._carry_out(ingests)
        return True

    def _follow(self) -> bool:
        """One step that reads other pipelines at newer steps of theirs. Whether one was tried. What the engine refused is
        not tried again before they have published something else."""
        found = newer_steps(self._states, self.stored.value, self._program)
        if found.held != self._held:
            self._held = found.held
            if found.held:
                names = ", ".join(found.held)
                message = f"{names} changed, and {self._pipeline} goes on reading the step that it read before"
                self._session.tell(f"A561: {message}; to follow: reconcile apply {self._pipeline}")
        newer = {name: one for name, one in found.newer.items() if self._refused_steps.get(name) != one.step}
        if not newer:
            return False
        result = self._try_step(FollowPipelines(newer))
        if isinstance(result, EngineError):
            self._session.tell(f"{result.code}: {result.message}; a later step will follow {', '.join(newer)}")
            self._refused_steps |= {name: one.step for name, one in newer.items()}
            self._refusal = result
            return True
        self._refusal = None
        self._stepped(result)
        return True

    def _try_step(self, work: StepWork) -> StepResult | EngineError:
        """Carry one step out; or what the engine says where it refuses: then the step was withdrawn, whole."""
        self._session.boundary(f"intent:{BEFORE}")
        self.stored = write_intent(self._target, self.stored, work)
        self._dirty = False
        intent = self.stored.value.intent
        step = intent.step if intent is not None else None
        try:
            self.stored, result = carry_out(
                self._target,
                self.stored,
                self._program,
                self._session,
                self._report.doing,
            )
        except EngineError as error:
            connector = error.connector if isinstance(error, IngestFailed) else ""
            self._log.record(Event.STEP_WITHDRAWN, connector, step, {"code": error.code, "message": error.message})
            found = self._target.registry.head(self._pipeline)
            if found is None:
                raise
            self.stored = found
            return error
        finally:
            self._report.done()
        return result

    def _available(self, decisions: dict[str, Decision]) -> list[Ingest]:
        found: list[Ingest] = []
        waiting = self._failures.waiting(self._once)
        for key, connector in sorted(self._program.connectors.items()):
            if connector.direction is not Direction.INPUT or key in waiting:
                continue
            if decisions[key].activity is not Activity.RUNNING:
                continue
            settings = with_absolute_location(connector.settings, self._target.root)
            known = with_root(self.stored.value.positions.get(key), self._target.root)
            try:
                available = self._session.engine.discover(connector.qualified_name, settings, known)
            except EngineError as error:
                self._failed(key, error)
                continue
            if available is None:
                self._report.backlog(key, {})
                self._recovered(key, connector.qualified_name, None)
                continue
            self._report.backlog(key, available.backlog, available.waiting_since)
            position: dict[str, Any] = {**available.position, "end_of_input": available.end_of_input}
            read, position = (without_root(one, self._target.root) for one in (available.range, position))
            found.append(Ingest(connector.qualified_name, read, position, available.since))
        return found

    def _carry_out(self, ingests: list[Ingest]) -> None:
        result = self._try_step(ReadInputs(tuple(ingests)))
        if not isinstance(result, EngineError):
            self._stepped(result, ingests)
            return
        # Its input is offered again.
        by_key = {fold(ingest.connector): ingest for ingest in ingests}
        key = fold(result.connector) if isinstance(result, IngestFailed) else next(iter(by_key))
        if isinstance(result, IngestFailed) or len(by_key) == 1:
            self._failed(key, result, by_key.get(key))
        else:
            self._session.tell(f"{result.code}: {result.message}; looking for the input that causes it")
            self._suspects = set(by_key)

    def _stepped(self, result: StepResult, ingests: list[Ingest] | None = None, *, is_told: bool = False) -> None:
        self.steps.append(result)
        self.step_count += 1
        self.row_count += sum(result.rows.values())
        if not is_told:
            self._session.tell(describe_step_result(self._pipeline, result))
        for view, failed in result.failed_calls.items():
            for one in failed:
                self._session.tell(f"{view}: {in_failed_calls(one)}")
        self._report.stepped(result)
        happened = [Happened(Event.STEP_PUBLISHED, "", result.step, details_of_step(result))]
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
                late=result.late.get(name, 0),
                without_spark=int(name in result.without_spark),
            )
            happened += self._fields(key, name, result)
            self._report.recovered(key)
            if self._failures.forget(key):
                happened.append(Happened(Event.CONNECTOR_RECOVERED, name, result.step))
        for ingest in ingests or ():
            if has_ended(ingest.position):
                happened.append(Happened(Event.CONNECTOR_ENDED, ingest.connector, result.step))
                self._report.backlog(fold(ingest.connector), {})
        self._log.record_all(happened)

    def _fields(self, key: str, name: str, result: StepResult) -> list[Happened]:
        """What of a connector's records and its table's columns does not meet, told once for each name."""
        unknown = result.unknown.get(name, {})
        new = self._report.found_fields(key, unknown, result.missing.get(name, ()))
        connector = self._program.connectors[key]
        table, happened = connector.relation, []
        if new.unknown:
            rows = {field: unknown[field] for field in new.unknown if field in unknown}
            self._session.tell(describe_unknown(name, table, new.unknown, rows))
            happened.append(Happened(Event.FIELDS_UNKNOWN, name, result.step, {"rows": rows, "fields": list(new.unknown)}))
        if new.missing:
            self._session.tell(describe_missing(name, table, new.missing))
            happened.append(Happened(Event.FIELDS_MISSING, name, result.step, {"fields": list(new.missing)}))
        return happened

    def _decided(self, decisions: dict[str, Decision]) -> None:
        """Tell what each connector does now, and log what is new about it."""
        happened = []
        for key, decision in decisions.items():
            connector, before = self._program.connectors[key], self._decisions.get(key)
            if before is None:
                known = self._report.activity_before(key)
                before = None if known is None else Decision(known)
            event = _event_between(before, decision, self.stored.value.positions.get(key), connector.direction)
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

    def _failed(self, key: str, error: EngineError, ingest: Ingest | None = None) -> None:
        name, before = self._program.connectors[key].qualified_name, self._failures.of(key)
        error = with_a_way_on(error, self._pipeline, name, ingest)
        failure = self._failures.add(key, error)
        self._report.failed(key, error, None if self._once else failure.retry_at)
        self._tell_decisions()
        is_news = before is None or (before.error.code, before.error.message) != (error.code, error.message)
        # With `once` the first failure is what the run ends with, and is told then.
        if is_news and not (self._once and self.first_failure is error):
            self._session.tell(f"{error.code}: {error.message}")
        if before is None or before.error.code != error.code:
            details = {"code": error.code, "message": error.message}
            self._log.record(Event.CONNECTOR_FAILING, name, None, details)

    def _recovered(self, key: str, name: str, step: int | None) -> None:
        self._report.recovered(key)
        if self._failures.forget(key):
            self._tell_decisions()
            self._log.record(Event.CONNECTOR_RECOVERED, name, step)


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
