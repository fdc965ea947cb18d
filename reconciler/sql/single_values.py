"""Subqueries for one value that is the same for all rows: `WHERE price > (SELECT AVG(price) FROM goods)`.

While the relations that such a subquery reads stay as they are, it has one value, and that may be written in its place. So
a query by which few rows are looked at reads no relation for it.

- It stands in a WHERE, beside an operator: so it is asked for one value, and nobody else is named by it.
- It reads relations, and groups nothing: an aggregate of all rows is surely one row.
- All columns in it are those of its own relations.
- Whatever is not surely so is no such subquery.

Whether it gives the same again, when it is computed again, is what others look at (`linear_walk`).
"""

from collections.abc import Iterator, Mapping, Sequence

from sqlglot import exp

from reconciler.sql.block_model import SingleValue, Span
from reconciler.sql.block_texts import block_text
from reconciler.sql.joined_columns import Sight, items_of_from
from reconciler.sql.lexer import Token
from reconciler.sql.query import Parsed, parse_query
from reconciler.sql.references import relation_key

_BEYOND = ("with_", "laterals", "group", "having", "limit", "offset", "qualify", "windows", "sort", "cluster", "distribute")
"""Parts of a SELECT with which it may give other than one row, or is not looked at."""


def single_values(query: str, relations: Mapping[str, Mapping[str, str | None]]) -> tuple[SingleValue, ...]:
    """Those of a query, in their order. `relations` are all that it may read, with the types of their columns, by key."""
    parsed = parse_query(query)
    if not isinstance(parsed, Parsed):
        return ()
    found = [
        SingleValue(span, frozenset(relation_key(item) for item in items_of_from(node.this) if isinstance(item, exp.Table)))
        for node in _candidates(parsed.tree)
        if _is_of_its_own(node.this, relations) and (span := _span(query, parsed.tokens, node.this)) is not None
    ]
    return tuple(sorted(found, key=lambda one: one.span.start))


def _candidates(tree: exp.Expr) -> Iterator[exp.Subquery]:
    for node in tree.find_all(exp.Subquery):
        parent = node.parent
        while isinstance(parent, exp.Paren):
            parent = parent.parent
        is_operand = isinstance(parent, exp.Binary | exp.Between) and not isinstance(parent, exp.Dot | exp.Connector)
        if is_operand and isinstance(node.this, exp.Select) and node.find_ancestor(exp.Where) is not None:
            yield node


def _is_of_its_own(node: exp.Select, relations: Mapping[str, Mapping[str, str | None]]) -> bool:
    """Whether it surely gives one row, and names nothing outside."""
    if any(node.args.get(part) for part in _BEYOND) or node.args.get("distinct") or len(node.expressions) != 1:
        return False
    if any(one is not node for one in node.find_all(exp.Query)) or node.find(exp.Window) is not None:
        return False
    if not all(isinstance(star.parent, exp.Count) for star in node.find_all(exp.Star)):
        return False
    items = items_of_from(node)
    if not items or not all(isinstance(item, exp.Table) and relation_key(item) in relations for item in items):
        return False
    if any(join.method or join.args.get("using") or join.kind in ("SEMI", "ANTI") for join in node.args.get("joins") or ()):
        return False
    item = node.expressions[0].unalias()
    of_rows = (column for column in item.find_all(exp.Column) if column.find_ancestor(exp.AggFunc) is None)
    if item.find(exp.AggFunc) is None or next(of_rows, None) is not None:
        return False
    inner = Sight(node, relations)
    return all(inner.place(column) is not None for column in node.find_all(exp.Column))


def _span(query: str, tokens: Sequence[Token], node: exp.Select) -> Span | None:
    """Where it stands, with the parentheses around it."""
    text = block_text(query, tokens, node)
    if text is None:
        return None
    before = [token for token in tokens if token.end <= text.whole.start]
    after = [token for token in tokens if token.start >= text.whole.end]
    is_around = before and after and before[-1].is_symbol("(") and after[0].is_symbol(")")
    return Span(before[-1].start, after[0].end) if is_around else None
