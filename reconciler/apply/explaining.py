"""Explaining a pipeline: both sides read, the plan made, and what is stored looked up in the head. Needs no JVM.

Files with errors do not stand in the way: then what is applied is explained, without a plan, and the errors come along.
"""

from collections.abc import Mapping

from reconciler.apply.planning import plan_with_programs
from reconciler.base.dataclass import dataclass
from reconciler.base.diagnostics import Diagnostic
from reconciler.base.errors import ManifestInvalid, NotFound
from reconciler.base.names import did_you_mean, fold
from reconciler.delta.opening import join_location
from reconciler.environment.target import Target
from reconciler.plan.explain.make import explain_lines, explain_relation, known_names, sides_of
from reconciler.plan.explain.model import KeyCount, RelationExplanation, RelationLine, Sides, Stored
from reconciler.plan.impact import Measure
from reconciler.plan.model import Plan
from reconciler.registry.model import Head
from reconciler.registry.placements import Placement
from reconciler.state.applied import read_applied
from reconciler.workspace.pipelines import require_known


@dataclass(frozen=True, slots=True)
class Explanation:
    """What was asked for: a pipeline's relations in dependency order, or one `relation` in full. `plan` is None when the
    files have errors, which are `problems` then."""

    pipeline: str
    environment: str
    plan: Plan | None
    relations: tuple[RelationLine, ...]
    relation: RelationExplanation | None
    problems: tuple[Diagnostic, ...]


def explain(target: Target, pipeline: str, relation: str | None = None) -> Explanation:
    """Explain a pipeline, or one relation of it by its name on either side. Raises NotFound (U812, U817), RegistryError,
    and ManifestInvalid when the files have errors and nothing is applied."""
    require_known(target, pipeline)
    sides, head, problems = _read(target, pipeline)
    lines: tuple[RelationLine, ...] = ()
    found: RelationExplanation | None = None
    if relation is None:
        lines = explain_lines(sides)
    else:
        names = known_names(sides)
        if fold(relation) not in map(fold, names):
            message = f"no table or view {relation!r} in {pipeline!r}, neither declared nor applied"
            raise NotFound("U817", message, did_you_mean(relation, names) or f"there are: {', '.join(names)}")
        found = explain_relation(sides, relation, _stored(target, head))
    return Explanation(pipeline, target.environment.name, sides.plan, lines, found, problems)


def _read(target: Target, pipeline: str) -> tuple[Sides, Head | None, tuple[Diagnostic, ...]]:
    try:
        planned = plan_with_programs(target, pipeline)
    except ManifestInvalid as error:
        applied = read_applied(target, pipeline)
        if applied.snapshot is None:
            raise
        head = applied.head.value if applied.head is not None else None
        return sides_of(None, applied.snapshot.program, None), head, tuple(error.diagnostics)
    plan = planned.plan
    before = planned.applied if plan.applied_digest is not None else None
    after = planned.desired if plan.desired_digest is not None else None
    return sides_of(plan, before, after), planned.head.value if planned.head is not None else None, ()


def _stored(target: Target, head: Head | None) -> Mapping[str, Stored]:
    published = head.published.relations if head is not None and head.published is not None else {}
    return {key: _stored_at(target, placement) for key, placement in published.items()}


def _stored_at(target: Target, placement: Placement) -> Stored:
    seen = placement.state.keys if placement.state is not None else None
    return Stored(
        location=join_location(target.warehouse, placement.location),
        version=placement.version,
        columns={column.name: column.type for column in placement.columns},
        measure=Measure(placement.rows, placement.bytes, placement.seconds, placement.rows_read),
        state=Measure(placement.state.rows, placement.state.bytes) if placement.state is not None else None,
        keys=None if seen is None else KeyCount(seen.keys, seen.rows, seen.step),
    )
