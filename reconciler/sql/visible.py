"""Which qualified names surely begin with a relation: `l` in `l.id` below `FROM lineitem AS l`.

`a.b` is a column of relation a, or a field of struct a, or the key b of map a; keys of maps differ by letter case. A
head is sure when a FROM or JOIN of the same query block, or of one around it, introduces that name. Blocks are what
parentheses and set operators divide. Anything else is left unsure.

What follows a colon is a path into a variant (`v:a.Key`), never a relation.

One thing can't be seen here: a map that is a column named like a relation (`SELECT m.Key FROM t m`, where t has a map m and
no column key). Whoever knows the columns says that names are data when there is a map at all (`spelling.may_hold_names`).
"""

from dataclasses import field
from typing import Final

from reconciler.base.dataclass import dataclass
from reconciler.sql.shapes import at

_SET_OPERATORS: Final = frozenset({"union", "except", "intersect", "minus"})
_MARKS: Final = _SET_OPERATORS | {"(", ")", ".", "from", "join"}
# FROM inside the parentheses of these is followed by an expression.
_SPEAKING_FROM: Final = frozenset({"extract", "trim", "substring", "substr", "overlay", "position"})
_NO_ALIAS_LIST: Final = (
    "anti cross except full group having inner intersect join lateral left limit minus natural offset on order outer "
    "pivot right select semi tablesample union unpivot using where window cluster distribute sort for timestamp "
    "version system_time system_version"
)
_NO_ALIAS: Final = frozenset(_NO_ALIAS_LIST.split())


@dataclass(slots=True)
class _Block:
    """One query block: the names that its FROM introduces, and the block around it."""

    around: "_Block | None"
    opener: str
    names: set[str] = field(default_factory=set)

    def sees(self, name: str) -> bool:
        block: _Block | None = self
        while block is not None:
            if name in block.names:
                return True
            block = block.around
        return False


def _key(shape: str) -> str | None:
    if shape and (shape[0] == "`" or shape[0] == "_" or shape[0].isalpha()):
        return shape.strip("`") if shape.isascii() else None
    return None


def visible_heads(shapes: list[str]) -> frozenset[int]:
    """The indexes of names that stand before a point and surely name a relation."""
    block = _Block(None, "")
    candidates: list[tuple[int, str, _Block]] = []
    for index, shape in enumerate(shapes):
        if shape not in _MARKS:
            continue
        if shape == "(":
            block = _Block(block, at(shapes, index - 1))
        elif shape == ")":
            block = block.around or block
        elif shape == ".":
            head = at(shapes, index - 1)
            key = None if head in _MARKS else _key(head)
            if key is not None and at(shapes, index - 2) not in (".", ":"):
                candidates.append((index - 1, key, block))
        elif shape in _SET_OPERATORS:
            block = _Block(block.around, block.opener)
        elif shape == "join" or not _expression_follows(shapes, index, block):
            _introduce(shapes, index + 1, block)
    return frozenset(index for index, key, block in candidates if block.sees(key))


def _expression_follows(shapes: list[str], index: int, block: _Block) -> bool:
    return block.opener in _SPEAKING_FROM or at(shapes, index - 1) == "distinct"


def _introduce(shapes: list[str], index: int, block: _Block) -> None:
    """Note the plain relations of a FROM list: `a [AS] x, b y`. Anything less plain ends the list."""
    while True:
        name = _key(at(shapes, index))
        after = index + 1
        if name is None or at(shapes, after) in (".", "("):
            return
        if at(shapes, after) == "as":
            after += 1
        elif at(shapes, after) in _NO_ALIAS:
            block.names.add(name)
            return
        alias = _key(at(shapes, after))
        if alias is None:
            block.names.add(name)
        else:
            block.names.add(alias)
            after += 1
        if at(shapes, after) != ",":
            return
        index = after + 1
