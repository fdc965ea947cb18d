"""Which output columns of a query surely have which type: columns that it reads, handed on as they are, whatever their type
is, and those that it casts or calls a function of the pipeline for.

Only what is sure: one SELECT over relations, without subqueries in its FROM, CTEs, set operations or generators. A column
that is not among these may be handed on all the same.
"""

from collections.abc import Iterable, Mapping

from sqlglot import exp

from reconciler.base.names import fold
from reconciler.sql.cast_types import type_of_cast
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


def stated_types(parsed: ParsedQuery, functions: Mapping[str, str]) -> Mapping[str, str]:
    """The canonical types of output columns (folded) of one SELECT whose text states them: `CAST(… AS type)`, or a call of a
    function of the pipeline. `functions`: what they return, by folded name."""
    if not isinstance(parsed, Parsed) or not isinstance(parsed.tree, exp.Select):
        return {}
    found: dict[str, str] = {}
    for item in parsed.tree.expressions:
        inner = item.unalias()
        while isinstance(inner, exp.Paren):
            inner = inner.this
        kind = None
        if isinstance(inner, exp.Cast):
            kind = type_of_cast(inner)
        elif isinstance(inner, exp.Anonymous):
            kind = functions.get(fold(inner.name))
        if kind is not None and item.alias_or_name:
            found[fold(item.alias_or_name)] = kind
    return found


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
