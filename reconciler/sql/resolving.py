"""The names inside a query block: which columns they mean, what is read by them, and which mean nothing.

Columns are looked for by the rules of `scopes`; a name that could belong to something unknown is let be.
"""

from collections.abc import Collection, Iterable, Mapping
from itertools import chain
from types import MappingProxyType
from typing import Final

from sqlglot import exp

from reconciler.base.diagnostics import Diagnostic
from reconciler.base.names import did_you_mean, fold
from reconciler.sql.limits import (
    HINT_OF_BROUGHT,
    MAXIMUM_BROUGHT,
    MAXIMUM_PROBLEMS,
    TOO_MUCH_BROUGHT,
    Brought,
    TooMuch,
)
from reconciler.sql.places import offset_of
from reconciler.sql.query import Problem
from reconciler.sql.scopes import Output, Reads, Scope, Source, names_of
from reconciler.sql.words import spark_words

# Bare words that Spark reads as values or units where a column would otherwise stand.
_WORD_LIST: Final = (
    "year years quarter quarters month months week weeks day days dayofyear hour hours minute minutes second seconds "
    "millisecond milliseconds microsecond microseconds current_date current_timestamp current_time current_user user "
    "session_user localtimestamp current_catalog current_database current_schema grouping__id spark_grouping_id "
    "_metadata unbounded default"
)
_WORDS: Final = frozenset(_WORD_LIST.split())
_LISTED: Final = 20


class Resolver:
    """The state of the walk: what is known, what was read, what is wrong."""

    what_names_are = "column"
    """What messages call a name that stands for nothing known."""

    def __init__(
        self,
        relations: Mapping[str, Mapping[str, str | None]],
        text: str,
        ansi: bool,
        functions: Collection[str] = frozenset(),
        refused: Mapping[str, Diagnostic] = MappingProxyType({}),
        limit: int | None = MAXIMUM_BROUGHT,
    ) -> None:
        """`functions` are the folded names of the pipeline's own; `refused` says of relations why they can't be read;
        `limit` is what the query may bring, None for any number."""
        self.relations = relations
        self.text = text
        self.ansi = ansi
        self.functions = functions
        self.refused = refused
        self.brought = Brought(limit)
        self.reads = Reads(relations)
        self.problems: list[Problem] = []
        self.may_have_time_windows = "window" in text.lower()

    def problem(self, code: str, message: str, offset: int, hint: str | None = None) -> None:
        """Note a problem; with the last that is told, leave the query."""
        self.problems.append(Problem(code, message, offset, hint))
        if len(self.problems) >= MAXIMUM_PROBLEMS:
            message = f"the query has {MAXIMUM_PROBLEMS} problems or more; the rest was not checked"
            self.problems.append(Problem("S293", message, offset, "begin with the first one"))
            raise TooMuch

    def bring(self, count: int, node: exp.Expr) -> None:
        """Count columns that a part of the query brings, before they are looked at."""
        try:
            self.brought.add(count)
        except TooMuch:
            self.problems.append(Problem("S292", TOO_MUCH_BROUGHT, self.place(node), HINT_OF_BROUGHT))
            raise

    def place(self, node: exp.Expr) -> int:
        """Where a node stands; the query's start when nothing of it is remembered."""
        found = offset_of(node)
        return found if found is not None else 0

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
        self.bring(sum(len(source.columns or ()) for source in sources), node)
        for source in sources:
            self.reads.everything(source)
            plain = plain and source.columns is not None
        for argument in ("replace", "rename", "except_"):
            plain = plain and (argument == "except_" or not inner.args.get(argument))
        if not plain or (len(sources) > 1 and scope.natural):
            return None
        merged = scope.merged if len(sources) > 1 else set()
        return self._expanded(sources, merged, inner, scope.kept_as)

    def _expanded(self, sources: list[Source], merged: set[str], star: exp.Expr, kept_as: Mapping[str, str]) -> list[Output]:
        """Columns joined by USING come first and once, as in Spark."""
        dropped = {fold(one.name) for one in star.args.get("except_") or []}
        for one in star.args.get("except_") or []:
            if not any(fold(one.name) in source.by_key or source.is_open for source in sources):
                hint = did_you_mean(one.name, names_of(sources))
                self.problem("S221", f"EXCEPT names {one.name!r}, which is not a column here", self.place(one), hint)
        first: dict[str, Output] = {}
        rest: list[Output] = []
        for source in sources:
            for column in source.columns or ():
                key = fold(column.name) if column.name is not None else None
                if key is not None and key in merged:
                    first.setdefault(key, Output(kept_as.get(key, column.name), column.type))
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
        few = _few(names_of([source]))
        hint = did_you_mean(part.name, names_of([source])) or (f"{head} has: {', '.join(few)}" if few else None)
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
        if key in _WORDS or (key in spark_words() and not any(scope.column_names())):
            return None
        if qualifies is not None:
            names = (source.name for one in scope.around() for source in one.sources if source.name)
            hint = did_you_mean(name, chain(names, scope.column_names()))
            self.problem("S221", f"{name!r} is not a visible relation or column", self.place(node), hint)
            return None
        few = sorted(_few(scope.column_names()))
        hint = did_you_mean(name, scope.column_names()) or (f"visible columns: {', '.join(few)}" if few else None)
        self.problem("S221", f"unknown {self.what_names_are} {name!r}", self.place(node), hint)
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


def _few(names: Iterable[str]) -> list[str]:
    """The different names, where they are few enough to be listed; else none."""
    found: dict[str, None] = {}
    for name in names:
        found[name] = None
        if len(found) > _LISTED:
            return []
    return list(found)
