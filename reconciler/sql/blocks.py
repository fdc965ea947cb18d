"""Walk the query blocks of a parsed query: bring sources into sight, resolve every column, note what is read.

One pass: a block's WITH first, then its FROM from left to right (an ON sees what stands before it), then conditions,
select list, grouping, ordering. Values inside blocks are `Walker`'s. What this does not know (PIVOT, table functions
without column names, recursive CTEs) makes a source whose columns are not known.
"""

from itertools import chain

from sqlglot import exp

from reconciler.base.names import did_you_mean, fold
from reconciler.sql.expressions import misfit, together
from reconciler.sql.forbidden import files_problem, reads_files
from reconciler.sql.grouping import judge_aggregates
from reconciler.sql.limits import HINT, MAXIMUM_RELATIONS_OF_QUERY, TOO_MANY_RELATIONS, TooMuch, weight
from reconciler.sql.pivots import weight_of_pivot
from reconciler.sql.query import Problem
from reconciler.sql.references import relation_key
from reconciler.sql.scopes import Output, Scope, Source, names_of
from reconciler.sql.time_windows import called_time_windows, time_window
from reconciler.sql.types import canonical_type
from reconciler.sql.values import Walker

_Outputs = tuple[Output, ...] | None
_AFTER = ("group", "having", "qualify", "order", "sort", "distribute", "cluster", "limit", "offset", "windows")


