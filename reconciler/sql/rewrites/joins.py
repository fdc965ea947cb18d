"""Words that a join can do without: INNER JOIN is JOIN; LEFT OUTER JOIN is LEFT JOIN, RIGHT and FULL likewise; LEFT SEMI
JOIN is SEMI JOIN, LEFT ANTI JOIN is ANTI JOIN.

Spark's grammar: `joinType: INNER? | CROSS | LEFT OUTER? | LEFT? SEMI | RIGHT OUTER? | FULL OUTER? | LEFT? ANTI`. INNER,
LEFT, RIGHT, FULL, SEMI and ANTI can't be a relation's alias (they are strict non-reserved words), but they can be its
name: `FROM inner JOIN u`. So something that ends an operand must stand before them, which FROM, a comma and ON do not.
NATURAL stands before the kind (`naturalJoin: NATURAL joinType JOIN`) and can't be an alias either.
"""

from typing import Final

from reconciler.sql.rewrites.changes import Changes
from reconciler.sql.shapes import at, ends_operand

MARKS: Final = frozenset({"join"})
_SIDES: Final = frozenset({"left", "right", "full"})


def even_joins(shapes: list[str], changes: Changes) -> None:
    for index, shape in enumerate(shapes):
        if shape != "join":
            continue
        side, kind = at(shapes, index - 2), at(shapes, index - 1)
        if kind == "inner" and _begins_join(shapes, index - 1):
            changes.dropped.add(index - 1)
        elif not _begins_join(shapes, index - 2):
            continue
        elif kind == "outer" and side in _SIDES:
            changes.dropped.add(index - 1)
        elif kind in ("semi", "anti") and side == "left":
            changes.dropped.add(index - 2)


def _begins_join(shapes: list[str], index: int) -> bool:
    """Whether a relation ends before the word at `index`, or before NATURAL in front of it."""
    start = index - 1 if at(shapes, index - 1) == "natural" else index
    return ends_operand(shapes, start - 1)
