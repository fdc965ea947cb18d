"""A query that is one SELECT with GROUP BY, whatever it aggregates: what a group gives is made of its own rows, and its keys
say which these are. So the groups that changed can be computed anew, and all others stay.

- FROM, WHERE and GROUP BY are as for groups that are kept (`aggregate_walk`).
- Each key is an item of the select list by itself: so the view's own rows say of which group they are.
- Its aggregates give the same whatever the order of rows, but for what is rounded. Nothing in the query has another value
  each time. No window looks over groups, no LIMIT counts them, no subquery stands beside them.
"""

from collections.abc import Mapping
from typing import Final

from sqlglot import exp

from reconciler.base.names import fold
from reconciler.sql.aggregate_blocks import Reading, Refused, meaning_of
from reconciler.sql.aggregate_walk import AggregateWalk, Groups
from reconciler.sql.block_model import (
    NO_AGGREGATE,
    NOT_TOLD_APART,
    NOT_UNDERSTOOD,
    TAKES_TODAY,
    TOO_LARGE,
    GroupedBlock,
    NotKept,
    RelationUse,
)
from reconciler.sql.block_texts import block_text
from reconciler.sql.determinism import MOMENTS, NON_DETERMINISTIC, NON_DETERMINISTIC_WITHOUT_ARGUMENTS
from reconciler.sql.lexer import words_among
from reconciler.sql.limits import TooMuch
from reconciler.sql.query import Parsed
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


def grouped_block(
    query: str, relations: Mapping[str, Mapping[str, str | None]], around: QuerySurroundings
) -> GroupedBlock | NotKept:
    """The groups of a query. `relations` are as for `check.analyse_query`."""
    walk = AggregateWalk(relations, query, around)
    try:
        parsed = walk.read()
        return NOT_UNDERSTOOD if parsed is None else _block(walk, parsed)
    except (TooMuch, RecursionError):
        return TOO_LARGE


def _block(walk: AggregateWalk, parsed: Parsed) -> GroupedBlock | NotKept:
    # What subqueries of WHERE group is judged with WHERE.
    whole = [(node, groups) for node, groups in walk.found if node is parsed.tree]
    if not whole:
        return NotKept("its groups are not the whole query", "put them into a MATERIALIZED view of their own")
    ((node, groups),) = whole
    if isinstance(groups, NotKept):
        return groups
    text = block_text(walk.text, parsed.tokens, node)
    if text is None:
        return NOT_TOLD_APART
    if may_take_today(parsed.tokens, text.whole):
        return TAKES_TODAY
    why = _why_not(walk, node, groups)
    if why is not None:
        return why
    reading = Reading(walk, parsed, node, groups)
    try:
        items = tuple(reading.expression(span, item) for span, item in zip(text.items, node.expressions, strict=True))
        places = tuple(reading.item_of_key(at) for at in range(len(groups.keys)))
        uses = reading.uses_of(text)
        keys = reading.key_texts(text, items)
    except Refused as refused:
        return refused.why
    return GroupedBlock(text, uses, keys, places, _columns(groups, uses), groups.fixed)


def _why_not(walk: AggregateWalk, node: exp.Select, groups: Groups) -> NotKept | None:
    """What besides FROM, WHERE and its keys prevents that a group is computed by itself."""
    if not groups.keys or node.args.get("group") is None:
        return NO_AGGREGATE
    if any(node.args.get(part) for part in ("with_", "distinct", "limit", "offset")):
        return NotKept("WITH, DISTINCT or LIMIT stands beside its groups")
    if any(one.unalias().is_star or walk.makes_rows(one.unalias()) for one in node.expressions):
        return NotKept("an item of its select list makes several columns or rows")
    having = node.args.get("having")
    parts = [*node.expressions, *([having.this] if having is not None else [])]
    for part in parts:
        if part.find(exp.Window, exp.Query) is not None:
            return NotKept("a window or a subquery stands beside its groups", "put it into a query around a view")
        for call in walk.aggregates(part):
            name = _name(walk, call)
            if name not in _WHATEVER_THE_ORDER:
                return NotKept(f"{name.upper()} may depend on the order of rows")
    chance = words_among(walk.text, _BY_CHANCE)
    if chance:
        return NotKept(f"{min(chance)} may give another value each time", "put it into a view that reads this one")
    columns = (one for key in groups.keys for one in key.find_all(exp.Column))
    if any(not one.table and not groups.scope.has(one.name) for one in columns):
        return NotKept("a key of GROUP BY names an item", "write it out")
    return None


def _name(walk: AggregateWalk, node: exp.Expr) -> str:
    while isinstance(node, exp.Filter | exp.WithinGroup | exp.IgnoreNulls | exp.RespectNulls):
        node = node.this
    return walk.name_of(node) if isinstance(node, exp.Func) else fold(type(node).__name__)


def _columns(groups: Groups, uses: tuple[RelationUse, ...]) -> tuple[tuple[int, str] | None, ...]:
    """Of each key the column that it is, with the place of its relation; None: it is something else."""
    found: list[tuple[int, str] | None] = []
    for key in groups.keys:
        meaning = meaning_of(key, groups.scope)
        place = None
        if isinstance(meaning, tuple) and meaning[0] == "column" and isinstance(key.unnest(), exp.Column):
            named = [at for at, use in enumerate(uses) if use.is_linear and not use.within and fold(use.name) == meaning[1]]
            place = named[0] if len(named) == 1 else None
        found.append((place, str(meaning[2])) if place is not None and isinstance(meaning, tuple) else None)
    return tuple(found)
