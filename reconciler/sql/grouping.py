"""Aggregates where they can't stand, and columns that are neither grouped nor aggregated.

Only the plain case is judged: GROUP BY with columns, expressions, ordinals or names of the select list, or no GROUP BY
and an aggregate in the select list. GROUP BY ALL, ROLLUP, CUBE and GROUPING SETS are Spark's to judge. Below a function
that is not surely a plain one (it may aggregate), inside windows and inside subqueries nothing is judged.
"""

from typing import TYPE_CHECKING

from sqlglot import exp

from reconciler.base.names import fold
from reconciler.sql.places import offset_of, own_offset, written_name
from reconciler.sql.scopes import Scope
from reconciler.sql.words import FunctionKind, spark_aggregates, spark_functions

if TYPE_CHECKING:
    from reconciler.sql.values import Walker

_NOT_INSIDE = (exp.Query, exp.Window, exp.Identifier, exp.Literal)
_CERTAIN = (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max)


def judge_aggregates(walker: "Walker", node: exp.Select, scope: Scope) -> None:
    """Judge one block."""
    where = node.args.get("where")
    if where is not None:
        for call in _aggregates(where.this, walker.text):
            place = own_offset(call)
            hint = "filter groups with HAVING"
            walker.problem("S227", "WHERE can't contain an aggregate function", place or 0, hint)
    group = node.args.get("group")
    if group is not None and (group.args.get("all") or not is_plain_group(group)):
        return
    aggregates = [call for item in node.expressions for call in _aggregates(item, walker.text)]
    if group is None and not aggregates and node.args.get("having") is None:
        return
    if any(source.is_open for source in scope.sources):
        return
    aliases = {fold(item.alias): item.this for item in node.expressions if isinstance(item, exp.Alias)}
    keys = {_key(one, scope) for one in grouped(node, group, scope, aliases)}
    named = set(aliases)
    for item in node.expressions:
        _judge(walker, item, scope, keys, named, group is not None)


def has_aggregate(node: exp.Expr, text: str) -> bool:
    """Whether an item aggregates rows of its block, in a call outside of windows and subqueries."""
    return bool(_aggregates(node, text))


def is_plain_group(group: exp.Expr) -> bool:
    """Whether a GROUP BY makes groups of one kind only."""
    if any(group.args.get(part) for part in ("rollup", "cube", "grouping_sets", "totals")):
        return False
    return not any(isinstance(one, (exp.Rollup, exp.Cube, exp.GroupingSets)) for one in group.expressions)


def _aggregates(node: exp.Expr, text: str) -> list[exp.Expr]:
    """Calls that surely aggregate this block's rows: not inside a window, a subquery. The outer ones come first."""
    found: list[exp.Expr] = []
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, _NOT_INSIDE):
            continue
        if (isinstance(one, _CERTAIN) and own_offset(one) is not None) or (
            isinstance(one, exp.Func) and (written_name(one, text) or "").lower() in spark_aggregates()
        ):
            found.append(one)
        waiting += reversed([*one.iter_expressions()])
    return found


def grouped(node: exp.Select, group: exp.Expr | None, scope: Scope, aliases: dict[str, exp.Expr]) -> list[exp.Expr]:
    """What a block is grouped by, ordinals and names of the select list replaced by what they stand for."""
    found: list[exp.Expr] = []
    for one in group.expressions if group is not None else ():
        if isinstance(one, exp.Literal) and not one.is_string and str(one.this).isdigit():
            index = int(str(one.this)) - 1
            if 0 <= index < len(node.expressions):
                found.append(node.expressions[index].unalias())
            continue
        if isinstance(one, exp.Column) and not one.table and not scope.has(one.name) and fold(one.name) in aliases:
            found.append(aliases[fold(one.name)])
            continue
        found.append(one)
        if isinstance(one, exp.Tuple):
            found += one.expressions
    return found


def _key(node: exp.Expr, scope: Scope) -> str:
    """Equal for expressions that are the same to grouping: columns by source and name, the rest by its parts, letter case
    aside."""
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
        if node.table:
            return f"{fold(node.table)}.{fold(node.name)}"
        owners = scope.has(node.name)
        return f"{owners[0].name if owners else ''}.{fold(node.name)}"
    parts = [type(node).__name__]
    for name, part in node.args.items():
        if isinstance(part, list):
            parts += [_key(one, scope) if isinstance(one, exp.Expr) else str(one).lower() for one in part]
        elif part is not None and part is not False:
            parts.append(f"{name}={_key(part, scope) if isinstance(part, exp.Expr) else str(part).lower()}")
    return f"({' '.join(parts)})"


def _judge(walker: "Walker", node: exp.Expr, scope: Scope, keys: set[str], aliases: set[str], grouped: bool) -> None:
    """Find columns of this block outside keys and aggregates."""
    # `any(p)` aggregates; sqlglot takes it for the ANY of a subquery.
    if isinstance(node, (exp.Query, exp.Window, exp.Filter, exp.WithinGroup, exp.Star, exp.Lambda, exp.SubqueryPredicate)):
        return
    if _key(node, scope) in keys:
        return
    if isinstance(node, exp.Column):
        _judge_column(walker, node, scope, aliases, grouped)
        return
    if isinstance(node, exp.Func) and not isinstance(node, (exp.And, exp.Or, exp.Case, exp.If, exp.Cast)):
        name = (written_name(node, walker.text) or "").lower()
        if isinstance(node, exp.AggFunc) or spark_functions().get(name) is not FunctionKind.SCALAR:
            return
    for child in node.iter_expressions():
        _judge(walker, child, scope, keys, aliases, grouped)


def _judge_column(walker: "Walker", node: exp.Column, scope: Scope, aliases: set[str], grouped: bool) -> None:
    if isinstance(node.this, exp.Star) or len(node.parts) > 2:
        return
    if node.table:
        source = scope.source(node.table)
        known = source is not None and fold(node.name) in source.by_key
    else:
        # A name joined by USING has two owners and one value; a name of the select list may be meant.
        known = len(scope.has(node.name)) == 1 and fold(node.name) not in aliases and fold(node.name) not in scope.merged
    place = offset_of(node)
    if known and place is not None:
        hint = "add it to GROUP BY, or aggregate it: max, any_value …" if grouped else "add GROUP BY, or aggregate it"
        walker.problem("S228", f"column {node.name!r} is neither grouped nor aggregated", place, hint)
