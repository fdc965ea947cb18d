"""What Delta's log is to say of a file whose rows are Arrow's: how many they are, the NULLs of each column, and the smallest
and the largest value where both have an exact form.

Whoever looks for values passes over files by what is said here, so nothing may be said that is not so:

- Numbers, days and texts have smallest and largest values. Not a column of doubles that holds a NaN: Spark takes it for
  larger than all, others for nothing. Neither infinities, decimals that are no double, years that Python lacks, texts of
  more than 32 characters or that are no UTF-8, nor any moment.
- Delta tells of the first 32 columns, those within structs among them. Of lists and maps it counts the NULLs.

What is left out only costs skipping.
"""

import json
from typing import TYPE_CHECKING, Any, Final

from reconciler.delta.file_statistics import day_text, plain_value

if TYPE_CHECKING:
    import pyarrow as pa

_COLUMNS: Final = 32
_LONGEST: Final = 32


def statistics_text(rows: "pa.Table") -> str:
    """The `stats` of a file of these rows."""
    told: dict[str, dict[str, Any]] = {"minValues": {}, "maxValues": {}, "nullCount": {}}
    left = _COLUMNS
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        left = _tell(told, name, column.combine_chunks(), left)
    found: dict[str, Any] = {"numRecords": rows.num_rows, **told}
    return json.dumps(found, separators=(",", ":"), ensure_ascii=False)


def _tell(told: dict[str, dict[str, Any]], name: str, values: Any, left: int) -> int:
    """Tell of a column; how many more may be told of."""
    from pyarrow import types

    if left <= 0:
        return 0
    if types.is_struct(values.type):
        parts: dict[str, dict[str, Any]] = {kind: {} for kind in told}
        # A part of a NULL is NULL there.
        for field, part in zip(values.type, values.flatten(), strict=True):
            left = _tell(parts, field.name, part, left)
        for kind, found in parts.items():
            if found:
                told[kind][name] = found
        return left
    told["nullCount"][name] = values.null_count
    ends = _ends(values)
    if ends is not None:
        told["minValues"][name], told["maxValues"][name] = ends
    return left - 1


def _ends(values: Any) -> tuple[Any, Any] | None:
    """The smallest and the largest value as JSON has them, where both can be told."""
    import pyarrow as pa
    from pyarrow import compute, types

    kind = values.type
    if types.is_floating(kind) and compute.any(compute.is_nan(values)).as_py():
        return None
    if types.is_string(kind):
        values = values.cast(pa.binary())
    elif not (types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_date(kind)):
        return None
    found = compute.min_max(values)
    ends = tuple(_told(found[end]) for end in ("min", "max"))
    return None if None in ends else (ends[0], ends[1])


def _told(value: Any) -> Any:
    """None for what is NULL or has no exact form."""
    import pyarrow as pa
    from pyarrow import types

    if not value.is_valid:
        return None
    if types.is_date(value.type):
        return day_text(value.cast(pa.int32()).as_py())
    if types.is_binary(value.type):
        try:
            text = value.as_py().decode()
        except UnicodeDecodeError:
            return None
        return text if len(text) <= _LONGEST else None
    return plain_value(value.as_py())
