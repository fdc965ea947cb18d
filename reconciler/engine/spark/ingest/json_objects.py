"""Ordinary JSON objects read by columns: most records of most sources, for half the work of `json_records`.

A record is ordinary where reading it by columns gives what reading it by keys gives. What is not sure goes the other way:

- It is one object, and nothing follows it: a member that is put in front of its last character is found by the parser.
- Each of its keys is a column, spelled as the table spells it, and stands once. Mostly its length proves that: the values
  that were found need so many bytes that there is no room for another member (`_weight`). Otherwise its keys are listed, by
  a second look at it.
- Each value is of its column's type. Integers, truth values and doubles are read as such (not what is too large for a
  double, or too small, which is infinite or 0 here and a problem there); all others as text, as `json_records` does, and not
  where a number may have lost its spelling in a double.
- A decimal is taken from a double only where the double proves it: see `_kept`. Spark's own parser of decimals would work
  on 1e1000000000 for hours, and take "1,5" for 15.

Tables with nested columns have no ordinary records: their values are looked into one by one.

Where only what its length proves is wanted (`proven_rows`), records are parsed by Spark's reader of JSON instead of its
`from_json`, which makes a decoder with a buffer of 8 KB for each.
"""

import json
import re
from collections.abc import Sequence
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from reconciler.base.names import quoted
from reconciler.engine.protocol import ColumnType
from reconciler.engine.spark.json_texts import STRICT, is_unfit, strict
from reconciler.engine.spark.locations import literal
from reconciler.engine.spark.nested import FLOATS, may_vanish

_CORRUPT: Final = "reconcile corrupt"
_END: Final = "reconcile end"
_EXACT: Final = frozenset({"int", "bigint", "boolean", "double"})
_NESTED: Final = ("struct", "array", "map", "variant", "binary", "void")
_TEXT: Final = ("string", "varchar", "char")
_DECIMAL: Final = re.compile(r"(?i)^\s*decimal\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?\s*$")
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
    options = strict(columnNameOfCorruptRecord=_CORRUPT)
    return f"from_json({_ended(record)}, {literal(_schema(columns))}, {options})"


def proven_rows(
    session: SparkSession, texts: DataFrame, record: str, columns: Sequence[ColumnType], parsed: str
) -> DataFrame:
    """The rows of the records (an expression) that are ordinary, and proven so by their length: their columns under the
    name `parsed`, as `value` takes them. The others are left out."""
    reader = session.read.schema(_schema(columns))
    reader = reader.options(**STRICT).option("columnNameOfCorruptRecord", _CORRUPT)
    rows = reader.json(texts.selectExpr(f"{_ended(record)} AS value")).alias(parsed)
    return rows.where(f"{_is_right(quoted(parsed), columns)} AND {_is_short(quoted(parsed), columns)}")


def seems_proven(record: bytes, columns: Sequence[ColumnType]) -> bool:
    """Whether records like this one are probably among the `proven_rows`: all of its keys are columns, nothing is null, and
    there are no spaces between its members. What this says decides nothing but the way they are read."""
    try:
        found = json.loads(record)
    except ValueError:
        return False
    if not isinstance(found, dict) or None in found.values() or not {column.name for column in columns}.issuperset(found):
        return False
    return b'": ' not in record and b'", "' not in record


def _schema(columns: Sequence[ColumnType]) -> str:
    parts = [f"{quoted(column.name)} {_read_as(column)}" for column in columns]
    return ", ".join([*parts, f"{quoted(_END)} INT", f"{quoted(_CORRUPT)} STRING"])


def _ended(record: str) -> str:
    """The record with one member more: its length, or -1 where it is not written as an object is, or is unfit."""
    # Bytes, since characters would have to be counted.
    body = f"CAST(substring(CAST({record} AS BINARY), 1, octet_length({record}) - 1) AS STRING)"
    is_object = f"startswith({record}, '{{') AND endswith({record}, '}}') AND NOT {is_unfit(record)}"
    length = f"if({is_object}, octet_length({record}), -1)"
    return f"""concat({body}, ',"{_END}":', {length}, '}}')"""


def value(parsed: str, column: ColumnType) -> str:
    """A column's value in an ordinary record."""
    read, scale = f"{parsed}.{quoted(column.name)}", _scale(column)
    if scale is None:
        return read
    units = f"CAST(CAST(rint({_in_units(read, scale)}) AS BIGINT) AS DECIMAL({_SAFE_DIGITS},0))"
    return f"CAST({units} * {_unit(scale)} AS {column.type})" if scale else f"CAST({units} AS {column.type})"


