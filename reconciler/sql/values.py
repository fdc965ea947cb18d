"""Walk the values inside a query block: what each is made of, its coarse type, what Spark surely refuses. Names are
`resolving`'s.

Every node is visited once. One whose kind is not listed here, or that has parts which are not, is walked through, its type
unknown, and leaves the query without lineage (`Resolver.beyond`). One that is listed and not treated by itself is made of
everything below it.
"""

from abc import abstractmethod
from collections.abc import Iterable
from itertools import chain
from typing import Final

from sqlglot import exp

from reconciler.base.names import did_you_mean, fold
from reconciler.sql.cast_types import type_of_cast
from reconciler.sql.determinism import NON_DETERMINISTIC, moment
from reconciler.sql.expressions import (
    NUMBER,
    arithmetic_problem,
    is_arithmetic,
    is_comparison,
    kind_of,
    literal_type,
    misfit,
    together,
    with_article,
)
from reconciler.sql.parsed_stars import counts_rows
from reconciler.sql.places import own_offset, written_name
from reconciler.sql.repeatable import Number, is_repeatable, number_of_call, number_of_type, numbers_together
from reconciler.sql.resolving import Resolver
from reconciler.sql.scopes import CALLED, CONSTANT, UNREPEATABLE, Block, Scope, Value
from reconciler.sql.words import spark_functions, spark_generators, spark_words

Named = dict[str, Block]
"""The CTEs in sight, by folded name."""

_TRUTHS: Final = (exp.Not, exp.In, exp.Between, exp.Like, exp.ILike, exp.RegexpLike, exp.Is, exp.Exists)
_MOST_TYPES: Final = 100
_PLAIN: Final = (
    *(exp.Binary, exp.Unary, exp.Func, exp.Between, exp.In, exp.Tuple, exp.Bracket, exp.Distinct, exp.Order, exp.Ordered),
    *(exp.Filter, exp.Where, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls, exp.Slice, exp.AtTimeZone),
    exp.SubqueryPredicate,
)
_TRANSPARENT: Final = (exp.Distinct, exp.Filter, exp.IgnoreNulls, exp.RespectNulls, exp.Neg, exp.WithinGroup)
_CONSTANT: Final = (exp.HexString, exp.Var, exp.DataType, exp.IntervalSpan)
_CALCULATED: Final = (exp.Add, exp.Sub, exp.Mul, exp.Mod)
# What the parser makes of syntax of its own, with no name that was written.
_SYNTAX: Final = (
    *(exp.Extract, exp.Trim, exp.Substring, exp.StrPosition, exp.DecodeCase, exp.TimeStrToTime, exp.Array),
    exp.TsOrDsToDate,
)
# Most nodes are names, or these.
_OPERATORS: Final = frozenset(
    (
        *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Is, exp.In, exp.Between, exp.Like),
        *_CALCULATED,
        exp.Div,
        exp.Neg,
    )
)
_TRUTH: Final = CONSTANT._replace(type="BOOLEAN")
_NULL: Final = CONSTANT._replace(number=Number.NULL)
_COUNT: Final = CONSTANT._replace(type="BIGINT", number=Number.INTEGER)
_WHOLE_PARTITION: Final = ("UNBOUNDED", "UNBOUNDED")
_MOST_WINDOWS: Final = 8


