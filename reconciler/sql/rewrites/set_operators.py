"""UNION DISTINCT is UNION, EXCEPT and INTERSECT likewise; MINUS is EXCEPT.

Spark's grammar: `left operator=(EXCEPT | SETMINUS …) setQuantifier? right`, and its parser makes a distinct operation of
everything but ALL. The words count when an operand ends before them and a query begins after them, with SELECT or a
parenthesis: `UNION DISTINCT BY NAME`, and a set operator before VALUES or TABLE, stay as written.
"""

from typing import Final

from reconciler.sql.rewrites.changes import Changes
from reconciler.sql.shapes import at, ends_operand

MARKS: Final = frozenset({"distinct", "minus"})
_OPERATORS: Final = frozenset({"union", "except", "intersect", "minus"})


def even_set_operators(shapes: list[str], changes: Changes) -> None:
    for index, shape in enumerate(shapes):
        if shape not in _OPERATORS or not ends_operand(shapes, index - 1):
            continue
        quantified = at(shapes, index + 1) in ("all", "distinct")
        if not _begins_query(shapes, index + 2 if quantified else index + 1):
            continue
        if at(shapes, index + 1) == "distinct":
            changes.dropped.add(index + 1)
        if shape == "minus":
            changes.spelled[index] = "except"


def _begins_query(shapes: list[str], index: int) -> bool:
    while at(shapes, index) == "(":
        index += 1
    return at(shapes, index) == "select" and at(shapes, index + 1) not in ("", ",", ")", ".", "from")
