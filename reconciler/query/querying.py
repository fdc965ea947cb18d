"""Querying: what is published, read at one step, without a lease; it never blocks a writer.

All relations of one answer are read at the same step, under the program that was applied then: at the last one, or at an
earlier one that is asked for. The answer says which step it was. Dead letters can be asked for, too (`dead_letters`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime

from reconciler.base.dataclass import dataclass
from reconciler.base.diagnostics import Diagnostic
from reconciler.base.errors import EngineError, NotFound, ReconcileError
from reconciler.base.names import did_you_mean, fold, is_foreign, is_identifier
from reconciler.delta.restoring import require_version
from reconciler.engine.protocol import Engine, Rows, Selection
from reconciler.engine.sources import Source, StoredSource
from reconciler.environment.target import Target
from reconciler.project.program.functions import called_functions
from reconciler.project.program.model import Program
from reconciler.query.dead_letters import dead_letter_sources, is_dead_letters, rows_without_engine
from reconciler.query.reading import functions_for, published_place, require_foreign, sources_for
from reconciler.query.sources import VersionSources, in_order, is_versioned, told_apart, version_sources
from reconciler.query.waiting import waiting_hint
from reconciler.registry.model import Head
from reconciler.registry.placements import ForeignStep, Placement, foreign_place, foreign_placements
from reconciler.sql.adhoc import Delete, Insert, Select, read_select
from reconciler.state.applied import read_snapshot
from reconciler.state.pruned import require_kept
from reconciler.state.step_history import read_step, step_at
from reconciler.workspace.declared import places_told


@dataclass(frozen=True, slots=True)
class Answer:
    """The rows of a query, and the step at which it was read; of versions that it names (as written), as of which step they
    are."""

    step: int
    rows: Rows
    versions: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StepRows:
    """Whole relations (by the names that were asked for), all at one step."""

    step: int
    relations: Mapping[str, Rows]


@dataclass(frozen=True, slots=True)
class _Published:
    head: Head
    step: int
    program: Program
    placements: Mapping[str, Placement]
    gone: frozenset[str]
    is_last: bool
    foreign: Mapping[str, ForeignStep]

    @property
    def head_step(self) -> int:
        """The last published step of all."""
        return self.head.published.step if self.head.published is not None else self.step


def query(target: Target, pipeline: str, sql: str, engine: Engine, at_step: int | None = None) -> Answer:
    """Run one SELECT at the published step, or at an earlier one.

    Raises NotFound (A506, A515, A520, A522), ReconcileError (A524, X722, X735), EngineError; X730 or X736 where the data
    of an earlier step is gone.
    """
    select = read_select(sql)
    if isinstance(select, Diagnostic):
        raise ReconcileError(select.code, select.message, select.hint)
    published = _published(target, pipeline, at_step)
    plain, versioned = told_apart(select.relations)
    letters = tuple(name for name in plain if is_dead_letters(published.program, name))
    plain = tuple(name for name in plain if name not in letters)
    if letters and not plain and not versioned:
        rows = rows_without_engine(target, pipeline, select.sql, published.step)
        if rows is not None:
            return Answer(published.step, rows)
    require_relations(target, published.program, replace(select, relations=plain))
    versions = version_sources(target, published.head, published.program, versioned, published.step)
    beside = dead_letter_sources(target, pipeline, letters, published.step)
    rows = _select(target, published, replace(select, relations=plain), engine, versions, beside)
    return Answer(published.step, rows, {one.name: one.step for one in versions})


def readable_relations(target: Target, pipeline: str) -> dict[str, tuple[str, ...]]:
    """The relations that a query may name at the published step, with the columns that are known. Raises NotFound (A506)."""
    program = _published(target, pipeline, None).program
    return {one.name: one.column_names for one in program.relations.values() if not one.is_local}


def step_at_time(target: Target, pipeline: str, time: datetime) -> int:
    """The last step of a pipeline that was published by a time. Raises NotFound (A506, A515)."""
    stored = target.registry.head(pipeline)
    if stored is None or stored.value.published is None:
        raise NotFound("A506", f"pipeline {pipeline!r} is not applied in {target.environment.name}", "run: reconcile apply")
    return step_at(target.registry, stored.value, time)


def read_relations(
    target: Target, pipeline: str, relations: Iterable[str], engine: Engine, at_step: int | None = None
) -> StepRows:
    """All rows of several tables and views, all of them at one step."""
    published = _published(target, pipeline, at_step)
    found = {}
    for name in relations:
        written = name if is_identifier(name) else f"`{name.replace('`', '``')}`"
        select = Select(f"SELECT * FROM {written}", (name,))
        require_relations(target, published.program, select)
        found[name] = _select(target, published, select, engine)
    return StepRows(published.step, found)


def _published(target: Target, pipeline: str, at_step: int | None) -> _Published:
    stored = target.registry.head(pipeline)
    if stored is None or stored.value.published is None:
        raise NotFound("A506", f"pipeline {pipeline!r} is not applied in {target.environment.name}", "run: reconcile apply")
    last = stored.value.published.step
    state = read_step(target.registry, stored.value, last if at_step is None else at_step)
    program = read_snapshot(target, pipeline, state.record).program
    placements = {**state.relations, **foreign_placements(state.foreign)}
    return _Published(stored.value, state.step, program, placements, state.gone, state.step == last, state.foreign)


def _select(
    target: Target,
    published: _Published,
    select: Select,
    engine: Engine,
    versions: Sequence[VersionSources] = (),
    beside: Sequence[Source] = (),
) -> Rows:
    program = published.program
    place = published_place(program, target.warehouse, published.placements)
    sources = sources_for(program, select.relations, place)
    require_foreign(sources, published.foreign)
    if not published.is_last:
        _require_data(target, published, sources, published.step, published.gone, published.foreign)
    for version in versions:
        # The version itself is read here by its name: what a view reads under that name says nothing of it.
        require_foreign(version.sources[:-1], version.state.foreign)
        if version.step != published.head_step:
            state = version.state
            _require_data(target, published, version.sources, version.step, state.gone, state.foreign)
    functions = functions_for(program, called_functions(select.sql, program.functions), select.relations)
    ordered = (*in_order(versions, sources), *beside)
    with places_told(target, published.head.pipeline):
        return engine.select(Selection(select.sql, ordered, program.settings.spark, functions))


def _require_data(
    target: Target,
    published: _Published,
    sources: Iterable[Source],
    step: int,
    gone: frozenset[str],
    foreign: Mapping[str, ForeignStep],
) -> None:
    for source in sources:
        if not isinstance(source, StoredSource):
            continue
        try:
            if not gone.isdisjoint((fold(source.name), fold(source.name.partition("@")[0]))):
                raise EngineError("X730", "a later apply removed its folder")
            whose, at = published.head.pipeline, step
            pin = foreign.get(foreign_place(fold(source.name), foreign)[0]) if is_foreign(source.name) else None
            if pin is not None:
                at = pin.step
                whose = source.name.partition(".")[0] if "." in source.name else whose
            require_kept(target.registry, whose, target.warehouse, at, source.location, source.version)
            require_version(source.location, source.version)
        except EngineError as error:
            message = f"{source.name} can't be read at step {step}: {error.message}"
            # A version that is not active has no later step.
            hint = (
                "remove it from the query"
                if is_versioned(source.name)
                else "read a later step, or remove that relation from the query"
            )
            raise EngineError(error.code, message, hint) from error


def require_relations(target: Target, program: Program, statement: Select | Insert | Delete) -> None:
    """Raise ReconcileError (X722) for a relation that is not there or can't be seen from outside."""
    visible = [relation.name for relation in program.relations.values() if not relation.is_local]
    for name in statement.relations:
        relation = program.relation(name)
        if relation is not None and relation.is_local:
            raise ReconcileError("X722", f"view {relation.name} is LOCAL: only views of its pipeline can read it")
        if relation is None:
            hint = waiting_hint(target, program.name, name) or did_you_mean(name, visible)
            raise ReconcileError("X722", f"unknown table or view {name!r}", hint)
