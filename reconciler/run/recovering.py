"""Recovering: what a process does first with a step that a dead process left open.

- Before a command makes a step it calls `ready_for_steps`, which leaves no open step and no open journal.
- A step that was left open is replayed with the inputs that its intent pins. If the engine refuses it, the step is
  withdrawn, and its input will be read again.
- A journal that was left open stops every command but `apply`, which finishes it (`apply.carrying_out`).
- No step is made with another version of Spark or Python than was planned for (`planned_engine`).
"""

from contextlib import suppress

from reconciler.base.errors import EngineError, NotFound, ReconcileError
from reconciler.environment.planned_engine import require_planned_engine
from reconciler.environment.session import Session
from reconciler.environment.target import Target
from reconciler.materialize.registry_backups import require_newest_registry
from reconciler.materialize.standing_tables import require_standing_tables
from reconciler.project.program.model import Program
from reconciler.registry.intents import RestoreCheckpoint
from reconciler.registry.model import Head, Stored
from reconciler.run.step_words import describe_step_result
from reconciler.run.stepping import StepResult, carry_out
from reconciler.state.applied import read_applied, read_snapshot


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
        # A restore brings its own program; the pipeline may have none yet.
        session.tell(f"a process ended and left a restore of {pipeline} unfinished; finishing it")
        replay_intent(target, found, session)
    stored, program = program_in_force(target, pipeline)
    if stored.value.journal is not None:
        opened = stored.value.journal.opened_at
        raise ReconcileError("A507", f"an apply of {pipeline} that began at {opened} is unfinished", "run: reconcile apply")
    require_newest_registry(target, stored.value)
    require_standing_tables(target, stored.value)
    if stored.value.intent is not None:
        session.tell(f"a process ended and left step {stored.value.intent.step} of {pipeline} unfinished; replaying it")
        try:
            stored, result = carry_out(target, stored, program, session)
        except EngineError as error:
            # The step was withdrawn, and its input will be read again. The caller goes on as if nothing had been open.
            session.tell(f"the step was withdrawn: {error.message}")
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
    with suppress(EngineError):  # `carry_out` has withdrawn the step
        carry_out(target, stored, program, session)
