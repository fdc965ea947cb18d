"""Walk a query for the blocks that group rows of relations, and judge what decides the groups of each: FROM, WHERE, keys."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from sqlglot import exp

from reconciler.base.dataclass import dataclass
from reconciler.base.names import fold
from reconciler.sql.block_model import NotKept
from reconciler.sql.grouping import grouped, is_plain_group
from reconciler.sql.joined_columns import items_of_from
from reconciler.sql.keyed_subqueries import KeyedTable, keyed_tables
from reconciler.sql.linear_walk import ALL_COLUMNS_WITHIN, FoundUse, LinearWalk, Origin, has_star_within
from reconciler.sql.references import relation_key
from reconciler.sql.scopes import Outputs, Scope
from reconciler.sql.surroundings import QuerySurroundings
from reconciler.sql.values import Named
from reconciler.sql.words import FunctionKind, spark_aggregates, spark_functions

_AROUND_CALLS: Final = (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)


@dataclass(frozen=True, slots=True)
class Groups:
    """A block whose FROM, WHERE and GROUP BY are good: its relations, its keys, the relations that subqueries of expressions
    read (`keyed`: those of WHERE of which rows with one key decide for a row, `fixed`: others), and what is in sight."""

    uses: tuple[FoundUse, ...]
    keys: tuple[exp.Expr, ...]
    keyed: tuple[KeyedTable, ...]
    fixed: frozenset[str]
    scope: Scope
    named: Named


class AggregateWalk(LinearWalk):
    """See the module. `found` has each block with what is known of it, inner ones first."""

    def __init__(self, relations: Mapping[str, Mapping[str, str | None]], text: str, around: QuerySurroundings) -> None:
        super().__init__(relations, text, around)
        self.found: list[tuple[exp.Select, Groups | NotKept]] = []

    def leave(self, node: exp.Select, scope: Scope, named: Named, columns: Outputs) -> None:
        super().leave(node, scope, named, columns)
        has_aggregate = any(True for item in node.expressions for _ in self.aggregates(item))
        if node.args.get("group") is not None or node.args.get("distinct") is not None or has_aggregate:
            items = items_of_from(node)
            if items and all(_is_of_relations(item, named) for item in items):
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
        rows = self.origin_of_block(node)
        if isinstance(rows, NotKept):
            return rows
        keys = self.grouping_keys(node, scope)
        if isinstance(keys, NotKept):
            return keys
        if node.args.get("group") is None and node.args.get("distinct") is not None:
            distinct = self._distinct_items(node)
            if isinstance(distinct, NotKept):
                return distinct
            keys = distinct
        if any(isinstance(key.unnest(), exp.Literal) or key.find(exp.Query) is not None for key in keys):
            return NotKept("it groups by what is no expression of columns")
        return self.groups_by(node, keys, rows)

    def origin_of_block(self, node: exp.Select) -> Origin | NotKept:
        """What a block reads in its FROM, where it is no subquery of an expression and all its columns are known."""
        scope, _ = self.seen[id(node)]
        if scope.parent is not None:
            return NotKept("its aggregate stands in a subquery of an expression", "join it in FROM")
        if scope.is_open:
            return NotKept("the columns of what it reads are not known", "once it was applied, they are")
        return ALL_COLUMNS_WITHIN if has_star_within(node) else self.origin(node)

    def grouping_keys(self, node: exp.Select, scope: Scope) -> tuple[exp.Expr, ...] | NotKept:
        """What GROUP BY of a block names; nothing where it has none."""
        group = node.args.get("group")
        if group is None:
            return ()
        if not is_plain_group(group):
            return NotKept("ROLLUP, CUBE and GROUPING SETS have no rule", "make a view of each grouping")
        if group.args.get("all"):
            return NotKept("GROUP BY ALL has no rule", "write the keys out")
        aliases = {fold(item.alias): item.this for item in node.expressions if isinstance(item, exp.Alias)}
        keys = tuple(grouped(node, group, scope, aliases))
        if len(keys) != len(group.expressions) or any(isinstance(key, exp.Tuple) for key in keys):
            return NotKept("its GROUP BY is not surely understood", "write each key as an expression")
        return keys

    def groups_by(self, node: exp.Select, keys: Sequence[exp.Expr], origin: Origin) -> Groups | NotKept:
        """The rows of a block by keys; `origin` is what it reads in its FROM."""
        scope, named = self.seen[id(node)]
        keyed = keyed_tables(node, self.relations)
        fixed = self.decided(node, keys, scope, named, keyed)
        if isinstance(fixed, NotKept):
            return fixed
        every = (*origin.keyed, *keyed)
        return Groups(origin.uses, tuple(keys), every, fixed | origin.fixed, scope, named)

    def _distinct_items(self, node: exp.Select) -> tuple[exp.Expr, ...] | NotKept:
        """The items of a SELECT DISTINCT without GROUP BY: these are its keys. With aggregates it has no keys."""
        items = tuple(item.unalias() for item in node.expressions)
        if any(True for item in items for _ in self.aggregates(item)):
            return ()
        if any(isinstance(one, exp.Star) for item in items for one in item.walk()):
            return NotKept("SELECT DISTINCT * has no rule", "write the columns out")
        kinds = (exp.Window, exp.UDTF)
        if any(isinstance(one, kinds) or self.makes_rows(one) for item in items for one in item.walk()):
            return NotKept("SELECT DISTINCT of what is made of several rows, or makes some, has no rule")
        return items

    def makes_rows(self, node: exp.Expr) -> bool:
        """Whether a call makes several rows of one."""
        return isinstance(node, exp.Func) and spark_functions().get(self.name_of(node)) is FunctionKind.GENERATOR


def _is_of_relations(item: exp.Expr, named: Named) -> bool:
    """Whether what FROM names may be made of relations without an aggregate."""
    return isinstance(item, exp.Subquery) or (isinstance(item, exp.Table) and relation_key(item) not in named)


def below(node: exp.Expr) -> list[exp.Expr]:
    """What stands below a node. A function with OVER works on the rows of the result: its call itself is passed over."""
    if not isinstance(node, exp.Window):
        return [*node.iter_expressions()]
    call = node.this
    while isinstance(call, _AROUND_CALLS):
        call = call.this
    return [*call.iter_expressions(), *(one for one in node.iter_expressions() if one is not node.this)]
