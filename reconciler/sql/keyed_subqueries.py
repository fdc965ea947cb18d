"""Subqueries of WHERE whose answer for a row depends on few rows of what they read: those with equal keys.

- EXISTS, or a query for one value, over relations, whose WHERE holds a column of theirs equal to a column of the block's
  FROM, as a part of its AND. Which rows it looks at, for a row of the block, is decided by that equality among others.
- `x IN (SELECT y FROM …)` over relations, as a part of the AND of the block's WHERE. Where it groups, `y` is among its keys.
  Within a NOT the answer depends on whether there is any NULL.
- From the relation that has that column, equalities lead to others that it is joined with (`joined_columns`), and to those
  of a subquery of its WHERE, by the same rules.

Columns are as `joined_columns` has them: whole numbers or dates of one declared type.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from sqlglot import exp

from reconciler.base.dataclass import dataclass
from reconciler.base.names import fold
from reconciler.sql.grouping import is_plain_group
from reconciler.sql.joined_columns import (
    Place,
    Sight,
    equalities,
    has_only,
    items_of_from,
    joined_columns,
    partners,
    parts_of,
)
from reconciler.sql.plain_conditions import plain_conditions
from reconciler.sql.references import relation_key
from reconciler.sql.row_condition import RowCondition

_BEYOND: Final = (
    "with_",
    "laterals",
    "limit",
    "offset",
    "qualify",
    "windows",
    "sort",
    "cluster",
    "distribute",
)
"""Parts of a SELECT by which it may look at other rows."""


@dataclass(frozen=True, slots=True)
class Equal:
    """A column (folded) of a relation, as it stands in FROM of the block or of a subquery, and the column of the other one
    that is equal to it. `is_needed`: a row of that relation without an equal one means nothing."""

    table: exp.Expr
    column: str
    own: str
    is_needed: bool = False


@dataclass(frozen=True, slots=True)
class KeyedTable:
    """A relation that such a subquery reads, what its columns are equal to, and the conditions without which its rows mean
    nothing."""

    table: exp.Table
    equal: tuple[Equal, ...]
    conditions: tuple[RowCondition, ...] = ()


def keyed_tables(node: exp.Select, relations: Mapping[str, Mapping[str, str | None]]) -> tuple[KeyedTable, ...]:
    """The relations of such subqueries of the WHERE of a block."""
    return tuple(_keyed_tables(node, Sight(node, relations), relations))


def _keyed_tables(node: exp.Select, outer: Sight, relations: Mapping[str, Mapping[str, str | None]]) -> Iterator[KeyedTable]:
    clause = node.args.get("where")
    if clause is None:
        return
    parts = [*parts_of(clause.this)]
    for query in _subqueries(clause.this):
        if not _reads_plainly(query, relations):
            continue
        inner = Sight(query, relations)
        pairs = [*_of_where(query, inner, outer)]
        parent = query.parent.parent if isinstance(query.parent, exp.Subquery) else query.parent
        is_asked = any(parent is one for one in parts) and isinstance(parent, exp.In | exp.Exists)
        is_asked = is_asked and parent is not None and has_only(parent, "this", "query")
        if is_asked and isinstance(parent, exp.In):
            # One in a list of values is for one value.
            is_asked = any(parent.args.get("query") is one for one in (query, query.parent))
            pairs += _of_in(parent, query, inner, outer) if is_asked else ()
        found = _reached(inner, outer, pairs, is_asked and _is_empty_without_rows(query))
        yield from found
        tables = {id(one.table) for one in found}
        for one in _keyed_tables(query, inner, relations):
            known = tuple(equal for equal in one.equal if id(equal.table) in tables)
            if known:
                tables.add(id(one.table))
                yield replace(one, equal=known)


def _reached(inner: Sight, outer: Sight, pairs: list[tuple[Place, Place]], is_needed: bool) -> list[KeyedTable]:
    """The relations of a subquery to which equalities lead, from what its columns are equal to outside. `is_needed`: a row
    for which it finds nothing means nothing."""
    equal: dict[int, list[Equal]] = {}
    for own, of_block in pairs:
        equal.setdefault(own[0], []).append(Equal(outer.tables[of_block[0]], of_block[1], own[1], is_needed))
    joined, needed, waiting = joined_columns(inner), partners(inner), [*equal]
    reached = {*waiting}
    while waiting:
        at = waiting.pop()
        for column, other, end in joined[at]:
            equal.setdefault(other, []).append(Equal(inner.tables[at], column, end, other in needed[at]))
            if other not in reached:
                reached.add(other)
                waiting.append(other)
    tables = {at: inner.tables[at] for at in sorted(equal)}
    met = plain_conditions(inner)
    return [KeyedTable(table, tuple(equal[at]), met[at]) for at, table in tables.items() if isinstance(table, exp.Table)]


def _subqueries(where: exp.Expr) -> Iterator[exp.Select]:
    """Those that stand in none of the others."""
    waiting = [where]
    while waiting:
        one = waiting.pop()
        if isinstance(one, exp.Select):
            yield one
        elif not isinstance(one, exp.SetOperation):
            waiting += one.iter_expressions()


def _reads_plainly(node: exp.Select, relations: Mapping[str, Mapping[str, str | None]]) -> bool:
    """Whether a subquery reads relations, and has nothing that looks at other rows."""
    items = items_of_from(node)
    if not items or any(node.args.get(part) for part in _BEYOND) or node.find(exp.Window) is not None:
        return False
    for join in node.args.get("joins") or ():
        if join.method or join.args.get("using") or join.side == "FULL" or join.kind in ("SEMI", "ANTI"):
            return False
    return all(isinstance(item, exp.Table) and _is_relation(item, relations) for item in items)


def _is_empty_without_rows(node: exp.Select) -> bool:
    """Whether a subquery surely finds nothing where its relations have no rows: an aggregate without groups finds one."""
    group = node.args.get("group")
    if group is not None:
        return bool(group.expressions) and is_plain_group(group) and not group.args.get("all")
    items = (item.unalias() for item in node.expressions)
    return node.args.get("having") is None and all(isinstance(item, exp.Column | exp.Literal | exp.Star) for item in items)


def _is_relation(table: exp.Table, relations: Mapping[str, Mapping[str, str | None]]) -> bool:
    if any(part and name not in ("this", "alias") for name, part in table.args.items()):
        return False
    alias = table.args.get("alias")
    return relation_key(table) in relations and (alias is None or not alias.args.get("columns"))


def _of_where(node: exp.Select, inner: Sight, outer: Sight) -> Iterator[tuple[Place, Place]]:
    for one, other, join in equalities(node):
        for own, of_block in ((one, other), (other, one)):
            pair = _pair(inner.place(own), outer.place(of_block), inner, outer)
            # A field of a column of the subquery's relations comes before a column of a relation outside.
            is_outside = inner.place(of_block) is None and not inner.has_column(fold(of_block.table))
            if join is None and pair is not None and is_outside:
                yield pair


def _of_in(parent: exp.In, node: exp.Select, inner: Sight, outer: Sight) -> list[tuple[Place, Place]]:
    item = node.expressions[0].unalias() if len(node.expressions) == 1 else None
    if not isinstance(item, exp.Column) or not isinstance(parent.this, exp.Column):
        return []
    group = node.args.get("group")
    if group is None and node.args.get("having") is not None:
        return []
    if group is not None:
        keys = [inner.place(key) for key in group.expressions if isinstance(key, exp.Column)]
        if not is_plain_group(group) or group.args.get("all") or inner.place(item) not in keys:
            return []
    pair = _pair(inner.place(item), outer.place(parent.this), inner, outer)
    return [pair] if pair is not None else []


def _pair(own: Place | None, of_block: Place | None, inner: Sight, outer: Sight) -> tuple[Place, Place] | None:
    """Both, where their types are alike."""
    if own is None or of_block is None or inner.kind(own) is None or inner.kind(own) != outer.kind(of_block):
        return None
    return own, of_block
