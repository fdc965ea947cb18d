"""The first rows of a query over groups that are kept: `SELECT … GROUP BY … ORDER BY … LIMIT n`.

Some more groups than the query shows are kept apart, in its order (`place`): those that come first. Of groups that changed,
those that were among them go; those that now come before the last of them come in. Whatever else there is comes after that
one, so it need not be looked at. Where too few are left, they are taken of all groups again.

Groups that the order does not tell apart from the last one stay outside: which of equal ones the query shows is open.

Source: K. Yi et al., Efficient Maintenance of Materialized Top-k Views (ICDE 2003).
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from reconciler.base.dataclass import dataclass
from reconciler.base.names import fold
from reconciler.incremental.kept_aggregate import KEPT, ROWS, Finished, columns_of, key_columns
from reconciler.incremental.model import KeptAggregate
from reconciler.sql.block_model import KeyUse, Span
from reconciler.sql.lexer import Kind, Token, query_tokens, unquote
from reconciler.sql.token_lists import closing, split

PLACE: Final = "place"
"""The column with the number of a group in the order, from 1."""

_TIMES: Final = 4
_MORE: Final = 100
"""So many groups are kept for each that is shown, and so many more: those that come in must be as many as go."""


@dataclass(frozen=True, slots=True)
class FirstRows:
    """What the query asks of the groups that are kept (`KEPT`): the condition that they have to meet (None: none), and the
    expressions by which they are ordered, each with its direction. `columns` are theirs, `keys` tell them apart. The query
    shows `count` of them; at most `most` are kept."""

    columns: tuple[str, ...]
    keys: tuple[str, ...]
    having: str | None
    order: tuple[tuple[str, str], ...]
    count: int
    most: int


def first_rows(kept: KeptAggregate, types: Mapping[str, str]) -> FirstRows | None:
    """What a query asks of groups whose columns have these types; None where it shows others than the first ones."""
    block, query = kept.block, kept.query
    text, parts = block.text, Finished(kept, types)
    around = query[: text.whole.start] + query[text.whole.end :]
    if around.strip() or kept.distinct is not None or not block.keys or text.tail is None:
        return None
    tokens = query_tokens(query)
    if any(token.is_word("DISTINCT", "ALL") for token in _within(tokens, text.select)[:1]):
        return None
    asked = _order_and_limit(_within(tokens, text.tail))
    if asked is None:
        return None
    ordered, count = asked
    order = [_term(parts, kept, tokens, span) for span in split(ordered)]
    known = tuple(one for one in order if one is not None)
    if not known or len(known) < len(order):
        return None
    having = parts.of(text.having) if text.having is not None else None
    return FirstRows(columns_of(kept), key_columns(kept), having, known, count, _TIMES * count + _MORE)


def first_query(first: FirstRows, groups: str) -> str:
    """Those that come first, of all groups, which it reads under the name `groups`."""
    stay = f"`{ROWS}` > 0" + (f" AND ({first.having})" if first.having is not None else "")
    numbered = f"row_number() OVER (ORDER BY {_listed(first.order)}) AS `{PLACE}`"
    rows = f"SELECT {_columns(first, KEPT)}, {numbered} FROM `{groups}` AS `{KEPT}` WHERE {stay}"
    return f"SELECT {_columns(first)}, `{PLACE}` FROM ({rows}) WHERE `{PLACE}` <= {first.most}"


def changed_first_query(first: FirstRows, came: str, *, are_all: bool) -> str:
    """Those that come first after groups changed, from those that did before (`KEPT`), and from the groups that changed as
    they are now, which it reads under the name `came`. `are_all`: before, those were all groups that meet the condition."""
    columns = _columns(first)
    own = " AND ".join(f"`c`.`{key}` <=> `k`.`{key}`" for key in first.keys)
    was = f"SELECT 1 FROM `{came}` AS `c` WHERE {own}"
    rows = [
        f"SELECT {columns}, 1 AS `__was`, 0 AS `__last` FROM `{KEPT}` AS `k` WHERE NOT EXISTS ({was})",
        f"SELECT {columns}, 0 AS `__was`, 0 AS `__last` FROM `{came}` WHERE `{ROWS}` > 0",
    ]
    if not are_all:
        numbered = f"SELECT {columns}, `{PLACE}`, max(`{PLACE}`) OVER () AS `__most` FROM `{KEPT}`"
        rows.append(f"SELECT {columns}, 0 AS `__was`, 1 AS `__last` FROM ({numbered}) WHERE `{PLACE}` = `__most`")
    having = f" WHERE {first.having}" if first.having is not None else ""
    terms = ", ".join(f"{expression} AS `__order_{at}`" for at, (expression, _) in enumerate(first.order))
    seen = (
        f"SELECT {_columns(first, KEPT)}, `__was`, `__last`, {terms} FROM ({' UNION ALL '.join(rows)}) AS `{KEPT}`{having}"
    )
    # Of equal ones the last of before comes first: so none that came is taken for one before it.
    order = _listed([(f"`__order_{at}`", how) for at, (_, how) in enumerate(first.order)] + [("`__last`", "DESC")])
    placed = f"SELECT {columns}, `__was`, `__last`, row_number() OVER (ORDER BY {order}) AS `__at` FROM ({seen})"
    ended = f"SELECT *, min(CASE WHEN `__last` = 1 THEN `__at` END) OVER () AS `__end` FROM ({placed})"
    stay = "`__last` = 0 AND (`__was` = 1 OR `__end` IS NULL OR `__at` < `__end`)"
    numbered = f"SELECT {columns}, row_number() OVER (ORDER BY `__at`) AS `{PLACE}` FROM ({ended}) WHERE {stay}"
    return f"SELECT {columns}, `{PLACE}` FROM ({numbered}) WHERE `{PLACE}` <= {first.most}"


def _columns(first: FirstRows, of: str | None = None) -> str:
    qualifier = f"`{of}`." if of is not None else ""
    return ", ".join(f"{qualifier}`{name}`" for name in first.columns)


def _listed(order: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{expression} {how}".rstrip() for expression, how in order)


def _within(tokens: Sequence[Token], span: Span) -> list[Token]:
    return [token for token in tokens if span.start <= token.start and token.end <= span.end]


def _order_and_limit(tail: Sequence[Token]) -> tuple[Sequence[Token], int] | None:
    """What stands between ORDER BY and LIMIT, and the number behind that; None where there is anything else."""
    if len(tail) < 5 or not (tail[0].is_word("ORDER") and tail[1].is_word("BY") and tail[-2].is_word("LIMIT")):
        return None
    ordered, number = tail[2:-2], tail[-1]
    if number.kind is not Kind.NUMBER or not number.text.isdigit() or any(one.is_word("LIMIT", "OFFSET") for one in ordered):
        return None
    return ordered, int(number.text)


def _term(parts: Finished, kept: KeptAggregate, tokens: Sequence[Token], span: Span) -> tuple[str, str] | None:
    """An expression of ORDER BY over what is kept, and its direction; None where it is not surely told."""
    own = _within(tokens, span)
    end = len(own)
    if end > 2 and own[-2].is_word("NULLS") and own[-1].is_word("FIRST", "LAST"):
        end -= 2
    if end > 1 and own[end - 1].is_word("ASC", "DESC"):
        end -= 1
    expression, how = _bare(own[:end]), " ".join(token.text for token in own[end:])
    names = _names(kept, tokens)
    if len(expression) == 1 and expression[0].kind in (Kind.WORD, Kind.QUOTED):
        if expression[0].is_word("ALL"):
            return None
        places = [at for at, name in enumerate(names) if name == fold(unquote(expression[0]))]
        if places:
            return (_item(parts, kept, places[0]), how) if len(places) == 1 else None
    elif len(expression) == 1:
        number = int(expression[0].text) if expression[0].text.isdigit() else 0
        return (_item(parts, kept, number - 1), how) if 0 < number <= len(names) else None
    elif any(two.kind in (Kind.WORD, Kind.QUOTED) and fold(unquote(two)) in names for two in _unqualified(expression)):
        return None
    return parts.of(Span(expression[0].start, expression[-1].end)), how


def _bare(tokens: Sequence[Token]) -> Sequence[Token]:
    """Without parentheses around all of them: Spark looks through these, for the number of an item as well."""
    while len(tokens) > 2 and tokens[0].is_symbol("(") and closing(tokens, 0) == len(tokens) - 1:
        tokens = tokens[1:-1]
    return tokens


def _item(parts: Finished, kept: KeptAggregate, at: int) -> str:
    """The item of that index, over what is kept. What is a key by itself has a name there."""
    span = kept.block.items[at]
    key = next((use.key for use in kept.block.uses if isinstance(use, KeyUse) and use.span == span), None)
    return f"`{KEPT}`.`key_{key}`" if key is not None else f"({parts.items[at]})"


def _unqualified(tokens: Sequence[Token]) -> list[Token]:
    """Those that do not stand behind a point."""
    return [*tokens[:1], *(two for one, two in pairwise(tokens) if not one.is_symbol("."))]


def _names(kept: KeptAggregate, tokens: Sequence[Token]) -> list[str | None]:
    """The aliases of the items, folded; None: an item has none."""
    found: list[str | None] = []
    for whole, expression in zip(kept.block.text.items, kept.block.items, strict=True):
        found.append(fold(unquote(_within(tokens, whole)[-1])) if whole != expression else None)
    return found
