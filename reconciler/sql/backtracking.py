"""Queries that the parser would read again and again, each part twice as often as what stands around it.

Where a word may be a type (`int(`, `struct(`, `date(`, `array[`), the parser tries a type first, with what stands in it;
then it tries a call. Within each other, twenty of these take a million tries. So the tries are counted on tokens, before
any tree: of a query that needs too many nothing is known, and Spark will say.
"""

from collections.abc import Sequence
from functools import cache
from typing import Final

import sqlglot

from reconciler.sql.lexer import Kind, Token

_MOST_TRIES: Final = 10_000
_FREE: Final = 2
"""So deep tries are not counted: a query may hold any number of them."""
# What is read twice for another reason, or is put into the tree twice.
_OTHER_LIST: Final = "and elt if or sequence sort_array"


@cache
def _tried_as_types() -> frozenset[str]:
    spark = sqlglot.Dialect.get_or_raise("spark")
    types = spark.parser_class.TYPE_TOKENS
    words = {word.lower() for word, kind in spark.tokenizer_class.KEYWORDS.items() if kind in types}
    return frozenset(words | set(_OTHER_LIST.split()))


def needs_many_tries(tokens: Sequence[Token]) -> bool:
    """Whether the parser would take too long over a query."""
    tried = _tried_as_types()
    tries = depth = 0
    around: list[bool] = []
    before: Token | None = None
    for token in tokens:
        if token.kind is Kind.SYMBOL:
            if token.text in ("(", "["):
                is_tried = before is not None and before.kind is Kind.WORD and before.text.lower() in tried
                around.append(is_tried)
                depth += is_tried
                if is_tried and depth > _FREE:
                    tries += 2 ** min(depth, 64)
                    if tries > _MOST_TRIES:
                        return True
            elif token.text in (")", "]") and around:
                depth -= around.pop()
        before = token
    return False
