"""Which output columns of a query are columns that it reads, handed on as they are: of the same type, whatever that is.

Only what is sure: one SELECT over relations, without subqueries in its FROM, CTEs, set operations or generators. A column
that is not among these may be handed on all the same.
"""

from collections.abc import Iterable, Mapping

from sqlglot import exp

from reconciler.names import fold
from reconciler.sql.query import Parsed, ParsedQuery


def plain_columns(parsed: ParsedQuery, names: Iterable[str]) -> Mapping[str, str]:
    """Those of the output columns `names` (the query's own, not the view's) that are surely handed on, each with its name
    where it comes from, unless that is a field of a column; all folded."""
    if not isinstance(parsed, Parsed) or not isinstance(parsed.tree, exp.Select):
        return {}
    tree = parsed.tree
    origin = tree.args.get("from_")
    sources = [origin.this] if origin is not None else []
    sources += [join.this for join in tree.args.get("joins") or ()]
    if tree.args.get("with_") or tree.args.get("laterals") or not all(map(_is_relation, sources)):
        return {}
    # What a star gives keeps its name.
    found: dict[str, str | None] = {fold(name): fold(name) for name in names}
    for item in tree.expressions:
        if item.is_star and isinstance(item, (exp.Star, exp.Column)) and not _changes(item):
            continue
        inner = item.this if isinstance(item, exp.Alias) else item
        is_column = isinstance(inner, exp.Column) and not inner.is_star and len(inner.parts) <= 2
        if not item.alias_or_name:
            return {}
        found[fold(item.alias_or_name)] = fold(inner.name) if is_column else None
    return {name: source for name, source in found.items() if source is not None}


def _is_relation(node: exp.Expr) -> bool:
    """A relation by its name, perhaps with another name; its columns are its own."""
    if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
        return False
    alias = node.args.get("alias")
    return not (alias is not None and alias.args.get("columns")) and not node.args.get("pivots")


def _changes(star: exp.Expr) -> bool:
    """`* EXCEPT (…)` and the like."""
    inner = star.this if isinstance(star, exp.Column) else star
    return any(inner.args.get(key) for key in ("except_", "replace", "rename"))
