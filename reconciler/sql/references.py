"""The relations that a query names, without asking what they hold.

A relation of the query's own pipeline has a plain name. `sales.revenue` is one of pipeline `sales`: its key is the whole
name, folded, be it written in one pair of backquotes or with a point between two names.
"""

from collections.abc import Iterable
from typing import Final

from sqlglot import exp

from reconciler.base.names import fold, is_identifier
from reconciler.sql.lexer import Kind, Token, query_tokens
from reconciler.sql.query import Parsed, ParsedQuery, Unsure

_LEAVES: Final = (exp.Identifier, exp.Literal)


def relation_key(node: exp.Table) -> str:
    """The key of the relation that an item of FROM names."""
    return fold(".".join(part.name for part in node.parts))


def named_relations(parsed: ParsedQuery, query: str) -> tuple[str, ...]:
    """As written, once each, sorted by folded name; names of CTEs in sight are not relations.

    A query that could not be parsed names what stands right after FROM, JOIN and TABLE in it.
    """
    found: dict[str, str] = {}
    try:
        if isinstance(parsed, Parsed):
            _collect(parsed.tree, frozenset(), found)
        else:
            _guess(query, found)
    except RecursionError:
        _guess(query, found)
    return tuple(found[key] for key in sorted(found))


def _guess(query: str, found: dict[str, str]) -> None:
    tokens = list(query_tokens(query))
    for index in range(len(tokens) - 1):
        name = _name(tokens[index + 1])
        if tokens[index].is_word("FROM", "JOIN", "TABLE") and name is not None:
            found.setdefault(fold(name), name)


def relations_among(parsed: ParsedQuery, query: str, known: Iterable[str], reader: str) -> tuple[str, ...]:
    """Which of the known relations (folded names) the query of `reader` reads.

    Of a query that may be good but could not be parsed, all that it mentions; itself only where it surely names itself.
    """
    names = {fold(name) for name in named_relations(parsed, query)}
    if isinstance(parsed, Unsure):
        names.update(name for name in mentioned(query, known) if name != reader)
    return tuple(sorted(names.intersection(known)))


def mentioned(query: str, known: Iterable[str]) -> tuple[str, ...]:
    """Which of the known relations (folded names) stand anywhere in a text as a word."""
    words = {fold(token.text.strip("`")) for token in query_tokens(query) if _name(token) is not None}
    return tuple(sorted(words.intersection(known)))


def _name(token: Token) -> str | None:
    if token.kind not in (Kind.WORD, Kind.QUOTED):
        return None
    name = token.text.strip("`")
    return name if is_identifier(name) else None


def _collect(node: exp.Expr, hidden: frozenset[str], found: dict[str, str]) -> None:
    """Collect tables below `node`."""
    clause = node.args.get("with_")
    if isinstance(clause, exp.With):
        for cte in clause.expressions:
            own = {fold(cte.alias)} if clause.recursive else set()
            _collect(cte.this, hidden | own, found)
            hidden = hidden | {fold(cte.alias)}
    if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
        written = ".".join(part.name for part in node.parts)
        if node.args.get("db") is not None or fold(written) not in hidden:
            found.setdefault(fold(written), written)
    for child in node.iter_expressions():
        # Most of a query are names and columns, and nothing is read below one.
        if child is clause or isinstance(child, _LEAVES):
            continue
        if not isinstance(child, exp.Column) or not isinstance(child.this, exp.Identifier):
            _collect(child, hidden, found)
