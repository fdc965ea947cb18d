"""Queries whose `*` within FROM is written out: `FROM (SELECT * FROM t) AS x` as `FROM (SELECT t.a, t.b FROM t) AS x`. Spark
reads both alike. A term of a change (`incremental.terms`) hands one more column on, which `*` would take in.

The `*` of the query itself stays. There is no answer where the columns of one are not surely known.
"""

from collections.abc import Mapping

from sqlglot import exp

from reconciler.base.names import quoted
from reconciler.sql.block_model import Span
from reconciler.sql.block_texts import block_text
from reconciler.sql.inlined import replaced
from reconciler.sql.limits import TooMuch
from reconciler.sql.linear_walk import LinearWalk
from reconciler.sql.query import Parsed
from reconciler.sql.scopes import Scope
from reconciler.sql.surroundings import QuerySurroundings


def without_stars(query: str, relations: Mapping[str, Mapping[str, str | None]], around: QuerySurroundings) -> str | None:
    """A query with every `*` of a SELECT in FROM written out. None where it has none, where that can't surely be told, or
    would be long. `relations` are as for `check.analyse_query`."""
    walk = LinearWalk(relations, query, around)
    try:
        parsed = walk.read()
        if parsed is None:
            return None
        put: list[tuple[Span, str]] = []
        for subquery in parsed.tree.find_all(exp.Subquery):
            node = subquery.this
            if isinstance(node, exp.Select) and any(item.is_star for item in node.expressions):
                written = _written(walk, parsed, node)
                if written is None:
                    return None
                put += written
        return replaced(query, put) if put else None
    except (TooMuch, RecursionError):
        return None


def _written(walk: LinearWalk, parsed: Parsed, node: exp.Select) -> list[tuple[Span, str]] | None:
    """What stands in the place of each `*` of a SELECT."""
    text, scope = block_text(walk.text, parsed.tokens, node), walk.seen[id(node)][0]
    if text is None:
        return None
    found: list[tuple[Span, str]] = []
    for item, span in zip(node.expressions, text.items, strict=True):
        if not item.is_star:
            continue
        columns = _columns(walk, item, scope)
        if columns is None:
            return None
        found.append((span, ", ".join(f"{quoted(source)}.{quoted(name)}" for source, name in columns)))
    return found


def _columns(walk: LinearWalk, item: exp.Expr, scope: Scope) -> list[tuple[str, str]] | None:
    """The columns of a `*`, each with the name of its source."""
    if scope.merged:
        # USING hides columns: their names mean something else then, or nothing.
        return None
    columns = walk.star(item, scope) if isinstance(item, exp.Star | exp.Column) else None
    names = [column.name for column in columns or ()]
    if isinstance(item, exp.Column):
        pairs: list[tuple[str | None, str | None]] = [(item.table, name) for name in names]
    else:
        pairs = [(source.name, column.name) for source in scope.sources for column in source.columns or ()]
        if [name for _, name in pairs] != names:
            return None
    known = [(source, name) for source, name in pairs if source is not None and name is not None]
    # Where a column has the name of a source, `name.x` may be a field of it.
    is_sure = len(known) == len(pairs) and not any(scope.has(source) for source, _ in known)
    return known if known and is_sure else None
