"""Joins that combine everything with everything: no condition links their sides.

For each query block, the items of its FROM are linked by USING, NATURAL, and every condition of an ON or of the WHERE that
names columns of both. What is left unlinked is joined crosswise, whether it was written CROSS JOIN, with a comma, or with a
condition that links nothing.

Only what is sure counts:
- A name without its relation links all the items that could have it: all, where their columns are not known.
- An item of surely one row at most (an aggregate without GROUP BY, a LIMIT 1, no FROM) is no hazard, nor is an item that is
  made for each row of the others (LATERAL, `explode`), nor VALUES and `range`, which are written out.
- SEMI and ANTI joins multiply nothing.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from sqlglot import exp

from reconciler.base.names import fold
from reconciler.sql.query import Parsed, ParsedQuery
from reconciler.sql.row_functions import surely_aggregates

_Relations = Mapping[str, Mapping[str, str | None]]
_LEAVES: Final = (exp.Column, exp.Identifier, exp.Literal, exp.TableAlias)
_NONE: Final[_Relations] = MappingProxyType({})


def cross_joins(parsed: ParsedQuery, relations: _Relations = _NONE) -> int:
    """How many such joins a query surely has. `relations`, where known, as for `analyse_query`."""
    if not isinstance(parsed, Parsed):
        return 0
    try:
        blocks, clauses = _parts_of(parsed.tree)
        named = _named(clauses)
        return sum(_of_block(block, named, relations) for block in blocks)
    except RecursionError:
        return 0


def _parts_of(tree: exp.Expr) -> tuple[list[exp.Select], list[exp.With]]:
    """The query blocks below a node, and the clauses WITH."""
    blocks: list[exp.Select] = []
    clauses: list[exp.With] = []
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, exp.Select):
            blocks.append(node)
        elif isinstance(node, exp.With):
            clauses.append(node)
        # Most of a query are names and columns, which hold no query.
        waiting += [child for child in node.iter_expressions() if not isinstance(child, _LEAVES)]
    return blocks, clauses


class _Item:
    """One item of FROM: its names, its columns where known, whether it could multiply rows."""

    def __init__(self, node: exp.Expr, named: Mapping[str, bool], relations: _Relations) -> None:
        self.name = fold(node.alias_or_name) or None
        self.columns: frozenset[str] | None = None
        self.multiplies = True
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            key = fold(node.name)
            self.multiplies = not named.get(key, False)
            known = relations.get(key)
            if known and key not in named and not _renames(node):
                self.columns = frozenset(map(fold, known))
        elif isinstance(node, exp.Subquery):
            self.multiplies = not _is_single(node)
        else:
            self.multiplies = False


def _renames(node: exp.Expr) -> bool:
    alias = node.args.get("alias")
    return alias is not None and bool(alias.args.get("columns"))


def _of_block(block: exp.Select, named: Mapping[str, bool], relations: _Relations) -> int:
    origin = block.args.get("from_")
    if origin is None or block.args.get("laterals"):
        return 0
    items: list[_Item] = []
    conditions: list[exp.Expr] = []
    linked: list[tuple[int, int]] = []
    joins = [*(origin.this.args.get("joins") or ()), *(block.args.get("joins") or ())]
    items.append(_Item(origin.this, named, relations))
    for join in joins:
        if join.kind in ("SEMI", "ANTI"):
            continue
        if isinstance(join.this, exp.Lateral) or join.this.args.get("joins") or join.this.args.get("laterals"):
            return 0
        items.append(_Item(join.this, named, relations))
        if join.args.get("using") or join.method:
            linked.append((len(items) - 2, len(items) - 1))
        if join.args.get("on") is not None:
            conditions += _conjuncts(join.args["on"])
    if isinstance(origin.this, exp.Subquery) and isinstance(origin.this.this, exp.Table):
        return 0
    where = block.args.get("where")
    if where is not None:
        conditions += _conjuncts(where.this)
    for condition in conditions:
        owners = _owners(condition, items)
        linked += [(owners[0], other) for other in owners[1:]]
    return _parts([item.multiplies for item in items], linked) - 1


def _conjuncts(node: exp.Expr) -> list[exp.Expr]:
    found: list[exp.Expr] = []
    left = [node]
    while left:
        one = left.pop()
        if isinstance(one, exp.And):
            left += [one.this, one.expression]
        elif isinstance(one, exp.Paren):
            left.append(one.this)
        else:
            found.append(one)
    return found


def _owners(condition: exp.Expr, items: list[_Item]) -> list[int]:
    """The items whose columns a condition names, or may name."""
    found: set[int] = set()
    names = {item.name for item in items}
    for column in condition.find_all(exp.Column):
        head = fold(column.parts[0].name) if column.table else None
        if head is not None and head in names:
            found.update(index for index, item in enumerate(items) if item.name == head)
            continue
        key = fold(column.parts[0].name)
        found.update(index for index, item in enumerate(items) if item.columns is None or key in item.columns)
    return sorted(found)


def _parts(multiplying: list[bool], linked: list[tuple[int, int]]) -> int:
    """Into how many parts without a link between them the multiplying items fall; at least one."""
    part = list(range(len(multiplying)))
    for one, other in linked:
        old, new = part[other], part[one]
        part = [new if index == old else index for index in part]
    return max(1, len({index for index, counts in zip(part, multiplying, strict=True) if counts}))


def _named(clauses: list[exp.With]) -> dict[str, bool]:
    """The CTEs, and whether each is surely of one row at most; one whose name is given twice is not."""
    found: dict[str, bool] = {}
    for clause in clauses:
        for cte in clause.expressions:
            key = fold(cte.alias)
            found[key] = key not in found and _is_single(cte.this)
    return found


def _is_single(node: exp.Expr) -> bool:
    """Whether a query surely gives one row at most."""
    if _is_limited_to_one(node):
        return True
    if isinstance(node, exp.Subquery):
        return _is_single(node.this)
    if not isinstance(node, exp.Select) or node.args.get("laterals") or node.args.get("group") is not None:
        return False
    if node.args.get("from_") is None:
        return True
    return any(_aggregates(item) for item in node.expressions)


def _is_limited_to_one(node: exp.Expr) -> bool:
    limit = node.args.get("limit")
    return isinstance(limit, exp.Limit) and isinstance(limit.expression, exp.Literal) and limit.expression.this in ("0", "1")


def _aggregates(node: exp.Expr) -> bool:
    """Whether an expression surely aggregates the rows of its own block."""
    if isinstance(node, exp.Query):
        return False
    if isinstance(node, exp.Window):
        return any(_aggregates(child) for child in node.this.iter_expressions())
    if surely_aggregates(node):
        return True
    return any(_aggregates(child) for child in node.iter_expressions())
