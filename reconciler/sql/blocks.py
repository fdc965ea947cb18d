"""Walk the query blocks of a parsed query: bring sources into sight, resolve every column, note what is read, what each
output is made of and what decides the rows.

One pass: a block's WITH first, then its FROM from left to right (an ON sees what stands before it), WHERE, the select list
(an item sees the names of those before it), then the clauses that see those names, too. Values inside blocks are `Walker`'s,
FROM is `SourceWalker`'s; what lineage means stands in `lineage`. An ORDER BY decides rows when a LIMIT stands over it. In a
subquery, and in a view that is read in place, it is taken to decide them always: `first`, `collect_list` or a LIMIT outside
may depend on it.

What is not surely known (PIVOT, recursive CTEs, UNION BY NAME, relations whose columns are unknown) leaves the query without
lineage, and is walked all the same for what it reads.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from sqlglot import exp

from reconciler.base.names import fold
from reconciler.sql.expressions import misfit
from reconciler.sql.grouping import judge_aggregates
from reconciler.sql.scopes import CONSTANT, UNREPEATABLE, Block, Output, Outputs, Rows, Scope, Source, Value, either
from reconciler.sql.sources import HANGING, MODIFIERS, SORTING, SourceWalker
from reconciler.sql.time_windows import called_time_windows, time_window
from reconciler.sql.values import Named
from reconciler.sql.words import spark_aggregates, spark_generators

_SELECT: Final = (
    *("expressions", "from_", "joins", "laterals", "where", "group", "having", "qualify", "windows", "distinct", "hint"),
    *MODIFIERS,
)
_GROUPINGS: Final = (exp.Rollup, exp.Cube, exp.GroupingSets, exp.Tuple, exp.Paren)


class Around(NamedTuple):
    """A query that may have an ORDER BY and a LIMIT, the CTEs that these see, whether its order alone decides nothing."""

    node: exp.Expr
    named: Named
    is_top: bool


class Analyser(SourceWalker):
    """The walk over one query. Problems, reads and whether there is a lineage gather in the object."""

    def analyse(self, tree: exp.Expr, is_read_in_place: bool = False) -> Block:
        """The whole query. `is_read_in_place`: it stands in another one, as a subquery does."""
        return self.query(tree, None, {}, is_top=not is_read_in_place)

    def query(
        self, node: exp.Expr, parent: Scope | None, named: Named, is_top: bool = False, in_from: bool = False
    ) -> Block:
        """Any query. `is_top`: it is the whole, so its ORDER BY alone decides nothing. `in_from`: what hangs on it is looked
        at as part of FROM."""
        match node:
            case exp.Subquery():
                return self._in_parentheses(node, parent, named, is_top, in_from)
            case exp.Select():
                return self._select(node, parent, self._with(node, parent, named), is_top)
            case exp.SetOperation():
                return self._set_operation(node, parent, self._with(node, parent, named), is_top)
            case exp.Values():
                block = self.values(node, parent, named)
                return block._replace(columns=self.renamed(block.columns, node.args.get("alias")))
        self.beyond()
        scope = Scope(parent, Rows())
        if isinstance(node, exp.Table):
            self.item(node, scope, named)
            return Block(self.everything(scope, node), frozenset(), True)
        scope.add(Source(None, None))
        for child in node.iter_expressions():
            self.value(child, scope, named)
        return Block(None, frozenset(), True)

    def _in_parentheses(self, node: exp.Expr, parent: Scope | None, named: Named, is_top: bool, in_from: bool) -> Block:
        """A query in parentheses. What hangs on those of a SELECT sees what its own ORDER BY would see."""
        around: list[Around] = []
        while isinstance(node, exp.Subquery):
            self.only(node, "this", "alias", *MODIFIERS, *(HANGING if in_from and not around else ()))
            named = self._with(node, parent, named)
            around.append(Around(node, named, is_top))
            is_top = is_top and not any(node.args.get(part) for part in ("limit", "offset"))
            node = node.this
        around.reverse()
        if isinstance(node, exp.Select):
            return self._select(node, parent, self._with(node, parent, named), is_top, around)
        block = self.query(node, parent, named, is_top)
        for one in around:
            rows = Rows(set(block.rows), block.repeatable)
            block = self._modified(one.node, block.columns, rows, parent, one.named, one.is_top)
        return block

    def _with(self, node: exp.Expr, parent: Scope | None, named: Named) -> Named:
        clause = node.args.get("with_")
        if clause is None:
            return named
        self.only(clause, "expressions")
        named = dict(named)
        for cte in clause.expressions:
            self.only(cte, "this", "alias")
            name = fold(cte.alias)
            if clause.recursive:
                named[name] = Block(None, frozenset(), True)
            block = self.query(cte.this, parent, named)
            columns = self.renamed(block.columns, cte.args["alias"])
            if clause.recursive and not cte.args["alias"].args.get("columns"):
                columns = None
            named[name] = block._replace(columns=columns)
        return named

    def _set_operation(self, node: exp.SetOperation, parent: Scope | None, named: Named, is_top: bool) -> Block:
        self.only(node, "this", "expression", "distinct", *MODIFIERS)
        left = self.query(node.this, parent, named)
        right = self.query(node.expression, parent, named)
        columns: Outputs = None
        if node.args.get("by_name") or left.columns is None or right.columns is None:
            self.beyond()
        elif len(left.columns) != len(right.columns):
            word = type(node).__name__.upper()
            counts = f"found {len(left.columns)} and {len(right.columns)}"
            message = f"{word} needs the same number of columns on both sides, {counts}"
            self.problem("S226", message, self.place(node.expression))
        else:
            self.bring(len(left.columns), node.expression)
            columns = self._united(node, left.columns, right.columns)
        rows = Rows()
        rows.add_block(left)
        rows.add_block(right)
        if not isinstance(node, exp.Union) or node.args.get("distinct") is not False:
            _add_all(rows, columns)
        return self._modified(node, columns, rows, parent, named, is_top)

    def _united(self, node: exp.SetOperation, left: tuple[Output, ...], right: tuple[Output, ...]) -> Outputs:
        """The columns of a set operation, whose types must fit one by one."""
        word = type(node).__name__.upper()
        items = node.expression.expressions if isinstance(node.expression, exp.Select) else []
        outputs: list[Output] = []
        for index, (one, other) in enumerate(zip(left, right, strict=True)):
            problem = misfit(one.type, other.type)
            if problem is not None:
                is_plain = len(items) == len(right) and not any(item.is_star for item in items)
                place = self.place(items[index] if is_plain else node.expression)
                what = f"column {one.name!r}" if one.name is not None else f"column {index + 1}"
                message = f"{word}: {what} is {problem[0]} on the left and {problem[1]} on the right"
                self.problem("S229", message, place, "CAST one of the values")
            outputs.append(Output(one.name, either([one.value, other.value])))
        return tuple(outputs)

    def _modified(
        self, node: exp.Expr, columns: Outputs, rows: Rows, parent: Scope | None, named: Named, is_top: bool
    ) -> Block:
        """A set operation, or what stands in parentheses and is no SELECT, under its ORDER BY and LIMIT, which see its
        output."""
        if any(node.args.get(part) for part in MODIFIERS if part != "with_"):
            self.bring(len(columns or ()), node)
            scope = Scope(parent, rows)
            scope.add(Source(None, columns))
            self._order_and_limit(node, scope, columns, named, is_top)
        return Block(columns, frozenset(rows.sources), rows.repeatable)

    def _order_and_limit(self, node: exp.Expr, scope: Scope, columns: Outputs, named: Named, is_top: bool) -> None:
        is_limited = False
        for part in ("limit", "offset"):
            clause = node.args.get(part)
            if clause is not None:
                self.only(clause, "expression")
                is_limited = True
                for child in clause.iter_expressions():
                    scope.rows.add(self.value(child, scope, named))
        if is_limited:
            scope.rows.add(UNREPEATABLE)
        # Where the order decides nothing, it still has to name what there is.
        rows = Rows() if is_top and not is_limited else scope.rows
        for part in SORTING:
            clause = node.args.get(part)
            for one in clause.expressions if clause is not None else ():
                key = one.this if isinstance(one, exp.Ordered) else one
                if isinstance(key, exp.Var):
                    # ORDER BY ALL
                    _add_all(rows, columns)
                else:
                    rows.add(self._key(key, scope, columns, named))

    def _key(self, key: exp.Expr, scope: Scope, columns: Outputs, named: Named) -> Value:
        """A key of GROUP BY or ORDER BY, which may be the number of an output column."""
        if isinstance(key, exp.Literal) and not key.is_string:
            index = str(key.this)
            if columns is None or not index.isdigit() or not 1 <= int(index) <= len(columns):
                self.beyond()
                return CONSTANT
            return columns[int(index) - 1].value
        return self.value(key, scope, named)

    def _select(
        self, node: exp.Select, parent: Scope | None, named: Named, is_top: bool, around: Sequence[Around] = ()
    ) -> Block:
        """A block, with the parentheses around it, innermost first."""
        self.only(node, *_SELECT)
        rows = Rows()
        scope = Scope(parent, rows)
        scope.windows = {one.this.name: one for one in node.args.get("windows") or ()}
        origin = node.args.get("from_")
        if origin is not None:
            self.item(origin.this, scope, named)
        for join in node.args.get("joins") or ():
            self.join(join, scope, named)
        for lateral in node.args.get("laterals") or ():
            self.item(lateral, scope, named)
        if node.args.get("pivots") or node.args.get("match"):
            scope.add(Source(None, None))
        scope.coming = {fold(item.alias) for item in node.expressions if isinstance(item, exp.Alias)}
        where = node.args.get("where")
        if where is not None:
            self.condition(where.this, scope, named, "WHERE")
        self._time_windows(node, scope, named)
        columns = self._select_list(node, scope, named)
        distinct = node.args.get("distinct")
        if distinct is not None:
            self.only(distinct)
            _add_all(rows, columns)
        scope.is_relaxed = True
        for column in columns or ():
            if column.name is not None:
                scope.add_alias(column.name, column.value)
        self._group(node, scope, columns, named)
        having, qualify = node.args.get("having"), node.args.get("qualify")
        if having is not None:
            self.condition(having.this, scope, named, "HAVING")
        if qualify is not None:
            rows.add(self.value(qualify.this, scope, named))
        for definition in node.args.get("windows") or ():
            self.window_parts(definition, scope, named)
        for one in (Around(node, named, is_top), *around):
            self._order_and_limit(one.node, scope, columns, one.named, one.is_top)
        judge_aggregates(self, node, scope)
        self.leave(node, scope, named, columns)
        return Block(columns, frozenset(rows.sources), rows.repeatable)

    def leave(self, node: exp.Select, scope: Scope, named: Named, columns: Outputs) -> None:
        """Told of each SELECT when it was walked, with what is in sight there, and its columns: for walks that look for
        more."""

    def _time_windows(self, node: exp.Select, scope: Scope, named: Named) -> None:
        if not self.may_have_time_windows:
            return
        for name, call in called_time_windows(node):
            if scope.has(name):
                # Which of the two a name means is Spark's to say.
                self.beyond()
            scope.add_alias(name, self.again(call, scope, named).untyped)

    def _select_list(self, node: exp.Select, scope: Scope, named: Named) -> Outputs:
        columns: list[Output] = []
        is_known = node.args.get("kind") is None and not node.args.get("operation_modifiers")
        for item in node.expressions:
            if item.is_star and isinstance(item, (exp.Star, exp.Column)):
                found = self.star(item, scope)
                is_known = is_known and found is not None
                columns += found or ()
                continue
            if isinstance(item, exp.Aliases):
                value = self.value(item.this, scope, named).untyped
                columns += [Output(name.name, value) for name in item.expressions]
                continue
            value = self.value(item, scope, named)
            self.trace(value.sources)
            if isinstance(item, exp.Alias):
                columns.append(Output(item.alias, value))
                scope.add_alias(item.alias, value._replace(type=None))
                continue
            name = _plain_name(item)
            if name is None and isinstance(item, exp.Func) and self.name_of(item) in spark_generators():
                is_known = False
            columns.append(Output(name, value))
            if name is not None:
                # A field of a structure has a name like any item: `SELECT s.f, f + 1 AS next FROM t`.
                scope.add_alias(name, value._replace(type=None))
        if not is_known:
            self.beyond()
        return tuple(columns) if is_known else None

    def _group(self, node: exp.Select, scope: Scope, columns: Outputs, named: Named) -> None:
        group = node.args.get("group")
        if group is None:
            return
        self.only(group, "expressions", "all", "rollup", "cube", "grouping_sets")
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
                    scope.rows.add(self.again(item, scope, named))

    def _is_aggregate(self, item: exp.Expr) -> bool:
        call = item.unalias()
        return isinstance(call, exp.Func) and self.name_of(call) in spark_aggregates()


def _add_all(rows: Rows, columns: Outputs) -> None:
    for column in columns or ():
        rows.add(column.value)


def _plain_name(item: exp.Expr) -> str | None:
    """The name that Spark gives an item without alias, where that is plain."""
    while isinstance(item, exp.Paren):
        item = item.this
    if isinstance(item, exp.Column):
        return item.name
    if isinstance(item, exp.Dot) and isinstance(item.expression, exp.Identifier):
        return item.expression.name
    return time_window(item)
