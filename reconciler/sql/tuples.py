"""Whether a query may give a tuple, whose fields Spark names after columns as the query spells them: `(A, id)`.

A tuple is parentheses with a comma where an operand stands. Not among them are arguments of a call, lists of names (after
USING, EXCEPT, an alias), what a lambda takes, and tuples that are only compared, grouped or sorted by (with IN, `=`, VALUES,
GROUPING SETS …): nobody sees what their fields are named. Neither are tuples of literals alone: Spark numbers these fields.

When unsure, it may.
"""

from typing import Final

from reconciler.base.dataclass import dataclass
from reconciler.sql.shapes import at, is_word

_BEFORE: Final = frozenset(
    {"", "(", "[", ",", "->", "=>", "*/", "select", "distinct", "all", "then", "else", "extend", "set"}
)
_AFTER_NO_TUPLE: Final = frozenset({"=", "==", "<>", "!=", "<", ">", "<=", ">=", "<=>", "in", "not", "is", "->"})
_LISTS_OF_KEYS: Final = frozenset({"in", "sets", "rollup", "cube"})
_QUERIES: Final = frozenset({"select", "with", "from", "values", "table", "map", "reduce"})
_PATTERNS: Final = frozenset({"like", "ilike"})


@dataclass(slots=True)
class _Open:
    """Parentheses that are not closed yet. `is_row`: of VALUES. `holds_keys`: what stands in them is compared."""

    may_be_tuple: bool
    is_row: bool
    holds_keys: bool
    has_comma: bool = False
    has_name: bool = False


def may_give_tuples(shapes: list[str]) -> bool:
    """See the module. `shapes` are those of a query or of an expression."""
    openings: list[_Open] = []
    last_row = -1
    for index, shape in enumerate(shapes):
        if shape in ("(", "["):
            before = at(shapes, index - 1)
            is_row = before == "values" or (before == "," and last_row == index - 2)
            is_key = bool(openings and openings[-1].holds_keys)
            may_be = shape == "(" and not is_row and not is_key and _may_begin(shapes, index)
            openings.append(_Open(may_be, is_row, before in _LISTS_OF_KEYS and at(shapes, index + 1) not in _QUERIES))
        elif shape in (")", "]"):
            if not openings:
                return True
            one = openings.pop()
            last_row = index if one.is_row else last_row
            after = at(shapes, index + 1)
            if one.may_be_tuple and one.has_comma and one.has_name and after not in _AFTER_NO_TUPLE:
                return True
        elif openings:
            one = openings[-1]
            one.has_comma = one.has_comma or shape == ","
            one.has_name = one.has_name or shape == "*" or shape[0] == "`" or is_word(shape)
    return False


def _may_begin(shapes: list[str], index: int) -> bool:
    before = at(shapes, index - 1)
    if before not in _BEFORE or at(shapes, index + 1) in _QUERIES:
        return False
    return not (before == "all" and at(shapes, index - 2) in _PATTERNS)
