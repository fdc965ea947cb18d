"""Walk the values inside a query block: resolve columns, infer coarse types, find what Spark surely refuses.

Every node is visited once. A node that is not known here is walked through, its type unknown. Columns are looked for by
the rules of `scopes`; a name that could belong to something unknown is let be.
"""

from abc import abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from sqlglot import exp

from reconciler.diagnostics import Diagnostic
from reconciler.names import did_you_mean, fold
from reconciler.sql.cast_types import type_of_cast
from reconciler.sql.expressions import (
    NUMBER,
    arithmetic_problem,
    comparison_problem,
    is_arithmetic,
    is_comparison,
    kind_of,
    literal_type,
    with_article,
)
from reconciler.sql.places import offset_of, own_offset, written_name
from reconciler.sql.query import Problem
from reconciler.sql.scopes import Output, Reads, Scope, Source
from reconciler.sql.words import spark_functions, spark_words

_Outputs = tuple[Output, ...] | None
_TRUTHS: Final = (exp.Not, exp.In, exp.Between, exp.Like, exp.ILike, exp.RegexpLike, exp.Is, exp.Exists)
_GENERATORS: Final = frozenset({"inline", "inline_outer", "json_tuple", "posexplode", "posexplode_outer", "stack"})
_EXPLODING: Final = frozenset({"explode", "explode_outer"})
# Bare words that Spark reads as values or units where a column would otherwise stand.
_WORD_LIST: Final = (
    "year years quarter quarters month months week weeks day days dayofyear hour hours minute minutes second seconds "
    "millisecond milliseconds microsecond microseconds current_date current_timestamp current_time current_user user "
    "session_user localtimestamp current_catalog current_database current_schema grouping__id spark_grouping_id "
    "_metadata unbounded default"
)
_WORDS: Final = frozenset(_WORD_LIST.split())