class Analyser(Walker):
    """The walk over one query. `analyse` gives its output columns; problems and reads gather in the object."""

    def analyse(self, tree: exp.Expr) -> _Outputs:
        return self.query(tree, None, {})

    def query(self, node: exp.Expr, parent: Scope | None, named: dict[str, _Outputs]) -> _Outputs:
        """Any query: a SELECT, a set operation, VALUES, or one of these in parentheses."""
        if isinstance(node, exp.Subquery):
            named = self._with(node, parent, named)
            inner = node.this
            if isinstance(inner, exp.Table):
                scope = Scope(parent)
                self._item(inner, scope, named)
                return self._everything(scope, inner)
            outputs = self.query(inner, parent, named)
            self._ordering(node, outputs, parent, named)
            return outputs
        if isinstance(node, exp.Select):
            return self._select(node, parent, self._with(node, parent, named))
        if isinstance(node, exp.SetOperation):
            return self._set_operation(node, parent, self._with(node, parent, named))
        if isinstance(node, exp.Values):
            return self._values(node, Scope(parent), named)
        if isinstance(node, exp.Table):
            scope = Scope(parent)
            self._item(node, scope, named)
            return self._everything(scope, node)
        for child in node.iter_expressions():
            self.value(child, Scope(parent, [Source(None, None)]), named)
        return None

    def _with(self, node: exp.Expr, parent: Scope | None, named: dict[str, _Outputs]) -> dict[str, _Outputs]:
        clause = node.args.get("with_")
        if clause is None:
            return named
        named = dict(named)
        for cte in clause.expressions:
            name = fold(cte.alias)
            if clause.recursive:
                named[name] = None
            outputs = self.query(cte.this, parent, named)
            columns = cte.args["alias"].args.get("columns") or []
            named[name] = _renamed(outputs, [column.name for column in columns])
            if clause.recursive and not columns:
                named[name] = None
        return named

    def _set_operation(self, node: exp.SetOperation, parent: Scope | None, named: dict[str, _Outputs]) -> _Outputs:
        left = self.query(node.this, parent, named)
        right = self.query(node.expression, parent, named)
        by_name = bool(node.args.get("by_name"))
        if by_name:
            left = None
        elif left is not None and right is not None and len(left) != len(right):
            word = type(node).__name__.upper()
            message = f"{word} needs the same number of columns on both sides, found {len(left)} and {len(right)}"
            self.problem("S226", message, self.place(node.expression))
            left = None
        elif left is not None and right is not None:
            self.bring(len(left), node.expression)
            left = self._united(node, left, right)
        self._ordering(node, left, parent, named)
        return left

    def _united(self, node: exp.SetOperation, left: tuple[Output, ...], right: tuple[Output, ...]) -> tuple[Output, ...]:
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
            outputs.append(Output(one.name, together((one.type, other.type))))
        return tuple(outputs)

    def _ordering(self, node: exp.Expr, outputs: _Outputs, parent: Scope | None, named: dict[str, _Outputs]) -> None:
        """ORDER BY and LIMIT of a set operation or of a query in parentheses: they see its output."""
        if not any(node.args.get(part) for part in _AFTER):
            return
        self.bring(len(outputs or ()), node)
        scope = Scope(parent, [Source(None, outputs)])
        for part in _AFTER:
            child = node.args.get(part)
            if isinstance(child, exp.Expr):
                self.value(child, scope, named)

    def _values(self, node: exp.Values, scope: Scope, named: dict[str, _Outputs]) -> _Outputs:
        widths = set()
        for row in node.expressions:
            self.value(row, scope, named)
            widths.add(len(row.expressions) if isinstance(row, exp.Tuple) else 1)
        if len(widths) != 1:
            return None
        return tuple(Output(f"col{index}", None) for index in range(1, widths.pop() + 1))

    def _select(self, node: exp.Select, parent: Scope | None, named: dict[str, _Outputs]) -> _Outputs:
        scope = Scope(parent)
        origin = node.args.get("from_")
        if origin is not None:
            self._item(origin.this, scope, named)
        for join in node.args.get("joins") or []:
            self._join(join, scope, named)
        for lateral in node.args.get("laterals") or []:
            self._item(lateral, scope, named)
        if node.args.get("pivots") or node.args.get("match"):
            scope.sources.append(Source(None, None))
        where = node.args.get("where")
        for item in node.expressions:
            if isinstance(item, exp.Alias):
                scope.aliases.setdefault(fold(item.alias), None)
        if self.may_have_time_windows:
            for name, _ in called_time_windows(node):
                scope.aliases.setdefault(name, None)
        if where is not None:
            self.condition(where.this, scope, named, "WHERE")
        outputs = self._select_list(node, scope, named)
        self._after(node, scope, outputs, named)
        judge_aggregates(self, node, scope)
        return outputs

    def _select_list(self, node: exp.Select, scope: Scope, named: dict[str, _Outputs]) -> _Outputs:
        outputs: list[Output] = []
        known = node.args.get("kind") is None and not node.args.get("operation_modifiers")
        for item in node.expressions:
            if item.is_star and isinstance(item, (exp.Star, exp.Column)):
                columns = self.star(item, scope)
                if columns is None:
                    known = False
                else:
                    outputs += columns
                continue
            found = self.value(item, scope, named)
            if isinstance(item, exp.Alias):
                outputs.append(Output(item.alias, found))
            elif isinstance(item, exp.Aliases) or self.makes_columns(item):
                known = False
            else:
                outputs.append(Output(_made_up_name(item, scope), found))
        return tuple(outputs) if known else None

    def _after(self, node: exp.Select, scope: Scope, outputs: _Outputs, named: dict[str, _Outputs]) -> None:
        """The clauses that also see the names of the select list."""
        for output in outputs or ():
            if output.name is not None:
                scope.aliases.setdefault(fold(output.name), output.type)
        relaxed = Scope(scope.parent, scope.sources, scope.merged | set(scope.aliases), scope.natural, scope.aliases)
        having = node.args.get("having")
        if having is not None:
            self.condition(having.this, relaxed, named, "HAVING")
        for part in _AFTER:
            child = node.args.get(part)
            if part == "having" or child is None:
                continue
            for one in child if isinstance(child, list) else [child]:
                if isinstance(one, exp.Expr):
                    self.value(one, relaxed, named)

    def _join(self, join: exp.Join, scope: Scope, named: dict[str, _Outputs]) -> None:
        before = len(scope.sources)
        left = list(scope.sources)
        self._item(join.this, scope, named)
        right = scope.sources[before:]
        using = join.args.get("using") or []
        if join.method == "NATURAL" or using:
            # All columns in sight are looked at, and each that is joined in every source.
            width = sum(len(source.by_key) for source in scope.sources)
            shared = len(using) or sum(len(source.by_key) for source in right)
            self.bring(width + shared * len(scope.sources), join.this)
        if join.method == "NATURAL":
            scope.natural = True
            for source in right:
                joined = [key for key in source.by_key if any(key in other.by_key for other in left)]
                scope.merged.update(joined)
                for key in joined:
                    self.read_all(scope, key)
        for column in using:
            self._using(column, left, right, scope)
            if join.side == "RIGHT":
                key = fold(column.name)
                names = (source.by_key[key].name for source in right if key in source.by_key)
                scope.kept_as[key] = next(names, None) or column.name
        condition = join.args.get("on")
        if condition is not None:
            self.condition(condition, scope, named, "ON")
        if join.kind in ("SEMI", "ANTI"):
            del scope.sources[before:]

    def _using(self, column: exp.Expr, left: list[Source], right: list[Source], scope: Scope) -> None:
        key = fold(column.name)
        scope.merged.add(key)
        self.read_all(scope, column.name)
        for side, word in ((left, "left"), (right, "right")):
            if any(source.is_open for source in side) or any(key in source.by_key for source in side):
                continue
            message = f"USING names {column.name!r}, which is not a column on the {word} of the join"
            self.problem("S221", message, self.place(column), did_you_mean(column.name, names_of(side)))

    def _item(self, node: exp.Expr, scope: Scope, named: dict[str, _Outputs]) -> None:
        """One item of FROM, with the joins that hang on it."""
        source = self._source(node, scope, named)
        if source is not None:
            scope.sources.append(source)
            if len(scope.sources) > MAXIMUM_RELATIONS_OF_QUERY and self.brought.limit is not None:
                self.problems.append(Problem("S290", TOO_MANY_RELATIONS, self.place(node), HINT))
                raise TooMuch
            if node.args.get("pivots"):
                self.reads.everything(source)
                for pivot in node.args["pivots"]:
                    self.bring(weight_of_pivot(pivot), node)
                    self.value(pivot, Scope(scope, [source, Source(None, None)]), named)
                scope.sources[-1] = Source(None, None)
        for join in node.args.get("joins") or []:
            self._join(join, scope, named)
        for lateral in node.args.get("laterals") or []:
            self._item(lateral, scope, named)

    def _source(self, node: exp.Expr, scope: Scope, named: dict[str, _Outputs]) -> Source | None:
        alias = node.args.get("alias")
        name = fold(alias.name) if isinstance(alias, exp.TableAlias) and alias.name else None
        columns = [one.name for one in alias.args.get("columns") or []] if isinstance(alias, exp.TableAlias) else []
        if isinstance(node, exp.Table):
            return self._table(node, name, columns, scope, named)
        if isinstance(node, exp.Subquery):
            if isinstance(node.this, exp.Table) and name is None:
                self._item(node.this, scope, named)
                return None
            return self._made(name, self.query(node, scope.parent, named), columns, node)
        if isinstance(node, exp.Values):
            return self._made(name, self._values(node, scope, named), columns, node)
        if isinstance(node, exp.Lateral):
            return self._lateral(node, name, columns, scope, named)
        if isinstance(node, exp.Query):
            return self._made(name, self.query(node, scope.parent, named), columns, node)
        self.value(node, scope, named)
        return Source(name, None)

    def _made(self, name: str | None, outputs: _Outputs, columns: list[str], node: exp.Expr) -> Source:
        """What a query in FROM brings into sight."""
        self.bring(len(outputs or ()), node)
        return Source(name, _renamed(outputs, columns))

    def _everything(self, scope: Scope, node: exp.Expr) -> _Outputs:
        """The columns of all that is in sight."""
        self.bring(sum(len(source.columns or ()) for source in scope.sources), node)
        return _star(scope)

    def _lateral(
        self, node: exp.Lateral, name: str | None, columns: list[str], scope: Scope, named: dict[str, _Outputs]
    ) -> Source:
        if isinstance(node.this, exp.Query):
            return self._made(name, self.query(node.this, scope, named), columns, node)
        self.value(node.this, scope, named)
        return Source(name, tuple(Output(column, None) for column in columns) or None)

    def _table(
        self, node: exp.Table, name: str | None, columns: list[str], scope: Scope, named: dict[str, _Outputs]
    ) -> Source:
        if not isinstance(node.this, exp.Identifier):
            self.value(node.this, scope, named)
            return Source(name, tuple(Output(column, None) for column in columns) or None)
        key, qualified = relation_key(node), node.args.get("db") is not None
        name = name or fold(node.name)
        if not qualified and key in named:
            return self._made(name, named[key], columns, node)
        if key not in self.relations:
            self._unknown(node, key, qualified, named)
            return Source(name, None)
        self.reads.relation(key)
        known = self.relations[key]
        self.bring(weight(known.values()), node)
        outputs = tuple(Output(column, canonical_type(kind) if kind else None) for column, kind in known.items()) or None
        if columns:
            source = Source(None, outputs, key)
            self.reads.everything(source)
            return Source(name, _renamed(outputs, columns))
        return Source(name, outputs, key)

    def _unknown(self, node: exp.Table, key: str, qualified: bool, named: dict[str, _Outputs]) -> None:
        place, refusal = self.place(node), self.refused.get(key)
        written = ".".join(part.name for part in node.parts)
        # Where no pipeline has that name, `csv.people` is no relation of one.
        files = reads_files(written, is_pipeline=refusal is not None and refusal.code != "P372")
        if files is not None:
            self.problems.append(files_problem(files, place))
        elif refusal is not None:
            self.problem(refusal.code, refusal.message, place, refusal.hint)
        elif qualified:
            hint = "write NAME for a relation of this pipeline, and PIPELINE.NAME for one of another pipeline"
            self.problem("S220", f"{written!r} is not a relation of this pipeline", place, hint)
        else:
            close = did_you_mean(node.name, chain(self.relations, named))
            self.problem("S220", f"unknown relation {node.name!r}", place, close)


def _renamed(outputs: _Outputs, names: list[str]) -> _Outputs:
    if not names:
        return outputs
    if outputs is None or len(outputs) != len(names):
        return tuple(Output(name, None) for name in names)
    return tuple(Output(name, output.type) for name, output in zip(names, outputs, strict=True))


def _star(scope: Scope) -> _Outputs:
    found: list[Output] = []
    for source in scope.sources:
        if source.columns is None or scope.natural or scope.merged:
            return None
        found += source.columns
    return tuple(found)


def _made_up_name(item: exp.Expr, scope: Scope) -> str | None:
    """The name that Spark gives an item without alias, where that is plain."""
    while isinstance(item, exp.Paren):
        item = item.this
    if isinstance(item, exp.Column):
        return item.name
    if isinstance(item, exp.Dot) and isinstance(item.expression, exp.Identifier):
        return item.expression.name
    return time_window(item)
