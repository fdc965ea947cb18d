"""The columns that reach a value, found by walking its expression; see `lineage` for the rules.

Kinds of nodes are listed: what is not listed is beyond this walk, and so is a name that is not surely found. A listed node
that is not treated by itself is made of everything below it.
"""

from abc import abstractmethod
from collections.abc import Collection
from typing import Final

from sqlglot import exp

from reconciler.base.names import fold
from reconciler.sql.cast_types import type_of_cast
from reconciler.sql.determinism import NON_DETERMINISTIC, moment
from reconciler.sql.limits import Brought
from reconciler.sql.lineage_names import column, parameter
from reconciler.sql.lineage_scope import CALLED, CONSTANT, Beyond, Block, Column, Scope, Value, united
from reconciler.sql.places import written_name
from reconciler.sql.repeatable import Number, is_repeatable, number_of_call, number_of_type, together
from reconciler.sql.stars import counts_rows
from reconciler.sql.words import spark_functions, spark_generators

_PLAIN: Final = (
    *(exp.Binary, exp.Unary, exp.Func, exp.Between, exp.In, exp.Tuple, exp.Bracket, exp.Distinct, exp.Order, exp.Ordered),
    *(exp.Filter, exp.Where, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls, exp.Interval, exp.Slice, exp.AtTimeZone),
    exp.SubqueryPredicate,
)
_TRANSPARENT: Final = (exp.Paren, exp.Distinct, exp.Filter, exp.IgnoreNulls, exp.RespectNulls, exp.Neg, exp.WithinGroup)
_CONSTANT: Final = (exp.Boolean, exp.HexString, exp.Var, exp.DataType, exp.IntervalSpan)
_ARITHMETIC: Final = (exp.Add, exp.Sub, exp.Mul, exp.Mod)
# What the parser makes of syntax of its own, with no name that was written.
_SYNTAX: Final = (exp.Extract, exp.Trim, exp.Substring, exp.StrPosition, exp.DecodeCase, exp.TimeStrToTime, exp.Array)
_OPERATORS: Final = frozenset(
    (
        *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.And, exp.Or, exp.Not, exp.Is, exp.In, exp.Between),
        *(*_ARITHMETIC, exp.Div, exp.Neg, exp.Like),
    )
)
_NULL: Final = CONSTANT._replace(number=Number.NULL)
_MOMENT: Final = CONSTANT._replace(repeatable=False)
_INTEGER: Final = CONSTANT._replace(number=Number.INTEGER)
_DECIMAL: Final = CONSTANT._replace(number=Number.DECIMAL)
_WHOLE_PARTITION: Final = ("UNBOUNDED", "UNBOUNDED")


def only(node: exp.Expr, *known: str) -> None:
    """Refuse a node that has anything but these parts."""
    for part, content in node.args.items():
        if content and part not in known:
            raise Beyond


