"""Queries whose SELECTs in FROM all have an alias: `FROM (SELECT a FROM t)` as `FROM (SELECT a FROM t) AS query_1`. Spark
reads both alike: to a SELECT without one it gives a name that nobody writes. By an alias its columns are told from others.

There is no answer where a SELECT can't surely be told, and none is an alias that the query has as a name already.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Final

from sqlglot import exp

from reconciler.base.names import fold
from reconciler.sql.block_model import Span
from reconciler.sql.block_texts import block_text
from reconciler.sql.inlined import replaced
from reconciler.sql.lexer import Token
from reconciler.sql.limits import TooMuch
from reconciler.sql.query import Parsed, parse_query

_BEGINS: Final = re.compile(r"(?i)\(\s*select\b")
_ALIAS: Final = "query_"


def with_aliases(query: str) -> str | None:
    """A query in which each SELECT in FROM has an alias. None where it has them all, or that can't surely be told."""
    if _BEGINS.search(query) is None:
        return None
    try:
        parsed = parse_query(query)
        if not isinstance(parsed, Parsed):
            return None
        nodes = [*_without_alias(parsed.tree)]
        ends = [_end(query, parsed.tokens, node.this) for node in nodes]
        put = [(end, f" AS {alias}") for end, alias in zip(ends, _unused(parsed.tree), strict=False) if end is not None]
        return replaced(query, put) if put and len(put) == len(ends) else None
    except (TooMuch, RecursionError):
        return None


def _without_alias(tree: exp.Expr) -> Iterator[exp.Subquery]:
    for node in tree.find_all(exp.Subquery):
        is_source = isinstance(node.parent, exp.From | exp.Join) and isinstance(node.this, exp.Select)
        if is_source and not any(part for name, part in node.args.items() if name != "this"):
            yield node


def _end(query: str, tokens: Sequence[Token], node: exp.Select) -> Span | None:
    """Where an alias of a SELECT may stand: behind the parenthesis that closes it."""
    text = block_text(query, tokens, node, has_windows=True)
    after = None if text is None else next((one for one in tokens if one.start >= text.whole.end), None)
    return Span(after.end, after.end) if after is not None and after.is_symbol(")") else None


def _unused(tree: exp.Expr) -> Iterator[str]:
    """Names that nothing in a query has."""
    known = {fold(one.name) for one in tree.find_all(exp.Identifier)}
    return (alias for number in count(1) if (alias := f"{_ALIAS}{number}") not in known)
