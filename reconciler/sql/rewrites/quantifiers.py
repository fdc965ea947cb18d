"""SELECT ALL is SELECT: all rows is what a SELECT without DISTINCT gives.

ALL can be a column, too (`SELECT all, b`, `SELECT all - b`, `SELECT all FROM t`). Before a name or a number it can't:
Spark reads `SELECT all x` as the quantifier and column x. SELECT counts as a keyword where a query begins.
"""

from typing import Final

from reconciler.sql.rewrites.changes import Changes
from reconciler.sql.shapes import NUMBER, at, is_alias

MARKS: Final = frozenset({"all"})
_BEFORE_A_QUERY: Final = frozenset({"", "(", ")", "union", "except", "intersect", "minus", "all", "distinct"})


def even_quantifiers(shapes: list[str], changes: Changes) -> None:
    for index, shape in enumerate(shapes):
        if shape != "all" or at(shapes, index - 1) != "select" or at(shapes, index - 2) not in _BEFORE_A_QUERY:
            continue
        after = at(shapes, index + 1)
        if after and (after == NUMBER or is_alias(after)):
            changes.dropped.add(index)
