"""Querying: one SELECT over what is published, without a lease; it never blocks a writer."""

from reconciler.diagnostics import Diagnostic
from reconciler.engine.protocol import Engine, Rows, Selection
from reconciler.errors import ReconcileError
from reconciler.manifest.model import ViewKind
from reconciler.names import did_you_mean, fold
from reconciler.program.functions import called_functions
from reconciler.program.model import Program
from reconciler.reconcile.reading import functions_for, published_place, sources_for
from reconciler.reconcile.replaying import program_in_force
from reconciler.reconcile.target import Target
from reconciler.sql.adhoc import Delete, Insert, Select, read_select


def query(target: Target, pipeline: str, sql: str, engine: Engine) -> Rows:
    """Run one SELECT at the published step. Takes no lease; never blocks a writer."""
    select = read_select(sql)
    if isinstance(select, Diagnostic):
        raise ReconcileError(select.code, select.message, select.hint)
    head, program = program_in_force(target, pipeline)
    require_relations(program, select)
    placements = head.value.published.relations if head.value.published else {}
    place = published_place(program, target.warehouse, placements)
    sources = sources_for(program, select.relations, place)
    functions = functions_for(program, called_functions(select.sql, program.functions), select.relations)
    return engine.select(Selection(select.sql, sources, program.settings.spark, functions))


def require_relations(program: Program, statement: Select | Insert | Delete) -> None:
    """Raise ReconcileError (X722) for a relation that is not there or can't be seen from outside."""
    visible = [table.name for table in program.tables.values()]
    visible += [view.name for view in program.views.values() if view.kind is not ViewKind.LOCAL]
    for name in statement.relations:
        view = program.views.get(fold(name))
        if view is not None and view.kind is ViewKind.LOCAL:
            raise ReconcileError("X722", f"view {view.name} is LOCAL: it can't be read from outside of the program")
        if program.relation(name) is None:
            raise ReconcileError("X722", f"unknown table or view {name!r}", did_you_mean(name, visible))
