"""Queries that differ in parentheses only: each part of a query put into parentheses, each pair of it left out.

The queries are those of bracketed.txt. In turn, words of Spark's grammar take the place of a name. Most of what comes out
is no query to Spark; what is, often means something else. See `tests.sql.test_parentheses_on_spark`.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

_QUERIES = Path(__file__).with_suffix(".txt")
CONTENTS = (
    *("- a", "- 1", "a . b", "a - b", "a || 'b'", "a = b", "a AND b", "NOT a", "NOT a = b", "a IS NULL", "a IS NOT NULL"),
    *(
        "a BETWEEN b AND c",
        "a IN ( b )",
        "a IN ( SELECT b FROM u )",
        "a LIKE b ESCAPE '!'",
        "a IS DISTINCT FROM b",
        "a :: int",
    ),
    *("CASE WHEN a THEN b END", "CASE a WHEN b THEN c ELSE d END", "case - end", "a [ 0 ]", "f ( a )", "f ( DISTINCT a )"),
    *(
        "sum ( a ) FILTER ( WHERE b ) OVER ( w )",
        "EXISTS ( SELECT 1 )",
        "transform ( a , x -> x )",
        "map ( a , b )",
        "x -> a",
    ),
    *("( a , b )", "( a ) + b", "( a , b ) = ( c , d )", "( x , y ) -> x", "( SELECT a FROM u )", "( SELECT a FROM u ) + 1"),
    *(
        "( SELECT a FROM u ) UNION ( SELECT b FROM u )",
        "( SELECT a FROM u ) LIMIT 1",
        "SELECT a FROM u",
        "SELECT a",
        "VALUES 1",
    ),
    *(
        "TABLE u",
        "FROM u SELECT a",
        "WITH x AS ( SELECT 1 ) SELECT * FROM x",
        "all - b",
        "distinct + b",
        "ALL a",
        "DISTINCT a",
    ),
    *(
        "all ( b )",
        "distinct",
        "interval 1 day",
        "interval '1' year + a",
        "interval a",
        "interval a day",
        "date '2020-01-01'",
    ),
    *("x '1f'", 'x "1f"', "'a' 'b'", '"a"', "`a`", "a b", "a AS b", "a b , c", "a , b", "a => b", "*", "t . *", "a DESC"),
    *(
        "a IS DISTINCT",
        "a NULLS LAST",
        "a NOT",
        "a COLLATE UNICODE",
        "a AT TIME ZONE 'b'",
        "1",
        "null",
        "user",
        "current_date",
    ),
)
"""What may stand in parentheses, or may not."""
_SHORT = 4
_DEEPEST = 3


def written() -> list[tuple[str, ...]]:
    """The queries, cut into tokens."""
    lines = _QUERIES.read_text(encoding="utf-8").splitlines()
    return [tuple(line.split(" ")) for line in lines if not line.startswith("#")]


def bracketed(query: Sequence[str], longest: int) -> Iterator[tuple[str, ...]]:
    """A query, the query with any of its parts in one, two and three pairs, and the query without any one of its pairs.

    `longest`: so many tokens are put into one pair at most.
    """
    tokens = tuple(query)
    yield tokens
    for start in range(len(tokens)):
        for end in range(start + 1, min(start + longest, len(tokens)) + 1):
            yield from _wrapped(tokens, start, end)
    for start, end in _pairs(tokens):
        yield (*tokens[:start], *tokens[start + 1 : end], *tokens[end + 1 :])


def bracketed_beside(query: Sequence[str], place: int) -> Iterator[tuple[str, ...]]:
    """A query, and the query with each short part that begins or ends at one token in up to three pairs."""
    tokens = tuple(query)
    yield tokens
    for end in range(place + 1, min(place + _SHORT, len(tokens)) + 1):
        yield from _wrapped(tokens, place, end)
    for start in range(max(0, place - _SHORT), place):
        yield from _wrapped(tokens, start, place + 1)


def filled(query: Sequence[str], place: int) -> Iterator[tuple[str, ...]]:
    """The query with each of `CONTENTS` in place of a token, in up to three pairs."""
    for content in CONTENTS:
        tokens = tuple(content.split(" "))
        changed = (*query[:place], *tokens, *query[place + 1 :])
        yield changed
        yield from _wrapped(changed, place, place + len(tokens))


def places_of_names(query: Sequence[str]) -> list[int]:
    """Which tokens are names."""
    return [place for place, token in enumerate(query) if token.isalpha() and token.islower() and len(token) < 3]


def _wrapped(tokens: tuple[str, ...], start: int, end: int) -> Iterator[tuple[str, ...]]:
    for depth in range(1, _DEEPEST + 1):
        yield (*tokens[:start], *"(" * depth, *tokens[start:end], *")" * depth, *tokens[end:])


def _pairs(tokens: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    waiting: list[int] = []
    for index, token in enumerate(tokens):
        if token == "(":
            waiting.append(index)
        elif token == ")":
            yield waiting.pop(), index