class Walker(Resolver):
    """The walk below one expression."""

    @abstractmethod
    def query(
        self, node: exp.Expr, parent: Scope | None, named: Named, is_top: bool = False, in_from: bool = False
    ) -> Block:
        """A query inside a value; see `blocks`."""

    def value(self, node: exp.Expr, scope: Scope, named: Named) -> Value:
        """What a value is made of."""
        if type(node) in _OPERATORS:
            return self._operation(node, scope, named)
        match node:
            case exp.Column() if not isinstance(node.this, exp.Star):
                return self.column(node, scope)
            case exp.Column() | exp.Star():
                return self.made_of([column.value for column in self.star(node, scope) or ()])
            case exp.Literal():
                return _literal(node)
            case exp.Boolean():
                return _TRUTH
            case exp.Null():
                return _NULL
            case exp.Identifier():
                # A bare name that the parser left: surely only a lambda's parameter, whose values come with the others.
                if not any(fold(node.name) in one.parameters for one in scope.around()):
                    self.beyond()
                return CONSTANT
            case exp.Interval():
                return self._interval(node, scope, named)
            case exp.Exists() if isinstance(node.this, exp.Query):
                # Whether there are rows, not what is in them.
                block = self.query(node.this, scope, named)
                return Value("BOOLEAN", block.rows, block.repeatable, None)
            case exp.Query():
                return self.query(node, scope, named).whole()
            case exp.Alias() | exp.Paren():
                return self.value(node.this, scope, named)
            case exp.Lambda():
                parameters = frozenset(fold(one.name) for one in node.expressions)
                return self.value(node.this, Scope(scope, scope.rows, parameters=parameters), named)._replace(type=None)
            case exp.Cast():
                self.only(node, "this", "to", "safe", "format", "default", "action")
                parts = [self.value(child, scope, named) for child in node.iter_expressions()]
                kind = type_of_cast(node)
                return self.made_of(parts, kind, number_of_type(kind))
            case exp.And() | exp.Or():
                word = type(node).__name__.upper()
                return self.made_of(
                    [self._truth(one, scope, named, word) for one in (node.this, node.expression)], "BOOLEAN"
                )
            case exp.Not():
                return self.made_of([self._truth(node.this, scope, named, "NOT")], "BOOLEAN")
            case exp.Case() | exp.If():
                return self._choice(node, scope, named)
            case exp.Window():
                inner = self.value(node.this, scope, named)
                return self.made_of([inner, *self.window_parts(node, scope, named)], inner.type, inner.number)
            case exp.Dot() if isinstance(node.expression, exp.Identifier):
                return self.value(node.this, scope, named).untyped
            case exp.PropertyEQ() | exp.Kwarg():
                return self.value(node.expression, scope, named)
        if isinstance(node, _CONSTANT):
            return CONSTANT
        if not isinstance(node, _PLAIN) or isinstance(node, exp.Dot):
            self.beyond()
        return self._operation(node, scope, named)

    def again(self, node: exp.Expr, scope: Scope, named: Named) -> Value:
        """What is walked in a place of its own, too, where its problems are told."""
        known = len(self.problems)
        found = self.value(node, scope, named)
        del self.problems[known:]
        return found

    def _interval(self, node: exp.Interval, scope: Scope, named: Named) -> Value:
        """What an interval's length reads. Of a bare name nothing is said: a parser may take other words for an interval."""
        if node.this is None:
            return CONSTANT
        walk = self.again if isinstance(node.this, exp.Column) else self.value
        return self.made_of([walk(node.this, scope, named)])

    def _operation(self, node: exp.Expr, scope: Scope, named: Named) -> Value:
        """An operator or a call."""
        if isinstance(node, exp.Func):
            self._known_function(node)
        if counts_rows(node):
            return _COUNT
        parts = [self.value(child, scope, named) for child in node.iter_expressions()]
        kind = self._type(node, parts)
        if not self.is_traced:
            return CONSTANT if kind is None else CONSTANT._replace(type=kind)
        if isinstance(node, exp.Func) and not self._is_operator(node):
            return self._called(node, parts, kind, scope)
        return self.made_of(parts, kind, _number(node, parts))

    def _type(self, node: exp.Expr, parts: list[Value]) -> str | None:
        """The type of an operator or a call, where known."""
        if is_comparison(node):
            self.compared(node, parts[0].type, parts[1].type)
            return parts[0].type if isinstance(node, exp.Nullif) else "BOOLEAN"
        if isinstance(node, (exp.In, exp.Between)):
            for other in parts[1:]:
                self.compared(node, parts[0].type, other.type)
            return "BOOLEAN"
        if isinstance(node, exp.Coalesce):
            return self.one_of(zip(node.iter_expressions(), parts, strict=True), "coalesce")
        if is_arithmetic(node):
            left, right = kind_of(parts[0].type), kind_of(parts[1].type)
            self._judge(node, arithmetic_problem(node, left, right))
            return NUMBER if left == right == "NUMBER" else None
        if isinstance(node, (exp.Sum, exp.Avg)) and parts:
            word = type(node).__name__.upper()
            kind = kind_of(parts[0].type)
            if kind in ("DATE", "TIMESTAMP", "BOOLEAN", "BINARY"):
                self._judge(node, f"{word} can't take {with_article(kind)}")
            return NUMBER if kind == "NUMBER" else None
        if isinstance(node, exp.Count):
            return "BIGINT"
        if isinstance(node, (exp.Min, exp.Max, exp.Distinct)) and len(parts) == 1:
            return parts[0].type
        if isinstance(node, exp.Filter):
            return parts[0].type
        return "BOOLEAN" if isinstance(node, _TRUTHS) else None

    def _is_operator(self, node: exp.Expr) -> bool:
        """Whether the parser counts an operator (RLIKE, EXISTS) among functions."""
        if isinstance(node, exp.SubqueryPredicate):
            return True
        return isinstance(node, exp.Binary) and not isinstance(node, exp.AggFunc) and written_name(node, self.text) is None

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

    def _called(self, node: exp.Func, parts: list[Value], kind: str | None, scope: Scope) -> Value:
        name = self.name_of(node)
        if isinstance(node, exp.Anonymous) and name not in self.functions and name not in spark_functions():
            # It may aggregate rows, or make some.
            self.beyond()
        numbers = [part.number for part in parts]
        found = self.made_of(parts, kind, number_of_call(name, numbers))
        self.saw_chance = self.saw_chance or name in NON_DETERMINISTIC
        if name in self.functions:
            found = Value(kind, found.sources | {(CALLED, name)}, found.repeatable and name in self.steady, None)
        elif not is_repeatable(name, numbers):
            found = found._replace(repeatable=False)
        if name in spark_generators():
            scope.rows.add(found)
        return found

    def compared(self, node: exp.Expr, left: str | None, right: str | None) -> None:
        """Two types that stand against each other: in a comparison, IN, BETWEEN, JOIN … USING."""
        problem = misfit(left, right)
        self._judge(node, None if problem is None else f"{problem[0]} can't be compared with {problem[1]}")

    def one_of(self, values: Iterable[tuple[exp.Expr, Value]], word: str) -> str | None:
        """The type of what is one of several values. They must fit each other."""
        # Many values have few types.
        types: dict[str | None, None] = {}
        for node, value in values:
            if isinstance(node, exp.Null):
                continue
            problem = next((found for one in types if (found := misfit(one, value.type)) is not None), None)
            if problem is not None:
                self.problem(
                    "S229", f"{word} returns both {problem[0]} and {problem[1]}", self.place(node), "CAST one of the values"
                )
                return None
            if len(types) < _MOST_TYPES:
                types[value.type] = None
        return together(tuple(types)) if len(types) < _MOST_TYPES else None

    def _choice(self, node: exp.Case | exp.If, scope: Scope, named: Named) -> Value:
        """CASE and `if`."""
        self.only(node, "this", "ifs", "default", "true", "false")
        is_case = isinstance(node, exp.Case)
        subject = self.value(node.this, scope, named) if is_case and node.this is not None else CONSTANT
        conditions = [subject]
        results: list[exp.Expr] = []
        for branch in node.args.get("ifs") or [] if is_case else [node]:
            conditions.append(self.value(branch.this, scope, named))
            self.compared(branch.this, subject.type, conditions[-1].type)
            results.append(branch.args["true"])
        last = node.args.get("default" if is_case else "false")
        results += [last] if last is not None else []
        values = [self.value(one, scope, named) for one in results]
        kind = self.one_of(zip(results, values, strict=True), "CASE" if is_case else "if")
        return self.made_of([*conditions, *values], kind, numbers_together(one.number for one in values))

    def window_parts(self, node: exp.Expr, scope: Scope, named: Named, depth: int = 0) -> list[Value]:
        """Partition, order and frame of a window, and of the named one that it refers to."""
        self.only(node, "this", "partition_by", "order", "spec", "alias", "over")
        found = [self.value(one, scope, named) for one in node.args.get("partition_by") or ()]
        order = node.args.get("order")
        if order is not None:
            found.append(self.value(order, scope, named))
        spec = node.args.get("spec")
        if spec is not None:
            self.only(spec, "kind", "start", "start_side", "end", "end_side")
            bounds = (spec.args.get("start"), spec.args.get("end"))
            found += [self.value(bound, scope, named) for bound in bounds if isinstance(bound, exp.Expr)]
            if spec.args.get("kind") != "RANGE" and bounds != _WHOLE_PARTITION:
                # Rows with an equal order may come in any.
                found.append(UNREPEATABLE)
        alias = node.args.get("alias")
        if alias is not None:
            definition = scope.windows.get(alias.name)
            if definition is None or depth > _MOST_WINDOWS:
                self.beyond()
            else:
                known = len(self.problems)
                found += self.window_parts(definition, scope, named, depth + 1)
                del self.problems[known:]
        return found

    def _judge(self, node: exp.Expr, problem: str | None) -> None:
        if problem is not None and self.ansi:
            self.problem("S229", problem, self.place(node))

    def _truth(self, node: exp.Expr, scope: Scope, named: Named, word: str) -> Value:
        found = self.value(node, scope, named)
        kind = kind_of(found.type)
        if kind in ("NUMBER", "DATE", "TIMESTAMP", "BINARY", "NESTED"):
            self._judge(node, f"{word} needs a BOOLEAN, found {with_article(kind)}")
        return found

    def condition(self, node: exp.Expr, scope: Scope, named: Named, word: str) -> Value:
        """A value that must be BOOLEAN, and decides rows: of WHERE, HAVING, ON."""
        found = self.value(node, scope, named)
        scope.rows.add(found)
        kind = kind_of(found.type)
        if kind is not None and kind != "BOOLEAN":
            self.problem("S229", f"{word} needs a BOOLEAN, found {with_article(kind)}", self.place(node))
        return found

    def _known_function(self, node: exp.Expr) -> None:
        name = written_name(node, self.text)
        if name is None or own_offset(node) is None:
            return
        key = name.lower()
        after = self.text[node.meta["end"] + 1 :].lstrip()
        before = self.text[: node.meta["start"]].rstrip()
        if not after.startswith("(") or before.endswith(".") or not key.isidentifier():
            return
        if key not in spark_functions() and key not in spark_words() and key not in self.functions:
            hint = did_you_mean(name, chain(spark_functions(), self.functions))
            self.problem("S231", f"Spark has no function {name!r}", node.meta["start"], hint)


def _literal(node: exp.Literal) -> Value:
    text, kind = str(node.this), literal_type(node)
    if node.is_string:
        return Value(kind, frozenset(), moment(text) is None, None)
    if not text.replace(".", "", 1).isdigit():
        return Value(kind, frozenset(), True, None)
    return Value(kind, frozenset(), True, Number.INTEGER if text.isdigit() else Number.DECIMAL)


def _number(node: exp.Expr, parts: list[Value]) -> Number | None:
    """What is surely known of the result of an operator."""
    if isinstance(node, _TRANSPARENT):
        return parts[0].number if len(node.expressions) <= 1 and parts else None
    if isinstance(node, _CALCULATED):
        return numbers_together(part.number for part in parts)
    if isinstance(node, exp.IntDiv):
        return Number.INTEGER
    if isinstance(node, exp.Div):
        # Integers are divided as doubles.
        return Number.DECIMAL if numbers_together(part.number for part in parts) is Number.DECIMAL else None
    return None
