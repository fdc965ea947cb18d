"""Walk the query blocks of a parsed query for lineage: what FROM brings, what decides rows, what each column is made of.

The order is that of `blocks`: WITH, FROM from left to right, WHERE, the select list (an item sees the names of those before
it), then the clauses that see those names, too. An ORDER BY decides rows when a LIMIT stands over it. In a subquery it is
taken to decide them always: `first`, `collect_list` or a LIMIT outside may depend on it.

What is not surely known (PIVOT, recursive CTEs, table functions other than `range`, UNION BY NAME, relations whose columns
are unknown) raises `Beyond`.
"""

from typing import Final

from sqlglot import exp

from reconciler.base.names import fold
from reconciler.sql.lineage_scope import Beyond, Block, Column, Rows, Scope, Source, Value, united
from reconciler.sql.lineage_sources import MODIFIERS, PAIRS_OF_A_COLUMN, SORTING, UNREPEATABLE, Named, SourceWalker, renamed
from reconciler.sql.lineage_values import only
from reconciler.sql.time_windows import called_time_windows, time_window
from reconciler.sql.words import spark_aggregates, spark_generators

_SELECT: Final = (
    *("expressions", "from_", "joins", "laterals", "where", "group", "having", "qualify", "windows", "distinct", "hint"),
    *MODIFIERS,
)
_GROUPINGS: Final = (exp.Rollup, exp.Cube, exp.GroupingSets, exp.Tuple, exp.Paren)


