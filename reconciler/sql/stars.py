"""What a `*` in a query stands for: columns, rows that are counted, or a multiplication.

`count(*)` counts rows, and reads no column. Only the bare one does: with EXCEPT, or with anything beside the `*`, Spark puts
the columns in the place of the `*` and counts the rows in which none of them is NULL. With DISTINCT it compares them.

When unsure, it stands for columns.

Here it is told by tokens; of what was parsed, by `parsed_stars`.
"""

from collections.abc import Sequence
from typing import Final

from reconciler.sql.lexer import Kind, Token

_BEFORE_COLUMNS: Final = ("SELECT", "DISTINCT", "ALL", "EXTEND", "SET", "AGGREGATE", "BY")


def holds_columns(tokens: Sequence[Token]) -> bool:
    """Whether a `*` of a query stands for columns: neither that of the bare `count(*)`, nor one between two operands."""
    return any(token.is_symbol("*") and stands_for_columns(tokens, index) for index, token in enumerate(tokens))


def stands_for_columns(tokens: Sequence[Token], index: int) -> bool:
    """Whether the `*` at a place does."""
    if not index:
        return True
    before = tokens[index - 1]
    if before.is_symbol("("):
        is_counted = index > 1 and tokens[index - 2].is_word("COUNT")
        return not (is_counted and index + 1 < len(tokens) and tokens[index + 1].is_symbol(")"))
    return before.is_word(*_BEFORE_COLUMNS) or (before.kind is Kind.SYMBOL and before.text not in (")", "]"))
