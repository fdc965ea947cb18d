"""Subqueries of WHERE whose answer for a row depends on the rows with one key only: those that are equal to a column of it.

- EXISTS, or a query for one value, over one relation, whose WHERE holds a column of it equal to a column of the block's
  FROM, as a part of its AND. Which rows it looks at, for a row of the block, is decided by that equality among others.
- `x IN (SELECT y FROM …)` over one relation, as a part of the AND of the block's WHERE. Where it groups, `y` is among its
  keys. Within a NOT the answer depends on whether there is any NULL.

Both columns are as `joined_columns` has them: whole numbers or dates of one declared type.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from sqlglot import exp

from reconciler.base.dataclass import dataclass
from reconciler.base.names import fold
from reconciler.sql.grouping import is_plain_group
from reconciler.sql.joined_columns import Place, Sight, equalities, parts_of
from reconciler.sql.references import relation_key

_BEYOND: Final = (
    "with_",
    "joins",
    "laterals",
    "limit",
    "offset",
    "qualify",
    "distinct",
    "windows",
    "sort",
    "cluster",
    "distribute",
)
"""Parts of a SELECT by which it may look at other rows."""


@dataclass(frozen=True, slots=True)
class KeyedTable:
    """A relation that such a subquery reads: a column of it (folded), and the column of a relation of FROM that it is equal
    to: that one's index and the column (folded)."""

    table: exp.Table
    column: str
    outer: Place


def keyed_tables(node: exp.Select, relations: Mapping[str, Mapping[str, str | None]]) -> tuple[KeyedTable, ...]:
    """The relations of such subqueries of the WHERE of a block."""
    clause = node.args.get("where")
    return _keyed_tables(clause.this, Sight(node, relations), relations) if clause is not None else ()


def _keyed_tables(
    where: exp.Expr, outer: Sight, relations: Mapping[str, Mapping[str, str | None]]
) -> tuple[KeyedTable, ...]:
    positive = [one for one in parts_of(where) if isinstance(one, exp.In)]
    found = []
    for node in _subqueries(where):
        table = _only_table(node, relations)
        if table is None:
            continue
        inner = Sight(node, relations)
        parent = node.parent.parent if isinstance(node.parent, exp.Subquery) else node.parent
        if isinstance(parent, exp.In):
            # One in a list of values is for one value, of which there may be too many.
            query = parent.args.get("query")
            is_asked = (query is node or query is node.parent) and any(one is parent for one in positive)
            pair = _of_in(parent, node, inner, outer) if is_asked else None
        else:
            pair = _of_where(node, inner, outer)
        if pair is not None:
            found.append(KeyedTable(table, pair[0][1], pair[1]))
    return tuple(found)


def _subqueries(where: exp.Expr) -> Iterator[exp.Select]:
    """Those that stand in none of the others."""
    waiting = [where]
    while waiting:
        one = waiting.pop()
        if isinstance(one, exp.Select):
            yield one
        elif not isinstance(one, exp.SetOperation):
            waiting += one.iter_expressions()


def _only_table(node: exp.Select, relations: Mapping[str, Mapping[str, str | None]]) -> exp.Table | None:
    """What a subquery reads, if that is one relation and the subquery has nothing that looks at other rows."""
    origin = node.args.get("from_")
    table = origin.this if origin is not None else None
    if not isinstance(table, exp.Table) or any(node.args.get(part) for part in _BEYOND):
        return None
    if any(part and name not in ("this", "alias") for name, part in table.args.items()):
        return None
    alias = table.args.get("alias")
    if relation_key(table) not in relations or (alias is not None and alias.args.get("columns")):
        return None
    if len([*node.find_all(exp.Query)]) > 1 or node.find(exp.Window) is not None:
        return None
    return table


def _of_where(node: exp.Select, inner: Sight, outer: Sight) -> tuple[Place, Place] | None:
    for one, other, _ in equalities(node):
        for own, of_block in ((one, other), (other, one)):
            pair = _pair(inner.place(own), outer.place(of_block), inner, outer)
            # A field of a column of the subquery's relation comes before a column of a relation outside.
            if pair is not None and inner.place(of_block) is None and not inner.has_column(fold(of_block.table)):
                return pair
    return None


def _of_in(parent: exp.In, node: exp.Select, inner: Sight, outer: Sight) -> tuple[Place, Place] | None:
    item = node.expressions[0].unalias() if len(node.expressions) == 1 else None
    if not isinstance(item, exp.Column) or not isinstance(parent.this, exp.Column):
        return None
    group = node.args.get("group")
    if group is None and node.args.get("having") is not None:
        return None
    if group is not None:
        keys = [inner.place(key) for key in group.expressions if isinstance(key, exp.Column)]
        if not is_plain_group(group) or group.args.get("all") or inner.place(item) not in keys:
            return None
    return _pair(inner.place(item), outer.place(parent.this), inner, outer)


def _pair(own: Place | None, of_block: Place | None, inner: Sight, outer: Sight) -> tuple[Place, Place] | None:
    """Both, where their types are alike."""
    if own is None or of_block is None or inner.kind(own) is None or inner.kind(own) != outer.kind(of_block):
        return None
    return own, of_block
