"""What computing a value again gives: which functions surely give the same for the same rows, and exact numbers.

Rules:
- A function is repeatable when it is one of Spark's own and neither takes chance, clock or session, nor depends on the
  order in which rows come. Aggregates and window functions are taken for order-dependent unless listed.
- A sum over integers or decimals is exact whatever the order; over floating numbers it is not. An average over decimals is
  exact; over integers it is a division of doubles in Spark, and not surely so. The rest of statistics rounds.
- A number is exact when its type is surely an integer's or a decimal's.
"""

from collections.abc import Iterable
from enum import Enum, auto
from typing import Final, assert_never

from reconciler.sql.determinism import (
    NON_DETERMINISTIC,
    NON_DETERMINISTIC_WITHOUT_ARGUMENTS,
    holds_moment,
    non_deterministic_calls,
)
from reconciler.sql.lexer import Kind, query_tokens
from reconciler.sql.words import FunctionKind, spark_functions

# aes_encrypt draws its own initialization vector unless given one.
_SESSION_LIST: Final = (
    "current_catalog current_database current_path current_schema current_timezone version python_worker_logs aes_encrypt "
    "java_method reflect try_reflect"
)
_ORDER_LIST: Final = "row_number ntile lag lead nth_value first_value last_value first last any_value"
_STEADY_LIST: Final = "any bit_and bit_or bit_xor bool_and bool_or count count_if every max min regr_count some"
_INTEGER_LIST: Final = (
    "count count_if len length char_length character_length octet_length bit_length year quarter month day dayofmonth "
    "dayofweek dayofyear weekday weekofyear hour minute datediff date_diff size cardinality array_size instr locate "
    "position rank dense_rank row_number ntile ascii crc32 hash xxhash64 levenshtein unix_date grouping grouping_id "
    "regr_count bit_count find_in_set"
)
_LIKE_FIRST_LIST: Final = (
    "min max abs first last any_value first_value last_value lag negative positive round bround ceil ceiling floor "
    "nullif nullifzero zeroifnull"
)
_LIKE_ALL_LIST: Final = "coalesce nvl ifnull greatest least mod pmod try_add try_subtract try_multiply"
_OF_THE_SESSION: Final = frozenset(_SESSION_LIST.split())
_BY_ORDER: Final = frozenset(_ORDER_LIST.split())
_STEADY_AGGREGATES: Final = frozenset(_STEADY_LIST.split())
_STEADY_WINDOWS: Final = frozenset({"cume_dist", "dense_rank", "percent_rank", "rank"})
SUMS: Final = frozenset({"sum", "try_sum"})
AVERAGES: Final = frozenset({"avg", "mean", "try_avg"})
_INTEGERS: Final = frozenset(_INTEGER_LIST.split())
_LIKE_FIRST: Final = frozenset(_LIKE_FIRST_LIST.split())
_LIKE_ALL: Final = frozenset(_LIKE_ALL_LIST.split())


class Number(Enum):
    """A number that is surely exact. NULL is exact as anything."""

    INTEGER = auto()
    DECIMAL = auto()
    NULL = auto()


def takes_from_outside(query: str) -> bool:
    """Whether a query may take chance, clock or session besides the rows that it reads: what it gave once says nothing then
    of what it gives now. What depends on the order of rows does not count: each order is as good."""
    if non_deterministic_calls(query) or holds_moment(query):
        return True
    tokens = list(query_tokens(query))
    for before, token, after in zip([None, *tokens[:-1]], tokens, [*tokens[1:], None], strict=True):
        word = token.text.strip("`").lower() if token.kind in (Kind.WORD, Kind.QUOTED) else ""
        if word == "user" and not (before is not None and (before.is_symbol(".") or before.is_word("AS"))):
            # A column, or else who asks.
            return True
        is_called = word.startswith("current_") or (after is not None and after.is_symbol("("))
        if word == "tablesample" or (word in _OF_THE_SESSION and is_called):
            return True
    return False


def number_of_type(column_type: str | None) -> Number | None:
    """Whether values of a canonical type are exact numbers."""
    if column_type in ("INT", "BIGINT", "SMALLINT", "TINYINT"):
        return Number.INTEGER
    return Number.DECIMAL if column_type is not None and column_type.startswith("DECIMAL(") else None


def numbers_together(numbers: Iterable[Number | None]) -> Number | None:
    """What values of all these kinds are together: in a CASE, a sum of two, a column of a UNION."""
    found = set(numbers)
    if None in found or not found:
        return None
    for number in (Number.DECIMAL, Number.INTEGER):
        if number in found:
            return number
    return Number.NULL


def is_repeatable(name: str, arguments: list[Number | None]) -> bool:
    """Whether a function (folded name) surely gives the same for the same rows. `arguments`: what is known of them."""
    if name in NON_DETERMINISTIC or name in _OF_THE_SESSION or name in _BY_ORDER:
        return False
    if name in NON_DETERMINISTIC_WITHOUT_ARGUMENTS and not arguments:
        return False
    if name in SUMS:
        return bool(arguments) and arguments[0] is not None
    if name in AVERAGES:
        return bool(arguments) and arguments[0] is Number.DECIMAL
    match spark_functions().get(name):
        case FunctionKind.SCALAR | FunctionKind.GENERATOR | FunctionKind.TABLE:
            return True
        case FunctionKind.AGGREGATE:
            return name in _STEADY_AGGREGATES
        case FunctionKind.WINDOW:
            return name in _STEADY_WINDOWS
        case None:
            return False
        case kind:
            assert_never(kind)


def number_of_call(name: str, arguments: list[Number | None]) -> Number | None:
    """What is surely known of the result of a function."""
    if name in _INTEGERS:
        return Number.INTEGER
    if not arguments:
        return None
    if name in SUMS or name in _LIKE_FIRST:
        return arguments[0]
    if name in AVERAGES:
        return Number.DECIMAL if arguments[0] is Number.DECIMAL else None
    return numbers_together(arguments) if name in _LIKE_ALL else None
