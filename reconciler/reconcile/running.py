"""Running: `run`, `execute` and `query` on what is applied, never on the files.

Rules: what waits for approval does not run; the applied snapshot goes on. A pipeline with an open journal accepts no
steps until an apply has finished it; queries are answered from the published step all the while. A step that a dead
writer left open is replayed before anything else. Between steps a run hands the pipeline over to whoever asks.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from reconciler.connectors.catalogue import TRANSPORTS
from reconciler.connectors.transport import Direction
from reconciler.diagnostics import Diagnostic
from reconciler.digest import JsonObject
from reconciler.engine.protocol import Engine, Rows, Selection
from reconciler.errors import EngineError, IngestFailed, LeaseHeld, NotFound, ReconcileError
from reconciler.manifest.model import ViewKind
from reconciler.names import did_you_mean, fold
from reconciler.program.functions import called_functions
from reconciler.program.model import Connector, Program
from reconciler.reconcile.boundaries import BEFORE, Boundary, no_boundary
from reconciler.reconcile.compiling import read_snapshot
from reconciler.reconcile.lease import HeldLease, hold_lease, this_process
from reconciler.reconcile.locations import with_absolute_location, with_root, without_root
from reconciler.reconcile.planning import read_applied
from reconciler.reconcile.reading import functions_for, published_place, sources_for
from reconciler.reconcile.stepping import StepResult, carry_out, write_intent
from reconciler.reconcile.target import Target
from reconciler.registry.model import Head, Stored
from reconciler.sql.adhoc import Delete, Insert, Select, read_change, read_select

_POLL_SECONDS = 0.2
_HANDOVER_STARTS_WITHIN = 30.0


@dataclass(frozen=True, slots=True)
class Running:
    """What a run is told besides its target: how to compute, whom to tell, where to die in tests."""

    engine: Engine
    tell: Callable[[str], None] = lambda message: None
    boundary: Boundary = no_boundary


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
    stored, program = _ready(target, pipeline, running, steps)
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
                stored = _applied_program(target, pipeline)[0]
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


def execute(target: Target, pipeline: str, sql: str, running: Running) -> StepResult:
    """Run one INSERT or DELETE as a step. Raises ReconcileError for what is not one, or not allowed on that table."""
    change = read_change(sql)
    if isinstance(change, Diagnostic):
        raise ReconcileError(change.code, change.message, change.hint)
    with hold_lease(target.registry, pipeline, this_process("execute"), report=running.tell):
        steps: list[StepResult] = []
        stored, program = _ready(target, pipeline, running, steps)
        details = _statement(program, change, sql)
        running.boundary(f"intent:{BEFORE}")
        stored = write_intent(target, stored, "statement", details)
        return carry_out(target, stored, program, running.engine, running.boundary)[1]


def query(target: Target, pipeline: str, sql: str, engine: Engine) -> Rows:
    """Run one SELECT at the published step. Takes no lease; never blocks a writer."""
    select = read_select(sql)
    if isinstance(select, Diagnostic):
        raise ReconcileError(select.code, select.message, select.hint)
    head, program = _applied_program(target, pipeline)
    _require_relations(program, select)
    placements = head.value.published.relations if head.value.published else {}
    place = published_place(program, target.warehouse, placements)
    sources = sources_for(program, select.relations, place)
    functions = functions_for(program, called_functions(select.sql, program.functions), select.relations)
    return engine.select(Selection(select.sql, sources, program.settings.spark, functions))


def replay_intent(target: Target, stored: Stored[Head], engine: Engine, boundary: Boundary) -> None:
    """Carry out a step that its writer left open, or withdraw it."""
    applied = stored.value.applied
    if applied is None or applied.record is None:
        raise NotFound("A506", f"{stored.value.pipeline!r} is not applied", "run: reconcile apply")
    program = read_snapshot(target, stored.value.pipeline, applied.record).program
    with suppress(EngineError):  # then it was withdrawn: nothing of it stays
        carry_out(target, stored, program, engine, boundary)


def describe_step_result(pipeline: str, result: StepResult) -> str:
    """A step in one line."""
    rows = ", ".join(f"{name} {count} rows" for name, count in sorted(result.rows.items()))
    views = ", ".join(result.views) or "none"
    return f"{pipeline} step {result.step}: {rows}; views brought up to date: {views}"


def _ready(target: Target, pipeline: str, running: Running, steps: list[StepResult]) -> tuple[Stored[Head], Program]:
    stored, program = _applied_program(target, pipeline)
    if stored.value.journal is not None:
        opened = stored.value.journal.opened_at
        raise ReconcileError(
            "A507", f"an apply of {pipeline} that was begun at {opened} is not finished", "run: reconcile apply"
        )
    if stored.value.intent is not None:
        running.tell(f"step {stored.value.intent.step} of {pipeline} was left open by a process that ended; replaying it")
        try:
            stored, result = carry_out(target, stored, program, running.engine, running.boundary)
        except EngineError as error:
            # Its input is offered again; who asks now gets an answer of its own.
            running.tell(f"it was refused, and nothing of it stays: {error.message}")
            return _applied_program(target, pipeline)
        running.tell(describe_step_result(pipeline, result))
        steps.append(result)
    return stored, program


def _applied_program(target: Target, pipeline: str) -> tuple[Stored[Head], Program]:
    applied = read_applied(target, pipeline)
    if applied.head is None or applied.snapshot is None:
        raise NotFound("A506", f"pipeline {pipeline!r} is not applied in {target.environment.name}", "run: reconcile apply")
    return applied.head, applied.snapshot.program


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


def _statement(program: Program, change: Insert | Delete, sql: str) -> JsonObject:
    key = fold(change.table)
    table = program.tables.get(key)
    if table is None:
        names = [table.name for table in program.tables.values()]
        kind = "a view; only tables can be written" if key in program.views else "unknown"
        raise ReconcileError("X722", f"table {change.table!r} is {kind}", did_you_mean(change.table, names))
    if table.declaration.append_only and isinstance(change, Delete):
        raise ReconcileError("X722", f"table {table.name} is append_only: rows can't be deleted")
    _require_relations(program, change)
    return {"sql": sql, "table": key, "relations": list(change.relations)}


def _require_relations(program: Program, statement: Select | Insert | Delete) -> None:
    visible = [table.name for table in program.tables.values()]
    visible += [view.name for view in program.views.values() if view.kind is not ViewKind.LOCAL]
    for name in statement.relations:
        view = program.views.get(fold(name))
        if view is not None and view.kind is ViewKind.LOCAL:
            raise ReconcileError("X722", f"view {view.name} is LOCAL: it can't be read from outside of the program")
        if program.relation(name) is None:
            raise ReconcileError("X722", f"unknown table or view {name!r}", did_you_mean(name, visible))