class BlockWalker(SourceWalker):
    """The walk over one query."""

    def query(self, node: exp.Expr, parent: Scope | None, named: Named, top: bool = False) -> Block:
        """Any query. `top`: it is the whole, so its ORDER BY alone decides nothing."""
        match node:
            case exp.Select():
                return self._select(node, parent, self._with(node, parent, named), top)
            case exp.Subquery():
                only(node, "this", "alias", *MODIFIERS)
                named = self._with(node, parent, named)
                if isinstance(node.this, exp.Table):
                    raise Beyond
                inner = self.query(node.this, parent, named, top)
                return self._modified(node, inner.columns, Rows(set(inner.rows), inner.repeatable), parent, named, top)
            case exp.SetOperation():
                return self._set_operation(node, parent, self._with(node, parent, named), top)
            case exp.Values():
                return self.values(node, Scope(parent, Rows()), named)
        raise Beyond

    def _with(self, node: exp.Expr, parent: Scope | None, named: Named) -> Named:
        clause = node.args.get("with_")
        if clause is None:
            return named
        only(clause, "expressions")
        named = dict(named)
        for cte in clause.expressions:
            only(cte, "this", "alias")
            block = self.query(cte.this, parent, named)
            named[fold(cte.alias)] = Block(renamed(block.columns, cte.args["alias"]), block.rows, block.repeatable)
        return named

    def _set_operation(self, node: exp.SetOperation, parent: Scope | None, named: Named, top: bool) -> Block:
        only(node, "this", "expression", "distinct", *MODIFIERS)
        left, right = self.query(node.this, parent, named), self.query(node.expression, parent, named)
        if len(left.columns) != len(right.columns):
            raise Beyond
        self.brought.add(len(left.columns))
        pairs = zip(left.columns, right.columns, strict=True)
        columns = tuple((name, united([one, other])) for (name, one), (_, other) in pairs)
        rows = Rows()
        rows.add_block(left)
        rows.add_block(right)
        if not isinstance(node, exp.Union) or node.args.get("distinct") is not False:
            for _, value in columns:
                rows.add(value)
        return self._modified(node, columns, rows, parent, named, top)

    def _modified(
        self, node: exp.Expr, columns: tuple[Column, ...], rows: Rows, parent: Scope | None, named: Named, top: bool
    ) -> Block:
        """A set operation, or a query in parentheses, under its own ORDER BY and LIMIT, which see its output."""
        scope = Scope(parent, rows)
        scope.add(Source(None, columns))
        self._order_and_limit(node, scope, columns, named, top)
        return Block(columns, frozenset(rows.sources), rows.repeatable)

    def _order_and_limit(self, node: exp.Expr, scope: Scope, columns: tuple[Column, ...], named: Named, top: bool) -> None:
        is_limited = False
        for part in ("limit", "offset"):
            clause = node.args.get(part)
            if clause is not None:
                only(clause, "expression")
                is_limited = True
                scope.rows.add(self.value(clause.expression, scope, named))
        if is_limited:
            scope.rows.add(UNREPEATABLE)
        if top and not is_limited:
            return
        for part in SORTING:
            clause = node.args.get(part)
            for one in clause.expressions if clause is not None else ():
                key = one.this if isinstance(one, exp.Ordered) else one
                if isinstance(key, exp.Var):
                    # ORDER BY ALL
                    for _, value in columns:
                        scope.rows.add(value)
                else:
                    scope.rows.add(self._key(key, scope, columns, named))

    def _key(self, key: exp.Expr, scope: Scope, columns: tuple[Column, ...], named: Named) -> Value:
        """A key of GROUP BY or ORDER BY, which may be the number of an output column."""
        if isinstance(key, exp.Literal) and not key.is_string:
            index = str(key.this)
            if not index.isdigit() or not 1 <= int(index) <= len(columns):
                raise Beyond
            return columns[int(index) - 1][1]
        return self.value(key, scope, named)

    def _select(self, node: exp.Select, parent: Scope | None, named: Named, top: bool) -> Block:
        only(node, *_SELECT)
        rows = Rows()
        scope = Scope(parent, rows)
        scope.windows = {fold(one.this.name): one for one in node.args.get("windows") or ()}
        origin = node.args.get("from_")
        if origin is not None:
            self.item(origin.this, scope, named)
        for join in node.args.get("joins") or ():
            self.join(join, scope, named)
        for lateral in node.args.get("laterals") or ():
            self.item(lateral, scope, named)
        where = node.args.get("where")
        if where is not None:
            rows.add(self.value(where.this, scope, named))
        self._time_windows(node, scope, named)
        columns = self._select_list(node, scope, named)
        distinct = node.args.get("distinct")
        if distinct is not None:
            only(distinct)
            for _, value in columns:
                rows.add(value)
        scope.is_relaxed = True
        for name, value in columns:
            if name is not None:
                scope.add_alias(name, value)
        self._group(node, scope, columns, named)
        for part in ("having", "qualify"):
            clause = node.args.get(part)
            if clause is not None:
                rows.add(self.value(clause.this, scope, named))
        self._order_and_limit(node, scope, columns, named, top)
        return Block(columns, frozenset(rows.sources), rows.repeatable)

    def _time_windows(self, node: exp.Select, scope: Scope, named: Named) -> None:
        if not self.may_have_time_windows:
            return
        for name, call in called_time_windows(node):
            if any(name in source.by_key for source in scope.sources):
                # Which of the two a name means is Spark's to say.
                raise Beyond
            scope.add_alias(name, self.value(call, scope, named))

    def _select_list(self, node: exp.Select, scope: Scope, named: Named) -> tuple[Column, ...]:
        columns: list[Column] = []
        for item in node.expressions:
            if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
                columns += self.star(item, scope)
                continue
            if isinstance(item, exp.Aliases):
                value = self.value(item.this, scope, named)._replace(number=None)
                columns += [(name.name, value) for name in item.expressions]
                continue
            value = self.value(item, scope, named)
            self.brought.add(len(value.sources) // PAIRS_OF_A_COLUMN)
            if isinstance(item, exp.Alias):
                columns.append((item.alias, value))
                scope.add_alias(item.alias, value)
            else:
                name = _plain_name(item)
                if name is None and isinstance(item, exp.Func) and self.name_of(item) in spark_generators():
                    raise Beyond
                columns.append((name, value))
        return tuple(columns)

    def _group(self, node: exp.Select, scope: Scope, columns: tuple[Column, ...], named: Named) -> None:
        group = node.args.get("group")
        if group is None:
            return
        only(group, "expressions", "all", "rollup", "cube", "grouping_sets")
        keys = [*group.expressions]
        for part in ("rollup", "cube", "grouping_sets"):
            clause = group.args.get(part)
            keys += clause if isinstance(clause, list) else []
        while keys:
            key = keys.pop()
            if isinstance(key, _GROUPINGS):
                keys += [*key.expressions, *([key.this] if key.this else ())]
            else:
                scope.rows.add(self._key(key, scope, columns, named))
        if group.args.get("all"):
            for item in node.expressions:
                if not self._is_aggregate(item):
                    columns_of_item = self.star(item, scope) if item.is_star else [(None, self.value(item, scope, named))]
                    for _, value in columns_of_item:
                        scope.rows.add(value)

    def _is_aggregate(self, item: exp.Expr) -> bool:
        call = item.unalias()
        return isinstance(call, exp.Func) and self.name_of(call) in spark_aggregates()


def _plain_name(item: exp.Expr) -> str | None:
    """The name that Spark gives an item without alias, where that is plain."""
    while isinstance(item, exp.Paren):
        item = item.this
    if isinstance(item, exp.Column):
        return item.name
    if isinstance(item, exp.Dot) and isinstance(item.expression, exp.Identifier):
        return item.expression.name
    return time_window(item)
