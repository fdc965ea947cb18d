"""The aggregate of a query that may be kept: the one SELECT that groups rows of relations, and where its parts stand in the
query's text.

- Its FROM names nothing but relations, joined, and SELECTs that are linear in theirs (`linear_walk`). What decides its
  groups is surely the same when it is computed again.
- Its aggregates are additive: COUNT, SUM and AVG of what surely are integers or decimals. Sums of floating numbers depend on
  the order of rows. Or they are one of the values: MIN, MAX and what is another name of these for booleans.
- COUNT(DISTINCT x) is there for one x. SELECT DISTINCT without aggregate groups by its items.
- All else in it names keys and aggregates only. What is around it may be anything: that reads its rows.
- Whatever is not surely understood has no such block, and the answer says what it is (`NotKept`).

Not here: what is made of it (`reconciler.incremental`), and whether it pays.
"""

from collections.abc import Hashable, Mapping, Sequence
from enum import Enum, auto
from typing import Final

from sqlglot import exp

from reconciler.base.names import fold
from reconciler.sql.aggregate_walk import AggregateWalk, Groups, below
from reconciler.sql.block_model import (
    NO_AGGREGATE,
    NOT_TOLD_APART,
    NOT_UNDERSTOOD,
    TAKES_TODAY,
    TOO_LARGE,
    AggregateBlock,
    AggregateCall,
    AliasUse,
    BlockText,
    KeyUse,
    NotKept,
    RelationUse,
    Span,
    Use,
)
from reconciler.sql.block_texts import block_text, means
from reconciler.sql.limits import TooMuch
from reconciler.sql.linear_walk import relation_uses, written_span
from reconciler.sql.places import own_offset
from reconciler.sql.query import Parsed
from reconciler.sql.references import relation_key
from reconciler.sql.repeatable import Number
from reconciler.sql.scopes import Scope
from reconciler.sql.surroundings import QuerySurroundings
from reconciler.sql.times_of_today import may_take_today
from reconciler.sql.token_lists import closing

_KINDS: Final = {
    **dict.fromkeys(("count", "count_if"), "count"),
    **dict.fromkeys(("avg", "mean"), "avg"),
    **dict.fromkeys(("min", "every", "bool_and"), "min"),
    **dict.fromkeys(("max", "any", "some", "bool_or"), "max"),
    "sum": "sum",
}


def aggregate_block(
    query: str, relations: Mapping[str, Mapping[str, str | None]], around: QuerySurroundings
) -> AggregateBlock | NotKept:
    """The aggregate of a query that may be kept. `relations` are as for `check.analyse_query`."""
    walk = AggregateWalk(relations, query, around)
    try:
        parsed = walk.read()
        return NOT_UNDERSTOOD if parsed is None else _only_block(walk, parsed)
    except (TooMuch, RecursionError):
        return TOO_LARGE


def _only_block(walk: AggregateWalk, parsed: Parsed) -> AggregateBlock | NotKept:
    good = [(node, groups) for node, groups in walk.found if isinstance(groups, Groups)]
    if len(good) == 1:
        return Reading(walk, parsed, *good[0]).block()
    if good:
        return NotKept("it has several aggregates, and one is kept", "put each into a MATERIALIZED view of its own")
    refused = [groups for _, groups in walk.found if isinstance(groups, NotKept)]
    return refused[0] if refused else NO_AGGREGATE


class _Clause(Enum):
    ITEM = auto()
    HAVING = auto()
    ORDER = auto()


class Refused(Exception):
    """A block can't be kept, or its groups not be computed one by one. Whoever reads a block catches it."""

    def __init__(self, why: NotKept) -> None:
        self.why = why


