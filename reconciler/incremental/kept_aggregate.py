"""Groups that are kept, and follow what changes: counts, sums, least and greatest values.

A group's count and sum over rows that came and rows that went is that of the rows that were there, plus that of those that
came, less that of those that went. So what is kept is a row a group: its keys, how many rows it has (`rows`), and of each
aggregate what can be added up: a count, or a sum with the number of values that are not NULL. A group of which no row is
left goes. Then the query is asked of what is kept (`finishing_query`): HAVING, what is computed of aggregates, ORDER BY …
LIMIT and all queries around are Spark's, as ever; only the groups themselves are not made of rows again.

A least value is that of those that were there and those that came, while all that went are greater. Where one that is not
went, others that are equal or follow it may be left or not: the query over what changed fails, and all that is kept has to
be made anew. The same holds for greatest values.

COUNT(DISTINCT x) counts what is there at least once: so groups are kept for each x as well, and put together before the
query is asked of them (`_put_together`).

Of several relations that changed, the change of the rows is a sum of terms, one for each (`terms`).

Sources: A. Gupta, I. S. Mumick, V. S. Subrahmanian, Maintaining Views Incrementally (SIGMOD 1993: counting); A. Gupta, I. S.
Mumick, Maintenance of Materialized Views (1995: hidden counts of groups); M. Budiu et al., DBSP (VLDB 2023: linear
operators). pg_ivm and OpenIVM keep sums and counts alike.

Equal to Spark's own results, to the last digit:

- Integers are added up as BIGINT, as Spark does. Spark fails where a sum leaves BIGINT on the way, which depends on the
  order of rows. Of each sum, the sum of absolute values (`size`) is kept as well: while it is a BIGINT, no order leaves
  it. Where it is none, its own computation fails. The same holds for decimals and the type that Spark gives their sum.
- AVG of integers is a division of doubles in Spark. It is exact, whatever the order, while `size` is at most 2^53: doubles
  have all whole numbers up to there. Beyond, the query over what is kept fails.
- AVG of decimals divides the sum by the count and rounds once, to four more places. Spark's `/` does so, too, where
  its operands have the types by which its result has as many places (`_decimal_average`).
- A sum over no value that is not NULL is NULL. A query without GROUP BY has one group, be there rows or not.
- Types are Spark's: of a sum that of the kept column, of an average that of a column that holds nothing but its type.

Whoever runs these queries does so in ANSI mode, in which what overflows fails.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from reconciler.base.names import quoted
from reconciler.incremental.linked_reads import KeptKeys
from reconciler.incremental.model import KeptAggregate, KeptCount, KeptExtreme, KeptSum
from reconciler.incremental.terms import Term, change_of, places_of_change, term_text
from reconciler.sql.block_model import AggregateBlock, AggregateCall, AliasUse, KeyUse, Span
from reconciler.sql.lexer import query_tokens
from reconciler.sql.repeatable import Number

KEPT: Final = "__kept"
"""Under this name the queries read what is kept. No relation of a pipeline has a name that begins so."""

LAYOUT: Final = "1"
"""Of what is kept. What was kept in another layout is computed anew."""

ROWS: Final = "rows"
"""The column that has the number of rows of a group."""

_IS_CHANGED: Final = "__is_changed"
_VALUE: Final = "value"
"""What COUNT(DISTINCT …) takes; once put together, how many of it there are."""
_LARGEST_OF_DOUBLES: Final = 2**53
_INEXACT: Final = "what is kept does not surely give what the query gives"
_COUNTED: Final = (ROWS, "count_", "of_sum_", "of_extreme_")
_EXTREMES: Final = ("min", "max")
_DECIMAL: Final = re.compile(r"(?i)decimal\((\d+),\s*(\d+)\)\Z")
_MOST_DIGITS: Final = 38
_MOST_ROWS_OF_SHORT_ONES: Final = 10**10


def kept_aggregate(query: str, block: AggregateBlock) -> KeptAggregate:
    """What is to be kept of the aggregate of a query."""
    counts: dict[KeptCount, None] = {}
    sums: dict[tuple[str, str | None], KeptSum] = {}
    extremes: dict[KeptExtreme, None] = {}
    distinct = None
    for use in block.uses:
        if isinstance(use, AggregateCall):
            if use.kind == "distinct":
                distinct = use.argument
                continue
            if use.kind == "count":
                count = _count_of(use)
                counts |= {} if _counts_rows(count) else {count: None}
                continue
            if use.kind in _EXTREMES:
                extremes[_extreme_of(use)] = None
                continue
            key = (use.argument, use.condition)
            known = sums.get(key)
            has_average = use.kind == "avg" or (known is not None and known.has_average)
            sums[key] = KeptSum(use.argument, use.condition, use.number is Number.INTEGER, has_average)
    return KeptAggregate(query, block, tuple(counts), tuple(sums.values()), tuple(extremes), distinct)


def columns_of(kept: KeptAggregate) -> tuple[str, ...]:
    """The columns of what is kept, in order: keys, the number of rows, counts, and what sums and extremes are made of."""
    return tuple(name for name, _ in _columns(kept))


def kept_keys(kept: KeptAggregate) -> KeptKeys:
    """Which columns of what is kept hold columns of relations."""
    return KeptKeys(KEPT, tuple((f"key_{at}", column) for at, column in enumerate(kept.block.columns)))


def state_query(kept: KeptAggregate) -> str:
    """What is kept, from the relations as they are. It reads them under their own names."""
    columns = ", ".join(f"{expression} AS `{name}`" for name, expression in _columns(kept))
    return f"SELECT {columns} FROM {kept.block.text.origin.of(kept.query)}{_where(kept)}{_group_by(_keys(kept))}"


def key_columns(kept: KeptAggregate) -> tuple[str, ...]:
    """The columns of what is kept by which its rows are told: there is one row of each group."""
    return columns_of(kept)[: len(_keys(kept))]


def changed_query(
    kept: KeptAggregate, changed: Collection[str], types: Mapping[str, str], change: str, *, only_changed: bool = False
) -> str:
    """What is kept after relations (keys) changed, from what was kept (`KEPT`, whose columns have these types) and their
    changed rows, whose column `change` says `insert` or `delete`. None of them is `fixed`.

    `only_changed`: only the groups of which rows came or went. Those of which no row is left stay, with no `ROWS`."""
    names = columns_of(kept)
    keys, numbers = names[: len(_keys(kept))], names[len(_keys(kept)) :]
    selected = ", ".join(f"`{name}`" for name in names)
    went = "".join(f", if(false, `extreme_{at}`, NULL) AS `went_{at}`" for at in range(len(kept.extremes)))
    was, came = (f", {is_changed} AS `{_IS_CHANGED}`" if only_changed else "" for is_changed in (0, 1))
    parts = [f"SELECT {selected}{went}{was} FROM `{KEPT}`"]
    for place in places_of_change(kept.block.relations, changed):
        given = [*(f"`{name}`" for name in keys), *(_signed(name, types[name], change) for name in numbers)]
        given += [f"if(`{change}` = 'insert', NULL, `extreme_{at}`) AS `went_{at}`" for at in range(len(kept.extremes))]
        parts.append(f"SELECT {', '.join(given)}{came} FROM ({_groups_of_change(kept, place, changed, change)})")
    listed_keys = [f"`{name}`" for name in keys]
    added = [f"{_added_up(kept, name, types[name])} AS `{name}`" for name in numbers]
    added += [f"{_combines(one)}(`went_{at}`) AS `went_{at}`" for at, one in enumerate(kept.extremes)]
    added += [f"max(`{_IS_CHANGED}`) AS `{_IS_CHANGED}`"] if only_changed else []
    grouped = f"SELECT {', '.join([*listed_keys, *added])} FROM ({' UNION ALL '.join(parts)}){_group_by(listed_keys)}"
    if only_changed:
        return f"SELECT {selected} FROM ({grouped}) WHERE `{_IS_CHANGED}` = 1 AND {_that_stay(kept, numbers, gone='true')}"
    return f"SELECT {selected} FROM ({grouped}) WHERE {_that_stay(kept, numbers)}"


def finishing_query(kept: KeptAggregate, types: Mapping[str, str], groups: str = KEPT) -> str:
    """The view's rows, from what is kept (under the name `groups`; its columns have these types), and from relations that
    the query reads elsewhere, under their own names."""
    parts = Finished(kept, types)
    text, query = kept.block.text, kept.query
    having = f" WHERE {parts.of(text.having)}" if text.having is not None else ""
    tail = f" {parts.of(text.tail)}" if text.tail is not None else ""
    read = _put_together(kept, types, groups)
    return f"{query[: text.whole.start]}SELECT {parts.of(text.select)} FROM {read}{having}{tail}{query[text.whole.end :]}"


def both_query(kept: KeptAggregate, types: Mapping[str, str], changed: str) -> str | None:
    """What is kept, the columns of the view, and whether the view has the row: of what `changed_query` gives, `changed`.
    None: the view's rows are not those of groups, each by itself."""
    text, query = kept.block.text, kept.query
    around = query[: text.whole.start] + query[text.whole.end :]
    if around.strip() or kept.distinct is not None or kept.block.elsewhere or not _decides_nothing(query, text.tail):
        return None
    tokens = query_tokens(query)
    if any(text.select.start == token.start and token.is_word("DISTINCT", "ALL") for token in tokens):
        return None
    parts = Finished(kept, types)
    own = ", ".join(f"`{KEPT}`.`{name}` AS `__kept_{name}`" for name in columns_of(kept))
    shown = f"coalesce({parts.of(text.having)}, false)" if text.having is not None else "true"
    return f"SELECT {own}, {parts.of(text.select)}, {shown} AS `__is_shown` FROM ({changed}) AS `{KEPT}`"


