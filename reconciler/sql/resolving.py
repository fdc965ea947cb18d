"""The names inside a query block: which columns they mean, what is read by them, and which mean nothing.

Columns are looked for by the rules of `scopes`; a name that could belong to something unknown is let be, and noted as read
from all that may have it. Where a name may mean one of several, its value is made of all of them.

Why not `qualify` of sqlglot's optimizer? It was tried (30.30) on 1,690 queries of our tests that Spark takes. It refuses 44:
columns of `window(…)`, PIVOT and UNPIVOT, two relations of one name, LATERAL VIEW without names of columns, a field of a
structure where a block around has a relation of that name, relations whose columns are unknown. For 45 it gives other
columns than Spark: of VALUES, of generators with names, of `*` where a relation beside a join by USING has a column of that
name. In WHERE it takes the name of an item where Spark takes the column of a block around. It stops at the first problem,
rewrites the tree and forgets places, tells nothing of types, rows or what is repeatable, and takes 1.4 times as long as all
that is found here at once.
"""

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Final

from sqlglot import exp

from reconciler.base.names import did_you_mean, fold
from reconciler.sql.limits import HINT_OF_BROUGHT, MAXIMUM_PROBLEMS, TOO_MUCH_BROUGHT, Brought, TooMuch
from reconciler.sql.places import offset_of
from reconciler.sql.problems import Problem
from reconciler.sql.repeatable import Number
from reconciler.sql.scopes import CONSTANT, Output, Reads, Scope, Source, Sources, Value, either, names_of
from reconciler.sql.surroundings import QuerySurroundings
from reconciler.sql.words import spark_words

# Units of time stand where a column could.
_UNIT_LIST: Final = (
    "year years quarter month months week weeks day days dayofyear hour hours minute minutes second seconds "
    "millisecond milliseconds microsecond microseconds"
)
_UNITS: Final = frozenset(_UNIT_LIST.split())
# Bare words that Spark reads as values where a column would otherwise stand.
_WORD_LIST: Final = (
    "current_date current_timestamp current_time current_user user session_user localtimestamp current_catalog "
    "current_database current_schema grouping__id spark_grouping_id _metadata unbounded default quarters"
)
_WORDS: Final = frozenset(_WORD_LIST.split())
_LISTED: Final = 20
_NONE: Final[Sources] = frozenset()
_PAIRS_OF_A_COLUMN: Final = 10
"""So many columns that a value descends from are as much work as one column that is brought."""


