"""The changes of a plan in words; which of them a form shows in full when there are too many for a reader, and how the
others are summed up.

The more a change tells, the sooner it is shown: what is removed, then what was changed itself, then what is new, then what
changes only because of what it reads. Whoever shows fewer than all says how many there are of each sort, and names them.
"""

from collections.abc import Iterable, Sequence

from reconciler.base.dataclass import dataclass
from reconciler.base.declarations import RelationKind
from reconciler.diff.causes import Cause, FunctionChanged, ReadsChanged, SettingsChanged
from reconciler.diff.model import Action, RelationChange
from reconciler.diff.wording import describe_address, describe_cause, describe_difference
from reconciler.plan.model import Plan
from reconciler.plan.words import SYMBOLS, describe_effects, describe_function


@dataclass(frozen=True, slots=True)
class Row:
    """A changed relation, and what becomes of it in words."""

    change: RelationChange
    effect: str


@dataclass(frozen=True, slots=True)
class Group:
    """Relations of one action, kind and effect, and whether they change only because of what they read; names sorted as in
    the plan."""

    action: Action
    kind: RelationKind
    effect: str
    is_affected_only: bool
    names: tuple[str, ...]


def rows_of(plan: Plan) -> tuple[Row, ...]:
    """All changed relations, in the order of the plan."""
    return tuple(Row(change, effect) for change, effect in zip(plan.diff.relations, describe_effects(plan), strict=True))


def is_own(cause: Cause) -> bool:
    """Whether a cause is a change of the relation's own definition, and not of what it uses."""
    return not isinstance(cause, ReadsChanged | FunctionChanged | SettingsChanged)


def is_affected_only(change: RelationChange) -> bool:
    """Whether a relation is modified only because of what it uses."""
    return change.action is Action.MODIFIED and bool(change.causes) and not any(is_own(cause) for cause in change.causes)


def divide(rows: Sequence[Row], most: int | None) -> tuple[tuple[Row, ...], tuple[Group, ...]]:
    """The `most` telling rows (None: all), in their order, and the others in groups."""
    if most is None or len(rows) <= most:
        return tuple(rows), ()
    order = sorted(range(len(rows)), key=lambda index: (rank_of(rows[index].change), index))
    shown = set(order[:most])
    return (
        tuple(row for index, row in enumerate(rows) if index in shown),
        group(row for index, row in enumerate(rows) if index not in shown),
    )


def group(rows: Iterable[Row]) -> tuple[Group, ...]:
    """Rows summed up, the most telling groups first."""
    found: dict[tuple[int, str, str, Action, bool], list[str]] = {}
    for row in rows:
        change = row.change
        key = (rank_of(change), change.kind.value, row.effect, change.action, is_affected_only(change))
        found.setdefault(key, []).append(change.name)
    return tuple(
        Group(action, RelationKind(kind), effect, affected, tuple(found[(rank, kind, effect, action, affected)]))
        for rank, kind, effect, action, affected in sorted(found)
    )


def rank_of(change: RelationChange) -> int:
    """Where a change stands among those that are to be shown: the lower, the more it tells."""
    match change.action:
        case Action.REMOVED:
            return 0
        case Action.ADDED:
            return 2
        case Action.MODIFIED:
            return 3 if is_affected_only(change) else 1


@dataclass(frozen=True, slots=True)
class ToldChange:
    """A change of any kind in words: of a relation, a function, a safeguard or a connector. `rank`: the lower, the more it
    tells. `effect` is what becomes of a relation. `why` are clauses; `is_own` says that they speak of the thing itself and
    not of what it reads."""

    rank: int
    symbol: str
    noun: str
    name: str
    effect: str
    why: tuple[str, ...]
    is_own: bool


def told_changes(plan: Plan) -> list[ToldChange]:
    """All changes of a plan but those of words alone."""
    found = []
    for row in rows_of(plan):
        change = row.change
        why = tuple(describe_cause(cause) for cause in change.causes)
        own = not is_affected_only(change)
        noun = change.kind.value
        found.append(ToldChange(rank_of(change), SYMBOLS[change.action], noun, change.name, row.effect, why, own))
    for function in plan.diff.functions:
        words = describe_function(function)
        why = (words,) if words else ()
        found.append(ToldChange(1, SYMBOLS[function.action], "function", function.name, "", why, True))
    for loosened in plan.diff.loosened:
        why = (f"loosened: {loosened.applied} → {loosened.desired}",)
        found.append(ToldChange(1, SYMBOLS[Action.MODIFIED], loosened.safeguard.value, loosened.subject, "", why, True))
    for connector in plan.diff.connectors:
        why = (*describe_address(connector), *map(describe_difference, connector.differences))
        if connector.renamed_from is not None:
            why = (f"renamed from {connector.renamed_from}", *why)
        noun = f"{connector.direction.value} connector"
        found.append(ToldChange(1, SYMBOLS[connector.action], noun, connector.name, "", why, True))
    return found
