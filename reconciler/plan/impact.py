"""What a plan costs: rows and bytes that are read, written and lost, and how long it may take.

It varies by itself (tables grow), so it is no part of the plan, of its digest or of plan.lock: forms show it beside the
plan. What is not known is None, never zero.

Estimates of time are learnt from the last bootstrap of each view of the pipeline:
- A bootstrap of many rows teaches a rate: seconds for each row that it read. One of few rows teaches only what it costs to
  compute anything at all; a rate taken from it would be absurd.
- A view that was built before takes its own rate times the rows to be read now. One without a rate of its own takes the
  pipeline's median, if rows are many. Nothing takes less than the fastest bootstrap known, nor than its own of few rows.
- Where rows to be read are not known yet, those of last time stand in for them. Nothing known: no estimate.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from reconciler.base.dataclass import dataclass
from reconciler.base.declarations import RelationKind
from reconciler.base.names import fold, is_foreign
from reconciler.connectors.transport import Direction
from reconciler.diff.model import Action
from reconciler.plan.model import Outcome, Plan
from reconciler.plan.operations.bootstrap_view import BootstrapView
from reconciler.plan.operations.clear_table import ClearTable
from reconciler.plan.operations.create_table import CreateTable
from reconciler.plan.operations.evolve_table import EvolveTable
from reconciler.project.program.model import Program

MANY_ROWS = 10_000
"""From here on the time of a bootstrap is taken to depend on its rows."""


@dataclass(frozen=True, slots=True)
class Measure:
    """What is known of a stored relation at the published step: its rows and bytes; and of the last bootstrap of a view,
    how many seconds it took to read how many rows."""

    rows: int | None = None
    bytes: int | None = None
    seconds: float | None = None
    rows_read: int | None = None


_UNKNOWN: Final = Measure()


@dataclass(frozen=True, slots=True)
class ReadImpact:
    """A stored relation that a bootstrap reads. Rows and bytes are None where they are known only once an earlier step of
    the same plan has written them."""

    relation: str
    rows: int | None
    bytes: int | None


@dataclass(frozen=True, slots=True)
class OutputImpact:
    """An output connector of a bootstrapped view, and what it receives in words."""

    connector: str
    receives: str


@dataclass(frozen=True, slots=True)
class ViewImpact:
    """One bootstrapped view: what it reads, the rows that it has now (None: it is new), who receives its new contents,
    and the time it may take."""

    view: str
    reads: tuple[ReadImpact, ...]
    rows: int | None
    outputs: tuple[OutputImpact, ...]
    seconds: float | None


@dataclass(frozen=True, slots=True)
class TableImpact:
    """One table whose rows are deleted or written anew: `fate` is `cleared`, `evolved` or `dropped`; rows and bytes are
    those that it has now."""

    table: str
    fate: str
    rows: int | None
    bytes: int | None


@dataclass(frozen=True, slots=True)
class Impact:
    """All of a plan. Totals are over what is known; `is_complete` says whether that is everything.
    `seconds` is None when nothing was learnt yet."""

    views: tuple[ViewImpact, ...]
    tables: tuple[TableImpact, ...]
    rows_read: int
    bytes_read: int
    is_complete: bool
    rows_deleted: int
    seconds: float | None


Measures = Mapping[str, Measure]
"""By folded relation name, as applied."""


def make_impact(plan: Plan, applied: Program, desired: Program, measures: Measures) -> Impact:
    """What the plan costs by what is known of the stored relations of `applied`."""
    known = _Known(plan, applied, measures)
    outputs = _outputs(plan, desired)
    views = tuple(_view_impact(step, outputs, known) for step in plan.steps if isinstance(step, BootstrapView))
    tables = _table_impacts(plan, applied, measures)
    reads = [read for view in views for read in view.reads]
    lost = [table for table in tables if table.fate != "evolved"]
    estimates = [view.seconds for view in views]
    figures = [*(read.rows for read in reads), *(read.bytes for read in reads), *(table.rows for table in lost)]
    some_estimates = any(estimate is not None for estimate in estimates)
    return Impact(
        views=views,
        tables=tables,
        rows_read=_sum(read.rows for read in reads),
        bytes_read=_sum(read.bytes for read in reads),
        is_complete=None not in figures and not (some_estimates and None in estimates),
        rows_deleted=_sum(table.rows for table in lost),
        seconds=round(sum(estimate for estimate in estimates if estimate is not None), 3) if some_estimates else None,
    )


class _Known:
    """What is known of relations by the names that they have in the desired program, when their turn in the plan comes."""

    def __init__(self, plan: Plan, applied: Program, measures: Measures) -> None:
        self._applied = applied
        self._measures = measures
        self._renamed = _renamed(plan)
        self._moved_away = set(self._renamed.values()) - set(self._renamed)
        self._emptied = {fold(step.relation) for step in plan.steps if isinstance(step, CreateTable | ClearTable)}
        self._evolved = {fold(step.relation) for step in plan.steps if isinstance(step, EvolveTable)}
        self._bootstrapped = {fold(step.relation) for step in plan.steps if isinstance(step, BootstrapView)}
        built = [self._measure(key) for key in sorted(applied.views)]
        self._times = sorted(measure.seconds for measure in built if measure.seconds is not None)
        self._rates = sorted(rate for measure in built if (rate := _rate(measure)) is not None)

    def before(self, key: str) -> Measure:
        """The relation as it is now; of what is not stored now, nothing is known."""
        return _UNKNOWN if key in self._moved_away else self._measure(self._renamed.get(key, key))

    def read(self, name: str) -> ReadImpact:
        """What reading the relation means once the steps before have run."""
        key = fold(name)
        if key in self._emptied:
            return ReadImpact(name, 0, 0)
        if key in self._bootstrapped:
            return ReadImpact(name, None, None)
        found = self.before(key)
        return ReadImpact(name, found.rows, None if key in self._evolved else found.bytes)

    def seconds(self, view: str, reads: tuple[ReadImpact, ...]) -> float | None:
        """How long a bootstrap may take; see the module."""
        own = self.before(view)
        rows = self._expected_rows(reads, own)
        rate = _rate(own)
        if rate is None and (rows is None or rows < MANY_ROWS):
            if own.seconds is None and rows is not None and self._times:
                return round(_median(self._times), 3)
            return own.seconds
        if rate is None and self._rates:
            rate = _median(self._rates)
        if rate is None or rows is None:
            return None
        least = own.seconds if own.seconds is not None and _rate(own) is None else self._times[0]
        return round(max(least, rate * rows), 3)

    def _expected_rows(self, reads: tuple[ReadImpact, ...], own: Measure) -> int | None:
        counts = [self.before(fold(read.relation)).rows if read.rows is None else read.rows for read in reads]
        return own.rows_read if None in counts else _sum(counts)

    def _measure(self, applied_key: str) -> Measure:
        is_stored = self._applied.is_stored(applied_key) or is_foreign(applied_key)
        return self._measures.get(applied_key, _UNKNOWN) if is_stored else _UNKNOWN


def _median(values: list[float]) -> float:
    # Few plans estimate by it, and its module imports those of fractions and decimals.
    from statistics import median

    return median(values)


def _rate(measure: Measure) -> float | None:
    """Seconds for a row, where enough rows were read to say."""
    if measure.seconds is None or measure.rows_read is None or measure.rows_read < MANY_ROWS:
        return None
    return measure.seconds / measure.rows_read


def _view_impact(step: BootstrapView, outputs: Mapping[str, list[OutputImpact]], known: _Known) -> ViewImpact:
    key = fold(step.relation)
    reads = tuple(known.read(name) for name in step.reads)
    return ViewImpact(step.relation, reads, known.before(key).rows, tuple(outputs.get(key, ())), known.seconds(key, reads))


def _outputs(plan: Plan, desired: Program) -> dict[str, list[OutputImpact]]:
    """Folded name of a view → its outputs, in the plan's order."""
    found: dict[str, list[OutputImpact]] = {}
    for outcome in plan.connectors:
        connector = desired.connectors.get(fold(outcome.connector))
        if connector is not None and connector.direction is Direction.OUTPUT:
            empties = outcome.outcome is Outcome.TRUNCATES
            words = "full contents, in an emptied sink" if empties else outcome.outcome.value.removeprefix("sends ")
            found.setdefault(fold(connector.relation), []).append(OutputImpact(outcome.connector, words))
    return found


