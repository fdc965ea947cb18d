"""Blocks that are linear in relations that they read: rows that come to one or go from it bring or take rows of their own,
whatever is there besides.

Where relations are joined by INNER or CROSS JOIN a block is linear in each of them; by LEFT, SEMI or ANTI JOIN in the left
side only, by RIGHT JOIN in the right one, by FULL JOIN in none. So it is in no relation that a subquery reads.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from sqlglot import exp

from reconciler.sql.block_model import BlockText, NotKept, RelationUse, Span
from reconciler.sql.blocks import Analyser
from reconciler.sql.lineage_whole import is_whole
from reconciler.sql.places import own_offset
from reconciler.sql.query import Parsed, parse_query
from reconciler.sql.references import relation_key
from reconciler.sql.scopes import Scope, Value
from reconciler.sql.values import Named

_JOINS: Final = frozenset({"", "INNER", "CROSS", "OUTER", "SEMI", "ANTI"})


class LinearWalk(Analyser):
    """A walk that judges what decides the rows of blocks."""

    def read(self) -> Parsed | None:
        """The query, walked through; None where it is not surely understood. Raises TooMuch and RecursionError."""
        parsed = parse_query(self.text)
        if not isinstance(parsed, Parsed):
            return None
        self.analyse(parsed.tree)
        is_understood = self.is_traced and not self.problems and is_whole(parsed, self.relations, self.saw_chance)
        return parsed if is_understood else None

    def value_over_rows(self, node: exp.Expr, scope: Scope, named: Named) -> Value:
        """What a value is made of whose names mean columns, and no items of the select list."""
        scope.is_relaxed, was_relaxed = False, scope.is_relaxed
        found = self.again(node, scope, named)
        scope.is_relaxed = was_relaxed
        return found

    def decided(self, node: exp.Select, others: Sequence[exp.Expr], scope: Scope, named: Named) -> frozenset[str] | NotKept:
        """Whether what decides the rows of a block, and these expressions of it, are surely the same when they are computed
        again; the relations of their subqueries."""
        where = node.args.get("where")
        deciding = [join.args["on"] for join in node.args.get("joins") or () if join.args.get("on") is not None]
        deciding += [where.this] if where is not None else []
        fixed: set[str] = set()
        for one in (*deciding, *others):
            if not self.value_over_rows(one, scope, named).repeatable:
                return NotKept(
                    f"{self._calls(one)} may give another value each time", "put it into a view that reads this one"
                )
            for table in one.find_all(exp.Table):
                if relation_key(table) in named:
                    return NotKept("a subquery in it reads a name of WITH", "put that query into a view")
                fixed.add(relation_key(table))
        return frozenset(fixed)

    def _calls(self, node: exp.Expr) -> str:
        names = sorted({self.name_of(one) for one in node.find_all(exp.Func) if own_offset(one) is not None})
        return ", ".join(names) or "an expression in it"


def items_of_from(node: exp.Select) -> list[exp.Expr]:
    """What FROM of a block names, joins included, in order."""
    origin = node.args.get("from_")
    joins = node.args.get("joins") or ()
    return [origin.this, *(join.this for join in joins)] if origin is not None else []


def linear_uses(node: exp.Select) -> tuple[tuple[exp.Table, bool], ...] | NotKept:
    """The relations of a block that reads nothing else, and in which of them it is linear."""
    if node.args.get("laterals"):
        return NotKept("LATERAL VIEW has no rule", "put the rows that it makes into a MATERIALIZED view")
    found: list[tuple[exp.Table, bool]] = []
    for index, item in enumerate(items_of_from(node)):
        assert isinstance(item, exp.Table)
        if any(part and name not in ("this", "alias") for name, part in item.args.items()):
            return NotKept(f"FROM {item.name} has more than a name and an alias")
        alias = item.args.get("alias")
        if alias is not None and alias.args.get("columns"):
            return NotKept(f"the alias of {item.name} renames columns", "rename them in the select list")
        is_linear = True
        if index:
            join = node.args["joins"][index - 1]
            if join.method or join.kind not in _JOINS:
                return NotKept(f"{join.method or join.kind} JOIN has no rule", "name the columns that it joins by")
            if join.side in ("RIGHT", "FULL"):
                found = [(one, False) for one, _ in found]
            is_linear = join.side not in ("LEFT", "FULL") and join.kind not in ("SEMI", "ANTI")
        found.append((item, is_linear))
    return tuple(found)


def relation_uses(uses: Iterable[tuple[exp.Table, bool]], text: BlockText) -> tuple[RelationUse, ...] | None:
    """Where the relations of a block stand in the query. None where that is not surely known."""
    found = []
    for table, is_linear in uses:
        span = written_span(table.this)
        if span is None or not text.origin.has(span):
            return None
        found.append(RelationUse(relation_key(table), span, table.alias or table.name, bool(table.alias), is_linear))
    return tuple(found)


def written_span(node: object) -> Span | None:
    """Where a name stands, if the tree remembers."""
    if not isinstance(node, exp.Expr):
        return None
    start, end = node.meta.get("start"), node.meta.get("end")
    return Span(start, end + 1) if isinstance(start, int) and isinstance(end, int) else None
