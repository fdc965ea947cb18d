"""What the queries of views do that are computed: H908 and H909.

H908: a view that would come out otherwise if it were computed again from the same rows. Its query calls chance or the
clock, or a function of the pipeline that is not declared deterministic; or it takes rows as they come (`any_value`,
`collect_list`), or in an order in which two may be equal (`row_number`, LIMIT). What is known to be unique, by a PRIMARY
KEY, GROUP BY or DISTINCT, has no ties (`sql.undetermined`). A function whose body is SQL is judged by that body, unless it
is declared deterministic. LOCAL views, which no plan shows, are looked at, too: what they call reaches their readers.

H909: a view whose query is new or changed, and joins everything with everything. One that is only computed again because of
what it reads was judged when its query was written. Whether a query does so is found when a pipeline is compiled, while it
is parsed: that takes most of the time of a plan.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Final, assert_never

from reconciler.base.declarations import PythonBody, RelationKind, SqlBody
from reconciler.base.names import fold
from reconciler.diff.causes import QueryChanged
from reconciler.diff.model import Action, Diff, Fate, RelationChange
from reconciler.plan.model import Hazard
from reconciler.project.program.model import Function, Program, View
from reconciler.project.program.order import topological
from reconciler.sql.determinism import (
    MOMENTS,
    NON_DETERMINISTIC,
    NON_DETERMINISTIC_WITHOUT_ARGUMENTS,
    non_deterministic_calls,
)
from reconciler.sql.lexer import words_among, words_in
from reconciler.sql.undetermined_signs import SIGNS_OF_ORDER, may_be_undetermined

if TYPE_CHECKING:
    from reconciler.plan.hazards.ties import Ties

_SIGNS: Final = NON_DETERMINISTIC | NON_DETERMINISTIC_WITHOUT_ARGUMENTS | MOMENTS
_ALL_SIGNS: Final = _SIGNS | SIGNS_OF_ORDER


def undetermined_views(diff: Diff, applied: Program, desired: Program) -> Iterator[Hazard]:
    """H908."""
    undetermined = _undetermined(desired.functions)

    @cache
    def ties() -> "Ties":
        from reconciler.plan.hazards.ties import Ties

        return Ties(desired)

    for view in computed_views(diff, desired):
        text = view.query if view.stream is None else "; ".join(view.stream.expressions)
        words = words_among(text, _ALL_SIGNS)
        calls = {*_calls(text, words)}
        ordered: tuple[str, ...] = ()
        unordered: tuple[str, ...] = ()
        if may_be_undetermined(words):
            found = ties().of(view)
            calls, ordered, unordered = {*calls, *found.calls}, found.ties, found.unordered
        called = [desired.functions[key].name for key in view.calls if key in undetermined]
        names = [*sorted(calls), *sorted(called, key=fold)]
        told = [f"calls {', '.join(names)}"] if names else []
        told += [f"takes {', '.join(unordered)} without an order"] if unordered else []
        told += [f"takes {', '.join(ordered)} by an order that may have ties"] if ordered else []
        if told:
            kind = view.relation_kind.value
            message = f"{kind} {view.name} {' and '.join(told)}: computed again from the same rows, its result may differ"
            yield Hazard("H908", view.name, message)


def computed_views(diff: Diff, desired: Program) -> Iterator[View]:
    """The views that are new or come out anew, LOCAL ones among them, by name."""
    keys = {
        fold(change.name)
        for change in diff.relations
        if change.kind is not RelationKind.TABLE and change.action is not Action.REMOVED and change.fate is not Fate.KEPT
    }
    keys |= {key for key, action in diff.local_views.items() if action is not Action.REMOVED}
    return (desired.views[key] for key in sorted(keys) if key in desired.views)


def _calls(text: str, words: frozenset[str]) -> tuple[str, ...]:
    return () if _SIGNS.isdisjoint(words) else non_deterministic_calls(text)


def _undetermined(functions: Mapping[str, Function]) -> frozenset[str]:
    """The functions (keys) that may give something else for the same."""
    found: set[str] = set()
    for key in topological({key: one.calls for key, one in functions.items()}):
        declaration = functions[key].declaration
        if declaration.deterministic:
            continue
        match declaration.body:
            case SqlBody(expression):
                if _calls(expression, words_in(expression)) or not found.isdisjoint(functions[key].calls):
                    found.add(key)
            case PythonBody():
                found.add(key)
            case unknown:
                assert_never(unknown)
    return frozenset(found)


def cross_joins_added(diff: Diff, applied: Program, desired: Program) -> Iterator[Hazard]:
    """H909."""
    unchanged = {fold(change.name) for change in diff.relations if not _is_written_anew(change)}
    for view in computed_views(diff, desired):
        if fold(view.name) in unchanged:
            continue
        if view.joins_crosswise:
            message = f"view {view.name} joins relations without a join condition: each row is combined with every other"
            yield Hazard("H909", view.name, message)


def _is_written_anew(change: RelationChange) -> bool:
    return change.action is Action.ADDED or any(isinstance(cause, QueryChanged) for cause in change.causes)
