"""What FROM brings into sight: relations, CTEs, subqueries, joins, LATERAL VIEW, VALUES.

Keys and conditions of joins decide rows, and so does whatever decides the rows of a query that is read from. What this does
not know (PIVOT, table functions other than `range`) makes a source whose columns are not known.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import Final

from sqlglot import exp

from reconciler.base.names import did_you_mean, fold
from reconciler.sql.forbidden import files_problem, reads_files
from reconciler.sql.limits import HINT, MAXIMUM_RELATIONS_OF_QUERY, TOO_MANY_RELATIONS, TooMuch, weight
from reconciler.sql.pivots import weight_of_pivot
from reconciler.sql.problems import Problem
from reconciler.sql.references import relation_key
from reconciler.sql.repeatable import Number, number_of_type
from reconciler.sql.scopes import (
    CONSTANT,
    UNREPEATABLE,
    Block,
    Output,
    Outputs,
    Rows,
    Scope,
    Source,
    Value,
    either,
    names_of,
)
from reconciler.sql.types import canonical_type
from reconciler.sql.values import Named, Walker
from reconciler.sql.words import spark_generators

SORTING: Final = ("order", "sort", "distribute", "cluster")
MODIFIERS: Final = ("with_", *SORTING, "limit", "offset")
HANGING: Final = ("joins", "laterals", "sample")
"""What hangs on an item of FROM, and is no part of it."""


class SourceWalker(Walker):
    """The walk below one FROM."""

    def join(self, join: exp.Join, scope: Scope, named: Named) -> None:
        """What a join brings. Columns that it joins come first in `*`, and once; of several that have the name on one side,
        Spark joins the first."""
        self.only(join, "this", "on", "using", "side", "kind", "method")
        count, shape = len(scope.sources), list(scope.shape)
        self.item(join.this, scope, named)
        left, right = scope.sources[:count], scope.sources[count:]
        added = scope.shape[len(shape) :]
        using = join.args.get("using") or ()
        if join.method == "NATURAL":
            present = Counter(fold(column.name) for column in added if column.name is not None)
            shared = []
            for one in shape:
                if one.name is not None and present[fold(one.name)] > 0:
                    present[fold(one.name)] -= 1
                    shared.append(one.name)
            if any(source.is_open for source in scope.sources):
                self.beyond()
                for source in scope.sources:
                    self.reads.everything(source)
        else:
            shared = [column.name for column in using]
            if join.method:
                self.beyond()
        if using or join.method == "NATURAL":
            # All columns in sight are looked at, and each that is joined in every source.
            self.bring(len(shape) + len(added) + len(shared) * len(scope.sources), join.this)
        for column in using:
            self._judge_using(column, left, right)
        is_half = join.kind in ("SEMI", "ANTI")
        joined = self._joined(join, shared, shape, added, scope) if shared else []
        condition = join.args.get("on")
        if condition is not None:
            self.condition(condition, scope, named, "ON")
        if is_half:
            scope.forget(count)
        if is_half or joined:
            keys = {*map(fold, shared)}
            scope.shape = [*joined, *_without_first(shape, keys), *(() if is_half else _without_first(added, keys))]

    def _joined(
        self, join: exp.Join, shared: list[str], left: list[Output], right: list[Output], scope: Scope
    ) -> list[Output]:
        """The columns that are joined, under the name of the side that is kept. They decide rows."""
        found: list[Output] = []
        left_by_key, right_by_key = _first_by_key(left), _first_by_key(right)
        if len({*map(fold, shared)}) < len(shared):
            # NATURAL, where both sides have a name more than once, or a name is said twice.
            scope.is_shaped = False
        for key, name in {fold(name): name for name in shared}.items():
            scope.merged.add(key)
            for source in scope.sources:
                if key in source.by_key or source.columns is None:
                    self.reads.column(source, name)
                if key in source.by_key:
                    scope.rows.add(source.by_key[key].value)
            one, other = left_by_key.get(key), right_by_key.get(key)
            sides = [side for side in (one, other) if side is not None]
            value = either([side.value for side in sides] or [CONSTANT])
            if len(sides) < 2:
                self.beyond()
            if sides:
                kept = sides[-1] if join.side == "RIGHT" else sides[0]
                kind = value.type if join.side == "FULL" else kept.type
                found.append(kept if join.kind in ("SEMI", "ANTI") else Output(kept.name, value._replace(type=kind)))
        return found

    def _judge_using(self, column: exp.Expr, left: list[Source], right: list[Source]) -> None:
        for side, word in ((left, "left"), (right, "right")):
            if not any(source.is_open or fold(column.name) in source.by_key for source in side):
                message = f"USING names {column.name!r}, which is not a column on the {word} of the join"
                self.problem("S221", message, self.place(column), did_you_mean(column.name, names_of(side)))

    def item(self, node: exp.Expr, scope: Scope, named: Named) -> None:
        """One item of FROM, with what hangs on it."""
        sample = node.args.get("sample")
        if sample is not None:
            scope.rows.add(UNREPEATABLE)
            if sample.find(exp.Column, exp.Identifier) is not None:
                self.beyond()
        source = self._source(node, scope, named)
        if source is not None:
            pivots = node.args.get("pivots") or ()
            for pivot in pivots:
                self.reads.everything(source)
                self.bring(weight_of_pivot(pivot), node)
                around = Scope(scope, Rows())
                around.add(source)
                around.add(self._unknown_source(None))
                self.value(pivot, around, named)
            scope.add(self._unknown_source(None) if pivots else source)
        if len(scope.sources) > MAXIMUM_RELATIONS_OF_QUERY and self.brought.limit is not None:
            self.problems.append(Problem("S290", TOO_MANY_RELATIONS, self.place(node), HINT))
            raise TooMuch
        for join in node.args.get("joins") or ():
            self.join(join, scope, named)
        for lateral in node.args.get("laterals") or ():
            self.item(lateral, scope, named)

    def _unknown_source(self, name: str | None) -> Source:
        self.beyond()
        return Source(name, None)

    def _source(self, node: exp.Expr, scope: Scope, named: Named) -> Source | None:
        alias = node.args.get("alias")
        name = fold(alias.name) if isinstance(alias, exp.TableAlias) and alias.name else None
        match node:
            case exp.Table():
                self.only(node, "this", "db", "alias", *HANGING)
                return self._table(node, name, scope, named)
            case exp.Subquery() if _is_group(node):
                self.only(node, "this", "alias", *HANGING)
                # What is joined in parentheses is joined first, and sees only what stands in them.
                within = Scope(scope.parent, scope.rows)
                self.item(node.this, within, named)
                if name is not None:
                    return Source(name, self.renamed(self.everything(within, node), alias))
                scope.take(within)
                return None
            case exp.Lateral() if not isinstance(node.this, exp.Query):
                return Source(name, self._generated(node, scope, named))
            case exp.Lateral():
                self.only(node, "this", "alias", "view", "outer")
                return self._made(name, self.query(node.this, scope, named), node, scope)
            case exp.Values():
                return self._made(name, self.values(node, scope, named), node, scope)
            case exp.Query():
                return self._made(name, self.query(node, scope.parent, named, in_from=True), node, scope)
        self.value(node, scope, named)
        return self._unknown_source(name)

    def everything(self, scope: Scope, node: exp.Expr) -> Outputs:
        """All that is in sight, which is read."""
        self.bring(len(scope.shape), node)
        for source in scope.sources:
            self.reads.everything(source)
        if scope.columns is None:
            self.beyond()
        return scope.columns

    def _made(self, name: str | None, block: Block, node: exp.Expr, scope: Scope) -> Source:
        """What a query in FROM brings into sight."""
        self.bring(len(block.columns or ()), node)
        scope.rows.add_block(block)
        self.trace(block.rows)
        return Source(name, self.renamed(block.columns, node.args.get("alias")))

    def _generated(self, node: exp.Lateral, scope: Scope, named: Named) -> Outputs:
        """The columns of a generator."""
        self.only(node, "this", "alias", "view", "outer")
        value = self.value(node.this, scope, named).untyped
        if not isinstance(node.this, exp.Func) or self.name_of(node.this) not in spark_generators():
            self.beyond()
        return self._listed(node, value)

    def _listed(self, node: exp.Expr, value: Value) -> Outputs:
        """The columns that an alias lists, all of one origin."""
        alias = node.args.get("alias")
        names = alias.args.get("columns") if alias is not None else None
        if not names:
            self.beyond()
        return tuple(Output(one.name, value) for one in names or ()) or None

    def _table(self, node: exp.Table, name: str | None, scope: Scope, named: Named) -> Source:
        alias = node.args.get("alias")
        if not isinstance(node.this, exp.Identifier):
            value = self.value(node.this, scope, named)
            if isinstance(node.this, exp.Anonymous) and fold(node.this.name) == "range":
                scope.rows.add(value)
                value = value._replace(type="BIGINT", number=Number.INTEGER)
                return Source(name, self.renamed((Output("id", value),), alias))
            self.beyond()
            return Source(name, self._listed(node, value.untyped))
        key, qualified = relation_key(node), node.args.get("db") is not None
        name = name or fold(node.name)
        if not qualified and key in named:
            return self._made(name, named[key], node, scope)
        if key not in self.relations:
            self._unknown_relation(node, key, qualified, named)
            return self._unknown_source(name)
        self.reads.relation(key)
        known = self.relations[key]
        self.bring(weight(known.values()), node)
        columns = tuple(Output(column, _value(key, column, kind)) for column, kind in known.items()) or None
        source = Source(name, columns, key)
        if columns is None:
            self.beyond()
        if alias is not None and alias.args.get("columns"):
            self.reads.everything(source)
            return Source(name, self.renamed(columns, alias))
        return source

    def _unknown_relation(self, node: exp.Table, key: str, qualified: bool, named: Named) -> None:
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

    def values(self, node: exp.Values, parent: Scope | None, named: Named) -> Block:
        """VALUES: columns `col1` …"""
        self.only(node, "expressions", "alias")
        scope = Scope(parent, Rows())
        rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in node.expressions]
        table = [[self.value(one, scope, named)._replace(type=None) for one in row] for row in rows]
        columns: Outputs = None
        if len({len(row) for row in table}) == 1:
            columns = tuple(
                Output(f"col{index}", either(column)) for index, column in enumerate(zip(*table, strict=True), 1)
            )
        else:
            self.beyond()
        return Block(columns, frozenset(scope.rows.sources), scope.rows.repeatable)

    def renamed(self, columns: Outputs, alias: exp.Expr | None) -> Outputs:
        """Columns under the names that an alias gives them."""
        names = alias.args.get("columns") if isinstance(alias, exp.TableAlias) else None
        if not names:
            return columns
        if columns is None or len(names) != len(columns):
            self.beyond()
            return tuple(Output(name.name, CONSTANT) for name in names)
        return tuple(Output(name.name, column.value) for name, column in zip(names, columns, strict=True))


def _is_group(node: exp.Subquery) -> bool:
    """Whether these are parentheses around items of FROM, not around a query."""
    inner = node.this
    if not isinstance(inner, exp.Subquery):
        return isinstance(inner, exp.Table)
    return bool(inner.alias or any(inner.args.get(part) for part in HANGING)) or _is_group(inner)


def _first_by_key(columns: list[Output]) -> dict[str, Output]:
    found: dict[str, Output] = {}
    for column in columns:
        if column.name is not None:
            found.setdefault(fold(column.name), column)
    return found


def _without_first(columns: list[Output], keys: set[str]) -> Iterator[Output]:
    """The columns without the first of each of these names (folded)."""
    left = set(keys)
    for column in columns:
        key = fold(column.name) if column.name is not None else None
        if key in left:
            left.discard(key)
        else:
            yield column


def _value(relation: str, column: str, kind: str | None) -> Value:
    canonical = canonical_type(kind) if kind else None
    return Value(canonical, frozenset(((relation, fold(column)),)), True, number_of_type(canonical))
