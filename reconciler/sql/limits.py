"""How large queries may be, and what they bring along, so that no file of a pull request keeps a plan busy for minutes.

What analyses a query takes time in proportion to its tokens, and for joins to their square: each sees the columns of all
before it. The bounds are far above what people write and what Spark plans in reasonable time. A query that is generated and
longer than that can be divided into several views. The lexer stops at the first bound, `query.parse_query` at the second.

What a few words bring along counts, too: `*`, joins by NATURAL and USING, PIVOT and queries with names give columns, each of
which is looked at. `Brought` counts them while a query is analysed, `program.compile` those of all queries of a pipeline.
The same files give the same count on every machine. 1,000 views of 100 columns need an eighth of what is taken.

The queries and functions' bodies of one file have so many words and signs in all, where each of them counts as some more: a
plan looks at 75,000 in a second, and takes for each view as long as for 16 of them. Ordinary SQL has 4 to 5 bytes a word, so
the bound is reached by a file of 600 kB; 1,000 ordinary views in one file need less than two thirds of it.

A file or a query of which nothing is right is told of by its first problems, and a relation has so many connectors at most.
What the registry holds is under no limit: it was taken before.
"""

from collections.abc import Collection
from typing import Final

MAXIMUM_TOKENS: Final = 40_000
MAXIMUM_TOKENS_OF_FILE: Final = 150_000
TOKENS_OF_A_QUERY: Final = 16
"""So many more each query counts as."""
MAXIMUM_JOINS: Final = 400
MAXIMUM_RELATIONS_OF_QUERY: Final = MAXIMUM_JOINS + 1
MAXIMUM_PROBLEMS: Final = 500
MAXIMUM_OUTPUTS: Final = 10_000
MAXIMUM_BROUGHT: Final = 100_000
MAXIMUM_BROUGHT_BY_PIPELINE: Final = 1_000_000
MAXIMUM_DECLARED: Final = 10_000
MAXIMUM_FUNCTIONS: Final = 5_000
MAXIMUM_CONNECTORS: Final = 1_000
TOO_MANY_TOKENS: Final = f"the query has more than {MAXIMUM_TOKENS:,} words and signs"
TOO_MANY_TOKENS_OF_FILE: Final = (
    f"with this one the queries and functions of the file have more than {MAXIMUM_TOKENS_OF_FILE:,} words and signs, "
    f"and each of them counts as {TOKENS_OF_A_QUERY} more; the file was not read"
)
HINT_OF_FILE: Final = "divide it into several files"
TOO_MANY_JOINS: Final = f"the query has more than {MAXIMUM_JOINS:,} joins"
HINT: Final = "divide it into several views"
TOO_MANY_RELATIONS: Final = f"the query reads more than {MAXIMUM_RELATIONS_OF_QUERY:,} relations at once"
TOO_MUCH_BROUGHT: Final = (
    f"here the query has more than {MAXIMUM_BROUGHT:,} columns to check: '*', joins, PIVOT and WITH queries add them"
)
HINT_OF_BROUGHT: Final = "name the columns that you need instead of '*', or divide it into several views"
HINT_OF_BROUGHT_BY_PIPELINE: Final = "name the columns that you need instead of '*', or divide it into several pipelines"


class TooMuch(Exception):
    """A query brings more than it may. Never leaves the modules that analyse one query."""


class Brought:
    """What one query has brought so far: columns, each as often as it is looked at. A long type counts as several."""

    def __init__(self, limit: int | None = MAXIMUM_BROUGHT) -> None:
        """`limit` is None for what the registry holds."""
        self.count = 0
        self.limit = limit

    def add(self, count: int) -> None:
        """So many more. Raises `TooMuch` where that is over the limit."""
        self.count += count
        if self.limit is not None and self.count > self.limit:
            raise TooMuch


def weight(types: Collection[str | None]) -> int:
    """What columns of these types count."""
    return len(types) + sum(len(kind) // _OF_A_COLUMN for kind in types if kind is not None)


_OF_A_COLUMN: Final = 100
