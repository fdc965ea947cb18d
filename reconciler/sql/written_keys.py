"""Queries whose GROUP BY ALL is written out: as the numbers of the items without aggregate, which is what Spark takes it
for.

There is no answer where the items are not surely one or the other: `*`, windows, subqueries; where none is a key, or one
is a constant; where the query has more than one GROUP BY ALL, or anything in it may be called so.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from sqlglot import exp

from reconciler.base.names import fold
from reconciler.sql.block_model import Span
from reconciler.sql.grouping import has_aggregate
from reconciler.sql.inlined import replaced
from reconciler.sql.lexer import Token
from reconciler.sql.limits import TooMuch
from reconciler.sql.places import written_name
from reconciler.sql.query import Parsed, parse_query
from reconciler.sql.words import FunctionKind, spark_functions

_GROUP_BY_ALL: Final = re.compile(r"(?i)\bgroup\s+by\s+all\b")
_UNCLEAR: Final = (exp.Star, exp.Window, exp.Query, exp.Aliases)


def with_written_keys(query: str, relations: Mapping[str, Collection[str]]) -> str | None:
    """A query with GROUP BY ALL written out. None where it has none, or that can't surely be told. `relations` are the
    columns of each."""
    if _GROUP_BY_ALL.search(query) is None or any(fold(name) == "all" for of in relations.values() for name in of):
        return None
    try:
        parsed = parse_query(query)
    except (TooMuch, RecursionError):
        return None
    if not isinstance(parsed, Parsed):
        return None
    nodes = [node for node in parsed.tree.find_all(exp.Select) if _groups_by_all(node)]
    places = [*_places_of_all(parsed.tokens)]
    if len(nodes) != 1 or len(places) != 1:
        return None
    items = nodes[0].expressions
    if any(fold(one.name) == "all" for one in parsed.tree.find_all(exp.Identifier)):
        return None
    if any(isinstance(one, _UNCLEAR) and not isinstance(one.parent, exp.Count) for item in items for one in item.walk()):
        return None
    keys = [(at, item) for at, item in enumerate(items, 1) if not (has_aggregate(item, query) or item.find(exp.AggFunc))]
    if not keys or not all(_is_surely_of_one_row(item, query) for _, item in keys):
        return None
    return replaced(query, [(places[0], ", ".join(str(at) for at, _ in keys))])


def _groups_by_all(node: exp.Select) -> bool:
    group = node.args.get("group")
    return group is not None and bool(group.args.get("all"))


def _is_surely_of_one_row(item: exp.Expr, query: str) -> bool:
    """Whether an item is made of columns, and of nothing that may put rows together."""
    for one in item.walk():
        if isinstance(one, (exp.AggFunc, exp.SubqueryPredicate, exp.Filter, exp.WithinGroup)):
            return False
        name = written_name(one, query) if isinstance(one, exp.Func) else None
        if name is not None and spark_functions().get(name.lower()) is not FunctionKind.SCALAR:
            return False
    return item.find(exp.Column) is not None


def _places_of_all(tokens: Sequence[Token]) -> Iterator[Span]:
    for first, by, last in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if first.is_word("GROUP") and by.is_word("BY") and last.is_word("ALL"):
            yield Span(last.start, last.end)