def _decides_nothing(query: str, tail: Span | None) -> bool:
    """Whether what stands behind HAVING is an ORDER BY, and nothing else."""
    if tail is None:
        return True
    words = [token for token in query_tokens(query) if tail.start <= token.start and token.end <= tail.end]
    others = ("LIMIT", "OFFSET", "SORT", "CLUSTER", "DISTRIBUTE", "WINDOW", "QUALIFY")
    return words[0].is_word("ORDER") and not any(word.is_word(*others) for word in words)


class Finished:
    """Parts of the query as they are asked of what is kept (`KEPT`), whose columns have these types."""

    def __init__(self, kept: KeptAggregate, types: Mapping[str, str]) -> None:
        self._query = kept.query
        finished = [(use, _finished(kept, use, types)) for use in kept.block.uses]
        self.items = tuple(_replaced(kept.query, span, finished) for span in kept.block.items)
        """The expressions of the select list, without aliases."""
        self._replacements = [
            (use, f"({self.items[use.item]})" if isinstance(use, AliasUse) else text) for use, text in finished
        ]

    def of(self, span: Span) -> str:
        """A part of the query's text."""
        return _replaced(self._query, span, self._replacements)


def _put_together(kept: KeptAggregate, types: Mapping[str, str], groups: str) -> str:
    """What the query is asked of: the groups that are kept, or, where these are kept for each value, what they make."""
    if kept.distinct is None:
        return f"`{groups}`" if groups == KEPT else f"`{groups}` AS `{KEPT}`"
    keys = [f"`key_{at}`" for at in range(len(kept.block.keys))]
    given = [f"count(`{_VALUE}`) AS `{_VALUE}`"]
    for name in columns_of(kept)[len(_keys(kept)) :]:
        together = _added_up(kept, name, types[name])
        if name.startswith(_COUNTED):
            together = f"CAST(coalesce(sum(`{name}`), 0) AS {types[name]})"
        elif name.startswith("sum_"):
            # Names `size`, which fails where some order of rows would overflow; what nobody names is not computed.
            together = f"if(sum(`{name.replace('sum', 'size', 1)}`) >= 0, {together}, NULL)"
        given.append(f"{together} AS `{name}`")
    return f"(SELECT {', '.join([*keys, *given])} FROM `{groups}`{_group_by(keys)}) AS `{KEPT}`"