def is_ordinary(record: str, parsed: str, columns: Sequence[ColumnType]) -> str:
    """Whether a record is ordinary, given its struct. Never NULL."""
    others = f"{_has_just_these_keys(record, columns)} AND NOT {_may_have_vanished(record, parsed, columns)}"
    once = f"({_is_short(parsed, columns)} OR ({others}))"
    return f"coalesce({parsed} IS NOT NULL AND {_is_right(parsed, columns)} AND {once}, false)"


def is_proven(parsed: str, columns: Sequence[ColumnType]) -> str:
    """Whether a record is among the `proven_rows`, given its struct. Never NULL."""
    return f"coalesce({parsed} IS NOT NULL AND {_is_right(parsed, columns)} AND {_is_short(parsed, columns)}, false)"


def _is_right(parsed: str, columns: Sequence[ColumnType]) -> str:
    """Whether it is one whole object, in whose values nothing was lost."""
    whole = f"{parsed}.{quoted(_CORRUPT)} IS NULL AND {parsed}.{quoted(_END)} >= 0"
    return " AND ".join([whole, *(f"({one})" for column in columns for one in _kept(_read(parsed, column), column))])


def _is_short(parsed: str, columns: Sequence[ColumnType]) -> str:
    """Whether there is no room for a member besides those that were found."""
    weight = " + ".join(["1", *(_weight(_read(parsed, column), column) for column in columns)])
    return f"{parsed}.{quoted(_END)} < {weight} + {_SMALLEST_MEMBER}"


def _read(parsed: str, column: ColumnType) -> str:
    return f"{parsed}.{quoted(column.name)}"


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


def _power(exponent: int) -> int:
    """Of more digits than the whole numbers have that are taken from doubles, there is none but 0 that it divides."""
    return int(10 ** min(exponent, _SAFE_DIGITS))


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
        # A number that is too large for a double is read as a text with quotes of its own.
        others = " OR ".join(f"ascii({read}) = {ord(first)}" for first in '["{')
        return (f"{read} IS NULL OR NOT ({number} OR {others})",)
    return ()


def _weight(read: str, column: ColumnType) -> str:
    """The fewest bytes that a record needs to say this value of a column: key, colon, value, and a comma or the last `}`.

    Escapes and spaces only add to it. Numbers can be written in many ways: an integer needs its digits; a decimal those that
    are not zeros at its end, and a point (or an exponent), or where it is whole two of these zeros, if it has so many. Text
    has quotes if it can't be anything else.
    """
    kind, scale, text = column.type.strip().lower(), _scale(column), f"octet_length({read})"
    if scale is not None:
        units = f"CAST(rint({_in_units(read, scale)}) AS BIGINT)"
        digits = f"greatest(octet_length(trim(TRAILING '0' FROM CAST({units} AS STRING))), 1)"
        # 990.00 is 990 at the least, and 99000.00 is 99e3.
        zeros = f"if({units} % {_power(scale + 1)} <> 0 OR {units} = 0, 0, if({units} % {_power(scale + 2)} <> 0, 1, 2))"
        least = f"{digits} + if({units} % {_power(scale)} <> 0, 1, {zeros})"
    elif kind == "boolean":
        least = f"if({read}, {len('true')}, {len('false')})"
    elif kind in FLOATS:
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


def _may_have_vanished(record: str, parsed: str, columns: Sequence[ColumnType]) -> str:
    """Whether a value that was read as 0 may be written as another number. Where the length proves a record, there is no
    room for one: it takes six bytes at the least, 1e-324, where 0 has one in `_weight`."""
    floats = [_read(parsed, column) for column in columns if column.type.strip().lower() in FLOATS]
    zeros = " OR ".join(f"coalesce(try_cast({read} AS DOUBLE) = 0, false)" for read in floats)
    return f"(({zeros}) AND {may_vanish(record)})" if floats else "false"


def _begins_as_number(read: str) -> str:
    # Not BETWEEN: Spark would compute it in a step of its own, and copy every row for it.
    return f"ascii({read}) >= 45 AND ascii({read}) <= 57"


def _has_just_these_keys(record: str, columns: Sequence[ColumnType]) -> str:
    """Where the length proves nothing, as with values that are NULL, or spaces: the record is parsed once more."""
    names = ", ".join(literal(column.name) for column in columns)
    known = f"size(array_except(names, array({names}))) = 0 AND size(array_distinct(names)) = size(names)"
    return f"transform(array(json_object_keys({record})), names -> {known})[0]"
