"""Running: `run`, `execute` and `query` on what is applied, never on the files.

Rules: what waits for approval does not run; the applied snapshot goes on. A pipeline with an open journal accepts no
steps until an apply has finished it; queries are answered from the published step all the while. A step that a dead
writer left open is replayed before anything else. Between steps a run hands the pipeline over to whoever asks.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from reconciler.connectors.catalogue import TRANSPORTS
from reconciler.connectors.transport import Direction
from reconciler.digest import JsonObject
from reconciler.errors import EngineError, IngestFailed, LeaseHeld
from reconciler.program.model import Connector, Program
from reconciler.reconcile.boundaries import BEFORE
from reconciler.reconcile.lease import HeldLease, hold_lease, this_process
from reconciler.reconcile.locations import with_absolute_location, with_root, without_root
from reconciler.reconcile.replaying import Running as Running
from reconciler.reconcile.replaying import describe_step_result, program_in_force, ready_for_steps
from reconciler.reconcile.replaying import replay_intent as replay_intent
from reconciler.reconcile.stepping import StepResult, carry_out, write_intent
from reconciler.reconcile.target import Target
from reconciler.registry.model import Head

_POLL_SECONDS = 0.2
_HANDOVER_STARTS_WITHIN = 30.0


@dataclass(frozen=True, slots=True)
class RunResult:
    """The steps of a run, and the connectors that it left alone with the reason."""

    pipeline: str
    steps: tuple[StepResult, ...]
    skipped: dict[str, str] = field(default_factory=dict)


def run_pipeline(
    target: Target,
    pipeline: str,
    running: Running,
    *,
    once: bool,
    interval_seconds: float = 1.0,
    stop: Callable[[], bool] = lambda: False,
) -> RunResult:
    """Ingest what the inputs have and bring every view up to date; `once`: until nothing is new, else until `stop`."""
    steps: list[StepResult] = []
    skipped: dict[str, str] = {}
    while True:
        with hold_lease(target.registry, pipeline, this_process("run"), report=running.tell) as lease:
            finished = _run_under_lease(target, pipeline, running, lease, steps, skipped, once, interval_seconds, stop)
        if finished:
            return RunResult(pipeline, tuple(steps), skipped)
        running.tell(f"handed {pipeline} over; waiting to go on")
        _wait_for_handover(target, pipeline)


def _run_under_lease(
    target: Target,
    pipeline: str,
    running: Running,
    lease: HeldLease,
    steps: list[StepResult],
    skipped: dict[str, str],
    once: bool,
    interval_seconds: float,
    stop: Callable[[], bool],
) -> bool:
    stored, program = ready_for_steps(target, pipeline, running, steps)
    failed: dict[str, EngineError] = {}
    while True:
        if lease.wanted():
            return False
        if lease.lost.is_set():
            raise LeaseHeld("A503", f"another process took {pipeline} over")
        ingests = _available(target, program, stored.value, running, skipped, failed)
        if ingests:
            running.boundary(f"intent:{BEFORE}")
            stored = write_intent(target, stored, "ingest", {"ingests": ingests})
            try:
                stored, result = carry_out(target, stored, program, running.engine, running.boundary)
            except IngestFailed as error:
                # The step was withdrawn; the other connectors go on without this one.
                failed[error.connector] = error
                running.tell(f"{error.code}: {error.message}")
                stored = program_in_force(target, pipeline)[0]
                continue
            steps.append(result)
            running.tell(describe_step_result(pipeline, result))
            continue
        if failed and once:
            raise next(iter(failed.values()))
        if once or stop():
            return True
        failed.clear()
        time.sleep(interval_seconds)


def _wait_for_handover(target: Target, pipeline: str) -> None:
    """Until whoever asked has taken the lease and let it go again, or never came."""
    deadline = time.monotonic() + _HANDOVER_STARTS_WITHIN
    mine = target.registry.lease(pipeline)
    while time.monotonic() < deadline:
        found = target.registry.lease(pipeline)
        if found is not None and mine is not None and found.value.holder != mine.value.holder:
            deadline = time.monotonic() + _HANDOVER_STARTS_WITHIN
            if found.value.released:
                return
        time.sleep(_POLL_SECONDS)


def _available(
    target: Target,
    program: Program,
    head: Head,
    running: Running,
    skipped: dict[str, str],
    failed: dict[str, EngineError],
) -> list[dict[str, Any]]:
    found = []
    for key, connector in sorted(program.connectors.items()):
        if connector.direction is not Direction.INPUT:
            continue
        reason = _reason_to_skip(program, connector, head)
        if reason is not None:
            skipped[connector.qualified_name] = reason
            continue
        skipped.pop(connector.qualified_name, None)
        if connector.qualified_name in failed:
            continue
        settings = with_absolute_location(connector.settings, target.root)
        try:
            known = with_root(head.positions.get(key), target.root)
            available = running.engine.discover(connector.qualified_name, settings, known)
        except EngineError as error:
            failed[connector.qualified_name] = error
            running.tell(f"{error.code}: {error.message}")
            continue
        if available is not None:
            position: JsonObject = {**available.position, "end_of_input": available.end_of_input}
            ingest = {"connector": connector.qualified_name, "range": available.range, "position": position}
            found.append(without_root(ingest, target.root))
    return found


def _reason_to_skip(program: Program, connector: Connector, head: Head) -> str | None:
    if not TRANSPORTS[connector.transport].runnable_here:
        return f"transport {connector.transport} is not run by this version"
    if connector.settings.get("paused"):
        return "paused"
    waits_for = connector.settings.get("start_after") or ()
    labels = {waits_for} if isinstance(waits_for, str) else set(waits_for)
    for key, other in program.connectors.items():
        if labels & set(other.settings.get("labels") or ()):
            position = head.positions.get(key)
            if position is None or not position.get("end_of_input"):
                return f"waits for {other.qualified_name}"
    return None
