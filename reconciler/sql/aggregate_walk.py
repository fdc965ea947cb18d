"""Walk a query for the blocks that group rows of relations, and judge what decides the groups of each: FROM, WHERE, keys.

Where relations are joined by INNER or CROSS JOIN the groups are linear in each of them; by LEFT, SEMI or ANTI JOIN in the
left side only, by RIGHT JOIN in the right one, by FULL JOIN in none. So they are in no relation that a subquery reads.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from reconciler.base.names import fold
from reconciler.sql.aggregate_model import NotKept
from reconciler.sql.blocks import Analyser
from reconciler.sql.grouping import grouped, is_plain_group
from reconciler.sql.places import own_offset
from reconciler.sql.references import relation_key
from reconciler.sql.scopes import Scope
from reconciler.sql.surroundings import QuerySurroundings
from reconciler.sql.values import Named
from reconciler.sql.words import spark_aggregates

_AROUND_CALLS: Final = (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)
_JOINS: Final = frozenset({"", "INNER", "CROSS", "OUTER", "SEMI", "ANTI"})


@dataclass(frozen=True, slots=True)
class Groups:
    """A block whose FROM, WHERE and GROUP BY are good: its relations, each with whether it is linear, its keys, the
    relations that subqueries read, and what is in sight."""

    uses: tuple[tuple[exp.Table, bool], ...]
    keys: tuple[exp.Expr, ...]
    fixed: frozenset[str]
    scope: Scope
    named: Named


class AggregateWalk(Analyser):
    """See the module. `found` has each block with what is known of it, inner ones first."""

    def __init__(self, relations: Mapping[str, Mapping[str, str | None]], text: str, around: QuerySurroundings) -> None:
        super().__init__(relations, text, around)
        self.found: list[tuple[exp.Select, Groups | NotKept]] = []

    def leave(self, node: exp.Select, scope: Scope, named: Named) -> None:
        if node.args.get("group") is not None or any(True for item in node.expressions for _ in self.aggregates(item)):
            items = _items_of_from(node)
            if items and all(isinstance(item, exp.Table) and relation_key(item) not in named for item in items):
                self.found.append((node, self._groups(node, scope, named)))

    def aggregates(self, node: exp.Expr) -> Iterator[exp.Expr]:
        """The calls that aggregate the rows of the block that a node stands in, each with its FILTER; outer ones only."""
        if isinstance(node, exp.Query):
            return
        if self.is_aggregate(node):
            yield node
            return
        for child in below(node):
            yield from self.aggregates(child)

    def is_aggregate(self, node: exp.Expr) -> bool:
        """Whether a node is such a call. One with OVER is none."""
        call = node.this if isinstance(node, _AROUND_CALLS) else node
        if not isinstance(call, exp.Func):
            return False
        return isinstance(call, exp.AggFunc) or self.name_of(call) in spark_aggregates()

    def _groups(self, node: exp.Select, scope: Scope, named: Named) -> Groups | NotKept:
        if scope.parent is not None:
            return NotKept("its aggregate stands in a subquery of an expression", "join it in FROM")
        if scope.is_open:
            return NotKept("the columns of what it reads are not known", "once it was applied, they are")
        uses = _linear_uses(node)
        if isinstance(uses, NotKept):
            return uses
        if not any(is_linear for _, is_linear in uses):
            return NotKept("FULL JOIN has no rule")
        group = node.args.get("group")
        if group is not None and not is_plain_group(group):
            return NotKept("ROLLUP, CUBE and GROUPING SETS have no rule", "make a view of each grouping")
        if group is not None and group.args.get("all"):
            return NotKept("GROUP BY ALL has no rule", "write the keys out")
        aliases = {fold(item.alias): item.this for item in node.expressions if isinstance(item, exp.Alias)}
        keys = tuple(grouped(node, group, scope, aliases))
        if group is not None and (len(keys) != len(group.expressions) or any(isinstance(key, exp.Tuple) for key in keys)):
            return NotKept("its GROUP BY is not surely understood", "write each key as an expression")
        if any(isinstance(key, exp.Literal) or key.find(exp.Query) is not None for key in keys):
            return NotKept("it groups by what is no expression of columns")
        fixed = self._decided(node, keys, scope, named)
        return fixed if isinstance(fixed, NotKept) else Groups(uses, keys, fixed, scope, named)

    def _decided(self, node: exp.Select, keys: tuple[exp.Expr, ...], scope: Scope, named: Named) -> frozenset[str] | NotKept:
        """Whether what decides the groups is surely the same when it is computed again; the relations of its subqueries."""
        where = node.args.get("where")
        deciding = [join.args["on"] for join in node.args.get("joins") or () if join.args.get("on") is not None]
        deciding += [where.this] if where is not None else []
        fixed: set[str] = set()
        for one in (*deciding, *keys):
            if not self.again(one, scope, named).repeatable:
                return NotKept(
                    f"{self._calls(one)} may give another value each time", "put it into a view that reads this one"
                )
            for table in one.find_all(exp.Table):
                if relation_key(table) in named:
                    return NotKept("a subquery beside its aggregate reads a name of WITH", "put that query into a view")
                fixed.add(relation_key(table))
        return frozenset(fixed)

    def _calls(self, node: exp.Expr) -> str:
        names = sorted({self.name_of(one) for one in node.find_all(exp.Func) if own_offset(one) is not None})
        return ", ".join(names) or "what it groups or filters by"


def below(node: exp.Expr) -> list[exp.Expr]:
    """What stands below a node. A function with OVER works on the rows of the result: its call itself is passed over."""
    if not isinstance(node, exp.Window):
        return [*node.iter_expressions()]
    call = node.this
    while isinstance(call, _AROUND_CALLS):
        call = call.this
    return [*call.iter_expressions(), *(one for one in node.iter_expressions() if one is not node.this)]


def _items_of_from(node: exp.Select) -> list[exp.Expr]:
    origin = node.args.get("from_")
    joins = node.args.get("joins") or ()
    return [origin.this, *(join.this for join in joins)] if origin is not None else []


def _linear_uses(node: exp.Select) -> tuple[tuple[exp.Table, bool], ...] | NotKept:
    if node.args.get("laterals"):
        return NotKept("LATERAL VIEW has no rule", "put the rows that it makes into a MATERIALIZED view")
    found: list[tuple[exp.Table, bool]] = []
    for index, item in enumerate(_items_of_from(node)):
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
