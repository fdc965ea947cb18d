"""Ordinary JSON objects read by columns: most records of most sources, for half the work of `json_records`.

A record is ordinary where reading it by columns gives what reading it by keys gives. What is not sure goes the other way:

- It is one object, and nothing follows it: a member that is put in front of its last character is found by the parser.
- Each of its keys is a column, spelled as the table spells it, and stands once. Mostly its length proves that: the values
  that were found need so many bytes that there is no room for another member (`_weight`). Otherwise its keys are listed, by
  a second look at it.
- Each value is of its column's type. Integers, truth values and doubles are read as such (not what is too large for a
  double: that is infinite here, and a problem there); all others as text, as `json_records` does, and not where a number may
  have lost its spelling in a double.
- A decimal is taken from a double only where the double proves it: see `_kept`. Spark's own parser of decimals would work
  on 1e1000000000 for hours, and take "1,5" for 15.

Tables with nested columns have no ordinary records: their values are looked into one by one.
"""

import re
from collections.abc import Sequence
from typing import Final

from reconciler.engine.protocol import ColumnType
from reconciler.engine.spark.locations import literal, quoted

_CORRUPT: Final = "reconcile corrupt"
_END: Final = "reconcile end"
_EXACT: Final = frozenset({"int", "integer", "bigint", "long", "boolean", "double"})
_NESTED: Final = ("struct", "array", "map", "variant", "binary", "void")
_TEXT: Final = ("string", "varchar", "char")
_DECIMAL: Final = re.compile(r"(?i)^\s*(?:decimal|numeric|dec)\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?\s*$")
_SAFE_DIGITS: Final = 14
_AROUND: Final = len('"":,')
_SMALLEST_MEMBER: Final = len(',"":0')
_LARGEST_SCALE: Final = 22
"""Powers of ten up to this one are doubles."""


def decimal_of(column: ColumnType) -> tuple[int, int] | None:
    """Precision and scale of a decimal column; None for columns of other types."""
    found = _DECIMAL.match(column.type)
    return (int(found.group(1) or 10), int(found.group(2) or 0)) if found else None


def is_exact(column: ColumnType) -> bool:
    """Whether a column is read in its own type, or as a decimal."""
    return column.type.strip().lower() in _EXACT or _scale(column) is not None


def can_be_read_by_columns(columns: Sequence[ColumnType]) -> bool:
    """Whether a table can have ordinary records."""
    return bool(columns) and not any(column.type.strip().lower().startswith(_NESTED) for column in columns)


def by_columns(record: str, columns: Sequence[ColumnType]) -> str:
    """The struct of the columns' values in a record."""
    parts = [f"{quoted(column.name)} {_read_as(column)}" for column in columns]
    schema = literal(", ".join([*parts, f"{quoted(_END)} INT", f"{quoted(_CORRUPT)} STRING"]))
    options = f"map('columnNameOfCorruptRecord', {literal(_CORRUPT)}, 'allowSingleQuotes', 'false')"
    # Bytes, since characters would have to be counted.
    body = f"CAST(substring(CAST({record} AS BINARY), 1, octet_length({record}) - 1) AS STRING)"
    end = literal(f',"{_END}":0}}')
    return f"from_json(concat({body}, {end}), {schema}, {options})"


def value(parsed: str, column: ColumnType) -> str:
    """A column's value in an ordinary record."""
    read, scale = f"{parsed}.{quoted(column.name)}", _scale(column)
    if scale is None:
        return read
    units = f"CAST(CAST(rint({_in_units(read, scale)}) AS BIGINT) AS DECIMAL({_SAFE_DIGITS},0))"
    return f"CAST({units} * {_unit(scale)} AS {column.type})" if scale else f"CAST({units} AS {column.type})"


def is_ordinary(record: str, parsed: str, columns: Sequence[ColumnType]) -> str:
    """Whether a record is ordinary, given its struct. Never NULL."""
    known = f"{parsed} IS NOT NULL AND {parsed}.{quoted(_CORRUPT)} IS NULL"
    whole = f"startswith({record}, '{{') AND endswith({record}, '}}') AND {parsed}.{quoted(_END)} IS NOT NULL"
    kept = [f"({one})" for column in columns for one in _kept(f"{parsed}.{quoted(column.name)}", column)]
    weight = " + ".join(["1", *(_weight(f"{parsed}.{quoted(column.name)}", column) for column in columns)])
    once = f"(octet_length({record}) < {weight} + {_SMALLEST_MEMBER} OR {_has_just_these_keys(record, columns)})"
    return f"coalesce({' AND '.join([known, whole, *kept, once])}, false)"