class Reading:
    """One good block, read out of the text."""

    def __init__(self, walk: AggregateWalk, parsed: Parsed, node: exp.Select, groups: Groups) -> None:
        self.walk = walk
        self.query = walk.text
        self.parsed = parsed
        self.tokens = parsed.tokens
        self.tree = parsed.tree
        self.node = node
        self.groups = groups
        self.keys = [meaning_of(key, groups.scope) for key in groups.keys]
        self.plain = {fold(item.name) for item in node.expressions if isinstance(item, exp.Column)}
        self.aliases: dict[str, int] = {}
        for at, item in enumerate(node.expressions):
            if isinstance(item, exp.Alias):
                self.aliases.setdefault(fold(item.alias), at)

    def block(self) -> AggregateBlock | NotKept:
        text = block_text(self.query, self.tokens, self.node)
        if text is None:
            return NOT_TOLD_APART
        if may_take_today(self.tokens, text.whole):
            return TAKES_TODAY
        try:
            items = tuple(self.expression(span, item) for span, item in zip(text.items, self.node.expressions, strict=True))
            uses = self._all_uses(items)
            calls = [use for use in uses if isinstance(use, AggregateCall) and use.kind == "distinct"]
            if len({" ".join(call.argument.split()) for call in calls}) > 1:
                hint = "put each count into a MATERIALIZED view of its own"
                return NotKept("COUNT(DISTINCT …) of several expressions has no rule", hint)
            relations = self.uses_of(text)
            return AggregateBlock(
                text,
                relations,
                self.key_texts(text, items),
                tuple(column_of(key, relations, self.groups.scope) for key in self.keys),
                uses,
                items,
                self.groups.fixed,
                self._elsewhere(),
                not self.groups.keys and self.node.args.get("group") is None,
            )
        except Refused as refused:
            return refused.why

    def _elsewhere(self) -> frozenset[str]:
        own = {id(table) for table in self.node.find_all(exp.Table)}
        others = (table for table in self.tree.find_all(exp.Table) if id(table) not in own)
        return frozenset(key for table in others if (key := relation_key(table)) in self.walk.relations)

    def uses_of(self, text: BlockText) -> tuple[RelationUse, ...]:
        """The relations of the block. Raises Refused where their places in the text are not known."""
        found = relation_uses(self.walk, self.node, self.groups.uses, self.parsed, text, self.groups.keyed)
        if found is None:
            raise Refused(NOT_TOLD_APART)
        return found

    def key_texts(self, text: BlockText, items: tuple[Span, ...]) -> tuple[str, ...]:
        """What each key is, be it written so in GROUP BY, or an item's number or alias; of SELECT DISTINCT the items."""
        if self.node.args.get("group") is None:
            return tuple(span.of(self.query) for span in items) if self.groups.keys else ()
        found = []
        for key, span in zip(self.groups.keys, text.keys, strict=True):
            written = span.of(self.query)
            if not means(written, key):
                place = next((at for at, one in enumerate(self.node.expressions) if one.unalias() is key), None)
                if place is None:
                    raise Refused(NOT_TOLD_APART)
                written = items[place].of(self.query)
            found.append(written)
        return tuple(found)

    def expression(self, span: Span, item: exp.Expr) -> Span:
        """An item of the select list without its alias."""
        if not isinstance(item, exp.Alias):
            return span
        tokens = [token for token in self.tokens if span.start <= token.start and token.end <= span.end]
        for count in (2, 1):
            if len(tokens) > count and (count == 1 or tokens[-2].is_word("AS")):
                inner = Span(span.start, tokens[-count - 1].end)
                if means(inner.of(self.query), item.this):
                    return inner
        raise Refused(NOT_TOLD_APART)

    def _all_uses(self, items: tuple[Span, ...]) -> tuple[Use, ...]:
        found: list[Use] = []
        for item, span in zip(self.node.expressions, items, strict=True):
            uses = self._uses(item.unalias(), _Clause.ITEM, span)
            if uses and not isinstance(item, exp.Alias):
                if not isinstance(item, exp.Column):
                    # Spark names it after its text, which is another one over what is kept.
                    raise Refused(NotKept("an item of its select list has no name", "name it: … AS name"))
                uses = [KeyUse(use.span, use.key, item.name) for use in uses if isinstance(use, KeyUse)]
            found += uses
        having, order = self.node.args.get("having"), self.node.args.get("order")
        if having is not None:
            found += self._uses(having.this, _Clause.HAVING)
        for one in order.expressions if order is not None else ():
            found += self._uses(one, _Clause.ORDER)
        return tuple(sorted(found, key=lambda use: use.span.start))

    def _uses(self, node: exp.Expr, clause: _Clause, whole: Span | None = None) -> list[Use]:
        """The places below a node that name keys, aggregates or aliases. `whole`: where it stands, if that is known."""
        if (
            isinstance(node, exp.Column)
            and clause is not _Clause.ITEM
            and not node.table
            and fold(node.name) in self.aliases
        ):
            return self._alias(node, clause)
        meaning = meaning_of(node, self.groups.scope)
        if clause is _Clause.ORDER and isinstance(node, exp.Column) and not node.table:
            # ORDER BY knows the columns of the result before those of FROM: `SELECT s.v … ORDER BY v`.
            named = {meaning_of(item, self.groups.scope) for item in self.node.expressions if _is_named(item, node)}
            if named - {meaning}:
                raise Refused(NotKept(f"{node.name} in ORDER BY may mean a column or an item", "give the item another name"))
        if meaning in self.keys:
            span = whole or self._span(node)
            if span is None:
                raise Refused(NotKept("a key of GROUP BY is part of an expression", "name the key in a query around it"))
            return [KeyUse(span, self.keys.index(meaning))]
        if isinstance(node, exp.Query):
            raise Refused(NotKept("a subquery stands beside its aggregates", "join it in a query around it"))
        if isinstance(node, exp.Column):
            hint = None
            if not node.table and fold(node.name) in self.aliases and not self.groups.scope.has(node.name):
                hint = "an item can't name another one here: write it out"
            raise Refused(NotKept(f"{node.name} is neither a key nor in an aggregate that is kept", hint))
        if self.walk.is_aggregate(node):
            return [self._call(node, clause)]
        return [use for child in below(node) for use in self._uses(child, clause)]

    def _alias(self, node: exp.Column, clause: _Clause) -> list[Use]:
        """A name behind the select list that is an item's alias. ORDER BY means the item, whose name stays."""
        at, span = self.aliases[fold(node.name)], self._span(node)
        if clause is _Clause.ORDER:
            return []
        names = [fold(item.alias) for item in self.node.expressions if isinstance(item, exp.Alias)]
        is_same = meaning_of(node, self.groups.scope) == meaning_of(self.node.expressions[at].this, self.groups.scope)
        if span is None or names.count(fold(node.name)) > 1 or (self.groups.scope.has(node.name) and not is_same):
            raise Refused(NotKept(f"{node.name} in HAVING may mean a column or an item", "give the item another name"))
        return [AliasUse(span, at)]

    def _call(self, node: exp.Expr, clause: _Clause) -> AggregateCall:
        condition = node.expression.this if isinstance(node, exp.Filter) else None
        call = node.this if isinstance(node, exp.Filter) else node
        name = self.walk.name_of(call) if isinstance(call, exp.Func) else fold(type(call).__name__)
        is_distinct = isinstance(call.this, exp.Distinct)
        if is_distinct and (name != "count" or condition is not None or not _is_one_value(call.this)):
            raise Refused(
                NotKept(f"{name.upper()}(DISTINCT …) has no rule", "group a view by what it takes, and count that")
            )
        if name not in _KINDS:
            raise Refused(NotKept(f"{name.upper()} has no rule", "an aggregate that has one may stand in a view of its own"))
        if node.find(exp.Query) is not None:
            raise Refused(NotKept("an aggregate has a subquery in it", "join it in FROM"))
        span, argument = self._span(node), self._argument(call)
        filtered = None if condition is None or span is None else self._condition(condition, span)
        if span is None or argument is None or (condition is not None and filtered is None):
            raise Refused(NOT_TOLD_APART)
        names = {fold(one.name) for one in node.find_all(exp.Column) if not one.table}
        if clause is not _Clause.ITEM and not names.isdisjoint(self.aliases):
            raise Refused(NotKept("an aggregate behind its select list may mean an item", "qualify the columns in it"))
        taken = call.this if is_distinct else call
        parts = [one for one in taken.iter_expressions() if not isinstance(one, exp.Star)]
        parts += [condition] if condition is not None else []
        values = [self.walk.value_over_rows(one, self.groups.scope, self.groups.named) for one in parts]
        if not all(value.repeatable for value in values):
            raise Refused(NotKept(f"what {name.upper()} takes may have another value each time"))
        written = self.query[span.start :].partition("(")[0].strip()
        kind, number = "distinct" if is_distinct else _KINDS[name], values[0].number if values else None
        if kind in ("sum", "avg") and number not in (Number.INTEGER, Number.DECIMAL):
            shown = " ".join(argument.split())
            why = f"{name.upper()}({shown}) does not surely add up integers or decimals"
            hint = "cast it to DECIMAL: its type is another or not known here, and floating sums depend on the order of rows"
            raise Refused(NotKept(why, hint))
        return AggregateCall(span, kind, written, argument, filtered, number if kind in ("sum", "avg") else None)

    def _argument(self, call: exp.Expr) -> str | None:
        """The text between the parentheses of a call, without DISTINCT."""
        opening = self._opening(call)
        end = closing(self.tokens, opening) if opening is not None else None
        if opening is None or end is None or end == opening + 1:
            return None
        if isinstance(call.this, exp.Distinct):
            text = self.query[self.tokens[opening + 2].start : self.tokens[end - 1].end]
            is_right = self.tokens[opening + 1].is_word("DISTINCT") and means(text, call.this.expressions[0])
            return text if is_right else None
        text = self.query[self.tokens[opening + 1].start : self.tokens[end - 1].end]
        return text if means(f"{self.tokens[opening - 1].text}({text})", call) else None

    def _condition(self, node: exp.Expr, call: Span) -> str | None:
        """The text of the condition of a FILTER, which ends a call."""
        inside = [token for token in self.tokens if call.start <= token.start and token.end <= call.end]
        for place, token in enumerate(inside):
            if token.is_word("FILTER") and place + 3 < len(inside) - 1 and inside[place + 2].is_word("WHERE"):
                text = self.query[inside[place + 3].start : inside[-2].end]
                if means(text, node):
                    return text
        return None

    def _opening(self, call: exp.Expr) -> int | None:
        start = own_offset(call)
        place = next((at for at, token in enumerate(self.tokens) if token.start == start), None)
        if place is None or place + 1 >= len(self.tokens) or not self.tokens[place + 1].is_symbol("("):
            return None
        return place + 1

    def _span(self, node: exp.Expr) -> Span | None:
        """Where a column, or a call with its FILTER, stands."""
        found: Span | None = None
        if isinstance(node, exp.Column):
            spans = [written_span(part) for part in node.parts]
            known = [span for span in spans if span is not None]
            found = Span(known[0].start, known[-1].end) if known and len(known) == len(spans) else None
        elif (opening := self._opening(node.this if isinstance(node, exp.Filter) else node)) is not None:
            end = closing(self.tokens, opening)
            if isinstance(node, exp.Filter) and end is not None:
                is_filter = end + 2 < len(self.tokens) and self.tokens[end + 1].is_word("FILTER")
                end = closing(self.tokens, end + 2) if is_filter else None
            found = Span(self.tokens[opening - 1].start, self.tokens[end].end) if end is not None else None
        return found if found is not None and means(found.of(self.query), node) else None