class ValueWalker:
    """The walk below one expression."""

    def __init__(self, text: str, functions: Collection[str], steady: frozenset[str] = frozenset()) -> None:
        self.brought = Brought(None)
        self.text = text
        self.functions = functions
        self.steady = steady
        self.saw_chance = False
        self.may_have_time_windows = "window" in text.lower()

    @abstractmethod
    def query(self, node: exp.Expr, parent: Scope | None, named: dict[str, Block], top: bool = False) -> Block:
        """A query inside a value; see `lineage_blocks`."""

    def value(self, node: exp.Expr, scope: Scope, named: dict[str, Block]) -> Value:
        """What reaches a value."""
        kind = type(node)
        if kind is exp.Column:
            return column(node, scope) if not node.is_star else self._star(node, scope)
        if kind is exp.Literal:
            return _literal(node)
        if kind in _OPERATORS:
            return self._operation(node, scope, named)
        match node:
            case exp.Alias() | exp.Paren():
                return self.value(node.this, scope, named)
            case exp.Null():
                return _NULL
            case exp.Cast():
                return self._cast(node, scope, named)
            case exp.Query():
                return self.query(node, scope, named).whole()
            case exp.Exists() if isinstance(node.this, exp.Query):
                # Whether there are rows, not what is in them.
                block = self.query(node.this, scope, named)
                return Value(block.rows, block.repeatable, None)
            case exp.Star():
                return self._star(node, scope)
            case exp.Window():
                return self._window(node, scope, named)
            case exp.Case() | exp.If():
                return self._case(node, scope, named)
            case exp.Lambda():
                parameters = frozenset(fold(one.name) for one in node.expressions)
                return self.value(node.this, Scope(scope, scope.rows, parameters=parameters), named)
            case exp.Identifier():
                return parameter(node, scope)
            case exp.Dot() if isinstance(node.expression, exp.Identifier):
                return self.value(node.this, scope, named)._replace(number=None)
            case exp.PropertyEQ() | exp.Kwarg():
                return self.value(node.expression, scope, named)
        if isinstance(node, _CONSTANT):
            return CONSTANT
        if not isinstance(node, _PLAIN) or isinstance(node, exp.Dot):
            raise Beyond
        if isinstance(node, exp.Func) and not self._is_operator(node):
            return self._call(node, scope, named)
        return self._operation(node, scope, named)

    def _is_operator(self, node: exp.Func) -> bool:
        """Whether the parser counts an operator (AND, RLIKE, EXISTS) among functions."""
        if isinstance(node, exp.SubqueryPredicate):
            return True
        return isinstance(node, exp.Binary) and not isinstance(node, exp.AggFunc) and written_name(node, self.text) is None

    def _operation(self, node: exp.Expr, scope: Scope, named: dict[str, Block]) -> Value:
        parts = [self.value(child, scope, named) for child in node.iter_expressions()]
        number: Number | None = None
        if isinstance(node, _TRANSPARENT):
            number = parts[0].number if len(node.expressions) <= 1 and parts else None
        elif isinstance(node, _ARITHMETIC):
            number = together(part.number for part in parts)
        elif isinstance(node, exp.IntDiv):
            number = Number.INTEGER
        elif isinstance(node, exp.Div):
            # Integers are divided as doubles.
            number = Number.DECIMAL if together(part.number for part in parts) is Number.DECIMAL else None
        return united([CONSTANT, *parts])._replace(number=number)

    def name_of(self, node: exp.Func) -> str:
        """The folded name of a function as written; of one without a written name, the parser's."""
        if isinstance(node, exp.Anonymous):
            return fold(node.name)
        written = written_name(node, self.text)
        if written is not None:
            return fold(written)
        if isinstance(node, _SYNTAX):
            return "extract"
        names = [fold(name) for name in type(node).sql_names()]
        return next((name for name in names if name in spark_functions()), names[0])

    def _call(self, node: exp.Func, scope: Scope, named: dict[str, Block]) -> Value:
        name = self.name_of(node)
        if isinstance(node, exp.Anonymous) and name not in self.functions and name not in spark_functions():
            # It may aggregate rows, or make some.
            raise Beyond
        if counts_rows(node):
            return _INTEGER
        parts = [self.value(child, scope, named) for child in node.iter_expressions()]
        numbers = [part.number for part in parts]
        found = united([CONSTANT, *parts])
        self.saw_chance = self.saw_chance or name in NON_DETERMINISTIC
        if name in self.functions:
            repeatable = found.repeatable and name in self.steady
            found = Value(found.sources | {(CALLED, name)}, repeatable, None)
        else:
            repeatable = found.repeatable and is_repeatable(name, numbers)
            found = Value(found.sources, repeatable, number_of_call(name, numbers))
        if name in spark_generators():
            scope.rows.add(found)
        return found

    def _cast(self, node: exp.Cast, scope: Scope, named: dict[str, Block]) -> Value:
        only(node, "this", "to", "safe", "format", "default", "action")
        parts = [self.value(child, scope, named) for child in node.iter_expressions()]
        return united([CONSTANT, *parts])._replace(number=number_of_type(type_of_cast(node)))

    def _case(self, node: exp.Case | exp.If, scope: Scope, named: dict[str, Block]) -> Value:
        only(node, "this", "ifs", "default", "true", "false")
        conditions: list[Value] = []
        results: list[Value] = []
        for branch in (node, *(node.args.get("ifs") or ())):
            for part, content in branch.args.items():
                if isinstance(content, exp.Expr):
                    found = self.value(content, scope, named)
                    (conditions if part == "this" else results).append(found)
        number = together(result.number for result in results)
        return united([CONSTANT, *conditions, *results])._replace(number=number)

    def _window(self, node: exp.Window, scope: Scope, named: dict[str, Block]) -> Value:
        inner = self.value(node.this, scope, named)
        found = united([CONSTANT, inner, *self._window_parts(node, scope, named)])
        return found._replace(number=inner.number)

    def _window_parts(self, node: exp.Expr, scope: Scope, named: dict[str, Block], depth: int = 0) -> list[Value]:
        """Partition, order and frame of a window, and of the named one that it refers to."""
        only(node, "this", "partition_by", "order", "spec", "alias", "over")
        found = [self.value(one, scope, named) for one in node.args.get("partition_by") or ()]
        order = node.args.get("order")
        if order is not None:
            found.append(self.value(order, scope, named))
        spec = node.args.get("spec")
        if spec is not None:
            only(spec, "kind", "start", "start_side", "end", "end_side")
            bounds = (spec.args.get("start"), spec.args.get("end"))
            found += [self.value(bound, scope, named) for bound in bounds if isinstance(bound, exp.Expr)]
            if spec.args.get("kind") != "RANGE" and bounds != _WHOLE_PARTITION:
                # Rows with an equal order may come in any.
                found.append(CONSTANT._replace(repeatable=False))
        alias = node.args.get("alias")
        if alias is not None:
            definition = scope.windows.get(fold(alias.name))
            if definition is None or depth > 8:
                raise Beyond
            found += self._window_parts(definition, scope, named, depth + 1)
        return found

    def _star(self, node: exp.Expr, scope: Scope) -> Value:
        """All columns of `*` or `a.*` as arguments."""
        return united([CONSTANT, *(value for _, value in self.star(node, scope))])

    def star(self, node: exp.Expr, scope: Scope) -> list[Column]:
        """The columns of `*` or `a.*`, less EXCEPT's."""
        inner = node.this if isinstance(node, exp.Column) else node
        only(inner, "except_")
        columns: list[Column] = scope.shape
        if isinstance(node, exp.Column):
            sources = scope.named.get(fold(node.table), [])
            if len(sources) != 1 or len(node.parts) != 2:
                raise Beyond
            columns = list(sources[0].columns)
        dropped: set[str] = set()
        for one in inner.args.get("except_") or []:
            if isinstance(one, exp.Column) and len(one.parts) > 1:
                raise Beyond
            dropped.add(fold(one.name))
        if not dropped <= {fold(name) for name, _ in columns if name is not None}:
            raise Beyond
        self.brought.add(len(columns))
        return [(name, value) for name, value in columns if name is None or fold(name) not in dropped]


def _literal(node: exp.Expr) -> Value:
    text = str(node.this)
    if node.args.get("is_string"):
        return CONSTANT if moment(text) is None else _MOMENT
    if not text.replace(".", "", 1).isdigit():
        return CONSTANT
    return _INTEGER if text.isdigit() else _DECIMAL
