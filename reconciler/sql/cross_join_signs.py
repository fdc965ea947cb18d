"""Whether the words of a query let it join everything with everything, before anybody parses it.

Most queries do not, and parsing them again to be sure would cost as much as compiling them. So the tokens are looked
through once: a CROSS, a comma between relations of a FROM, a JOIN that no ON or USING follows and no NATURAL precedes, an
ON that compares nothing. A sign is no proof (`EXTRACT(YEAR FROM a), b` holds one); no sign is one, but for conditions
that speak of one side only, or of both without comparing them.

Not here: whether it really does (`cross_joins`).
"""

from typing import Final

from reconciler.sql.lexer import Kind, Token, query_tokens

_ENDS_FROM: Final = frozenset(
    {"CLUSTER", "DISTRIBUTE", "EXCEPT", "GROUP", "HAVING", "INTERSECT", "LIMIT", "MINUS"}
    | {"OFFSET", "ORDER", "QUALIFY", "SELECT", "SORT", "UNION", "WHERE", "WINDOW"}
)
_COMPARING: Final = frozenset({"=", "==", "<=>", "<", ">", "<=", ">=", "<>", "!=", "!<", "!>"})
_COMPARING_WORDS: Final = frozenset({"IN", "LIKE", "RLIKE", "REGEXP", "ILIKE", "BETWEEN", "IS", "EXISTS"})
_SPEAKING: Final = _ENDS_FROM | _COMPARING_WORDS | {"FROM", "CROSS", "NATURAL", "JOIN", "ON", "USING"}


def may_cross_join(query: str) -> bool:
    """Whether there is any sign. False is meant, but for what the module says; True is to be looked into."""
    text = query.lower()
    start = text.find("from")
    if "join" not in text and (start < 0 or "," not in text[start:]):
        return False
    # One state for each open parenthesis.
    blocks = [_Block()]
    for token in query_tokens(query):
        if token.text == "(":
            blocks.append(_Block())
        elif token.text == ")":
            closed = blocks.pop() if len(blocks) > 1 else blocks[0]
            if closed.ends():
                return True
            if closed.compared:
                blocks[-1].compares = blocks[-1].compared = True
        elif blocks[-1].takes(token):
            return True
    return any(block.ends() for block in blocks)


class _Block:
    """The words of one level of parentheses: whether a FROM is open, whether a JOIN waits for its condition, and whether
    the condition that began compares anything."""

    def __init__(self) -> None:
        self.in_from = False
        self.natural = False
        self.waiting = 0
        self.in_condition = False
        self.compares = False
        self.compared = False

    def takes(self, token: Token) -> bool:
        """Go on by one token; whether a sign was found."""
        if token.kind is Kind.SYMBOL:
            if token.text in _COMPARING:
                self.compares = self.compared = True
            return self.in_from and token.text == ","
        word = token.text.upper()
        if token.kind is not Kind.WORD or word not in _SPEAKING:
            return False
        match word:
            case "FROM":
                self.in_from, self.waiting = True, 0
            case "CROSS":
                return True
            case "NATURAL":
                self.natural = True
            case "JOIN":
                found = self._condition_is_empty()
                # Joined relations may stand in parentheses, without a FROM of their own.
                self.in_from, self.in_condition = True, False
                self.waiting += 0 if self.natural else 1
                self.natural = False
                return found
            case "ON":
                found = self._condition_is_empty()
                self.waiting = max(0, self.waiting - 1)
                self.in_condition, self.compares = self.in_from, False
                return found
            case "USING":
                found = self._condition_is_empty()
                self.waiting = max(0, self.waiting - 1)
                self.in_condition = False
                return found
            case _ if word in _COMPARING_WORDS:
                self.compares = self.compared = True
            case _:
                found = self.ends()
                self.in_from, self.waiting, self.in_condition = False, 0, False
                return found
        return False

    def ends(self) -> bool:
        """Whether a sign is left where the FROM ends."""
        return self.in_from and (self.waiting > 0 or self._condition_is_empty())

    def _condition_is_empty(self) -> bool:
        return self.in_condition and not self.compares
