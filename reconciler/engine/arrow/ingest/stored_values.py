"""Values of another table's columns, as columns of a table take them: where both types leave no choice.

`engine.spark.conform` has the rules for all others. Taken as they are: truths, days, moments, FLOATs and DOUBLEs by columns
of their own type. Whole numbers go into columns of whole numbers, of decimals and of text, decimals into decimals, truths
into text; texts are read like those of records (`values`). Each must fit as it is: nothing is rounded or cut off. A column
that pairs other types is left to Spark.
"""

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from reconciler.engine.arrow.ingest.values import NotSure, Plain, decimal_of, is_text, plain
from reconciler.engine.protocol import ColumnType

if TYPE_CHECKING:
    import pyarrow

_WHOLE: Final = ("byte", "short", "integer", "long")
_WHOLE_COLUMNS: Final = ("tinyint", "smallint", "int", "bigint")
_ALIKE: Final = ("boolean", "date", "timestamp", "timestamp_ntz", "float", "double")


def taken(kind: Any, column: ColumnType) -> Callable[[Any], Any]:
    """What makes a column's values of those of a column of this type, as Delta's schema has it: days and moments as
    numbers. Raises NotSure where a value does not surely fit, and at once where none does."""
    fits, wanted = plain(column), column.type.strip().lower()
    if kind in _ALIKE and wanted == kind:
        return _as_it_is
    if kind == "string" or (kind == "boolean" and is_text(column)):
        return fits
    if kind in _WHOLE and (wanted in _WHOLE_COLUMNS or decimal_of(column) is not None or is_text(column)):
        return _written(fits)
    if isinstance(kind, str) and kind.startswith("decimal(") and decimal_of(column) is not None:
        return _written(fits)
    raise NotSure((kind, column.type))


def as_numbers(column: Any) -> Any:
    """A column of Arrow with days and moments as numbers: Python lacks some."""
    import pyarrow
    from pyarrow import types

    if types.is_date32(column.type):
        return column.cast(pyarrow.int32())
    return column.cast(pyarrow.int64()) if types.is_timestamp(column.type) else column


def values_of(column: Any) -> list[Any]:
    """The values of a column of Arrow, days and moments as numbers. Raises NotSure."""
    try:
        found: list[Any] = as_numbers(column).to_pylist()
    except UnicodeDecodeError:
        # Nobody has checked what came in by other ways.
        raise NotSure("a text that is no UTF-8") from None
    return found


def require_one_form(rows: "pyarrow.Table") -> None:
    """Raise NotSure where rows have a NaN or a 0 with a sign: there equal values have several forms, and grouping makes one
    of them."""
    from pyarrow import types

    for column in rows.columns:
        if types.is_floating(column.type):
            require_one_form_of(column.to_pylist())


def require_one_form_of(values: Iterable[Any]) -> None:
    """The same, of values of any types."""
    for value in values:
        if isinstance(value, float) and (math.isnan(value) or (value == 0 and math.copysign(1, value) < 0)):
            raise NotSure(value)


def _as_it_is(value: Any) -> Any:
    return value


def _written(fits: Plain) -> Plain:
    """Of a number as it is written in full."""
    return lambda value: fits(format(value, "f" if not isinstance(value, int) else "d"))
