"""A query whose rows fall into groups, each made of the rows with its own keys: so the groups that changed can be computed
anew, and all others stay.

It is a SELECT over relations (a block), or several that UNION, INTERSECT and EXCEPT put together, and any number of SELECTs
around it, each over nothing but the query within.

- FROM and WHERE of a block are as for groups that are kept (`aggregate_walk`).
- At first each column of a block is a key. GROUP BY leaves the keys that it names, a function with OVER those of its
  PARTITION BY, and a SELECT around those that it passes on as columns by themselves. Whatever else a SELECT does (WHERE,
  HAVING, DISTINCT, expressions), it does to rows with equal keys without a look at others.
- A set operation leaves the keys that its sides have in the same place, with the same type: equal rows have equal keys.
- A key that is left is a column of the result: so the view's own rows say of which group they are. One is enough.
- Any function may put the rows of a group together. Where it depends on their order (`collect_list`, `row_number` of rows
  that tie, the last digits of a sum of doubles), a group that did not change keeps what it had.
- Nothing in the query has another value each time. No LIMIT counts rows, no subquery stands beside.
"""

import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice, product
from typing import Final, TypeAlias, TypeVar

from sqlglot import exp

from reconciler.base.dataclass import dataclass
from reconciler.base.names import fold, quoted
from reconciler.sql.aggregate_blocks import Reading, Refused, column_of, meaning_of
from reconciler.sql.aggregate_walk import AggregateWalk
from reconciler.sql.block_model import (
    NO_AGGREGATE,
    NOT_TOLD_APART,
    NOT_UNDERSTOOD,
    TAKES_TODAY,
    TOO_LARGE,
    BlockText,
    GroupedBlock,
    GroupedQuery,
    NotKept,
    Span,
)
from reconciler.sql.block_texts import block_text
from reconciler.sql.determinism import MOMENTS, NON_DETERMINISTIC, NON_DETERMINISTIC_WITHOUT_ARGUMENTS
from reconciler.sql.group_keys import keys_left, windows_of
from reconciler.sql.joined_columns import items_of_from
from reconciler.sql.lexer import words_among
from reconciler.sql.limits import TooMuch
from reconciler.sql.linear_walk import Origin
from reconciler.sql.query import Parsed
from reconciler.sql.scopes import Output, Scope
from reconciler.sql.surroundings import QuerySurroundings
from reconciler.sql.times_of_today import may_take_today

_BY_CHANCE: Final = NON_DETERMINISTIC | NON_DETERMINISTIC_WITHOUT_ARGUMENTS | MOMENTS

Key: TypeAlias = Hashable
"""What a key means: in a block (`aggregate_blocks.meaning_of`); after a set operation, in each of its blocks."""


_NO_KEY: Final = NotKept(
    "no column of its result is a key of all its groups, windows and set operations",
    "add a key to the select list; both sides of a set operation need the same type there",
)

_EXACT: Final = re.compile(r"(TINYINT|SMALLINT|INT|INTEGER|BIGINT|FLOAT|DOUBLE|DECIMAL\(\d+, ?\d+\)|BOOLEAN|STRING|DATE)")
_MOST_TRIED: Final = 16
"""Of ways to tell the blocks of a query."""

