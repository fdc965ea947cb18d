"""Queries that differ in parentheses only: each part of a query put into parentheses, each pair of it left out.

The queries are those of bracketed.txt. In turn, words of Spark's grammar take the place of a name. Most of what comes out
is no query to Spark; what is, often means something else. See `tests.sql.test_parentheses_on_spark`.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

_QUERIES = Path(__file__).with_suffix(".txt")
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