class Walker:
    """The state of the walk: what is known, what was read, what is wrong."""

    def __init__(
        self,
        relations: Mapping[str, Mapping[str, str | None]],
        text: str,
        ansi: bool,
        functions: frozenset[str] = frozenset(),
        refused: Mapping[str, Diagnostic] = MappingProxyType({}),
    ) -> None:
        """`functions` are the folded names of the pipeline's own; `refused` says of relations why they can't be read."""
        self.relations = relations
        self.text = text
        self.ansi = ansi
        self.functions = functions
        self.refused = refused
        self.reads = Reads(relations)
        self.problems: list[Problem] = []

    @abstractmethod
    def query(self, node: exp.Expr, parent: Scope | None, named: dict[str, _Outputs]) -> _Outputs:
        """A query inside a value; see `blocks`."""

    def problem(self, code: str, message: str, offset: int, hint: str | None = None) -> None:
        self.problems.append(Problem(code, message, offset, hint))

    def place(self, node: exp.Expr) -> int:
        """Where a node stands; the query's start when nothing of it is remembered."""
        found = offset_of(node)
        return found if found is not None else 0

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
            case exp.Null() | exp.Identifier() | exp.Var() | exp.DataType() | exp.Interval():
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
        return self._operation(node, scope, named)

    def _operation(self, node: exp.Expr, scope: Scope, named: dict[str, _Outputs]) -> str | None:
        if isinstance(node, exp.Func):
            self._known_function(node)
        if isinstance(node, exp.Count) and isinstance(node.this, exp.Star):
            # Counting rows reads no column.
            return "BIGINT"
        types = [self.value(child, scope, named) for child in node.iter_expressions()]
        if is_comparison(node):
            self._judge(node, comparison_problem(kind_of(types[0]), kind_of(types[1])))
            return "BOOLEAN"
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
            hint = did_you_mean(name, spark_functions() | self.functions)
            self.problem("S231", f"Spark has no function {name!r}", node.meta["start"], hint)

    def star(self, node: exp.Expr, scope: Scope) -> list[Output] | None:
        """The columns of `*` or `a.*`, less EXCEPT's; None when they are not known."""
        inner = node.this if isinstance(node, exp.Column) else node
        sources = scope.sources
        plain = True
        if isinstance(node, exp.Column):
            name = node.table
            found = scope.source(name)
            if found is None:
                outer = [source for one in scope.around() if (source := one.source(name)) is not None]
                if outer:
                    self.reads.everything(outer[0])
                else:
                    self.column_named(name, node, scope)
                return None
            sources = [found]
        for source in sources:
            self.reads.everything(source)
            plain = plain and source.columns is not None
        for argument in ("replace", "rename", "except_"):
            plain = plain and (argument == "except_" or not inner.args.get(argument))
        if not plain or (len(sources) > 1 and scope.natural):
            return None
        merged = scope.merged if len(sources) > 1 else set()
        return self._expanded(sources, merged, inner)

    def _expanded(self, sources: list[Source], merged: set[str], star: exp.Expr) -> list[Output]:
        """Columns joined by USING come first and once, as in Spark."""
        dropped = {fold(one.name) for one in star.args.get("except_") or []}
        for one in star.args.get("except_") or []:
            if not any(fold(one.name) in source.by_key or source.is_open for source in sources):
                known = sorted({column.name for s in sources for column in s.by_key.values() if column.name})
                hint = did_you_mean(one.name, known)
                self.problem("S221", f"EXCEPT names {one.name!r}, which is no column here", self.place(one), hint)
        first: dict[str, Output] = {}
        rest: list[Output] = []
        for source in sources:
            for column in source.columns or ():
                key = fold(column.name) if column.name is not None else None
                if key is not None and key in merged:
                    first.setdefault(key, Output(column.name, column.type))
                elif key is None or key not in dropped:
                    rest.append(column)
        return [*(column for key, column in first.items() if key not in dropped), *rest]

    def read_all(self, scope: Scope, name: str) -> None:
        """Note a joined column as read from every source that has it, or may."""
        for source in scope.sources:
            if fold(name) in source.by_key or source.columns is None:
                self.reads.column(source, name)

    def column(self, node: exp.Column, scope: Scope) -> str | None:
        """The type of a column reference."""
        parts = list(node.parts)
        if len(parts) == 1:
            return self.column_named(node.name, node, scope)
        head, second = parts[0].name, parts[1].name
        for one in scope.around():
            if fold(head) in one.parameters:
                return None
            source = one.source(head)
            if source is None:
                continue
            known = source.by_key.get(fold(second))
            if known is not None or source.is_open:
                self.reads.column(source, second)
                return known.type if known is not None and len(parts) == 2 else None
            if any(fold(head) in other.by_key for other in one.sources):
                break
            self._unknown_in(source, head, parts[1])
            return None
        self.column_named(head, parts[0], scope, qualifies=second)
        return None

    def _unknown_in(self, source: Source, head: str, part: exp.Expr) -> None:
        known = [column.name for column in source.by_key.values() if column.name]
        hint = did_you_mean(part.name, known) or f"{head} has: {', '.join(known)}"
        self.problem("S221", f"{head} has no column {part.name!r}", self.place(part), hint)

    def column_named(self, name: str, node: exp.Expr, scope: Scope, qualifies: str | None = None) -> str | None:
        """Resolve a plain name. `qualifies`: it stands before a point, so it may have been meant as a relation."""
        key = fold(name)
        for one in scope.around():
            if key in one.parameters:
                return None
            found = one.has(name)
            if found:
                return self._found(name, node, one, found)
            if key in one.aliases and qualifies is None:
                return one.aliases[key]
            if key in one.aliases:
                return None
            if one.is_open:
                for source in one.sources:
                    if source.columns is None:
                        self.reads.everything(source)
                return None
        if key in _WORDS or (key in spark_words() and not scope.column_names()):
            return None
        if qualifies is not None:
            names = sorted({source.name for one in scope.around() for source in one.sources if source.name})
            hint = did_you_mean(name, [*names, *scope.column_names()])
            self.problem("S221", f"{name!r} is no relation or column in sight", self.place(node), hint)
            return None
        names = scope.column_names()
        hint = did_you_mean(name, names) or (f"in sight: {', '.join(names)}" if 0 < len(names) <= 20 else None)
        self.problem("S221", f"unknown column {name!r}", self.place(node), hint)
        return None

    def _found(self, name: str, node: exp.Expr, scope: Scope, found: list[Source]) -> str | None:
        for source in found:
            self.reads.column(source, name)
        if len(found) > 1 and fold(name) not in scope.merged and not scope.natural:
            places = ", ".join(sorted(f"{source.name}.{name}" for source in found if source.name))
            self.problem("S222", f"column {name!r} is ambiguous", self.place(node), f"write one of: {places}")
        for source in scope.sources:
            if source.columns is None:
                self.reads.everything(source)
        return found[0].by_key[fold(name)].type if len(found) == 1 else None
