"""SELECT ALL is SELECT: all rows is what a SELECT without DISTINCT gives.

ALL can be a column, too (`SELECT all, b`, `SELECT all - b`, `SELECT all FROM t`). Before what begins an operand it can't:
Spark reads `SELECT all x` as the quantifier and column x, and so with a number, a string, a literal, CASE, CAST, a call,
and a `*` that is followed by no operand. SELECT counts as a keyword where a query begins.
"""

from typing import Final

from reconciler.sql.rewrites.changes import Changes
from reconciler.sql.shapes import NUMBER, STRING, VALUES, at, is_alias
from reconciler.sql.words import spark_functions

MARKS: Final = frozenset({"all"})
_OPERANDS: Final = VALUES | {NUMBER, STRING, "case", "cast", "try_cast", "interval"}
_OPERATORS: Final = frozenset(
    {"and", "or", "in", "not", "between", "like", "ilike", "rlike", "regexp", "is", "div", "all", "any"}
)
_BEFORE_A_QUERY: Final = frozenset({"", "(", ")", "union", "except", "intersect", "minus", "all", "distinct"})


def even_quantifiers(shapes: list[str], changes: Changes) -> None:
    for index, shape in enumerate(shapes):
        if shape != "all" or at(shapes, index - 1) != "select" or at(shapes, index - 2) not in _BEFORE_A_QUERY:
            continue
        if _begins_operand(shapes, index + 1):
            changes.dropped.add(index)


def _begins_operand(shapes: list[str], index: int) -> bool:
    shape, after = at(shapes, index), at(shapes, index + 1)
    if not shape:
        return False
    if shape == "*":
        return after in ("", ",", ")", "from")
    is_call = after == "(" and shape in spark_functions() and shape not in _OPERATORS
    return is_call or shape in _OPERANDS or is_alias(shape)
