"""Expressions of SQL that a stream is declared with: an event time, aggregates.

They become part of larger queries, so each has to be one value by its tokens alone, whatever it means. And they have to give
the same for the same rows whenever they are computed, or a replay would give something else. Which columns and functions
there are, and which types, whoever knows the input says.
"""

from typing import Final

from reconciler.base.names import fold, is_identifier
from reconciler.sql.determinism import MOMENTS, non_deterministic_calls
from reconciler.sql.lexer import Kind, Token, query_tokens, unquote
from reconciler.sql.words import spark_generators

_OPENING: Final = frozenset({"(", "["})
_CLOSING: Final = {")": "(", "]": "["}
_QUERIES: Final = ("FROM", "WHERE", "HAVING", "UNION", "EXCEPT", "INTERSECT", "LIMIT")
CLOCK: Final = MOMENTS.union(
    {"curdate", "current_date", "current_time", "current_timestamp", "localtimestamp", "unix_timestamp"}
)
"""What gives processing time: the time at which a row happens to be looked at (folded names)."""


def column_named(text: str) -> str | None:
    """The column that a text names, plainly or in backquotes; None where it is another expression."""
    if is_identifier(text):
        return text
    tokens = query_tokens(text)
    return unquote(tokens[0]) if len(tokens) == 1 and tokens[0].kind is Kind.QUOTED else None


def undetermined_calls(expression: str) -> tuple[str, ...]:
    """What gives other values each time (`sql.determinism`), folded, sorted. A column in backquotes is none."""
    return () if expression.startswith("`") and column_named(expression) else non_deterministic_calls(expression)


def not_one_value(expression: str) -> str | None:
    """Why an expression is not one value, in words that follow "it"; None where its tokens say nothing against it."""
    opened: list[str] = []
    end = 0
    tokens = query_tokens(expression)
    for index, token in enumerate(tokens):
        if token.kind is Kind.BAD:
            return f"has {token.text}"
        if expression[end : token.start].strip():
            return "has a comment: write it in YAML, after #"
        end = token.end
        if token.kind is Kind.SYMBOL and token.text in _OPENING:
            opened.append(token.text)
        elif token.kind is Kind.SYMBOL and token.text in _CLOSING:
            if not opened or opened.pop() != _CLOSING[token.text]:
                return f"has a {token.text!r} that nothing opens"
        elif token.is_symbol(";") or (token.is_symbol(",") and not opened):
            return f"has a {token.text!r} outside of parentheses"
        elif token.is_word("OVER") and not _is_field(tokens, index) and _opens(tokens, index + 1):
            return "has a window of rows (OVER): what it gives depends on which rows come in one step"
        elif token.kind is Kind.WORD and fold(token.text) in spark_generators() and _calls(tokens, index):
            return f"has {fold(token.text)}, which gives several rows for one, or none"
        elif token.is_symbol("/*+"):
            return "has a hint"
        elif not opened and token.is_word("AS"):
            return "has an alias: YAML names it already"
        elif (token.is_word("SELECT") or (not opened and token.is_word(*_QUERIES))) and not _is_field(tokens, index):
            return f"has {token.text.upper()}, and can read nothing but columns of the input"
    if expression[end:].strip():
        return "has a comment: write it in YAML, after #"
    if opened:
        return f"has a {opened[-1]!r} that is not closed"
    return None if tokens else "is empty"


def _opens(tokens: tuple[Token, ...], index: int) -> bool:
    return index < len(tokens) and (tokens[index].is_symbol("(") or tokens[index].kind is Kind.WORD)


def _calls(tokens: tuple[Token, ...], index: int) -> bool:
    is_next = index + 1 < len(tokens) and tokens[index + 1].is_symbol("(")
    return is_next and not _is_field(tokens, index)


def _is_field(tokens: tuple[Token, ...], index: int) -> bool:
    return index > 0 and tokens[index - 1].is_symbol(".")
