"""Texts that may be read as timestamps: one that has a time and no date is a time of today to Spark, so it means something
else tomorrow. Judged on tokens; what a comparison converts by itself is looked for where the text is written out.
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from reconciler.sql.block_model import Span
from reconciler.sql.lexer import Kind, Token

_TIMESTAMPS: Final = ("TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ")
_TO_TIMESTAMPS: Final = frozenset(
    {
        *(f"{prefix}TO_TIMESTAMP{suffix}" for prefix in ("", "TRY_") for suffix in ("", "_LTZ", "_NTZ")),
        *("TIMESTAMP", "UNIX_TIMESTAMP", "TO_UNIX_TIMESTAMP"),
    }
)
_TIME_ONLY: Final = re.compile(r"[rR]?['\"]\s*T?\d{1,2}:")


def may_take_today(tokens: Sequence[Token], within: Span) -> bool:
    """Whether a part of a query may read a text so."""
    for before, token in pairwise(one for one in tokens if within.start <= one.start and one.end <= within.end):
        if token.kind is Kind.STRING and _TIME_ONLY.match(token.text):
            return True
        if token.is_word(*_TIMESTAMPS) and (before.is_word("AS") or before.is_symbol("::")):
            return True
        if token.is_symbol("(") and before.text.strip("`").upper() in _TO_TIMESTAMPS:
            return True
    return False
