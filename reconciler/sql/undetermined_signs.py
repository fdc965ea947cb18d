"""Whether the words of a query let its rows not determine all that it gives, before anybody parses it.

Most queries do not. A sign is no proof (`first` may name a column); no sign is one.

Not here: whether it really does (`undetermined`).
"""

from collections.abc import Set
from typing import Final

TAKING_ONE: Final = frozenset({"any_value", "first", "first_value", "last", "last_value"})
LISTING: Final = frozenset({"array_agg", "collect_list", "collect_set", "listagg", "string_agg"})
ESTIMATING: Final = frozenset({"approx_percentile", "approx_top_k", "histogram_numeric", "percentile_approx"})
BY_ANOTHER: Final = frozenset({"max_by", "min_by"})
COUNTING_OFF: Final = frozenset({"lag", "lead", "nth_value", "ntile", "row_number"})
CALLED: Final = TAKING_ONE | LISTING | ESTIMATING | BY_ANOTHER | COUNTING_OFF | {"mode"}
"""The functions that take rows as they come, or count them off (folded names)."""
SIGNS_OF_ORDER: Final = CALLED | {"limit", "offset", "rows", "tablesample"}


def may_be_undetermined(words: Set[str]) -> bool:
    """Whether there is any sign among the words of a query (`lexer.words_in`)."""
    return not SIGNS_OF_ORDER.isdisjoint(words)