def _keys(kept: KeptAggregate) -> tuple[str, ...]:
    """By what the groups are kept."""
    return (*kept.block.keys, kept.distinct) if kept.distinct is not None else kept.block.keys


def _columns(kept: KeptAggregate) -> list[tuple[str, str]]:
    """Each column of what is kept, with the expression that gives it over rows."""
    found = [(f"key_{at}", key) for at, key in enumerate(kept.block.keys)]
    found += [(_VALUE, kept.distinct)] if kept.distinct is not None else []
    found.append((ROWS, "count(*)"))
    found += [(f"count_{at}", f"{one.call}{_filter(one.condition)}") for at, one in enumerate(kept.counts)]
    for at, one in enumerate(kept.sums):
        filtered = _filter(one.condition)
        size = f"CAST(({one.argument}) AS BIGINT)" if one.is_integer else one.argument
        found.append((f"of_sum_{at}", f"count({one.argument}){filtered}"))
        found.append((f"sum_{at}", f"sum({one.argument}){filtered}"))
        found.append((f"size_{at}", f"sum(abs({size})){filtered}"))
        if one.has_average:
            found.append((f"mean_{at}", f"avg(CASE WHEN false THEN {one.argument} END)"))
    for at, extreme in enumerate(kept.extremes):
        filtered = _filter(extreme.condition)
        found.append((f"of_extreme_{at}", f"count({extreme.argument}){filtered}"))
        found.append((f"extreme_{at}", f"{extreme.call}({extreme.argument}){filtered}"))
    return found


