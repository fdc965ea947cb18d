"""What FROM brings into sight, for lineage: relations, CTEs, subqueries, joins, LATERAL VIEW, VALUES.

Keys and conditions of joins decide rows, and so does whatever decides the rows of a query that is read from.
"""

from collections.abc import Collection, Mapping
from typing import Final

from sqlglot import exp

from reconciler.base.names import fold
from reconciler.sql.lineage_scope import CONSTANT, Beyond, Block, Column, Rows, Scope, Source, Sources, Value, united
from reconciler.sql.lineage_values import ValueWalker, only
from reconciler.sql.references import relation_key
from reconciler.sql.repeatable import Number, number_of_type
from reconciler.sql.types import canonical_type
from reconciler.sql.words import spark_generators

SORTING: Final = ("order", "sort", "distribute", "cluster")
MODIFIERS: Final = ("with_", *SORTING, "limit", "offset")
UNREPEATABLE: Final = CONSTANT._replace(repeatable=False)
PAIRS_OF_A_COLUMN: Final = 10
"""So many columns that a value descends from are as much work as one column that is brought."""

Named = dict[str, Block]


class SourceWalker(ValueWalker):
    """The walk below one FROM. `relations` as for `analyse_query`; `functions` are the pipeline's own, of which `steady`
    surely give the same for the same."""

    def __init__(
        self,
        relations: Mapping[str, Mapping[str, str | None]],
        text: str,
        functions: Collection[str] = frozenset(),
        steady: frozenset[str] = frozenset(),
    ) -> None:
        super().__init__(text, functions, steady)
        self.relations = relations

    def join(self, join: exp.Join, scope: Scope, named: Named) -> None:
        only(join, "this", "on", "using", "side", "kind", "method")
        if (join.method or "") not in ("", "NATURAL"):
            raise Beyond
        sources, shape = len(scope.sources), list(scope.shape)
        self.item(join.this, scope, named)
        added = scope.shape[len(shape) :]
        shared = [fold(column.name) for column in join.args.get("using") or ()]
        if join.method == "NATURAL":
            present = {fold(name) for name, _ in added if name is not None}
            shared = [fold(name) for name, _ in shape if name is not None and fold(name) in present]
        condition = join.args.get("on")
        if condition is not None:
            scope.rows.add(self.value(condition, scope, named))
        is_half = join.kind in ("SEMI", "ANTI")
        merged: list[Column] = []
        if shared:
            self.brought.add(len(shape) + len(added))
        left_by_key, right_by_key = (_by_key(side) if shared else {} for side in (shape, added))
        for key in dict.fromkeys(shared):
            left, right = left_by_key.get(key), right_by_key.get(key)
            if not left or not right:
                raise Beyond
            value = united([value for _, value in (*left, *right)])
            scope.rows.add(value)
            merged.append((left[0][0], value))
        if is_half:
            scope.forget(sources)
            scope.shape = shape
            return
        if merged:
            gone = set(shared)
            scope.shape = [*merged, *(one for one in (*shape, *added) if one[0] is None or fold(one[0]) not in gone)]

    def item(self, node: exp.Expr, scope: Scope, named: Named) -> None:
        """One item of FROM, with what hangs on it."""
        if node.args.get("pivots"):
            raise Beyond
        sample = node.args.get("sample")
        if sample is not None:
            scope.rows.add(UNREPEATABLE)
            if sample.find(exp.Column, exp.Identifier) is not None:
                raise Beyond
        self._source(node, scope, named)
        for join in node.args.get("joins") or ():
            self.join(join, scope, named)
        for lateral in node.args.get("laterals") or ():
            self.item(lateral, scope, named)

    def _source(self, node: exp.Expr, scope: Scope, named: Named) -> None:
        alias = node.args.get("alias")
        name = fold(alias.name) if isinstance(alias, exp.TableAlias) and alias.name else None
        match node:
            case exp.Table():
                only(node, "this", "db", "alias", "joins", "laterals", "sample")
                columns = self._table(node, scope, named)
                name = name or fold(node.name)
            case exp.Subquery() if isinstance(node.this, exp.Table):
                only(node, "this", "joins", "laterals")
                self.item(node.this, scope, named)
                return
            case exp.Lateral():
                only(node, "this", "alias", "view", "outer")
                columns = self._lateral(node, scope, named)
            case exp.Subquery():
                only(node, "this", "alias", "joins", "laterals", "sample", *MODIFIERS)
                inner = node.copy() if any(node.args.get(part) for part in ("joins", "laterals", "sample")) else node
                for part in ("joins", "laterals", "sample"):
                    if inner is not node:
                        inner.set(part, None)
                columns = self._block(self.query(inner, scope.parent, named), scope)
            case exp.Values():
                columns = self._block(self.values(node, Scope(scope, Rows()), named), scope)
            case _:
                raise Beyond
        scope.add(Source(name, renamed(columns, alias)))

    def _block(self, block: Block, scope: Scope) -> tuple[Column, ...]:
        scope.rows.add_block(block)
        self.brought.add(len(block.columns) + len(block.rows) // PAIRS_OF_A_COLUMN)
        return block.columns

    def _lateral(self, node: exp.Lateral, scope: Scope, named: Named) -> tuple[Column, ...]:
        if isinstance(node.this, exp.Query):
            return self._block(self.query(node.this, scope, named), scope)
        if not isinstance(node.this, exp.Func) or self.name_of(node.this) not in spark_generators():
            raise Beyond
        value = self.value(node.this, scope, named)._replace(number=None)
        names = node.args["alias"].args.get("columns") if node.args.get("alias") else None
        if not names:
            raise Beyond
        return tuple((one.name, value) for one in names)

    def _table(self, node: exp.Table, scope: Scope, named: Named) -> tuple[Column, ...]:
        if not isinstance(node.this, exp.Identifier):
            if isinstance(node.this, exp.Anonymous) and fold(node.this.name) == "range":
                value = self.value(node.this, scope, named)
                scope.rows.add(value)
                return (("id", value._replace(number=Number.INTEGER)),)
            raise Beyond
        key = relation_key(node)
        if key in named and node.args.get("db") is None:
            return self._block(named[key], scope)
        known = self.relations.get(key)
        if not known:
            raise Beyond
        self.brought.add(len(known))
        return tuple((column, Value(_pair(key, column), True, _number(kind))) for column, kind in known.items())

    def values(self, node: exp.Values, scope: Scope, named: Named) -> Block:
        only(node, "expressions", "alias")
        table = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in node.expressions]
        if len({len(row) for row in table}) != 1:
            raise Beyond
        columns: tuple[Column, ...] = tuple(
            (f"col{index}", united([self.value(one, scope, named) for one in column]))
            for index, column in enumerate(zip(*table, strict=True), 1)
        )
        columns = renamed(columns, node.args.get("alias"))
        return Block(columns, frozenset(scope.rows.sources), scope.rows.repeatable)


def _by_key(columns: list[Column]) -> dict[str, list[Column]]:
    found: dict[str, list[Column]] = {}
    for column in columns:
        if column[0] is not None:
            found.setdefault(fold(column[0]), []).append(column)
    return found


def _pair(relation: str, column: str) -> Sources:
    return frozenset(((relation, fold(column)),))


def _number(kind: str | None) -> Number | None:
    return number_of_type(canonical_type(kind)) if kind else None


def renamed(columns: tuple[Column, ...], alias: exp.Expr | None) -> tuple[Column, ...]:
    """Columns under the names that an alias gives them."""
    names = alias.args.get("columns") if alias is not None else None
    if not names:
        return columns
    if len(names) != len(columns):
        raise Beyond
    return tuple((name.name, value) for name, (_, value) in zip(names, columns, strict=True))