class Resolver:
    """The state of the walk: what is known, what was read, what is wrong."""

    what_names_are = "column"
    """What messages call a name that stands for nothing known."""

    def __init__(self, relations: Mapping[str, Mapping[str, str | None]], text: str, around: QuerySurroundings) -> None:
        """`relations` as for `check.analyse_query`."""
        self.relations = relations
        self.text = text
        self.ansi = around.ansi
        self.functions = around.functions
        self.steady = around.steady
        self.refused = around.refused
        self.brought = Brought(around.limit)
        self.reads = Reads(relations)
        self.problems: list[Problem] = []
        self.may_have_time_windows = "window" in text.lower()
        self.is_traced = True
        self.pairs = Brought(around.limit)
        self.saw_chance = False

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

    def beyond(self) -> None:
        """The walk does not surely know what it met: the query has no lineage then."""
        self.is_traced = False

    def only(self, node: exp.Expr, *known: str) -> None:
        """A node is beyond the walk if it has anything but these parts."""
        for part, content in node.args.items():
            if content and part not in known:
                self.is_traced = False

    def trace(self, sources: Sources) -> None:
        """Count sources that a value or the rows of a query bring along."""
        try:
            self.pairs.add(len(sources) // _PAIRS_OF_A_COLUMN)
        except TooMuch:
            self.is_traced = False

    def made_of(self, values: Iterable[Value], kind: str | None = None, number: Number | None = None) -> Value:
        """A value of this type that is made of all of these."""
        if not self.is_traced:
            return CONSTANT if kind is None else Value(kind, _NONE, True, None)
        sources, repeatable = [], True
        for value in values:
            if value.sources:
                sources.append(value.sources)
            repeatable = repeatable and value.repeatable
        return Value(kind, sources[0] if len(sources) == 1 else _NONE.union(*sources), repeatable, number)

    def star(self, node: exp.Expr, scope: Scope) -> list[Output] | None:
        """The columns of `*` or `a.*`, less EXCEPT's; None when they are not known."""
        inner = node.this if isinstance(node, exp.Column) else node
        self.only(inner, "except_")
        sources, columns, is_shaped = scope.sources, scope.shape, scope.is_shaped
        if isinstance(node, exp.Column):
            found = scope.named.get(fold(node.table))
            if not found:
                self._outer_star(node, scope)
                return None
            if len(node.parts) != 2:
                self.beyond()
            sources, columns, is_shaped = found, [column for source in found for column in source.columns or ()], True
        self.bring(len(columns), node)
        for source in sources:
            self.reads.everything(source)
        is_known = is_shaped and all(source.columns is not None for source in sources)
        kept = self._less_dropped(inner, sources, columns)
        if not is_known or kept is None or inner.args.get("replace") or inner.args.get("rename"):
            self.beyond()
            return None
        return kept

    def _outer_star(self, node: exp.Column, scope: Scope) -> None:
        """What `a.*` reads where `a` is no source of its own block: one of a block around it, or the fields of a column."""
        self.beyond()
        outer = next((found for one in scope.around() if (found := one.source(node.table)) is not None), None)
        if outer is not None:
            self.reads.everything(outer)
        else:
            self.column_named(node.table, node, scope)

    def _less_dropped(self, star: exp.Expr, sources: list[Source], columns: list[Output]) -> list[Output] | None:
        """The columns without those that EXCEPT leaves out; None where it is not known which these are."""
        names: set[str] = set()
        of_sources: set[int] = set()
        is_known = True
        for one in star.args.get("except_") or ():
            if isinstance(one, exp.Column) and len(one.parts) > 1:
                found = self._column_of_one(one, sources)
                of_sources.add(id(found))
                is_known = is_known and found is not None
                continue
            names.add(fold(one.name))
            if not any(fold(one.name) in source.by_key or source.is_open for source in sources):
                hint = did_you_mean(one.name, names_of(sources))
                self.problem("S221", f"EXCEPT names {one.name!r}, which is not a column here", self.place(one), hint)
        if names and not names <= {fold(column.name) for column in columns if column.name is not None}:
            self.beyond()
        if not is_known or len(of_sources & {*map(id, columns)}) < len(of_sources):
            return None
        return [
            column
            for column in columns
            if id(column) not in of_sources and (column.name is None or fold(column.name) not in names)
        ]

    def _column_of_one(self, node: exp.Column, sources: list[Source]) -> Output | None:
        """The column that `a.x` surely is: of the one source with that name, and no field of a structure."""
        head = node.parts[0].name
        owners = [source for source in sources if source.name == fold(head)]
        if len(node.parts) > 2 or len(owners) != 1:
            return None
        found = owners[0].by_key.get(fold(node.name))
        if found is None and not owners[0].is_open and not any(fold(head) in source.by_key for source in sources):
            self._unknown_in(owners[0], head, node.parts[1])
        return found

    def column(self, node: exp.Column, scope: Scope) -> Value:
        """What a column reference means."""
        parts = node.parts
        if len(parts) == 1:
            return self.column_named(node.name, node, scope)
        head, second = parts[0].name, parts[1].name
        key, key_of_second = fold(head), fold(second)
        lacking: Source | None = None
        for one in scope.around():
            if key in one.parameters:
                return CONSTANT
            sources = one.named.get(key, ())
            owners = [source for source in sources if key_of_second in source.by_key]
            for source in owners:
                self.reads.column(source, second)
            if owners:
                found = [source.by_key[key_of_second].value for source in owners]
                found += self._structures(head, key_of_second, one)
                value = found[0] if len(found) == 1 else either(found)
                return value if len(parts) == 2 else value.untyped
            for source in sources:
                if source.is_open:
                    self.beyond()
                    self.reads.column(source, second)
                    return CONSTANT
                lacking = lacking or source
            if key in one.aliases or any(key in source.by_key for source in one.sources):
                return self.column_named(head, parts[0], one, qualifies=second).untyped
        if lacking is not None:
            self._unknown_in(lacking, head, parts[1])
            return CONSTANT
        return self.column_named(head, parts[0], scope, qualifies=second).untyped

    def _structures(self, head: str, second: str, scope: Scope) -> list[Value]:
        """The values `head` whose field `second` (folded) may be meant, though a relation `head` has that column, too:
        an item of the select list, in the clauses after it; a column, where a join by USING hides the relation's."""
        key = fold(head)
        found = [scope.aliases[key].untyped] if scope.is_relaxed and key in scope.aliases else []
        if second in scope.merged:
            for source in scope.has(head):
                self.reads.column(source, head)
                found.append(source.by_key[key].value.untyped)
        return found

    def _unknown_in(self, source: Source, head: str, part: exp.Expr) -> None:
        self.beyond()
        few = _few(names_of([source]))
        hint = did_you_mean(part.name, names_of([source])) or (f"{head} has: {', '.join(few)}" if few else None)
        self.problem("S221", f"{head} has no column {part.name!r}", self.place(part), hint)

    def column_named(self, name: str, node: exp.Expr, scope: Scope, qualifies: str | None = None) -> Value:
        """Resolve a plain name. `qualifies`: it stands before a point, so it may have been meant as a relation."""
        key = fold(name)
        found: list[Value] = []
        may_be_any = is_around = False
        for one in scope.around():
            if key in one.parameters:
                return either([CONSTANT, *found])
            owners = one.has(name)
            for source in owners:
                self.reads.column(source, name)
                found.append(source.by_key[key].value)
            if key in one.aliases and (one.is_relaxed or not owners):
                found.append(one.aliases[key])
            # Of its own select list, an expression knows the names before it, as does WHERE none.
            may_be_any = may_be_any or one.is_open or (key in one.coming and (one.is_relaxed or is_around))
            is_around = is_around or not one.parameters
            for source in one.sources:
                if source.columns is None:
                    self.reads.everything(source)
            if owners:
                self._judge_owners(name, node, one, owners)
                break
            if one.is_open and not found:
                self.beyond()
        if found:
            return found[0] if len(found) == 1 else either(found)
        if key in _UNITS:
            return CONSTANT
        self.beyond()
        is_word = key in _WORDS or (key in spark_words() and not any(scope.column_names()))
        if not may_be_any and not is_word:
            self._unknown(name, node, scope, qualifies)
        return CONSTANT

    def _judge_owners(self, name: str, node: exp.Expr, scope: Scope, owners: list[Source]) -> None:
        """A name that several sources have is ambiguous, unless it is joined, or a name of the select list, too."""
        key = fold(name)
        if len(owners) > 1 and key not in scope.merged and not (scope.is_relaxed and key in {*scope.aliases, *scope.coming}):
            places = ", ".join(sorted(f"{source.name}.{name}" for source in owners if source.name))
            self.problem("S222", f"column {name!r} is ambiguous", self.place(node), f"write one of: {places}")

    def _unknown(self, name: str, node: exp.Expr, scope: Scope, qualifies: str | None) -> None:
        if qualifies is not None:
            names = (source.name for one in scope.around() for source in one.sources if source.name)
            hint = did_you_mean(name, chain(names, scope.column_names()))
            self.problem("S221", f"{name!r} is not a visible relation or column", self.place(node), hint)
            return
        few = sorted(_few(scope.column_names()))
        hint = did_you_mean(name, scope.column_names()) or (f"visible columns: {', '.join(few)}" if few else None)
        self.problem("S221", f"unknown {self.what_names_are} {name!r}", self.place(node), hint)


def _few(names: Iterable[str]) -> list[str]:
    """The different names, where they are few enough to be listed; else none."""
    found: dict[str, None] = {}
    for name in names:
        found[name] = None
        if len(found) > _LISTED:
            return []
    return list(found)
