"""Blocks that are linear in relations that they read: rows that come to one or go from it bring or take rows of their own,
whatever is there besides.

Where relations are joined by INNER or CROSS JOIN a block is linear in each of them; by LEFT, SEMI or ANTI JOIN in the left
side only, by RIGHT JOIN in the right one, by FULL JOIN in none. So it is in no relation that a subquery of an expression
reads. A SELECT in FROM that is linear itself is as good as its relations.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from sqlglot import exp

from reconciler.base.dataclass import dataclass
from reconciler.sql.block_model import BlockText, Layer, NotKept, RelationUse, Span
from reconciler.sql.block_texts import block_text
from reconciler.sql.blocks import Analyser
from reconciler.sql.joined_columns import JoinedColumn, Sight, items_of_from, joined_columns, partners
from reconciler.sql.keyed_subqueries import KeyedTable, keyed_tables
from reconciler.sql.lineage_whole import is_whole
from reconciler.sql.places import own_offset
from reconciler.sql.plain_conditions import plain_conditions
from reconciler.sql.query import Parsed, parse_query
from reconciler.sql.references import relation_key
from reconciler.sql.row_condition import RowCondition
from reconciler.sql.scopes import Outputs, Scope, Value
from reconciler.sql.surroundings import QuerySurroundings
from reconciler.sql.values import Named
from reconciler.sql.words import spark_aggregates

_NO_RULE: Final = {
    "with_": "WITH",
    "distinct": "DISTINCT",
    "limit": "LIMIT",
    "offset": "OFFSET",
    "qualify": "QUALIFY",
    "laterals": "LATERAL VIEW",
    "group": "an aggregate within it",
    "having": "an aggregate within it",
}
ALL_COLUMNS_WITHIN: Final = NotKept("* in an expression has no rule", "write the columns out")
_MOST_USES: Final = 16
"""Each is a term, and stands in each of them."""

_JOINS: Final = frozenset({"", "INNER", "CROSS", "OUTER", "SEMI", "ANTI"})


@dataclass(frozen=True, slots=True)
class FoundUse:
    """A relation that a FROM names, whether the block is linear in it, and the SELECTs in FROM that it stands within, outer
    ones first."""

    table: exp.Table
    is_linear: bool = True
    within: tuple[exp.Subquery, ...] = ()


@dataclass(frozen=True, slots=True)
class Origin:
    """The relations of a FROM in their order, and those that subqueries of expressions within it read: `keyed` where rows
    with equal keys decide for a row, `fixed` (keys) are others."""

    uses: tuple[FoundUse, ...]
    fixed: frozenset[str] = frozenset()
    keyed: tuple[KeyedTable, ...] = ()


class LinearWalk(Analyser):
    """A walk that judges what decides the rows of blocks, and remembers of each what is in sight and what it gives."""

    def __init__(self, relations: Mapping[str, Mapping[str, str | None]], text: str, around: QuerySurroundings) -> None:
        super().__init__(relations, text, around)
        self.seen: dict[int, tuple[Scope, Named]] = {}
        self.outputs: dict[int, Outputs] = {}
        self.conditions: dict[int, Value] = {}

    def condition(self, node: exp.Expr, scope: Scope, named: Named, word: str) -> Value:
        """Remembered: what a SEMI JOIN brings is in sight of its ON only."""
        self.conditions[id(node)] = found = super().condition(node, scope, named, word)
        return found

    def leave(self, node: exp.Select, scope: Scope, named: Named, columns: Outputs) -> None:
        self.seen[id(node)], self.outputs[id(node)] = (scope, named), columns

    def origin(self, node: exp.Select) -> Origin | NotKept:
        """What a block reads in its FROM, where it is linear in any of that."""
        if node.args.get("laterals"):
            return NotKept("LATERAL VIEW has no rule", "put the rows that it makes into a MATERIALIZED view")
        found: list[FoundUse] = []
        fixed: frozenset[str] = frozenset()
        keyed: list[KeyedTable] = []
        for index, item in enumerate(items_of_from(node)):
            origin = self._of_query(item) if isinstance(item, exp.Subquery) else self._of_name(item, self.seen[id(node)][1])
            if isinstance(origin, NotKept):
                return origin
            uses, fixed = origin.uses, fixed | origin.fixed
            keyed += origin.keyed
            if index:
                join = node.args["joins"][index - 1]
                if join.method or join.kind not in _JOINS:
                    return NotKept(f"{join.method or join.kind} JOIN has no rule", "name the columns that it joins by")
                if join.side in ("RIGHT", "FULL"):
                    found = [replace(one, is_linear=False) for one in found]
                if join.side in ("LEFT", "FULL") or join.kind in ("SEMI", "ANTI"):
                    uses = tuple(replace(one, is_linear=False) for one in uses)
            found += uses
            if len(found) > _MOST_USES:
                return NotKept(
                    f"it joins more than {_MOST_USES} relations", "put some of its joins into a MATERIALIZED view"
                )
        if not any(one.is_linear for one in found):
            return NotKept("FULL JOIN has no rule")
        return Origin(tuple(found), fixed, tuple(keyed))

    def _of_name(self, item: exp.Expr, named: Named) -> Origin | NotKept:
        if not isinstance(item, exp.Table) or relation_key(item) in named:
            return NotKept("it reads a name of WITH, or what is no relation", "put that query into a MATERIALIZED view")
        if any(part and name not in ("this", "alias") for name, part in item.args.items()):
            return NotKept(f"FROM {item.name} has more than a name and an alias")
        alias = item.args.get("alias")
        if alias is not None and alias.args.get("columns"):
            return NotKept(f"the alias of {item.name} renames columns", "rename them in the select list")
        return Origin((FoundUse(item),))

    def _of_query(self, item: exp.Subquery) -> Origin | NotKept:
        """What a SELECT in FROM reads."""
        node, alias = item.this, item.args.get("alias")
        has_more = any(part and name not in ("this", "alias") for name, part in item.args.items())
        if not isinstance(node, exp.Select) or has_more:
            return NotKept("a query within it has no rule", "put that query into a MATERIALIZED view")
        if alias is None or not alias.name or alias.args.get("columns"):
            return NotKept("a query in its FROM has no alias, or one that renames columns", "name it: (…) AS name")
        if any(one.is_star for one in node.expressions):
            return NotKept("a query in its FROM has * for columns", "write the columns out")
        if has_star_within(node):
            return ALL_COLUMNS_WITHIN
        why = self.why_not_linear(node)
        if why is not None:
            return why
        scope, named = self.seen[id(node)]
        origin = self.origin(node)
        if isinstance(origin, NotKept):
            return origin
        keyed = keyed_tables(node, self.relations)
        fixed = self.decided(node, node.expressions, scope, named, keyed)
        if isinstance(fixed, NotKept):
            return fixed
        uses = tuple(replace(one, within=(item, *one.within)) for one in origin.uses)
        return Origin(uses, fixed | origin.fixed, (*origin.keyed, *keyed))

    def why_not_linear(self, node: exp.Select) -> NotKept | None:
        """What is in a SELECT, besides its FROM, that makes its rows of several."""
        beyond = next((word for part, word in _NO_RULE.items() if node.args.get(part)), None)
        if beyond is not None:
            return NotKept(f"{beyond} has no rule")
        if not items_of_from(node):
            return NotKept("a query within it has no rule", "put that query into a MATERIALIZED view")
        if self.seen[id(node)][0].is_open:
            return NotKept("the columns of what it reads are not known", "once it was applied, they are")
        unfit = next((one for item in node.expressions for one in item.walk() if self._is_of_many(one)), None)
        if unfit is not None:
            word = self.name_of(unfit).upper() if isinstance(unfit, exp.Func) else "a function with OVER"
            return NotKept(f"{word} has no rule")
        return None

    def _is_of_many(self, node: exp.Expr) -> bool:
        """Whether a value is made of several rows of the block."""
        if isinstance(node, exp.Window):
            return True
        return isinstance(node, exp.Func) and (isinstance(node, exp.AggFunc) or self.name_of(node) in spark_aggregates())

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

    def decided(
        self,
        node: exp.Select,
        others: Sequence[exp.Expr],
        scope: Scope,
        named: Named,
        keyed: Sequence[KeyedTable] = (),
    ) -> frozenset[str] | NotKept:
        """Whether what decides the rows of a block, and these expressions of it, are surely the same when they are computed
        again; the relations of their subqueries, but for those that are `keyed`."""
        follows = {id(one.table) for one in keyed}
        where = node.args.get("where")
        joined = [join.args["on"] for join in node.args.get("joins") or () if join.args.get("on") is not None]
        rest = [*([where.this] if where is not None else []), *others]
        values = [*(self.conditions[id(one)] for one in joined), *(self.value_over_rows(one, scope, named) for one in rest)]
        fixed: set[str] = set()
        for one, value in zip((*joined, *rest), values, strict=True):
            if not value.repeatable:
                return NotKept(
                    f"{self._calls(one)} may give another value each time", "put it into a view that reads this one"
                )
            for table in one.find_all(exp.Table):
                if relation_key(table) in named:
                    return NotKept("a subquery in it reads a name of WITH", "put that query into a view")
                if id(table) not in follows:
                    fixed.add(relation_key(table))
        return frozenset(fixed)

    def _calls(self, node: exp.Expr) -> str:
        names = sorted({self.name_of(one) for one in node.find_all(exp.Func) if own_offset(one) is not None})
        return ", ".join(names) or "an expression in it"


def has_star_within(node: exp.Select) -> bool:
    """Whether an expression of a SELECT, be it an item or a condition, takes all columns (`hash(*)`), but for COUNT(*). The
    rows that a term reads have one more, which says what became of them."""
    on = [join.args["on"] for join in node.args.get("joins") or () if join.args.get("on") is not None]
    clauses = [clause for part in ("where", "group", "having") if (clause := node.args.get(part)) is not None]
    items = [item for item in node.expressions if not item.is_star]
    return any(_is_star_within(one) for part in (*items, *on, *clauses) for one in part.walk(prune=_is_query))


def _is_query(node: exp.Expr) -> bool:
    return isinstance(node, exp.Query)


def _is_star_within(node: exp.Expr) -> bool:
    return isinstance(node, exp.Star) and not isinstance(node.parent, exp.Count)


def relation_uses(
    walk: LinearWalk,
    node: exp.Select,
    uses: Sequence[FoundUse],
    parsed: Parsed,
    text: BlockText,
    keyed: Sequence[KeyedTable] = (),
) -> tuple[RelationUse, ...] | None:
    """Where the relations of a block stand in the query, those of subqueries that are `keyed` after those of FROM. None
    where that is not surely known."""
    found = []
    query = walk.text
    sight = Sight(node, walk.relations)
    joined = [*([*one] for one in joined_columns(sight)), *([] for _ in keyed)]
    needed = [*({*one} for one in partners(sight)), *(set[int]() for _ in keyed)]
    tables: list[exp.Table] = [*(one.table for one in uses), *(one.table for one in keyed)]
    places = {id(table): at for at, table in enumerate(tables)}
    for of in keyed:
        for equal in of.equal:
            joined[places[id(equal.table)]].append((equal.column, places[id(of.table)], equal.own))
            needed[places[id(equal.table)]] |= {places[id(of.table)]} if equal.is_needed else set()
    within = {id(one): one.this for use in uses for one in use.within}
    texts = {key: block_text(query, parsed.tokens, node) for key, node in within.items()}
    links = [_Links(tuple(one), frozenset(other)) for one, other in zip(joined, needed, strict=True)]
    met = plain_conditions(sight)
    for at, (one, shown) in enumerate(zip(uses, sight.shown(), strict=True)):
        span, layers = written_span(one.table.this), _layers(one, texts)
        if span is None or layers is None or not text.origin.has(span):
            return None
        use = _use(one.table, span, one.is_linear, links[at], _surely_read(met[at], query))
        found.append(replace(use, within=layers, shown=shown))
    for of, link in zip(keyed, links[len(uses) :], strict=True):
        span = written_span(of.table.this)
        if span is None or not any(part is not None and part.has(span) for part in (text.origin, text.where)):
            return None
        found.append(_use(of.table, span, False, link, _surely_read(of.conditions, query)))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Links:
    joined: tuple[JoinedColumn, ...]
    partners: frozenset[int]


def _use(table: exp.Table, span: Span, is_linear: bool, links: _Links, conditions: tuple[RowCondition, ...]) -> RelationUse:
    return RelationUse(
        relation_key(table),
        span,
        table.alias or table.name,
        bool(table.alias),
        is_linear,
        joined=links.joined,
        partners=links.partners,
        conditions=conditions,
    )


def _surely_read(conditions: tuple[RowCondition, ...], query: str) -> tuple[RowCondition, ...]:
    """Those whose texts mean what they look like: where a query has an escape, that may be so of none."""
    has_escapes = "\\" in query
    return tuple(one for one in conditions if not (has_escapes and any(isinstance(value, str) for value in one.values)))


def _layers(use: FoundUse, texts: Mapping[int, BlockText | None]) -> tuple[Layer, ...] | None:
    found = []
    for one in use.within:
        text = texts[id(one)]
        if text is None:
            return None
        found.append(Layer(one.alias, text.select.end))
    return tuple(found)


def written_span(node: object) -> Span | None:
    """Where a name stands, if the tree remembers."""
    if not isinstance(node, exp.Expr):
        return None
    start, end = node.meta.get("start"), node.meta.get("end")
    return Span(start, end + 1) if isinstance(start, int) and isinstance(end, int) else None