def _is_type(name: str) -> bool:
    """Whether a column is there for its type, and holds nothing."""
    return name.startswith("mean_")


def _signed(name: str, kind: str, change: str) -> str:
    """A column of the groups of what changed, as it is added to what is kept."""
    if _is_type(name):
        return f"CAST(NULL AS {kind}) AS `{name}`"
    went = "NULL" if name.startswith("extreme_") else f"-`{name}`"
    return f"if(`{change}` = 'insert', `{name}`, {went}) AS `{name}`"


def _added_up(kept: KeptAggregate, name: str, kind: str) -> str:
    if name.startswith("extreme_"):
        # What was the least value of some is none where all of them went.
        combines = _combines(kept.extremes[int(name.removeprefix("extreme_"))])
        return f"CASE WHEN sum(`of_{name}`) > 0 THEN {combines}(`{name}`) END"
    return f"CAST(NULL AS {kind})" if _is_type(name) else f"CAST(sum(`{name}`) AS {kind})"


def _combines(one: KeptExtreme) -> str:
    return "min" if one.is_least else "max"


def _that_stay(kept: KeptAggregate, numbers: Sequence[str], gone: str = "false") -> str:
    """Which groups stay, once all is added up, and whether those do that are `gone`; fails where that does not surely give
    what the query gives."""
    below = " OR ".join(f"`{name}` < 0" for name in numbers if name.startswith(_COUNTED))
    cases = [f"WHEN {below} THEN raise_error('{_INEXACT}')"]
    is_one_group = kept.block.is_global and kept.distinct is None
    if not is_one_group:
        cases.append(f"WHEN `{ROWS}` = 0 THEN {gone}")
    for at, one in enumerate(kept.extremes):
        compared = f"`went_{at}` {'<=' if one.is_least else '>='} `extreme_{at}`"
        lost = f"`of_extreme_{at}` > 0 AND `went_{at}` IS NOT NULL AND coalesce({compared}, true)"
        cases.append(f"WHEN {lost} THEN raise_error('{_INEXACT}')")
    return f"CASE {' '.join(cases)} ELSE true END"


def _groups_of_change(kept: KeptAggregate, place: int, changed: Collection[str], change: str) -> str:
    """The groups of what a change of one relation brings or takes, each with which of both."""
    uses = kept.block.relations
    columns = ", ".join(f"{expression} AS `{name}`" for name, expression in _columns(kept) if not _is_type(name))
    if uses[place].is_linear:
        which = change_of(uses[place], change)
        rows = _rows_of(kept, Term(uses, place, changed), change)
        return f"SELECT {columns}, {which} AS `{change}` {rows}{_group_by([*_keys(kept), which])}"
    parts = []
    for which, was in (("insert", False), ("delete", True)):
        rows = _rows_of(kept, Term(uses, place, changed, was), change)
        parts.append(f"SELECT {columns}, '{which}' AS `{change}` {rows}{_group_by(_keys(kept))}")
    return " UNION ALL ".join(parts)


def _rows_of(kept: KeptAggregate, term: Term, change: str) -> str:
    """FROM and WHERE of a term."""
    origin, where = kept.block.text.origin, kept.block.text.where
    condition = f" WHERE {term_text(kept.query, where, term)}" if where is not None else ""
    return f"FROM {term_text(kept.query, origin, term, change)}{condition}"


def _where(kept: KeptAggregate) -> str:
    where = kept.block.text.where
    return f" WHERE {where.of(kept.query)}" if where is not None else ""


def _group_by(keys: Sequence[str]) -> str:
    return f" GROUP BY {', '.join(keys)}" if keys else ""


def _filter(condition: str | None) -> str:
    return f" FILTER (WHERE {condition})" if condition is not None else ""


