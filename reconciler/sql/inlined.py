"""Queries with others written into them: a name of WITH, or of a view that is computed in place, stands for its query, which
may as well stand in FROM itself. Spark reads both alike.

The text of a query stays as it is but for the names that are replaced. There is no answer where a name may mean something
else within the text that is put there.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from sqlglot import exp

from reconciler.base.names import fold
from reconciler.sql.block_model import Span
from reconciler.sql.lexer import Kind, Token, unquote
from reconciler.sql.linear_walk import written_span
from reconciler.sql.query import Parsed, parse_query
from reconciler.sql.references import relation_key
from reconciler.sql.token_lists import closing

_LONGEST: Final = 10_000
"""Of a query that others are written into, in characters."""
_LONGEST_NAME: Final = 300
"""Of `SELECT * FROM` a name, in characters."""
_MOST_NAMES: Final = 50
"""Of WITH. Each query is read once for each name in it."""


def inlined(query: str, bodies: Mapping[str, str]) -> str | None:
    """A query in which relations (keys) are replaced by their queries, each under the name that it has there. None where
    that can't surely be told, or would be long."""
    parsed = parse_query(query)
    if not isinstance(parsed, Parsed) or any(True for _ in parsed.tree.find_all(exp.With)):
        return None
    put: list[tuple[Span, str]] = []
    for table in parsed.tree.find_all(exp.Table):
        body = bodies.get(relation_key(table))
        if body is not None:
            span = written_span(table.this)
            if span is None or any(part and name not in ("this", "alias") for name, part in table.args.items()):
                return None
            # A comment may end the text, up to the end of its line.
            read = _only_name(body) or f"(\n{body}\n)"
            put.append((span, read if table.alias else f"{read} AS {span.of(query)}"))
    return replaced(query, put) if put else query


def _only_name(body: str) -> str | None:
    """What a query reads that is nothing but `SELECT * FROM` a relation."""
    if len(body) > _LONGEST_NAME:
        return None
    parsed = parse_query(body)
    if not isinstance(parsed, Parsed) or [token.text.upper() for token in parsed.tokens[:3]] != ["SELECT", "*", "FROM"]:
        return None
    return parsed.tokens[3].text if len(parsed.tokens) == 4 and parsed.tokens[3].kind in (Kind.WORD, Kind.QUOTED) else None


def replaced(query: str, put: Iterable[tuple[Span, str]]) -> str | None:
    """A query with texts in the place of parts of it. None where that would be long."""
    parts, position = [], 0
    for span, text in sorted(put, key=lambda pair: pair[0].start):
        parts += [query[position : span.start], text]
        position = span.end
    found = "".join((*parts, query[position:]))
    return found if len(found) <= _LONGEST else None


def without_names(query: str) -> str | None:
    """A query whose names of WITH are replaced by their queries. None where it has none, or that can't surely be told."""
    parsed = parse_query(query)
    names = parsed.tree.args.get("with_") if isinstance(parsed, Parsed) else None
    if (
        not isinstance(parsed, Parsed)
        or names is None
        or names.args.get("recursive")
        or len(names.expressions) > _MOST_NAMES
    ):
        return None
    cut = _cut(parsed.tokens)
    if cut is None or [name for name, _ in cut[0]] != [fold(one.alias) for one in names.expressions]:
        return None
    bodies: dict[str, str] = {}
    for name, span in cut[0]:
        # A query of WITH sees the names before it. Of its own name it sees the relation.
        body = inlined(span.of(query), bodies)
        if body is None:
            return None
        bodies[name] = body
    return inlined(query[cut[1] :], bodies)


def _cut(tokens: Sequence[Token]) -> tuple[list[tuple[str, Span]], int] | None:
    """The names of a query that begins by WITH, folded, each with where its query stands; and where all of it ends."""
    found: list[tuple[str, Span]] = []
    at = 1
    while tokens[0].is_word("WITH") and at + 2 < len(tokens) and tokens[at].kind in (Kind.WORD, Kind.QUOTED):
        opening = at + 2 if tokens[at + 1].is_word("AS") else at + 1
        end = closing(tokens, opening) if tokens[opening].is_symbol("(") else None
        if end is None or end + 1 >= len(tokens) or end == opening + 1:
            return None
        found.append((fold(unquote(tokens[at])), Span(tokens[opening + 1].start, tokens[end - 1].end)))
        if not tokens[end + 1].is_symbol(","):
            return found, tokens[end + 1].start
        at = end + 2
    return None
