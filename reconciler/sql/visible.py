"""Which qualified names surely begin with a relation: `l` in `l.id` below `FROM lineitem AS l`.

`a.b` is a column of relation a, or a field of struct a, or the key b of map a; keys of maps differ by letter case. A
head is sure when a FROM or JOIN of the same query block, or of one around it, introduces that name. Blocks are what
parentheses and set operators divide. Anything else is left unsure.
"""

from dataclasses import dataclass, field
from typing import Final

from reconciler.sql.lexer import Kind, Token

_SET_OPERATORS: Final = ("UNION", "EXCEPT", "INTERSECT", "MINUS")
# FROM inside the parentheses of these is followed by an expression.
_SPEAKING_FROM: Final = ("EXTRACT", "TRIM", "SUBSTRING", "SUBSTR", "OVERLAY", "POSITION")
_NO_ALIAS_LIST: Final = (
    "ANTI CROSS EXCEPT FULL GROUP HAVING INNER INTERSECT JOIN LATERAL LEFT LIMIT MINUS NATURAL OFFSET ON ORDER OUTER "
    "PIVOT RIGHT SELECT SEMI TABLESAMPLE UNION UNPIVOT USING WHERE WINDOW CLUSTER DISTRIBUTE SORT FOR TIMESTAMP "
    "VERSION SYSTEM_TIME SYSTEM_VERSION"
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


def _key(token: Token) -> str | None:
    if token.kind is Kind.WORD or token.kind is Kind.QUOTED:
        return token.text.strip("`").lower() if token.text.isascii() else None
    return None


def visible_heads(tokens: list[Token]) -> frozenset[int]:
    """The indexes of names that stand before a point and surely name a relation."""
    block = _Block(None, "")
    candidates: list[tuple[int, str, _Block]] = []
    index = 0
    while index < len(tokens):
        token = tokens[index]
        if token.is_symbol("("):
            opener = tokens[index - 1].text.upper() if index and tokens[index - 1].kind is Kind.WORD else ""
            block = _Block(block, opener)
        elif token.is_symbol(")") and block.around is not None:
            block = block.around
        elif token.is_word(*_SET_OPERATORS):
            block = _Block(block.around, block.opener)
        elif token.is_word("FROM", "JOIN") and not _expression_follows(tokens, index, block):
            _introduce(tokens, index + 1, block)
        elif _is_head(tokens, index):
            key = _key(token)
            if key is not None:
                candidates.append((index, key, block))
        index += 1
    return frozenset(index for index, key, block in candidates if block.sees(key))


def _expression_follows(tokens: list[Token], index: int, block: _Block) -> bool:
    if not tokens[index].is_word("FROM"):
        return False
    return block.opener in _SPEAKING_FROM or (index > 0 and tokens[index - 1].is_word("DISTINCT"))


def _is_head(tokens: list[Token], index: int) -> bool:
    if tokens[index].kind not in (Kind.WORD, Kind.QUOTED) or index + 1 >= len(tokens):
        return False
    return tokens[index + 1].is_symbol(".") and not (index and tokens[index - 1].is_symbol("."))


def _introduce(tokens: list[Token], index: int, block: _Block) -> None:
    """Note the plain relations of a FROM list: `a [AS] x, b y`. Anything less plain ends the list."""
    while index < len(tokens):
        name = _key(tokens[index])
        after = index + 1
        if name is None or (after < len(tokens) and (tokens[after].is_symbol(".") or tokens[after].is_symbol("("))):
            return
        if after < len(tokens) and tokens[after].is_word("AS"):
            after += 1
        elif after < len(tokens) and tokens[after].kind is Kind.WORD and tokens[after].text.upper() in _NO_ALIAS:
            block.names.add(name)
            return
        alias = _key(tokens[after]) if after < len(tokens) else None
        if alias is None:
            block.names.add(name)
        else:
            block.names.add(alias)
            after += 1
        if after >= len(tokens) or not tokens[after].is_symbol(","):
            return
        index = after + 1
