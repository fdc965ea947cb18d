"""What a query asks of each row of a relation by itself: one column held against values that are written out.

Only what says the same wherever it is computed: whole numbers, decimals, days, and texts byte by byte. NULL never fits.
"""

from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import TypeAlias

from reconciler.base.dataclass import dataclass

Value: TypeAlias = int | Decimal | date | str


class Sign(StrEnum):
    """How a column is held against values."""

    AMONG = "among"
    """It is one of them."""
    LESS = "<"
    AT_MOST = "<="
    MORE = ">"
    AT_LEAST = ">="
    BEGINS = "begins"
    """A text begins with it."""
    ENDS = "ends"
    HOLDS = "holds"
    """A text has it somewhere."""


@dataclass(frozen=True, slots=True)
class RowCondition:
    """A column (folded), and what it is held against: values of one kind, several only for `AMONG`."""

    column: str
    sign: Sign
    values: tuple[Value, ...]
