"""The columns that `window(…)` and `session_window(…)` bring into sight of the block that calls them.

Spark computes such a call below the block, in a column of that name: `SELECT window.start … GROUP BY window(ts, '1 hour')`.
It is a struct of start and end, made of the arguments of the call. A `*` does not give it.
"""

from collections.abc import Iterator
from typing import Final

from sqlglot import exp

from reconciler.base.names import fold

TIME_WINDOWS: Final = frozenset({"window", "session_window"})
_CLAUSES: Final = ("expressions", "group", "having", "qualify", "order", "sort")


def time_window(node: exp.Expr) -> str | None:
    """The name of the column that a call gives, if it is one of these calls."""
    if not isinstance(node, exp.Anonymous):
        return None
    name = fold(node.name)
    return name if name in TIME_WINDOWS else None


def called_time_windows(select: exp.Select) -> Iterator[tuple[str, exp.Expr]]:
    """The calls of a block, not those of its subqueries: the column's name and the call."""
    for part in _CLAUSES:
        clause = select.args.get(part)
        for one in clause if isinstance(clause, list) else (clause,):
            if isinstance(one, exp.Expr):
                yield from _below(one)


def _below(node: exp.Expr) -> Iterator[tuple[str, exp.Expr]]:
    for found in node.walk(prune=lambda one: isinstance(one, exp.Query)):
        name = time_window(found)
        if name is not None:
            yield name, found