def _replaced(query: str, span: Span, replacements: Sequence[tuple[AggregateCall | KeyUse | AliasUse, str]]) -> str:
    """A part of the query with what stands in it for its keys and aggregates."""
    parts, position = [], span.start
    for use, text in replacements:
        if span.has(use.span):
            parts += [query[position : use.span.start], text]
            position = use.span.end
    return "".join((*parts, query[position : span.end]))


def _finished(kept: KeptAggregate, use: AggregateCall | KeyUse | AliasUse, types: Mapping[str, str]) -> str:
    """What stands for a key or an aggregate over what is kept."""
    match use:
        case AliasUse():
            return ""
        case KeyUse():
            name = f" AS {quoted(use.named)}" if use.named is not None else ""
            return f"`{KEPT}`.`key_{use.key}`{name}"
        case AggregateCall() if use.kind == "count":
            count = _count_of(use)
            name = ROWS if _counts_rows(count) else f"count_{kept.counts.index(count)}"
            return f"`{KEPT}`.`{name}`"
        case AggregateCall() if use.kind == "distinct":
            return f"`{KEPT}`.`{_VALUE}`"
        case AggregateCall() if use.kind in _EXTREMES:
            return f"`{KEPT}`.`extreme_{kept.extremes.index(_extreme_of(use))}`"
        case AggregateCall():
            key = (use.argument, use.condition)
            at = [(one.argument, one.condition) for one in kept.sums].index(key)
            if use.kind == "sum":
                return f"(CASE WHEN `{KEPT}`.`of_sum_{at}` > 0 THEN `{KEPT}`.`sum_{at}` END)"
            return _average(at, kept.sums[at], types)


def _average(at: int, one: KeptSum, types: Mapping[str, str]) -> str:
    total, count = f"`{KEPT}`.`sum_{at}`", f"`{KEPT}`.`of_sum_{at}`"
    failing = f"raise_error('{_INEXACT}')"
    if one.is_integer:
        is_beyond = f"`{KEPT}`.`size_{at}` > {_LARGEST_OF_DOUBLES}"
        mean = f"CAST({total} AS DOUBLE) / CAST({count} AS DOUBLE)"
    else:
        is_beyond, mean = _decimal_average(total, count, types[f"sum_{at}"], types[f"mean_{at}"])
    kind = types[f"mean_{at}"]
    return f"(CASE WHEN {count} = 0 THEN NULL WHEN {is_beyond} THEN CAST({failing} AS {kind}) ELSE {mean} END)"


def _decimal_average(total: str, count: str, of_sum: str, of_mean: str) -> tuple[str, str]:
    """When an average of decimals is not certain, and its expression.

    Spark divides to 38 places, and rounds once, half up, to the places that the type of the result has. That of AVG has four
    more than what is added up. A quotient of DECIMAL(p, s) and DECIMAL(20, 0) has 38 - (p - s) places, and at least 6: with
    p = 34 four more than s, where s is at least 2. With fewer places it is rounded once more: from 14 + s places to s + 4.
    A quotient by n is the middle between two values of that type, or at least 1 / (2 n) of its last place away from it. So
    for n below 10^10, what is rounded to 14 + s places first is not moved onto the middle."""
    summed, mean = _DECIMAL.match(of_sum), _DECIMAL.match(of_mean)
    if summed is None or mean is None or int(mean[2]) != int(summed[2]) + 4:
        return "true", f"CAST(NULL AS {of_mean})"
    places = int(summed[2])
    digits = _MOST_DIGITS - 4 if places >= 2 else _MOST_DIGITS - 14
    is_beyond = "false" if places >= 2 else f"{count} >= {_MOST_ROWS_OF_SHORT_ONES}"
    quotient = f"CAST({total} AS DECIMAL({digits},{places})) / CAST({count} AS DECIMAL(20,0))"
    return is_beyond, f"CAST({quotient} AS {of_mean})"


def _count_of(use: AggregateCall) -> KeptCount:
    return KeptCount(f"{use.call}({use.argument})", use.condition)


def _extreme_of(use: AggregateCall) -> KeptExtreme:
    return KeptExtreme(use.call, use.argument, use.condition, use.kind == "min")


def _counts_rows(one: KeptCount) -> bool:
    return one.condition is None and "".join(one.call.split()).lower() == "count(*)"
