"""Statements: one INSERT or DELETE as a step of the applied program, under the lease."""

from dataclasses import replace

from reconciler.base.boundaries import BEFORE
from reconciler.base.diagnostics import Diagnostic
from reconciler.base.errors import ReconcileError
from reconciler.base.names import did_you_mean, fold
from reconciler.environment.session import Session
from reconciler.environment.target import Target
from reconciler.project.program.model import Program
from reconciler.query.querying import require_relations
from reconciler.query.waiting import waiting_hint
from reconciler.registry.intents import RunStatement
from reconciler.run.connector_controls import carry_out_waiting
from reconciler.run.recovering import program_in_force, ready_for_steps
from reconciler.run.stepping import StepResult, carry_out, write_intent
from reconciler.sql.adhoc import Delete, Insert, read_change
from reconciler.state.lease import hold_lease, this_process


def execute(target: Target, pipeline: str, sql: str, session: Session) -> StepResult:
    """Run one INSERT or DELETE as a step. Raises ReconcileError for what is not one, or not allowed on that table."""
    change = read_change(sql)
    if isinstance(change, Diagnostic):
        raise ReconcileError(change.code, change.message, change.hint)
    with hold_lease(target.registry, pipeline, this_process("execute"), report=session.tell) as lease:
        steps: list[StepResult] = []
        session = replace(session, check=lease.check)
        ready_for_steps(target, pipeline, session, steps)
        carry_out_waiting(target, pipeline, session.tell, session.boundary)
        stored, program = program_in_force(target, pipeline)
        work = _statement(target, program, change, sql)
        session.boundary(f"intent:{BEFORE}")
        stored = write_intent(target, stored, work)
        return carry_out(target, stored, program, session)[1]


def _statement(target: Target, program: Program, change: Insert | Delete, sql: str) -> RunStatement:
    key = fold(change.table)
    table = program.tables.get(key)
    if table is None:
        names = [table.name for table in program.tables.values()]
        kind = "a view; only tables can be written" if key in program.views else "unknown"
        hint = waiting_hint(target, program.name, change.table) or did_you_mean(change.table, names)
        raise ReconcileError("X722", f"table {change.table!r} is {kind}", hint)
    if table.declaration.append_only and isinstance(change, Delete):
        raise ReconcileError("X722", f"table {table.name} is append_only: rows can't be deleted")
    require_relations(target, program, change)
    return RunStatement(sql, key, tuple(change.relations))
