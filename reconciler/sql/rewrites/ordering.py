"""What an ORDER BY or SORT BY does unless told otherwise: ASC, which puts NULLs first; and DESC puts them last.

Spark's grammar: `sortItem: expression (ASC | DESC)? (NULLS (FIRST | LAST))?`; SortOrder's defaults are Ascending with
NullsFirst, Descending with NullsLast, and no setting changes them. So ASC is left out, NULLS FIRST unless it is DESC, and
NULLS LAST after DESC.

ORDER BY is surely the clause when an operand ends before it, or when it opens a window, named or not, or WITHIN GROUP:
`SELECT order by, a asc` names two columns. Inside, an operand can have no alias, so what stands after one is what it looks
like, as long as the item ends there. The list is read up to the first word that may end it.
"""

from typing import Final

from reconciler.sql.rewrites.changes import Changes
from reconciler.sql.shapes import at, ends_operand

MARKS: Final = frozenset({"asc", "nulls"})
_AFTER_AN_ITEM: Final = frozenset({"", ",", ")", "limit", "offset", "rows", "range"})
_ENDS: Final = frozenset(
    {"limit", "offset", "rows", "range", "union", "except", "intersect", "minus", "select", "from", "where", "group"}
    | {"having", "window", "qualify", "join", "cluster", "distribute", "sort", "order", "lateral", "|>", "/*+"}
)


def even_ordering(shapes: list[str], changes: Changes) -> None:
    for index, shape in enumerate(shapes):
        if shape in ("order", "sort") and at(shapes, index + 1) == "by" and _is_clause(shapes, index):
            _even_items(shapes, index + 2, changes)


def _is_clause(shapes: list[str], index: int) -> bool:
    if at(shapes, index - 1) == "(":
        opener = at(shapes, index - 2)
        # `WINDOW w AS (ORDER BY …)`: no list of names and no query begins so.
        return opener in ("over", "as") or (opener == "group" and at(shapes, index - 3) == "within")
    return ends_operand(shapes, index - 1)


def _even_items(shapes: list[str], start: int, changes: Changes) -> None:
    depth = 0
    for index in range(start, len(shapes)):
        shape = shapes[index]
        if shape == "(":
            depth += 1
        elif shape == ")":
            depth -= 1
            if depth < 0:
                return
        elif depth == 0:
            if shape in _ENDS and at(shapes, index - 1) != ".":
                return
            if shape in ("asc", "desc", "nulls") and ends_operand(shapes, index - 1):
                _even_item(shapes, index, changes)


def _even_item(shapes: list[str], index: int, changes: Changes) -> None:
    """`index`: the first word after the operand."""
    after = index if shapes[index] == "nulls" else index + 1
    nulls = at(shapes, after + 1) if at(shapes, after) == "nulls" else ""
    if nulls in ("first", "last"):
        after += 2
    if at(shapes, after) not in _AFTER_AN_ITEM:
        return
    descending = shapes[index] == "desc"
    if shapes[index] == "asc":
        changes.dropped.add(index)
    if nulls == ("last" if descending else "first"):
        changes.dropped |= {after - 2, after - 1}
