"""Reading: the sources that a query needs, each pinned, in dependency order.

A table or stored view is read where it stands at the version that its placement names; a plain or LOCAL view is computed
in place, over its own sources. Nothing is ever read "as it is now". Relations of other pipelines are sources as any, under
their keys (`pipeline.name`).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeAlias, assert_never

from reconciler.base.declarations import FunctionDeclaration, PythonBody, Settings, SqlBody
from reconciler.base.errors import EngineError, RegistryError
from reconciler.base.names import fold, is_foreign, is_version, without_version
from reconciler.delta.opening import join_location
from reconciler.delta.removal import table_identity
from reconciler.engine.protocol import ColumnType
from reconciler.engine.sources import EmptySource, FunctionSource, InlineSource, PythonModule, Source, StoredSource
from reconciler.project.program.defaults import settled_default
from reconciler.project.program.model import Program, Table, View
from reconciler.project.program.order import topological
from reconciler.project.snapshot.functions import called_closely
from reconciler.registry.placements import ForeignStep, Placement, foreign_place
from reconciler.sql.types import storage_type

Place: TypeAlias = Callable[[str], StoredSource | EmptySource]


def table_columns(table: Table) -> tuple[ColumnType, ...]:
    """A table's columns as stored. Columns of the primary key hold no NULL."""
    key = {fold(name) for name in table.primary_key}
    return tuple(
        ColumnType(column.name, storage_type(column.type), column.nullable and fold(column.name) not in key)
        for column in table.columns
    )


def declared_columns(table: Table) -> tuple[ColumnType, ...]:
    """A table's columns as rows have to fit them: how long a text may be is part of that, and not of what is stored."""
    stored = table_columns(table)
    return tuple(replace(one, type=column.type) for one, column in zip(stored, table.columns, strict=True))


def table_defaults(table: Table, settings: Settings) -> dict[str, str]:
    """What columns get in rows that lack them, by folded name."""
    settled = {fold(column.name): settled_default(column, settings) for column in table.columns}
    return {key: default for key, default in settled.items() if default is not None}


def sources_for(
    program: Program, wanted: Iterable[str], place: Place, *, with_functions: bool = False
) -> tuple[Source, ...]:
    """The sources for a query that names these relations (any spelling); `place` pins a stored relation by folded name.
    `with_functions`: those that are computed in place bring their functions, since the query is of another program."""
    needed = _needed(program, wanted)
    apart = with_functions or _has_recorded_functions(program)
    return tuple(_source(program, key, place, apart) for key in (*program.foreign, *program.order) if key in needed)


def _needed(program: Program, wanted: Iterable[str]) -> set[str]:
    """Relations (folded) and, below views that are computed in place, what these read."""
    needed: set[str] = set()
    waiting = [fold(name) for name in wanted]
    while waiting:
        key = waiting.pop()
        if key in needed:
            continue
        needed.add(key)
        if (relation := program.relations.get(key)) is not None and not relation.is_stored:
            waiting += [fold(read.relation) for read in relation.reads]
    return needed


def functions_for(program: Program, calls: Iterable[str], wanted: Iterable[str]) -> tuple[FunctionSource, ...]:
    """The functions for a query that calls `calls` (keys) and names the relations `wanted`: also those of views that are
    computed in place, unless these bring their own, and those that bodies in SQL call. Each comes after what it calls."""
    if not program.functions:
        return ()
    if _has_recorded_functions(program):
        return _functions(program, calls)
    inline = [program.views[key] for key in _needed(program, wanted) if key in program.views]
    return _functions(program, [*calls, *(call for view in inline if not view.is_stored for call in view.calls)])


def _has_recorded_functions(program: Program) -> bool:
    """Whether one name may mean several functions: that of today, and those that old versions go on calling."""
    return any(map(is_version, program.functions))


def _functions(program: Program, calls: Iterable[str]) -> tuple[FunctionSource, ...]:
    needed = called_closely(program.functions, calls)
    order = topological({key: program.functions[key].calls for key in needed})
    return tuple(_function(program.functions[key].declaration) for key in order)


def _function(declaration: FunctionDeclaration) -> FunctionSource:
    match declaration.body:
        case SqlBody():
            body: str | PythonModule = declaration.body.expression
        case PythonBody():
            python = declaration.body
            body = PythonModule(python.module, python.sources, python.requirements, python.gives_null_on_error)
        case _:
            assert_never(declaration.body)
    return FunctionSource(
        without_version(declaration.name),
        tuple(ColumnType(one.name, storage_type(one.type), one.nullable) for one in declaration.parameters),
        storage_type(declaration.returns),
        body,
        declaration.deterministic,
        declaration.returns_nullable,
    )


def _source(program: Program, key: str, place: Place, apart: bool) -> Source:
    view = program.views.get(key)
    if view is not None and not view.is_stored:
        functions = _functions(program, view.calls) if apart else ()
        return InlineSource(view.name, query_of(view), view.declaration.column_names, functions)
    return place(key)


def query_of(view: View) -> str:
    """A view's query as the engine is to run it."""
    if not any(is_foreign(read.relation) for read in view.reads):
        return view.query
    from reconciler.sql.qualified_names import with_single_names

    return with_single_names(view.query)


def published_place(program: Program, warehouse: str, placements: Mapping[str, Placement]) -> Place:
    """Pins relations at the published step. `placements` also has those of other pipelines that are read."""

    def place(key: str) -> StoredSource:
        placement = placements.get(key)
        relation = program.relation(key)
        foreign = program.foreign.get(key)
        if placement is None or (relation is None and foreign is None):
            raise RegistryError("G602", f"the registry has no published location of {key!r}")
        name = relation.name if relation is not None else key
        spelled = spelled_columns(program, key)
        return StoredSource(name, join_location(warehouse, placement.location), placement.version, spelled=spelled)

    return place


def spelled_columns(program: Program, key: str) -> tuple[str, ...]:
    """The columns of a relation that is read, as the program spells them, and as far as it knows them. What is stored may
    have another letter case: that alone is no reason to write it anew."""
    relation = program.relation(key) or program.foreign.get(key)
    return relation.column_names if relation is not None else ()


def require_foreign(sources: Iterable[Source], foreign: Mapping[str, ForeignStep]) -> None:
    """Raise EngineError (X738) unless the tables of other pipelines and of versions among these sources are those that were
    pinned."""
    for source in sources:
        if not isinstance(source, StoredSource) or not is_foreign(source.name):
            continue
        place, name = foreign_place(fold(source.name), foreign)
        pinned = foreign.get(place)
        if pinned is None and is_version(source.name):
            # One that a query by hand names: nothing pins it.
            continue
        if pinned is None or table_identity(source.location) != pinned.ids.get(name):
            step = f" at step {pinned.step}" if pinned is not None else ""
            message = f"the rows of {source.name}{step} no longer exist: its table was removed"
            hint = "if the table was recreated: reconcile plan shows what follows, reconcile apply reads it"
            raise EngineError("X738", message, hint)
