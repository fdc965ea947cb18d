"""LATENESS: which rows come too late for their table.

- Of each column with a LATENESS the greatest value is kept that the table has had at a published step.
- A row is late if a value of it lies further below the greatest one of its column than the LATENESS allows. NULL and NaN are
  never late; they and infinite numbers are never the greatest.
- The rows of a step are judged by what was published before it. So they make none of each other late, the order in which a
  step reads its inputs decides nothing, and a step that is done again judges as it did.

Values are numbers: days since 1970 of a DATE, microseconds since 1970 of a TIMESTAMP (of TIMESTAMP_NTZ as if it was in UTC),
whole numbers, decimals, and floats.
"""

import math
from collections.abc import Mapping
from decimal import Context, Decimal
from fractions import Fraction
from typing import Final, TypeAlias

from reconciler.base.declarations import ColumnDeclaration
from reconciler.base.names import fold
from reconciler.project.program.model import Table

Number: TypeAlias = int | Decimal | float

_MICROSECONDS: Final = {
    "MILLISECOND": 1_000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": 86_400_000_000,
    "WEEK": 604_800_000_000,
}
# No decimal of Spark has more than 38 digits, on either side of the point.
_EXACT: Final = Context(prec=80)


def columns_with_lateness(table: Table) -> tuple[ColumnDeclaration, ...]:
    """The table's columns that say how late their values may be."""
    return tuple(column for column in table.columns if column.lateness is not None)


def first_on_time(table: Table, greatest: Mapping[str, Number]) -> dict[str, Number]:
    """The smallest value that is not late, by folded name of the column. `greatest` are the greatest values, by folded name;
    of a column without one nothing is late."""
    return {
        fold(column.name): _first(column, greatest[fold(column.name)])
        for column in columns_with_lateness(table)
        if fold(column.name) in greatest
    }


def number_to_text(number: Number) -> str:
    """A number as heads hold it."""
    return repr(number) if isinstance(number, float) else str(number)


def number_of_text(column: ColumnDeclaration, text: str) -> Number:
    """A number of a column, as heads hold it. Raises ValueError for what is none."""
    if column.type in ("FLOAT", "DOUBLE"):
        return float(text)
    if not column.type.startswith("DECIMAL"):
        return int(text)
    try:
        return Decimal(text)
    except ArithmeticError as error:
        raise ValueError(text) from error


def _first(column: ColumnDeclaration, greatest: Number) -> Number:
    lateness = column.lateness or "0"
    match column.type:
        case "DATE":
            # A day is late if it began too long before the greatest one did.
            return int(greatest) - math.floor(_interval(lateness) / _MICROSECONDS["DAY"])
        case "TIMESTAMP" | "TIMESTAMP_NTZ":
            return int(greatest) - math.floor(_interval(lateness))
        case "FLOAT" | "DOUBLE":
            return float(greatest) - float(lateness)
        case _ if column.type.startswith("DECIMAL"):
            return _EXACT.subtract(Decimal(greatest), Decimal(lateness))
        case _:
            return int(greatest) - math.floor(Fraction(lateness))


def _interval(text: str) -> Fraction:
    """Microseconds of an interval, as declarations hold it: INTERVAL '4' HOUR."""
    _, number, unit = text.split()
    return Fraction(number.strip("'")) * _MICROSECONDS[unit]