def _read_as(column: ColumnType) -> str:
    if _scale(column) is not None:
        return "DOUBLE"
    return column.type if is_exact(column) else "STRING"


def _scale(column: ColumnType) -> int | None:
    """The scale of a decimal that doubles can prove."""
    decimal = decimal_of(column)
    return decimal[1] if decimal is not None and decimal[1] <= _LARGEST_SCALE else None


def _in_units(read: str, scale: int) -> str:
    return f"({read} * 1e{scale}D)" if scale else read


def _unit(scale: int) -> str:
    return f"CAST('1e-{scale}' AS DECIMAL({scale},{scale}))"


def _kept(read: str, column: ColumnType) -> tuple[str, ...]:
    """What must be true of a column's value, as it was read, so that nothing was lost.

    Of a decimal: with `x` the double times ten to the column's scale and `n` the whole number next to it, x differs from n
    by no more than a double's own error, and n has at most 14 digits. The written number, which differs from x by as little,
    then lies within a few tenths of n, and becomes n when it is rounded to the column's scale, whatever its digits are.
    """
    kind, decimal = column.type.strip().lower(), decimal_of(column)
    if decimal is not None and decimal[1] <= _LARGEST_SCALE:
        units = _in_units(read, decimal[1])
        most = f"1e{min(decimal[0], _SAFE_DIGITS)}D"
        return (
            f"{read} IS NULL OR (abs(rint({units})) < {most} AND abs({units} - rint({units})) <= abs({units}) * 1e-15D)",
        )
    if kind == "double":
        return (f"{read} IS NULL OR abs({read}) <> double('Infinity')",)
    if kind.startswith(_TEXT):
        number = f"{_begins_as_number(read)} AND contains({read}, '.')"
        return (f"{read} IS NULL OR NOT ({number} OR ascii({read}) = 91 OR ascii({read}) = 123 OR {_may_be_none(read)})",)
    return () if is_exact(column) else (f"{read} IS NULL OR NOT {_may_be_none(read)}",)


def _may_be_none(read: str) -> str:
    """A bare NaN or Infinity is read as a text with quotes of its own."""
    return f"ascii({read}) = 34"


def _weight(read: str, column: ColumnType) -> str:
    """The fewest bytes that a record needs to say this value of a column: key, colon, value, and a comma or the last `}`.

    Escapes and spaces only add to it. Numbers can be written in many ways: an integer needs its digits, a decimal those that
    are not zeros at its end, and a point (or an exponent) unless it is whole. Text has quotes if it can't be anything else.
    """
    kind, scale, text = column.type.strip().lower(), _scale(column), f"octet_length({read})"
    if scale is not None:
        units = f"CAST(rint({_in_units(read, scale)}) AS BIGINT)"
        zeros = f"CASE WHEN {units} % 10 <> 0 THEN 0 WHEN {units} % 100 <> 0 THEN 1 ELSE 2 END"
        digits = f"CASE WHEN {units} % 1000 <> 0 THEN octet_length(CAST({units} AS STRING)) - ({zeros}) ELSE 1 END"
        least = f"({digits}) + if({units} % {10 ** min(scale, _SAFE_DIGITS)} <> 0, 1, 0)"
    elif kind == "boolean":
        least = f"if({read}, {len('true')}, {len('false')})"
    elif kind == "double":
        least = "1"
    elif is_exact(column):
        least = f"octet_length(CAST({read} AS STRING))"
    elif kind in ("date", "timestamp", "timestamp_ntz"):
        # No number has a minus there, unless an exponent comes before it.
        least = f"{text} + if(substring({read}, 5, 1) = '-' AND NOT contains({read}, 'E'), 2, 0)"
    elif kind.startswith(_TEXT):
        least = f"{text} + if({_begins_as_number(read)} OR {read} IN ('true', 'false'), 0, 2)"
    else:
        least = text
    return f"if({read} IS NULL, 0, {len(column.name.encode()) + _AROUND} + {least})"


def _begins_as_number(read: str) -> str:
    # Not BETWEEN: Spark would compute it in a step of its own, and copy every row for it.
    return f"ascii({read}) >= 45 AND ascii({read}) <= 57"


def _has_just_these_keys(record: str, columns: Sequence[ColumnType]) -> str:
    """Where the length proves nothing, as with values that are NULL, or spaces: the record is parsed once more."""
    names = ", ".join(literal(column.name) for column in columns)
    known = f"size(array_except(names, array({names}))) = 0 AND size(array_distinct(names)) = size(names)"
    return f"transform(array(json_object_keys({record})), names -> {known})[0]"
