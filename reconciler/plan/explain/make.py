"""Explain a pipeline and its relations: what they are, where their columns come from, why they are or are not in the plan.

A relation is explained as desired, or as applied where the files do not declare it or can't be compiled. The reasons are
`reasons`', fingerprints `fingerprints`', lineage `origins`'; the forms are `text_form` and `json_form`.
"""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from reconciler.base.declarations import ColumnDeclaration
from reconciler.base.names import fold
from reconciler.diff.model import Action, Diff
from reconciler.diff.moves import Renames, resolve_moves
from reconciler.incremental.derive import maintenance
from reconciler.incremental.model import Maintenance
from reconciler.plan.explain.fingerprints import fingerprint_parts, texts_of_one_meaning, written_besides
from reconciler.plan.explain.model import ColumnExplanation, RelationExplanation, RelationLine, Sides, State, Stored
from reconciler.plan.explain.origins import Origins, trace_origins
from reconciler.plan.explain.reasons import state_and_why
from reconciler.plan.model import ConnectorOutcome, Hazard, Plan
from reconciler.plan.words import describe_effects
from reconciler.project.program.model import Program, Relation, Table, View

Value = TypeVar("Value")


def sides_of(plan: Plan | None, applied: Program | None, desired: Program | None) -> Sides:
    """Both sides, with what the plan says of each relation looked up once."""
    renames = resolve_moves(applied, desired).renames if applied is not None and desired is not None else Renames()
    diff = plan.diff if plan is not None else Diff((), ())
    return Sides(
        plan,
        applied,
        desired,
        renames,
        _grouped((fold(change.name), change) for change in diff.relations),
        _grouped((fold(one.view), one) for one in (*diff.spared, *diff.local_spared)),
        _grouped((fold(change.subject).partition(".")[0], change) for change in diff.metadata),
    )


def explain_lines(sides: Sides) -> tuple[RelationLine, ...]:
    """Every relation in dependency order; those that are gone come last."""
    shown = _shown(sides)
    lines = [_line(sides, shown, key) for key in shown.order]
    if sides.plan is not None and sides.applied is not None and sides.desired is not None:
        continued = {sides.renames.applied_key(key) for key in shown.order}
        lines += [_line(sides, sides.applied, key) for key in sides.applied.order if key not in continued]
    return tuple(lines)


def known_names(sides: Sides) -> tuple[str, ...]:
    """The names that `explain_relation` takes, sorted."""
    names: dict[str, str] = {}
    for program in (sides.applied, sides.desired):
        if program is not None:
            names |= {key: relation.name for key in program.order if (relation := program.relation(key)) is not None}
    return tuple(names[key] for key in sorted(names))


def explain_relation(sides: Sides, name: str, stored: Mapping[str, Stored]) -> RelationExplanation:
    """One relation, by any name that `known_names` has; `stored` is by folded applied name. A former name stands for what
    the relation is called now."""
    renames = sides.renames
    key = fold(name)
    if sides.desired is None or sides.desired.relation(key) is None:
        key = next((new for new, old in renames.relations.items() if old == key), key)
    applied_key = renames.applied_key(key)
    before = sides.applied.relation(applied_key) if sides.applied is not None else None
    after = sides.desired.relation(key) if sides.desired is not None else None
    program = sides.desired if after is not None else sides.applied
    relation = after or before
    assert program is not None, "the name is known"
    assert relation is not None, "the name is known"
    place = stored.get(applied_key)
    state, why = state_and_why(sides, key, before, after)
    origins = trace_origins(program, fold(relation.name)) if isinstance(relation, View) else None
    texts = texts_of_one_meaning(sides, before, after)
    return RelationExplanation(
        name=relation.name,
        kind=relation.kind_words,
        state=state,
        effect=_effect(sides.plan, key),
        why=why,
        declared=relation.declaration.location if after is not None else None,
        is_declared=after is not None,
        stored=place,
        columns=_columns(relation, origins.columns if origins else {}, place),
        rows_from=origins.rows if origins else None,
        reads=relation.reads,
        read_by=_readers(program, fold(relation.name)),
        parts=fingerprint_parts(sides, before, after),
        written=written_besides(sides, applied_key, key, before, after),
        same_meaning=texts[0] if texts else None,
        texts=texts[1] if texts else None,
        connectors=_connectors(sides.plan, key),
        hazards=_hazards(sides.plan, key),
        maintained=_maintained(sides, program, relation, stored),
    )


def _maintained(sides: Sides, program: Program, relation: Relation, stored: Mapping[str, Stored]) -> Maintenance | None:
    if not isinstance(relation, View) or relation.stream is not None or not relation.is_stored:
        return None
    places = {key: stored.get(sides.renames.applied_key(key)) for key in program.relations}
    return maintenance(program, relation, {key: place.columns for key, place in places.items() if place is not None})


def _shown(sides: Sides) -> Program:
    program = sides.desired or sides.applied
    assert program is not None, "a pipeline has files or is applied"
    return program


def _line(sides: Sides, program: Program, key: str) -> RelationLine:
    relation = program.relation(key)
    assert relation is not None
    before = sides.applied.relation(sides.renames.applied_key(key)) if sides.applied is not None else None
    after = sides.desired.relation(key) if sides.desired is not None else None
    state, why = state_and_why(sides, key, before, after)
    count = len(relation.column_names) or None
    more = f" (and {len(why) - 1} more)" if len(why) > 1 and state is State.MODIFIED else ""
    return RelationLine(relation.name, relation.kind_words, count, state, why[0] + more)


def _effect(plan: Plan | None, key: str) -> str:
    if plan is None:
        return ""
    pairs = zip(plan.diff.relations, describe_effects(plan), strict=True)
    found = {change.action: effect for change, effect in pairs if fold(change.name) == key}
    return next((found[action] for action in (Action.ADDED, Action.MODIFIED, Action.REMOVED) if action in found), "")


def _columns(relation: Relation, origins: Mapping[str, Origins], stored: Stored | None) -> tuple[ColumnExplanation, ...]:
    if isinstance(relation, Table):
        return tuple(_table_column(column) for column in relation.columns)
    types = {fold(name): kind for name, kind in stored.columns.items()} if stored is not None else {}
    names = relation.column_names or tuple(stored.columns if stored is not None else ())
    return tuple(ColumnExplanation(name, types.get(fold(name)), True, origins.get(fold(name))) for name in names)


def _table_column(column: ColumnDeclaration) -> ColumnExplanation:
    return ColumnExplanation(column.name, column.type, column.nullable, None)


def _readers(program: Program, key: str) -> tuple[str, ...]:
    return tuple(view.name for _, view in sorted(program.views.items()) if any(fold(r.relation) == key for r in view.reads))


def _connectors(plan: Plan | None, key: str) -> tuple[ConnectorOutcome, ...]:
    if plan is None:
        return ()
    return tuple(outcome for outcome in plan.connectors if fold(outcome.connector).partition(".")[0] == key)


def _hazards(plan: Plan | None, key: str) -> tuple[Hazard, ...]:
    if plan is None:
        return ()
    return tuple(hazard for hazard in plan.hazards if fold(hazard.subject).partition(".")[0] == key)


def _grouped(pairs: Iterable[tuple[str, Value]]) -> dict[str, tuple[Value, ...]]:
    found: dict[str, tuple[Value, ...]] = {}
    for key, value in pairs:
        found[key] = (*found.get(key, ()), value)
    return found