def _table_impacts(plan: Plan, applied: Program, measures: Measures) -> tuple[TableImpact, ...]:
    """Tables by the names that they have after the plan, or had before it, sorted."""
    renamed = _renamed(plan)
    fates: dict[str, tuple[str, str]] = {}
    for change in plan.diff.relations:
        # Whatever takes its name: the rows of a removed table go.
        if change.kind is RelationKind.TABLE and change.action is Action.REMOVED:
            fates[fold(change.name)] = (change.name, "dropped")
    for step in plan.steps:
        match step:
            case ClearTable():
                fates[renamed.get(fold(step.relation), fold(step.relation))] = (step.relation, "cleared")
            case EvolveTable():
                fates[fold(step.applied)] = (step.relation, "evolved")
    found = [
        TableImpact(name, fate, measures.get(key, _UNKNOWN).rows, measures.get(key, _UNKNOWN).bytes)
        for key, (name, fate) in fates.items()
        if key in applied.tables
    ]
    return tuple(sorted(found, key=lambda impact: fold(impact.table)))


def _renamed(plan: Plan) -> dict[str, str]:
    """Folded names after the plan → folded names before it, of what is renamed."""
    return {fold(c.name): fold(c.renamed_from) for c in plan.diff.relations if c.renamed_from is not None}


def _sum(counts: Iterable[int | None]) -> int:
    return sum(count for count in counts if count is not None)
