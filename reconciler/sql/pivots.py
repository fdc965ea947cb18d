"""How many columns the PIVOTs of a query bring: one for each aggregate and each value, so a few words bring very many.

Counted on tokens, before any tree: the parser writes out the name of each column. Each token is looked at once.
"""

from collections.abc import Sequence
from itertools import chain, repeat
from typing import Final

from sqlglot import exp

from reconciler.base.dataclass import dataclass
from reconciler.sql.lexer import Kind, Token
from reconciler.sql.limits import MAXIMUM_BROUGHT

_WEIGHT: Final = 10


@dataclass(slots=True)
class _Bracket:
    """An open bracket, and how many things stand in it so far, by its commas. `pivot`: the word, if it is a PIVOT's, whose
    lists so far make `product` columns; `holds_values`: they are those of an IN right in a PIVOT."""

    pivot: Token | None = None
    holds_values: bool = False
    listed: int = 1
    product: int = 1


def weight_of_pivot(node: exp.Expr) -> int:
    """What a PIVOT's columns count. Each is as much work as ten columns of a relation, as its name is put together."""
    return _WEIGHT * len(node.args.get("columns") or ())


def excessive_pivot(tokens: Sequence[Token]) -> Token | None:
    """The PIVOT with which a query brings more columns than it may, if there is one.

    Its columns are the product of what stands in its lists: the aggregates before FOR, and the values of each IN behind it.
    """
    if "PIVOT" not in {token.text.upper() for token in tokens}:
        return None
    total = 0
    around = [_Bracket()]
    before: Token | None = None
    # At the end (None) all brackets close that the query left open.
    for token in chain(tokens, repeat(None)):
        if token is None or (token.text in (")", "]") and token.kind is Kind.SYMBOL):
            if len(around) > 1:
                pivot, weight = _close(around)
                total += weight
                if total > MAXIMUM_BROUGHT:
                    return pivot
            elif token is None:
                break
        elif token.is_symbol("("):
            around.append(_opened(before, around[-1]))
        elif token.is_symbol("["):
            around.append(_Bracket())
        elif token.is_symbol(","):
            around[-1].listed += 1
        elif token.is_word("FOR") and around[-1].pivot is not None:
            _end_list(around[-1])
        before = token
    return None


def _opened(before: Token | None, outer: _Bracket) -> _Bracket:
    if before is None:
        return _Bracket()
    return _Bracket(before if before.is_word("PIVOT") else None, outer.pivot is not None and before.is_word("IN"))


def _close(around: list[_Bracket]) -> tuple[Token | None, int]:
    """Take the last bracket out. If it is a PIVOT's, the word and what its columns count."""
    closed = around.pop()
    if closed.holds_values:
        around[-1].listed = closed.listed
        _end_list(around[-1])
    if closed.pivot is None:
        return None, 0
    _end_list(closed)
    return closed.pivot, _WEIGHT * closed.product


def _end_list(bracket: _Bracket) -> None:
    bracket.product, bracket.listed = min(bracket.product * bracket.listed, MAXIMUM_BROUGHT), 1
