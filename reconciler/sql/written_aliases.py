"""Queries whose SELECTs in FROM all have an alias: `FROM (SELECT a FROM t)` as `FROM (SELECT a FROM t) AS query_1`. Spark
reads both alike: to a SELECT without one it gives a name that nobody writes. By an alias its columns are told from others.

There is no answer where a SELECT can't surely be told, or there are many of them: each is looked for in the whole text. None
is an alias that the query has as a name already. What comes out is parsed, and is the query but for the aliases.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import count, islice
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
_MOST: Final = 10
_LONGEST: Final = 10_000
"""SELECTs without an alias, and characters of a query."""


def with_aliases(query: str) -> str | None:
    """A query in which each SELECT in FROM has an alias. None where it has them all, or that can't surely be told."""
    if len(query) > _LONGEST or _BEGINS.search(query) is None:
        return None
    try:
        return _with_aliases(query)
    except (TooMuch, RecursionError):
        return None


def _with_aliases(query: str) -> str | None:
    parsed = parse_query(query)
    if not isinstance(parsed, Parsed):
        return None
    nodes = [*islice(_without_alias(parsed.tree), _MOST + 1)]
    if not 0 < len(nodes) <= _MOST:
        return None
    ends = [_end(query, parsed.tokens, node.this) for node in nodes]
    aliases = [*islice(_unused(parsed.tree), len(nodes))]
    # A word may stand right behind a parenthesis.
    put = [(end, f" AS {alias} ") for end, alias in zip(ends, aliases, strict=True) if end is not None]
    written = replaced(query, put) if len(put) == len(nodes) else None
    return written if written is not None and _differ_by(aliases, parsed.tree, written) else None


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


def _differ_by(aliases: Sequence[str], tree: exp.Expr, written: str) -> bool:
    """Whether a text is the query with these aliases, each once, and nothing else."""
    parsed = parse_query(written)
    if not isinstance(parsed, Parsed):
        return False
    taken = []
    for node in parsed.tree.find_all(exp.Subquery):
        if node.alias in aliases:
            taken.append(node.alias)
            node.set("alias", None)
    return sorted(taken) == sorted(aliases) and parsed.tree == tree
