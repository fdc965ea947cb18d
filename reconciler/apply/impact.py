"""The impact of a plan on what is really stored: the figures of the head, and where it lacks them, of Delta's log.

The head has rows and bytes of what every step published, so that this costs nothing. Heads of older versions lack them: then
the logs of the tables in question are read, a limited number of them. No JVM; nothing is written. A figure that can't be
had is missing, and no reason for a plan to fail.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from reconciler.apply.planning import Planned
from reconciler.base.declarations import RelationKind
from reconciler.base.errors import RegistryError
from reconciler.base.names import fold
from reconciler.delta.opening import join_location
from reconciler.environment.target import Target
from reconciler.plan.impact import Impact, Measure, Measures, make_impact
from reconciler.plan.model import Plan
from reconciler.plan.operations.bootstrap_view import BootstrapView
from reconciler.project.program.model import Program, empty_program
from reconciler.registry.model import Head
from reconciler.registry.placements import Placement, foreign_placements

if TYPE_CHECKING:
    from reconciler.delta.tables import TableStatistics

LOGS_READ = 48
"""How many tables' logs are read at most, where the head lacks figures."""


def impact_of(target: Target, plan: Plan, head: Head | None, applied: Program | None, desired: Program | None) -> Impact:
    """What the plan costs. `applied` None: nothing is applied; `desired` None: the pipeline is removed."""
    known = applied or desired
    if known is None:
        raise ValueError("neither applied nor desired")
    nothing = empty_program(known.settings)
    reads = [name for step in plan.steps if isinstance(step, BootstrapView) for name in step.reads]
    tables = [change.name for change in plan.diff.relations if change.kind is RelationKind.TABLE]
    former = [change.renamed_from for change in plan.diff.relations if change.renamed_from is not None]
    measures = measure(target, head, (*reads, *tables, *former))
    return make_impact(plan, applied or nothing, desired or nothing, measures)


def impact_of_planned(target: Target, planned: Planned) -> Impact:
    """What a plan costs over what it was made from."""
    head = planned.head.value if planned.head is not None else None
    return impact_of(target, planned.plan, head, planned.applied, planned.desired)


def measure(target: Target, head: Head | None, relations: Iterable[str]) -> Measures:
    """What is known of everything that is published; the logs of `relations` are looked at where the head lacks figures."""
    published = head.published if head is not None else None
    placements = {**published.relations, **foreign_placements(published.foreign)} if published is not None else {}
    wanted = sorted({fold(name) for name in relations})
    lacking = [key for key in wanted if key in placements and None in (placements[key].rows, placements[key].bytes)]
    logs = {key: _log(target, placements[key]) for key in lacking[:LOGS_READ]}
    return {key: _measure(placement, logs.get(key)) for key, placement in placements.items()}


def _measure(placement: Placement, log: "TableStatistics | None") -> Measure:
    rows, size = placement.rows, placement.bytes
    if log is not None:
        rows, size = log.rows if rows is None else rows, log.bytes if size is None else size
    return Measure(rows, size, placement.seconds, placement.rows_read)


def _log(target: Target, placement: Placement) -> "TableStatistics | None":
    # Few plans ask: heads have the figures.
    from reconciler.delta.tables import statistics

    try:
        return statistics(join_location(target.warehouse, placement.location), placement.version)
    except RegistryError:
        return None
