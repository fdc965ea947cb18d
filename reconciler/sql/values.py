"""Walk the values inside a query block: infer coarse types, find what Spark surely refuses. Names are `resolving`'s.

Every node is visited once. A node that is not known here is walked through, its type unknown.
"""

from abc import abstractmethod
from collections.abc import Iterable
from itertools import chain
from typing import Final

from sqlglot import exp

from reconciler.base.names import did_you_mean, fold
from reconciler.sql.cast_types import type_of_cast
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
from reconciler.sql.places import own_offset, written_name
from reconciler.sql.resolving import Resolver
from reconciler.sql.scopes import Output, Scope
from reconciler.sql.stars import counts_rows
from reconciler.sql.words import spark_functions, spark_words

_Outputs = tuple[Output, ...] | None
_TRUTHS: Final = (exp.Not, exp.In, exp.Between, exp.Like, exp.ILike, exp.RegexpLike, exp.Is, exp.Exists)
_GENERATORS: Final = frozenset({"inline", "inline_outer", "json_tuple", "posexplode", "posexplode_outer", "stack"})
_MOST_TYPES: Final = 100
_EXPLODING: Final = frozenset({"explode", "explode_outer"})


class Walker(Resolver):
    """The walk below one expression."""

    @abstractmethod
    def query(self, node: exp.Expr, parent: Scope | None, named: dict[str, _Outputs]) -> _Outputs:
        """A query inside a value; see `blocks`."""

    def value(self, node: exp.Expr, scope: Scope, named: dict[str, _Outputs]) -> str | None:
        """The type of a value, where known."""
        match node:
            case exp.Column():
                if isinstance(node.this, exp.Star):
                    self.star(node, scope)
                    return None
                return self.column(node, scope)
            case exp.Star():
                self.star(node, scope)
                return None
            case exp.Literal():
                return literal_type(node)
            case exp.Boolean():
                return "BOOLEAN"
            case exp.Null() | exp.Identifier() | exp.Var() | exp.DataType():
                return None
            case exp.Interval():
                self._interval(node, scope, named)
                return None
            case exp.Query():
                return self._subquery(node, scope, named)
            case exp.Alias() | exp.Paren():
                return self.value(node.this, scope, named)
            case exp.Lambda():
                return self._lambda(node, scope, named)
            case exp.Cast():
                self.value(node.this, scope, named)
                return type_of_cast(node)
            case exp.And() | exp.Or():
                self._truth(node.this, scope, named, type(node).__name__.upper())
                self._truth(node.expression, scope, named, type(node).__name__.upper())
                return "BOOLEAN"
            case exp.Not():
                self._truth(node.this, scope, named, "NOT")
                return "BOOLEAN"
            case exp.Case() | exp.If():
                return self._choice(node, scope, named)
        return self._operation(node, scope, named)

    def _interval(self, node: exp.Interval, scope: Scope, named: dict[str, _Outputs]) -> None:
        """What an interval's length reads. Of a bare name nothing is said: a parser may take other words for an interval."""
        known = len(self.problems)
        if node.this is not None:
            self.value(node.this, scope, named)
        if isinstance(node.this, exp.Column):
            del self.problems[known:]

    def _operation(self, node: exp.Expr, scope: Scope, named: dict[str, _Outputs]) -> str | None:
        if isinstance(node, exp.Func):
            self._known_function(node)
        if counts_rows(node):
            return "BIGINT"
        types = [self.value(child, scope, named) for child in node.iter_expressions()]
        if is_comparison(node):
            self.compared(node, types[0], types[1])
            return types[0] if isinstance(node, exp.Nullif) else "BOOLEAN"
        if isinstance(node, (exp.In, exp.Between)):
            for other in types[1:]:
                self.compared(node, types[0], other)
            return "BOOLEAN"
        if isinstance(node, exp.Coalesce):
            return self.one_of(zip(node.iter_expressions(), types, strict=True), "coalesce")
        if is_arithmetic(node):
            left, right = kind_of(types[0]), kind_of(types[1])
            self._judge(node, arithmetic_problem(node, left, right))
            return NUMBER if left == right == "NUMBER" else None
        if isinstance(node, (exp.Sum, exp.Avg)) and types:
            word = type(node).__name__.upper()
            kind = kind_of(types[0])
            if kind in ("DATE", "TIMESTAMP", "BOOLEAN", "BINARY"):
                self._judge(node, f"{word} can't take {with_article(kind)}")
            return NUMBER if kind == "NUMBER" else None
        if isinstance(node, exp.Count):
            return "BIGINT"
        if isinstance(node, (exp.Min, exp.Max, exp.Distinct)) and len(types) == 1:
            return types[0]
        if isinstance(node, (exp.Window, exp.Filter)):
            return types[0]
        return "BOOLEAN" if isinstance(node, _TRUTHS) else None

    def compared(self, node: exp.Expr, left: str | None, right: str | None) -> None:
        """Two types that stand against each other: in a comparison, IN, BETWEEN, JOIN … USING."""
        problem = misfit(left, right)
        self._judge(node, None if problem is None else f"{problem[0]} can't be compared with {problem[1]}")

    def one_of(self, values: Iterable[tuple[exp.Expr, str | None]], word: str) -> str | None:
        """The type of what is one of several values. They must fit each other."""
        # Many values have few types.
        types: dict[str | None, None] = {}
        for node, kind in values:
            if isinstance(node, exp.Null):
                continue
            problem = next((found for one in types if (found := misfit(one, kind)) is not None), None)
            if problem is not None:
                self.problem(
                    "S229", f"{word} returns both {problem[0]} and {problem[1]}", self.place(node), "CAST one of the values"
                )
                return None
            if len(types) < _MOST_TYPES:
                types[kind] = None
        return together(tuple(types)) if len(types) < _MOST_TYPES else None

    def _choice(self, node: exp.Case | exp.If, scope: Scope, named: dict[str, _Outputs]) -> str | None:
        """CASE and `if`."""
        is_case = isinstance(node, exp.Case)
        subject = self.value(node.this, scope, named) if is_case and node.this is not None else None
        results: list[exp.Expr] = []
        for branch in node.args.get("ifs") or [] if is_case else [node]:
            self.compared(branch.this, subject, self.value(branch.this, scope, named))
            results.append(branch.args["true"])
        last = node.args.get("default" if is_case else "false")
        results += [last] if last is not None else []
        return self.one_of([(one, self.value(one, scope, named)) for one in results], "CASE" if is_case else "if")

    def _judge(self, node: exp.Expr, problem: str | None) -> None:
        if problem is not None and self.ansi:
            self.problem("S229", problem, self.place(node))

    def _truth(self, node: exp.Expr, scope: Scope, named: dict[str, _Outputs], word: str) -> None:
        kind = kind_of(self.value(node, scope, named))
        if kind in ("NUMBER", "DATE", "TIMESTAMP", "BINARY", "NESTED"):
            self._judge(node, f"{word} needs a BOOLEAN, found {with_article(kind)}")

    def condition(self, node: exp.Expr, scope: Scope, named: dict[str, _Outputs], word: str) -> None:
        """A value that must be BOOLEAN: of WHERE, HAVING, ON."""
        kind = kind_of(self.value(node, scope, named))
        if kind is not None and kind != "BOOLEAN":
            self.problem("S229", f"{word} needs a BOOLEAN, found {with_article(kind)}", self.place(node))

    def _subquery(self, node: exp.Expr, scope: Scope, named: dict[str, _Outputs]) -> str | None:
        outputs = self.query(node, scope, named)
        return outputs[0].type if outputs is not None and len(outputs) == 1 else None

    def _lambda(self, node: exp.Lambda, scope: Scope, named: dict[str, _Outputs]) -> str | None:
        parameters = tuple(fold(one.name) for one in node.expressions)
        self.value(node.this, Scope(scope, parameters=parameters), named)
        return None

    def makes_columns(self, item: exp.Expr) -> bool:
        """Whether an item of a select list may give several columns, or one whose name is made up otherwise."""
        name = (written_name(item, self.text) or item.name or "").lower()
        return name in _GENERATORS or name in _EXPLODING or isinstance(item, (exp.Explode, exp.Posexplode, exp.Inline))

    def _known_function(self, node: exp.Func) -> None:
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
