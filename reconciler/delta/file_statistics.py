"""What Delta's log says of each file of a table, as it is written into a log again: JSON, never rows of Python dates, which
lack some years.

Spark and Arrow know years of six digits and before year 1, Python does not. What has no exact form in JSON here is left out:
a number that is not finite, a decimal that is no double, a date that Python lacks, every moment. It only costs skipping.
"""

import json
from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from arro3.core import Array, DataType, Table

_FIRST_DAY: Final = date(1970, 1, 1)
_BY_COLUMN: Final = (("numRecords", "num_records"), ("minValues", "min"), ("maxValues", "max"), ("nullCount", "null_count"))


def statistics_texts(actions: "Table") -> Iterator[str]:
    """The `stats` of each file, in the order of the actions (of `get_add_actions`, not flattened)."""
    found = [
        (name, _values(actions[column].combine_chunks())) for name, column in _BY_COLUMN if column in actions.schema.names
    ]
    for index in range(actions.num_rows):
        told = {name: values[index] for name, values in found}
        yield json.dumps({name: value for name, value in told.items() if value is not None})


def _values(array: "Array") -> list[Any]:
    """The values as JSON has them; None for what is NULL or left out."""
    import arro3.core

    kind: DataType = array.type
    if arro3.core.DataType.is_struct(kind):
        parts = [(field.name, _values(arro3.core.struct_field(array, [at]))) for at, field in enumerate(kind.fields)]
        return [
            {name: values[at] for name, values in parts if values[at] is not None} if array[at].is_valid else None
            for at in range(len(array))
        ]
    if arro3.core.DataType.is_date32(kind):
        return [day_text(days) for days in array.cast(arro3.core.DataType.int32()).to_pylist()]
    if arro3.core.DataType.is_temporal(kind):
        return [None] * len(array)
    return [plain_value(value) for value in array.to_pylist()]


def day_text(days: int | None) -> str | None:
    """A day by its number from 1970, as JSON has it; None for one that Python lacks."""
    if days is None:
        return None
    try:
        return (_FIRST_DAY + timedelta(days)).isoformat()
    except OverflowError:
        return None


def plain_value(value: Any) -> Any:
    """A value as JSON has it; None where that would be another one."""
    match value:
        case bool() | int() | str() | None:
            return value
        case float():
            return value if value == value and abs(value) != float("inf") else None
        case Decimal():
            return float(value) if Decimal(repr(float(value))) == value else None
        case _:
            return None
