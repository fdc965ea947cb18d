"""What is in force: the applied program, and the step that a dead writer may have left open in its head.

Rules: who makes steps starts from a head without an open step and without an open journal. A step left open is replayed
first, with the inputs that its intent pins; one that the engine refuses is withdrawn, and its input is offered again. No
step is made with another version of Spark or Python than was planned for (`planned_engine`).
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from reconciler.base.digest import JsonObject
from reconciler.base.errors import EngineError, NotFound, ReconcileError
from reconciler.base.printing import printable
from reconciler.environment.planned_engine import require_planned_engine
from reconciler.environment.session import Session
from reconciler.environment.target import Target
from reconciler.materialize.registry_backups import require_newest_registry
from reconciler.project.program.model import Program
from reconciler.registry.intents import RestoreCheckpoint
from reconciler.registry.model import Head, Stored
from reconciler.run.stepping import StepResult, carry_out
from reconciler.state.applied import read_applied
from reconciler.state.snapshots import read_snapshot


def program_in_force(target: Target, pipeline: str) -> tuple[Stored[Head], Program]:
    """The head and the applied program. Raises NotFound (A506)."""
    applied = read_applied(target, pipeline)
    if applied.head is None or applied.snapshot is None:
        raise NotFound("A506", f"pipeline {pipeline!r} is not applied in {target.environment.name}", "run: reconcile apply")
    return applied.head, applied.snapshot.program


def ready_for_steps(
    target: Target, pipeline: str, session: Session, steps: list[StepResult]
) -> tuple[Stored[Head], Program]:
    """The head without an open step, and the applied program; the step that was replayed, if any, is added to `steps`."""
    found = target.registry.head(pipeline)
    if found is not None and found.value.intent is not None and isinstance(found.value.intent.work, RestoreCheckpoint):
        # It brings a program of its own, and there may be none in force yet.
        session.tell(f"a restore of {pipeline} was left open by a process that ended; finishing it")
        replay_intent(target, found, session)
    stored, program = program_in_force(target, pipeline)
    if stored.value.journal is not None:
        opened = stored.value.journal.opened_at
        raise ReconcileError(
            "A507", f"an apply of {pipeline} that was begun at {opened} is not finished", "run: reconcile apply"
        )
    require_newest_registry(target, stored.value)
    if stored.value.intent is not None:
        session.tell(f"step {stored.value.intent.step} of {pipeline} was left open by a process that ended; replaying it")
        try:
            stored, result = carry_out(target, stored, program, session)
        except EngineError as error:
            # Its input is offered again; who asks now gets an answer of its own.
            session.tell(f"nothing of it stays: {error.message}")
            stored, program = program_in_force(target, pipeline)
            require_planned_engine(target, program)
            return stored, program
        session.tell(describe_step_result(pipeline, result))
        steps.append(result)
    require_planned_engine(target, program)
    return stored, program


def replay_intent(target: Target, stored: Stored[Head], session: Session) -> None:
    """Carry out a step that its writer left open, or withdraw it."""
    applied, intent = stored.value.applied, stored.value.intent
    record = applied.record if applied is not None else None
    if intent is not None and isinstance(intent.work, RestoreCheckpoint):
        record = intent.work.record
    if record is None:
        raise NotFound("A506", f"{stored.value.pipeline!r} is not applied", "run: reconcile apply")
    program = read_snapshot(target, stored.value.pipeline, record).program
    with suppress(EngineError):  # then it was withdrawn: nothing of it stays
        carry_out(target, stored, program, session)


def describe_step_result(pipeline: str, result: StepResult) -> str:
    """A step in one line."""
    done = [f"{name} {_rows(result, name, count)}" for name, count in sorted(result.rows.items())]
    done += [f"reads {name} at step {step}" for name, step in sorted(result.followed.items())]
    views = ", ".join(result.views) or "none"
    return f"{pipeline} step {result.step}: {', '.join(done)}; views brought up to date: {views}"


def describe_unknown(connector: str, table: str, names: Sequence[str], rows: Mapping[str, int]) -> str:
    """Fields that no column takes, in one line, with what to do about it."""
    told = ", ".join(
        f"{printable(name)} (in {rows[name]} row{'' if rows[name] == 1 else 's'})" if name in rows else name
        for name in names
    )
    return (
        f"{connector}: no column of {table} takes {told}: what stands there is left out; to take it, say of the connector: "
        f"columns: {{COLUMN: {{source: {printable(names[0])}}}}}"
    )


def describe_missing(connector: str, table: str, names: Sequence[str]) -> str:
    """Fields that columns take and that did not come, in one line."""
    told = printable(", ".join(names))
    return f"{connector}: what it reads has no {told}: the columns of {table} that take it get NULL, or their defaults"


def _rows(result: StepResult, name: str, count: int) -> str:
    """The rows that a connector brought, and what of its records is not among them."""
    found = [f"{count} rows"]
    if result.rejected.get(name):
        found.append(f"{result.rejected[name]} rejected")
    if result.unmatched.get(name):
        unmatched = result.unmatched[name]
        found.append("1 delete that found no row" if unmatched == 1 else f"{unmatched} deletes that found no row")
    return found[0] if len(found) == 1 else f"{found[0]} ({', '.join(found[1:])})"


def details_of_step(result: StepResult) -> JsonObject:
    """A step as the event log has it."""
    details: dict[str, Any] = {"rows": dict(sorted(result.rows.items())), "views": len(result.views)}
    if result.followed:
        details["followed"] = dict(sorted(result.followed.items()))
    for name, counts in (("rejected", result.rejected), ("unmatched", result.unmatched)):
        found = {connector: count for connector, count in sorted(counts.items()) if count}
        if found:
            details[name] = found
    if result.failed_calls:
        details["failed_calls"] = {
            view: {one.function: one.count for one in failed} for view, failed in sorted(result.failed_calls.items())
        }
    return details
