"""How large one query may be, so that no file of a pull request keeps a plan busy for minutes.

What analyses a query takes time in proportion to its tokens, and for joins to their square: each sees the columns of all
before it. The bounds are far above what people write and what Spark plans in reasonable time. A query that is generated and
longer than that can be divided into several views. The lexer stops at the first bound, `query.parse_query` at the second.

A file of which nothing is right is told of by its first problems, and a relation has so many connectors at most.
"""

from typing import Final

MAXIMUM_TOKENS: Final = 40_000
MAXIMUM_JOINS: Final = 400
MAXIMUM_PROBLEMS: Final = 500
MAXIMUM_CONNECTORS: Final = 1_000
TOO_MANY_TOKENS: Final = f"the query has more than {MAXIMUM_TOKENS:,} words and signs"
TOO_MANY_JOINS: Final = f"the query has more than {MAXIMUM_JOINS:,} joins"
HINT: Final = "divide it into several views"
