"""What a query asks of each row of a relation by itself: one column held against values that are written out.

Only what says the same wherever it is computed: whole numbers, decimals, days, and texts byte by byte, which have no quotes
and no escapes. NULL never fits.
"""

from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import TypeAlias, assert_never

from reconciler.base.dataclass import dataclass
from reconciler.base.names import quoted

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

    @property
    def text(self) -> str:
        """As a query has it."""
        column, values = quoted(self.column), [_literal(one) for one in self.values]
        match self.sign:
            case Sign.AMONG:
                return f"{column} IN ({', '.join(values)})"
            case Sign.LESS | Sign.AT_MOST | Sign.MORE | Sign.AT_LEAST:
                return f"{column} {self.sign} {values[0]}"
            case Sign.BEGINS:
                return f"{column} LIKE '{self.values[0]}%'"
            case Sign.ENDS:
                return f"{column} LIKE '%{self.values[0]}'"
            case Sign.HOLDS:
                return f"{column} LIKE '%{self.values[0]}%'"
            case _:
                assert_never(self.sign)


def _literal(value: Value) -> str:
    match value:
        case str():
            return f"'{value}'"
        case date():
            return f"DATE '{value.isoformat()}'"
        case int() | Decimal():
            return f"{value:f}" if isinstance(value, Decimal) else str(value)
        case _:
            assert_never(value)
