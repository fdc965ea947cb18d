"""A query whose rows fall into groups, each made of the rows with its own keys: so the groups that changed can be computed
anew, and all others stay.

It is a SELECT over relations (the block), and any number of SELECTs around it, each over nothing but the one within.

- FROM and WHERE of the block are as for groups that are kept (`aggregate_walk`).
- At first each column of the block is a key. GROUP BY leaves the keys that it names, a function with OVER those of its
  PARTITION BY, and a SELECT around those that it passes on as columns by themselves. Whatever else a SELECT does (WHERE,
  HAVING, DISTINCT, expressions), it does to rows with equal keys without a look at others.
- A key that is left is a column of the result: so the view's own rows say of which group they are. One is enough.
- What is computed of several rows is the same whatever their order, but for what is rounded, and for rows that tie in the
  ORDER BY of a window. Nothing in the query has another value each time. No LIMIT counts rows, no subquery stands beside.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from sqlglot import exp

from reconciler.base.dataclass import dataclass
from reconciler.base.names import fold, quoted
from reconciler.sql.aggregate_blocks import Reading, Refused, meaning_of
from reconciler.sql.aggregate_walk import AggregateWalk
from reconciler.sql.block_model import (
    NO_AGGREGATE,
    NOT_TOLD_APART,
    NOT_UNDERSTOOD,
    TAKES_TODAY,
    TOO_LARGE,
    BlockText,
    GroupedBlock,
    NotKept,
    RelationUse,
    Span,
)
from reconciler.sql.block_texts import block_text
from reconciler.sql.determinism import MOMENTS, NON_DETERMINISTIC, NON_DETERMINISTIC_WITHOUT_ARGUMENTS
from reconciler.sql.lexer import words_among
from reconciler.sql.limits import TooMuch
from reconciler.sql.linear_walk import items_of_from
from reconciler.sql.query import Parsed
from reconciler.sql.scopes import Output, Scope
from reconciler.sql.surroundings import QuerySurroundings
from reconciler.sql.times_of_today import may_take_today

_BY_CHANCE: Final = NON_DETERMINISTIC | NON_DETERMINISTIC_WITHOUT_ARGUMENTS | MOMENTS
_OF_NUMBERS: Final = (
    "sum try_sum avg try_avg mean std stddev stddev_samp stddev_pop variance var_samp var_pop skewness kurtosis"
)
_OF_PAIRS: Final = (
    "corr covar_samp covar_pop regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy"
)
_OF_ORDER: Final = "min max percentile quantile percentile_cont percentile_disc median"
_OTHERS: Final = "count count_if bit_and bit_or bit_xor bool_and bool_or every any some approx_count_distinct"
_WHATEVER_THE_ORDER: Final = frozenset(f"{_OF_NUMBERS} {_OF_PAIRS} {_OF_ORDER} {_OTHERS}".split())
_BY_PLACE: Final = "row_number rank dense_rank percent_rank cume_dist ntile"
_OF_A_ROW: Final = "lag lead first_value last_value nth_value first last"
_BY_THEIR_ORDER: Final = frozenset(f"{_BY_PLACE} {_OF_A_ROW}".split())
"""Functions with OVER. Of rows that tie, any may come first."""

_AROUND_CALLS: Final = (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)
_CLAUSES: Final = frozenset({"expressions", "from_", "joins", "where", "group", "having", "distinct", "order"})

Key: TypeAlias = Hashable
"""What a key of the block means there (`aggregate_blocks.meaning_of`)."""


@dataclass(frozen=True, slots=True)
class _Item:
    """Where the block gives a key: the item of its select list by itself, or the column of its `*` (`name`)."""

    node: exp.Expr
    at: int
    name: str | None


def grouped_block(
    query: str, relations: Mapping[str, Mapping[str, str | None]], around: QuerySurroundings
) -> GroupedBlock | NotKept:
    """The groups of a query. `relations` are as for `check.analyse_query`."""
    walk = AggregateWalk(relations, query, around)
    try:
        parsed = walk.read()
        return NOT_UNDERSTOOD if parsed is None else _of_query(walk, parsed)
    except (TooMuch, RecursionError):
        return TOO_LARGE


def _of_query(walk: AggregateWalk, parsed: Parsed) -> GroupedBlock | NotKept:
    layers = _layers(parsed.tree)
    if not any(_puts_together(walk, one) for one in layers):
        return NO_AGGREGATE
    why: NotKept | None = None
    # A SELECT within that puts no rows together is a layer like any other, or stands in the FROM of the block.
    for count in range(len(layers), 0, -1):
        try:
            return _block(walk, parsed, layers[:count])
        except Refused as refused:
            why = why or refused.why
        if _puts_together(walk, layers[count - 1]):
            break
    return why or NO_AGGREGATE


def _block(walk: AggregateWalk, parsed: Parsed, layers: Sequence[exp.Select]) -> GroupedBlock:
    """The groups of a query, the innermost of whose layers is the block."""
    node = layers[-1]
    rows = walk.rows(node)
    if isinstance(rows, NotKept):
        raise Refused(rows)
    _look_for_chance(walk, parsed)
    given = _given(walk, node)
    columns = _left(walk, node, [key for key, _ in given], lambda one: _meaning(walk, node, one), is_block=True)
    for layer in reversed(layers[:-1]):
        columns = _around(walk, layer, columns)
    keys = [key for key in dict.fromkeys(columns) if key is not None]
    if not keys:
        raise Refused(NotKept("no column of it is a key of all its groups and windows", "add a key to the select list"))
    text = block_text(walk.text, parsed.tokens, node)
    if text is None:
        raise Refused(NOT_TOLD_APART)
    items = dict(reversed(given))
    groups = walk.told_by(node, [items[key].node for key in keys if items[key].name is None], *rows)
    if isinstance(groups, NotKept):
        raise Refused(groups)
    reading = Reading(walk, parsed, node, groups)
    uses = reading.uses_of(text)
    return GroupedBlock(
        text,
        _end(parsed, text, is_whole=len(layers) == 1),
        uses,
        tuple(_text(reading, text, items[key]) for key in keys),
        tuple(columns.index(key) for key in keys),
        tuple(_column(key, uses) for key in keys),
        groups.fixed,
    )


def _layers(tree: exp.Expr) -> list[exp.Select]:
    """The SELECTs of a query, each over nothing but the next one; none of a query that is no SELECT."""
    found: list[exp.Select] = []
    node: exp.Expr | None = tree
    while isinstance(node, exp.Select):
        found.append(node)
        items = items_of_from(node)
        node = items[0].this if len(items) == 1 and isinstance(items[0], exp.Subquery) else None
    return found


def _puts_together(walk: AggregateWalk, node: exp.Select) -> bool:
    """Whether a SELECT makes rows of several."""
    if any(node.args.get(part) is not None for part in ("group", "having", "distinct")) or any(_windows(node)):
        return True
    return any(True for item in node.expressions for _ in walk.aggregates(item))


def _look_for_chance(walk: AggregateWalk, parsed: Parsed) -> None:
    chance = words_among(walk.text, _BY_CHANCE)
    if chance:
        raise Refused(NotKept(f"{min(chance)} may give another value each time", "put it into a view that reads this one"))
    if may_take_today(parsed.tokens, Span(0, len(walk.text))):
        raise Refused(TAKES_TODAY)


def _given(walk: AggregateWalk, node: exp.Select) -> list[tuple[Key | None, _Item]]:
    """The columns of the block: the key that each may be, and where it is given."""
    scope, _ = walk.seen[id(node)]
    found: list[tuple[Key | None, _Item]] = []
    for at, item in enumerate(node.expressions):
        if item.is_star:
            for name in _names_of_star(walk, item, scope):
                owners = scope.has(name) if name is not None and name not in scope.merged else []
                found.append((("column", owners[0].name, name) if len(owners) == 1 else None, _Item(item, at, name)))
        else:
            found.append((_meaning(walk, node, item.unalias()), _Item(item.unalias(), at, None)))
    return found


def _meaning(walk: AggregateWalk, node: exp.Select, one: exp.Expr) -> Key | None:
    """What an expression of the block means, where it may be a key."""
    scope, _ = walk.seen[id(node)]
    columns = [*one.find_all(exp.Column)]
    if not columns or any(not column.table and not scope.has(column.name) for column in columns):
        return None
    if one.find(exp.Window, exp.Query) is not None or any(True for _ in walk.aggregates(one)):
        return None
    return meaning_of(one, scope)


def _around(walk: AggregateWalk, node: exp.Select, within: Sequence[Key | None]) -> list[Key | None]:
    """The keys of the columns of a SELECT over one with these."""
    scope, _ = walk.seen[id(node)]
    source = items_of_from(node)[0]
    known = scope.columns
    is_plain = not any(part and name not in ("this", "alias") for name, part in source.args.items())
    if known is None or len(known) != len(within) or not is_plain:
        raise Refused(NOT_UNDERSTOOD)
    named: dict[str | None, Key | None] = {}
    for name, key in zip(_folded(known), within, strict=True):
        # Of two columns of one name, neither is a key.
        named[name] = key if name not in named else None

    def key_of(one: exp.Expr) -> Key | None:
        one = one.unnest()
        if not isinstance(one, exp.Column) or isinstance(one.this, exp.Star) or len(one.parts) > 2:
            return None
        return named.get(fold(one.name)) if not one.table or fold(one.table) == fold(source.alias) else None

    found: list[Key | None] = []
    for item in node.expressions:
        if item.is_star:
            found += [named.get(name) if name is not None else None for name in _names_of_star(walk, item, scope)]
        else:
            found.append(key_of(item.unalias()))
    return _left(walk, node, found, key_of)


def _left(
    walk: AggregateWalk,
    node: exp.Select,
    columns: Sequence[Key | None],
    key_of: Callable[[exp.Expr], Key | None],
    *,
    is_block: bool = False,
) -> list[Key | None]:
    """The keys of the columns of a SELECT that it leaves. `key_of` says which key an expression in it is."""
    _look_at_clauses(walk, node, is_block=is_block)
    groups = walk.grouping_keys(node, walk.seen[id(node)][0])
    if isinstance(groups, NotKept):
        raise Refused(groups)
    having = node.args.get("having")
    calls = [
        call
        for part in (*node.expressions, *([having.this] if having is not None else []))
        for call in walk.aggregates(part)
    ]
    if (calls or having is not None) and not groups:
        raise Refused(NotKept("all rows are one group in it", "put what is around it into a view of its own"))
    for call in calls:
        _look_at_function(walk, call, _WHATEVER_THE_ORDER)
    keys = {*columns}
    if groups:
        keys &= {key_of(one) for one in groups}
    for window in _windows(node):
        _look_at_function(walk, window.this, _WHATEVER_THE_ORDER | _BY_THEIR_ORDER)
        parts = window.args.get("partition_by") or ()
        if not parts:
            raise Refused(NotKept("a function with OVER and without PARTITION BY looks at all rows"))
        keys &= {key_of(one) for one in parts}
    return [key if key in keys else None for key in columns]


def _look_at_clauses(walk: AggregateWalk, node: exp.Select, *, is_block: bool) -> None:
    """Refuse what makes the rows of a SELECT depend on rows with other keys, or is not known to do so or not."""
    for name, part in node.args.items():
        if part and name not in _CLAUSES:
            word = "WINDOW" if name == "windows" else name.strip("_").upper()
            raise Refused(NotKept(f"{word} stands beside its groups or windows", "put it into a view that reads this one"))
    for part in ("expressions", "where", "group", "having"):
        clause = node.args.get(part)
        nodes = clause if isinstance(clause, list) else [clause] if clause is not None else []
        if not (is_block and part == "where") and any(one.find(exp.Query) is not None for one in nodes):
            raise Refused(NotKept("a subquery stands beside its groups or windows", "put it into a query around a view"))
    if any(isinstance(one, exp.Aliases) or walk.makes_rows(one) for item in node.expressions for one in item.walk()):
        raise Refused(NotKept("an item of its select list makes several rows"))


def _look_at_function(walk: AggregateWalk, call: exp.Expr, good: frozenset[str]) -> None:
    while isinstance(call, _AROUND_CALLS):
        call = call.this
    name = walk.name_of(call) if isinstance(call, exp.Func) else fold(type(call).__name__)
    if name not in good:
        raise Refused(NotKept(f"{name.upper()} may depend on the order of rows"))


def _windows(node: exp.Select) -> Iterator[exp.Window]:
    """The functions with OVER of a select list."""
    return (one for item in node.expressions for one in item.find_all(exp.Window))


def _names_of_star(walk: AggregateWalk, item: exp.Expr, scope: Scope) -> list[str | None]:
    columns = walk.star(item, scope) if isinstance(item, exp.Star | exp.Column) else None
    if columns is None:
        raise Refused(NotKept("the columns of its * are not known", "write the columns out"))
    return _folded(columns)


def _folded(columns: Sequence[Output]) -> list[str | None]:
    return [fold(column.name) if column.name is not None else None for column in columns]


def _end(parsed: Parsed, text: BlockText, *, is_whole: bool) -> int:
    """Where the query ends. ORDER BY decides nothing there."""
    if is_whole:
        return text.tail.start if text.tail is not None else text.whole.end
    return parsed.tokens[-1].end


def _text(reading: Reading, text: BlockText, item: _Item) -> str:
    """A key of the block, as an expression of its own."""
    if item.name is not None:
        return quoted(item.name)
    return reading.expression(text.items[item.at], reading.node.expressions[item.at]).of(reading.query)


def _column(key: Key, uses: Sequence[RelationUse]) -> tuple[int, str] | None:
    """The column that a key is, with the place of its relation."""
    if not isinstance(key, tuple) or key[0] != "column":
        return None
    named = [at for at, use in enumerate(uses) if use.is_linear and not use.within and fold(use.name) == key[1]]
    return (named[0], str(key[2])) if len(named) == 1 else None