_Key = TypeVar("_Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class _Item:
    """Where a block gives a key: the item of its select list by itself, or the column of its `*` (`name`)."""

    node: exp.Expr
    at: int
    name: str | None


@dataclass(frozen=True, slots=True)
class _Block:
    """A SELECT over relations, what it reads, and where it gives what may be keys."""

    node: exp.Select
    rows: Origin
    items: Mapping[Key, _Item]


@dataclass(frozen=True, slots=True)
class _Rows:
    """What a query gives: its blocks, and of each column the type (None: not known) and the key that it is, as it is called
    in each block (None: it is none)."""

    blocks: tuple[_Block, ...]
    types: tuple[str | None, ...]
    keys: tuple[tuple[Key, ...] | None, ...]


def grouped_blocks(
    query: str, relations: Mapping[str, Mapping[str, str | None]], around: QuerySurroundings
) -> GroupedQuery | NotKept:
    """The groups of a query. `relations` are as for `check.analyse_query`."""
    walk = AggregateWalk(relations, query, around)
    try:
        parsed = walk.read()
        return NOT_UNDERSTOOD if parsed is None else _of_query(walk, parsed)
    except Refused as refused:
        return refused.why
    except (TooMuch, RecursionError):
        return TOO_LARGE


def _of_query(walk: AggregateWalk, parsed: Parsed) -> GroupedQuery:
    if not _puts_together(walk, parsed.tree):
        raise Refused(NO_AGGREGATE)
    _look_for_chance(walk, parsed)
    found = _with_keys(walk, parsed.tree)
    keys = [key for key in dict.fromkeys(found.keys) if key is not None]
    blocks = tuple(_grouped_block(walk, parsed, block, [key[at] for key in keys]) for at, block in enumerate(found.blocks))
    return GroupedQuery(blocks, tuple(found.keys.index(key) for key in keys), _end(parsed, blocks[0].text, found.blocks[0]))


def _end(parsed: Parsed, text: BlockText, block: _Block) -> int:
    """Where a query ends, less an ORDER BY of the whole."""
    has_windows = any(block.node.args.get(part) for part in ("windows", "qualify"))
    is_cut = block.node is parsed.tree and text.tail is not None and not has_windows
    return text.tail.start if is_cut and text.tail is not None else parsed.tokens[-1].end


def _grouped_block(walk: AggregateWalk, parsed: Parsed, block: _Block, keys: Sequence[Key]) -> GroupedBlock:
    """A block by these of its keys."""
    items = [block.items[key] for key in keys]
    text = block_text(walk.text, parsed.tokens, block.node, has_windows=True)
    groups = walk.groups_by(block.node, [one.node for one in items if one.name is None], block.rows)
    if text is None or isinstance(groups, NotKept):
        raise Refused(groups if isinstance(groups, NotKept) else NOT_TOLD_APART)
    reading = Reading(walk, parsed, block.node, groups)
    uses = reading.uses_of(text)
    texts = tuple(_text(reading, text, one) for one in items)
    return GroupedBlock(text, uses, texts, tuple(column_of(key, uses, groups.scope) for key in keys), groups.fixed)


def _with_keys(walk: AggregateWalk, tree: exp.Expr) -> _Rows:
    """What a query gives, by blocks with which it has keys."""
    refused: list[Refused] = []
    for found in islice(_rows(walk, tree, refused), _MOST_TRIED):
        if any(key is not None for key in found.keys):
            return found
    raise refused[0] if refused else Refused(_NO_KEY)


def _rows(walk: AggregateWalk, node: exp.Expr, refused: list[Refused]) -> Iterator[_Rows]:
    """What a query gives, by its innermost SELECTs first. What puts no rows together may as well stand in the FROM of a
    block: then a column that is computed there may be a key. `refused` takes why others are no blocks."""
    if isinstance(node, exp.SetOperation):
        sides = (
            islice(_rows(walk, _without_parentheses(one), refused), _MOST_TRIED) for one in (node.this, node.expression)
        )
        for left, right in product(*sides):
            yield from _unless_refused(partial(_of_both, node, left, right), refused)
        return
    if not isinstance(node, exp.Select):
        refused.append(Refused(NOT_UNDERSTOOD))
        return
    within = _within(node)
    for inner in _rows(walk, within, refused) if within is not None else ():
        yield from _unless_refused(partial(_around, walk, node, inner), refused)
    if within is None or not _puts_together(walk, within):
        yield from _unless_refused(partial(_of_block, walk, node), refused)


def _unless_refused(read: Callable[[], _Rows], refused: list[Refused]) -> Iterator[_Rows]:
    try:
        found = read()
    except Refused as why:
        refused.append(why)
    else:
        yield found


def _within(node: exp.Expr) -> exp.Expr | None:
    """The query that a SELECT reads, if it reads nothing else."""
    items = items_of_from(node) if isinstance(node, exp.Select) else []
    return items[0].this if len(items) == 1 and isinstance(items[0], exp.Subquery) else None


def _of_both(node: exp.SetOperation, left: _Rows, right: _Rows) -> _Rows:
    """What a set operation gives, by its sides."""
    if any(part and name not in ("this", "expression", "distinct", "order") for name, part in node.args.items()):
        raise Refused(NotKept("a set operation with more to it has no rule"))
    if len(left.keys) != len(right.keys):
        raise Refused(NOT_UNDERSTOOD)
    pairs = list(zip(left.types, right.types, strict=True))
    keys = tuple(
        (*one, *other) if one is not None and other is not None and _are_exact(*types) else None
        for one, other, types in zip(left.keys, right.keys, pairs, strict=True)
    )
    return _Rows((*left.blocks, *right.blocks), tuple(one if one == other else None for one, other in pairs), keys)


def _are_exact(one: str | None, other: str | None) -> bool:
    """Whether both are one type, and not only alike (a NUMBER may be whole or not): else values that are equal once Spark
    has converted a side may not be equal before."""
    return one is not None and one == other and _EXACT.fullmatch(one) is not None


def _without_parentheses(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Subquery) and not any(part for name, part in node.args.items() if name != "this"):
        node = node.this
    return node


def _of_block(walk: AggregateWalk, node: exp.Select) -> _Rows:
    """What a SELECT over relations gives."""
    rows = walk.origin_of_block(node)
    if isinstance(rows, NotKept):
        raise Refused(rows)
    given = _given(walk, node)
    left = keys_left(walk, node, [key for key, _ in given], lambda one: _meaning(walk, node, one), is_block=True)
    block = _Block(node, rows, {key: item for key, item in reversed(given) if key is not None})
    return _Rows((block,), _types(walk, node, len(left)), tuple((key,) if key is not None else None for key in left))


def _types(walk: AggregateWalk, node: exp.Select, count: int) -> tuple[str | None, ...]:
    """The types of the columns of a SELECT. Raises Refused where it has not so many."""
    columns = walk.outputs[id(node)]
    if columns is None or len(columns) != count:
        raise Refused(NOT_UNDERSTOOD)
    return tuple(column.type for column in columns)


def _puts_together(walk: AggregateWalk, node: exp.Expr) -> bool:
    """Whether a query makes rows of several."""
    if isinstance(node, exp.SetOperation):
        is_plain = isinstance(node, exp.Union) and node.args.get("distinct") is False
        sides = (_without_parentheses(one) for one in (node.this, node.expression))
        return not is_plain or any(_puts_together(walk, one) for one in sides)
    within = _within(node)
    if within is not None and _puts_together(walk, within):
        return True
    if not isinstance(node, exp.Select):
        return False
    if any(node.args.get(part) is not None for part in ("group", "having", "distinct")) or any(windows_of(node)):
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


def _around(walk: AggregateWalk, node: exp.Select, within: _Rows) -> _Rows:
    """What a SELECT over a query gives."""
    scope, _ = walk.seen[id(node)]
    source = items_of_from(node)[0]
    known = scope.columns
    is_plain = not any(part and name not in ("this", "alias") for name, part in source.args.items())
    if known is None or len(known) != len(within.keys) or not is_plain:
        raise Refused(NOT_UNDERSTOOD)
    named: dict[str | None, tuple[Key, ...] | None] = {}
    for name, key in zip(_folded(known), within.keys, strict=True):
        # Of two columns of one name, neither is a key.
        named[name] = key if name not in named else None

    def key_of(one: exp.Expr) -> tuple[Key, ...] | None:
        one = one.unnest()
        if not isinstance(one, exp.Column) or isinstance(one.this, exp.Star) or len(one.parts) > 2:
            return None
        return named.get(fold(one.name)) if not one.table or fold(one.table) == fold(source.alias) else None

    found: list[tuple[Key, ...] | None] = []
    for item in node.expressions:
        if item.is_star:
            found += [named.get(name) if name is not None else None for name in _names_of_star(walk, item, scope)]
        else:
            found.append(key_of(item.unalias()))
    left = keys_left(walk, node, found, key_of)
    return _Rows(within.blocks, _types(walk, node, len(left)), tuple(left))


def _names_of_star(walk: AggregateWalk, item: exp.Expr, scope: Scope) -> list[str | None]:
    columns = walk.star(item, scope) if isinstance(item, exp.Star | exp.Column) else None
    if columns is None:
        raise Refused(NotKept("the columns of its * are not known", "write the columns out"))
    return _folded(columns)


def _folded(columns: Sequence[Output]) -> list[str | None]:
    return [fold(column.name) if column.name is not None else None for column in columns]


def _text(reading: Reading, text: BlockText, item: _Item) -> str:
    """A key of the block, as an expression of its own."""
    if item.name is not None:
        return quoted(item.name)
    return reading.expression(text.items[item.at], reading.node.expressions[item.at]).of(reading.query)