def _is_one_value(distinct: exp.Distinct) -> bool:
    """Whether DISTINCT takes one expression that may be a key: a number by itself would be that of an item."""
    return len(distinct.expressions) == 1 and not isinstance(distinct.expressions[0].unnest(), exp.Literal)


def _is_named(item: exp.Expr, column: exp.Column) -> bool:
    """Whether an item without an alias has the name of a column."""
    return isinstance(item, exp.Column | exp.Dot) and fold(item.name) == fold(column.name)


def meaning_of(node: exp.Expr, scope: Scope) -> Hashable:
    """Equal for expressions that surely are the same in a block: columns by source and name, literals by their text."""
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
        if len(node.parts) > 2:
            return ("field", *(fold(part.name) for part in node.parts))
        if node.table:
            return ("column", fold(node.table), fold(node.name))
        # A column that USING joined may be that of either side.
        owners = scope.has(node.name) if fold(node.name) not in scope.merged else []
        return ("column", owners[0].name if len(owners) == 1 else "", fold(node.name))
    parts: list[Hashable] = [type(node).__name__]
    for name, part in sorted(node.args.items()):
        if isinstance(part, list):
            parts.append((name, *(meaning_of(one, scope) if isinstance(one, exp.Expr) else one for one in part)))
        elif part is not None and part is not False:
            parts.append((name, meaning_of(part, scope) if isinstance(part, exp.Expr) else part))
    return tuple(parts)


def column_of(key: Hashable, uses: Sequence[RelationUse], scope: Scope) -> tuple[int, str] | None:
    """The column that a key (`meaning_of`) is, with the place of its relation. Where a column has the name of the relation,
    `name.x` may be a field of it."""
    if not isinstance(key, tuple) or key[0] != "column" or scope.has(str(key[1])):
        return None
    found = []
    for at, use in enumerate(uses):
        if use.is_linear and not use.within and fold(use.name) == key[1]:
            found.append((at, str(key[2])))
        if use.is_linear:
            found += [(at, column) for column, alias, name in use.shown if (alias, name) == key[1:]]
    return found[0] if len(found) == 1 else None
