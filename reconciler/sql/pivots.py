"""How many columns the PIVOTs of a query bring: one for each aggregate and each value, so a few words bring very many.

Counted on tokens, before any tree: the parser writes out the name of each column.
"""

from collections.abc import Sequence
from typing import Final

from sqlglot import exp

from reconciler.sql.lexer import Kind, Token
from reconciler.sql.limits import MAXIMUM_BROUGHT

_WEIGHT: Final = 10


def weight_of_pivot(node: exp.Expr) -> int:
    """What a PIVOT's columns count. Each is as much work as ten columns of a relation, as its name is put together."""
    return _WEIGHT * len(node.args.get("columns") or ())


def excessive_pivot(tokens: Sequence[Token]) -> Token | None:
    """The PIVOT with which a query brings more columns than it may, if there is one."""
    total = 0
    for index in range(len(tokens) - 1):
        if tokens[index].is_word("PIVOT") and tokens[index + 1].is_symbol("("):
            total += _WEIGHT * _columns(tokens, index + 1)
            if total > MAXIMUM_BROUGHT:
                return tokens[index]
    return None


def _columns(tokens: Sequence[Token], opening: int) -> int:
    """The product of what stands in the lists of one PIVOT: its aggregates, which stand right in its parentheses, and the
    values of each IN behind FOR."""
    product = listed = 1
    depth, is_in_values = 0, False
    for index in range(opening, len(tokens)):
        token = tokens[index]
        if token.kind is not Kind.SYMBOL:
            if depth == 1 and token.is_word("FOR"):
                product, listed = product * listed, 1
            continue
        if token.text in ("(", "["):
            depth += 1
            if depth == 2 and tokens[index - 1].is_word("IN"):
                is_in_values, listed = True, 1
        elif token.text in (")", "]"):
            depth -= 1
            if depth == 1 and is_in_values:
                product, listed, is_in_values = product * listed, 1, False
            elif not depth:
                break
        elif token.text == "," and depth == (2 if is_in_values else 1):
            listed += 1
    return product * listed
