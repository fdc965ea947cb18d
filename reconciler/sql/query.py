"""Parse one query, or say where it stops making sense. The only module, with those that read its trees, near sqlglot.

A parser of ours would be a second Spark; sqlglot is close, not equal. So its refusal is an error only where nothing in
the text is known to be beyond it (`BEYOND`): then the query is unsure, and Spark will say.
"""

import logging
from collections.abc import Sequence
from typing import Final, TypeAlias

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError, TokenError

from reconciler.base.dataclass import dataclass
from reconciler.sql.backtracking import needs_many_tries
from reconciler.sql.cursor import shown, unreadable
from reconciler.sql.lexer import Kind, Token, query_tokens
from reconciler.sql.limits import HINT, HINT_OF_BROUGHT, MAXIMUM_JOINS, TOO_MANY_JOINS, TOO_MUCH_BROUGHT
from reconciler.sql.pivots import excessive_pivot
from reconciler.sql.problems import Problem
from reconciler.sql.respelled import Respelled, respelled, surely_names

# What sqlglot refuses, drops or rewrites while Spark knows it.
_BEYOND_SYMBOLS: Final = frozenset({":", "|>", "$", "$$"})
_BEYOND_WORDS: Final = frozenset({"IDENTIFIER", "MATCH_RECOGNIZE", "MEASURE", "REDUCE", "COLLATE", "CLUSTER", "SCRIPT"})
_BEYOND: Final = _BEYOND_SYMBOLS | _BEYOND_WORDS
_BEFORE_A_QUERY: Final = ("ALL", "DISTINCT", "EXCEPT", "INTERSECT", "MINUS", "UNION")
_QUERY_STARTS: Final = ("SELECT", "WITH", "VALUES", "FROM", "TABLE", "MAP", "REDUCE")
_CLAUSES: Final = ("FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "UNION", "EXCEPT", "INTERSECT")

# Looked up once: by its name it would be for every query.
_SPARK: Final = sqlglot.Dialect.get_or_raise("spark")

# sqlglot logs what it falls back on; what matters of it is found here.
logging.getLogger("sqlglot").setLevel(logging.CRITICAL)


@dataclass(frozen=True, slots=True)
class Unsure:
    """The text may be a query; nothing is known of it."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """A query and its tokens."""

    tree: exp.Expr
    tokens: tuple[Token, ...]


ParsedQuery: TypeAlias = Parsed | Problem | Unsure
"""What became of a text. Callers outside this package hand it on and look at nothing inside."""


def parse_query(query: str) -> ParsedQuery:
    """Parse one SELECT (or WITH, VALUES, set operation) of Spark SQL."""
    tokens = query_tokens(query)
    while tokens and tokens[-1].is_symbol(";"):
        tokens = tokens[:-1]
    problem = _shape(tokens)
    if problem is not None:
        return problem
    if (
        _is_beyond(tokens)
        or tokens[0].is_word("TABLE", "MAP", "REDUCE")
        or _holds_table(query, tokens)
        or needs_many_tries(tokens)
    ):
        return Unsure()
    found = _parse(respelled(query, tokens), tokens)
    if isinstance(found, Problem) and found.code == "S214" and (names := surely_names(tokens)):
        # A word that sqlglot takes for the keyword that it is in other places.
        again = _parse(respelled(query, tokens, names), tokens)
        return found if isinstance(again, Problem) else again
    return found


def _holds_table(query: str, tokens: Sequence[Token]) -> bool:
    """Whether `TABLE x` may stand for a query within this one: the parser takes it for a column, or drops it."""
    return "TABLE" in query.upper() and any(
        token.is_word("TABLE")
        and following.kind in (Kind.WORD, Kind.QUOTED)
        and (before.is_symbol("(") or before.is_symbol(")") or before.is_word(*_BEFORE_A_QUERY))
        for before, token, following in zip(tokens, tokens[1:], tokens[2:], strict=False)
    )


def _parse(text: Respelled, tokens: tuple[Token, ...]) -> ParsedQuery:
    try:
        trees = sqlglot.parse(text.text, dialect=_SPARK)
    except ParseError as error:
        return _refused(error, tokens, text)
    except TokenError:
        return Unsure()
    except (SqlglotError, RecursionError, ValueError, AttributeError, TypeError, IndexError):
        return Unsure()
    statements = [tree for tree in trees if tree is not None and not isinstance(tree, exp.Semicolon)]
    if len(statements) != 1 or not isinstance(statements[0], (exp.Query, exp.Values)):
        if len(statements) == 1 and isinstance(statements[0], (exp.DML, exp.DDL, exp.Command)):
            return Problem("S213", "a view's query must be one SELECT, found a statement that writes", tokens[0].start)
        return Unsure()
    text.set_places(statements[0])
    return Parsed(statements[0], tokens)


def _is_beyond(tokens: tuple[Token, ...]) -> bool:
    if _BEYOND.isdisjoint({token.text.upper() for token in tokens}):
        return False
    return any(
        (kind is Kind.SYMBOL and text in _BEYOND_SYMBOLS) or (kind is Kind.WORD and text.upper() in _BEYOND_WORDS)
        for kind, text, _, _ in tokens
    )


def _shape(tokens: tuple[Token, ...]) -> Problem | None:
    """What the tokens alone show."""
    if not tokens:
        return Problem("S213", "the view has no query", 0, "write a SELECT after AS")
    first = tokens[0]
    if tokens[-1].kind is Kind.BAD:
        code, token, message, hint = unreadable(tokens[-1])
        return Problem(code, message, token.start, hint)
    joins = [token.start for token in tokens if token.kind is Kind.WORD and token.text.upper() == "JOIN"]
    if len(joins) > MAXIMUM_JOINS:
        return Problem("S290", TOO_MANY_JOINS, joins[MAXIMUM_JOINS], HINT)
    pivot = excessive_pivot(tokens)
    if pivot is not None:
        return Problem("S292", TOO_MUCH_BROUGHT, pivot.start, HINT_OF_BROUGHT)
    if not (first.is_symbol("(") or first.is_word(*_QUERY_STARTS)):
        message = f"a view's query must be one SELECT, found {shown(first)}"
        return Problem("S213", message, first.start, "write a SELECT after AS")
    open_parentheses: list[Token] = []
    for index, token in enumerate(tokens):
        if token.kind is not Kind.SYMBOL:
            continue
        text = token.text
        if text == ";":
            hint = "a view has one query: remove the rest"
            return Problem("S213", "a second statement in the view's query", token.start, hint)
        if text == "{" or text == "?" or (text == ":" and _is_parameter(tokens, index)):
            return Problem("S215", "templates and parameters are not expanded in SQL", token.start, "write the value itself")
        if text == "(":
            open_parentheses.append(token)
        elif text == ")":
            if not open_parentheses:
                return Problem("S214", "a ')' without its '('", token.start)
            open_parentheses.pop()
        elif text == ",":
            following = tokens[index + 1] if index + 1 < len(tokens) else None
            if following is None or following.is_symbol(")") or _begins_clause(tokens, index + 1):
                return Problem("S214", "a comma with nothing after it", token.start, "remove the comma")
    if open_parentheses:
        return Problem("S214", "a '(' that is not closed", open_parentheses[-1].start)
    return None


def _begins_clause(tokens: tuple[Token, ...], index: int) -> bool:
    """Whether a clause begins there. Its word may name a column, too: `SELECT a, limit FROM t`."""
    if not tokens[index].is_word(*_CLAUSES):
        return False
    after = tokens[index + 1] if index + 1 < len(tokens) else None
    if after is None or after.is_word("AS", "FROM"):
        return False
    if tokens[index].is_word("GROUP", "ORDER"):
        return after.is_word("BY")
    return after.kind is not Kind.SYMBOL or after.text in ("(", "+", "-", "~", "!", "*")


def _is_parameter(tokens: tuple[Token, ...], index: int) -> bool:
    """Whether the `:` there begins `:name` where an operand must begin (after a word or an operand, it means something
    else)."""
    if index + 1 >= len(tokens) or tokens[index + 1].kind is not Kind.WORD:
        return False
    before = tokens[index - 1]
    return index > 0 and before.kind is Kind.SYMBOL and before.text not in (")", "]", ">", ":")


def _refused(error: ParseError, tokens: tuple[Token, ...], text: Respelled) -> Problem:
    """Where sqlglot stopped. Its column is that of the last character of the token it stopped at."""
    details = error.errors[0] if error.errors else {}
    line, column = details.get("line"), details.get("col")
    offset = tokens[0].start
    if isinstance(line, int) and isinstance(column, int):
        start = 0
        for _ in range(line - 1):
            start = text.text.find("\n", start) + 1
        last = text.origin(start + column) - 1
        offset = next((token.start for token in tokens if token.start <= last < token.end), offset)
    found = next((token for token in tokens if token.start == offset), tokens[0])
    return Problem("S214", f"syntax error at {shown(found)}", offset, None)
