"""What a call in a parsed query makes of rows, where that is sure.

The parser has classes of its own for most functions of Spark's, under other names, and one for all that it does not know.
A test holds against Spark's own list which of these classes aggregate.
"""

from collections.abc import Sequence

from sqlglot import exp

from reconciler.base.names import fold
from reconciler.sql.lexer import Token
from reconciler.sql.words import FunctionKind, spark_functions


def kind_of_call(node: exp.Expr) -> FunctionKind | None:
    """Whether a call aggregates rows, or is a window function, or what else it is; None where this is not known."""
    if isinstance(node, exp.Anonymous):
        return spark_functions().get(fold(node.name))
    if isinstance(node, exp.Any):
        # `any(p)` aggregates; the parser takes it for the ANY of a comparison, which `x LIKE ANY ('a%')` really has.
        return None if isinstance(node.parent, (exp.Like, exp.ILike)) else FunctionKind.AGGREGATE
    return _kind_of_class(type(node)) if isinstance(node, exp.Func) else None


def _kind_of_class(parsed: type[exp.Func]) -> FunctionKind | None:
    names = (fold(name) for name in parsed.sql_names())
    known = {kind for name in names if (kind := spark_functions().get(name)) is not None}
    if len(known) == 1:
        return known.pop()
    return FunctionKind.AGGREGATE if issubclass(parsed, exp.AggFunc) else None


def surely_aggregates(node: exp.Expr) -> bool:
    """Whether a call surely makes one value of many rows, unless it has OVER."""
    return kind_of_call(node) is FunctionKind.AGGREGATE


def is_quantifier(tokens: Sequence[Token], index: int) -> bool:
    """Whether a word is the ANY or SOME of `x LIKE ANY ('a%', 'b%')`, which looks like a call."""
    if not tokens[index].is_word("ANY", "SOME"):
        return False
    return index > 0 and tokens[index - 1].is_word("LIKE", "ILIKE")
