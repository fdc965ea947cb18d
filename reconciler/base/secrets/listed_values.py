"""What stands before `AS password` in a list of a query: the item that the name is given to, as far back as it reaches.

An item begins behind SELECT, a comma, or a verb of a pipe (`|> EXTEND`), and ends at its AS. Whatever stands between, such
as `EXCEPT (…)`, `ESCAPE '!'` or `IS DISTINCT FROM`, does not end it. So it is found from its two ends, in one pass, and does
not depend on how the items before it are read (`set_values` reads a query forward, and also finds names without AS).
"""

from collections.abc import Iterator
from typing import Final

from reconciler.base.dataclass import dataclass
from reconciler.base.literals import Span
from reconciler.base.secrets.code_parts import CODE_PART
from reconciler.base.secrets.names import names_one_secret

_BEGINS: Final = frozenset({"select", "extend", "aggregate", "set"})
_SETS_APART: Final = frozenset({"distinct", "all"})
_ENDS: Final = frozenset({"from", "where", "having", "union", "intersect", "limit", "lateral", "pivot", "unpivot"})
_OPENS: Final = frozenset("([{")
_CLOSES: Final = frozenset(")]}")
_DEEPEST: Final = 1_000


@dataclass(slots=True)
class _Level:
    """What is read between two brackets: where the item of a list begins that is read now; None where none is."""

    item: int | None = None


def items_named(text: str) -> Iterator[tuple[str, Span]]:
    """The names of secrets that AS gives to items of lists, each with the place of its item."""
    levels = [_Level()]
    before = before_that = ""
    position = 0
    while (part := CODE_PART.match(text, position)) is not None:
        position = part.end()
        if part["gap"] is not None:
            continue
        level, word = levels[-1], (part["word"] or "").lower()
        name = part["quoted"] or part["word"] or (part["literal"] or "")[1:-1]
        if before == "as" and level.item is not None and name and names_one_secret(name):
            yield name, (level.item, part.start())
        if word in _BEGINS or (word in _SETS_APART and before == "select"):
            level.item = position
        elif word in _ENDS and not (word == "from" and before == "distinct" and before_that in ("is", "not")):
            level.item = None
        elif part["sign"] == ",":
            level.item = position if level.item is not None else None
        elif part["sign"] == ";":
            levels = [_Level()]
        elif part["sign"] is not None and part["sign"] in _OPENS and len(levels) < _DEEPEST:
            levels.append(_Level())
        elif part["sign"] is not None and part["sign"] in _CLOSES and len(levels) > 1:
            levels.pop()
        before_that, before = before, word
