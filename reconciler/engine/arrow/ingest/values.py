"""Plain values of records, as their columns hold them: those alone that can't be taken for anything else.

A value is plain where it is written in a form whose meaning leaves no choice, and where it fits its column as it is: nothing
is rounded, cut off, or made of another kind. What `engine.spark.conform` says of all values is true of these, and for most
of them it is one line here. Anything else raises NotSure, and Spark reads the whole range; so what is no value, and what is
said of it, is defined once.

- A whole number fits its type. A decimal has no more digits, on either side of the point, than its column.
- A DOUBLE is finite, and 0 only where 0 is written. A FLOAT is not near to the middle of two of them.
- Text is taken as it is written, a number in its place as well, where it has no exponent. It is as long as it may be.
- Days and moments are written in full (`2025-01-02`, `2025-01-02T03:04:05.678Z`), from 1900 to 9000; without a zone a moment
  is in UTC, as in every session that reads inputs.
- Nested values, binary ones and VARIANTs are never plain.

Days are days since 1970, moments are microseconds since then: Arrow has years that Python lacks.
"""

import re
import struct
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any, Final

from reconciler.engine.protocol import ColumnType

Plain = Callable[[Any], Any]
"""Makes a column's value of a JSON scalar other than null: True, False, a `Number`, or a str. Raises NotSure."""


class NotSure(Exception):
    """What is read may mean something else to Spark, or nothing at all. Says what it was, for tests."""


class Number(str):
    """A number of JSON as it was written."""

    __slots__ = ()


_WHOLE: Final = re.compile(r"0|-?[1-9][0-9]{0,18}")
_DECIMAL: Final = re.compile(r"-?(0|[1-9][0-9]*)(?:\.([0-9]+))?")
_MINUS_ZERO: Final = re.compile(r"-0(?:\.0*)?")
"""Spark takes -0 for the whole number 0, and -0.0 for what it says."""
_FRACTION: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,3})?")
_NOT_ZERO: Final = re.compile(r"[^eE]*[1-9]")
_DECIMAL_TYPE: Final = re.compile(r"(?i)\s*decimal\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?\s*")
_TEXT_TYPE: Final = re.compile(r"(?i)\s*(?:string|(?:var)?char\s*\(\s*(\d+)\s*\))\s*")
_BITS: Final = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_DAY: Final = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_MOMENT: Final = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,6}))?(Z|[+-][0-9]{2}:[0-9]{2})?"
)
_FIRST_YEAR: Final = 1900
"""Before, files may say of a moment what another calendar has there."""
_LAST_YEAR: Final = 9000
_EPOCH: Final = date(1970, 1, 1).toordinal()
_MOST_DIGITS: Final = 40


def plain(column: ColumnType) -> Plain:
    """What makes a column's values. Raises NotSure where it can have no plain ones."""
    kind = column.type.strip().lower()
    if kind in _BITS:
        return _whole(_BITS[kind])
    if kind in _ALIKE:
        return _ALIKE[kind]
    text, decimal = _TEXT_TYPE.fullmatch(column.type), decimal_of(column)
    if text is not None:
        return _text(int(text[1]) if text[1] else None)
    if decimal is not None:
        return _decimal(*decimal)
    raise NotSure(column.type)


def decimal_of(column: ColumnType) -> tuple[int, int] | None:
    """Precision and scale of a decimal column; None for columns of other types."""
    found = _DECIMAL_TYPE.fullmatch(column.type)
    return (int(found[1] or 10), int(found[2] or 0)) if found else None


def is_text(column: ColumnType) -> bool:
    """Whether a column holds texts."""
    return _TEXT_TYPE.fullmatch(column.type) is not None


def can_be_key(column: ColumnType) -> bool:
    """Whether two values of a column are equal for Spark where they are for Python."""
    return not column.nullable and column.type.strip().lower() not in ("double", "float")


def _whole(bits: int) -> Plain:
    least, most = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1

    def whole(value: Any) -> int:
        if not isinstance(value, str) or _WHOLE.fullmatch(value) is None:
            raise NotSure(value)
        number = int(value)
        if not least <= number <= most:
            raise NotSure(value)
        return number

    return whole


def _decimal(precision: int, scale: int) -> Plain:
    before = precision - scale

    def decimal(value: Any) -> Decimal:
        found = _DECIMAL.fullmatch(value) if isinstance(value, str) else None
        if found is None:
            raise NotSure(value)
        digits, behind = found[1], found[2] or ""
        if (len(digits) > before and digits != "0") or len(behind) > scale:
            raise NotSure(value)
        return Decimal(value)

    return decimal


def _text(limit: int | None) -> Plain:
    def text(value: Any) -> str:
        if isinstance(value, bool):
            value = "true" if value else "false"
        elif isinstance(value, Number) and (_DECIMAL.fullmatch(value) is None or _MINUS_ZERO.fullmatch(value)):
            raise NotSure(value)
        if not isinstance(value, str) or (limit is not None and len(value) > limit):
            raise NotSure(value)
        return str(value)

    return text


def _truth(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, Number) or value not in ("true", "false"):
        raise NotSure(value)
    return bool(value == "true")


def _double(value: Any) -> float:
    if not isinstance(value, str) or len(value) > _MOST_DIGITS or _FRACTION.fullmatch(value) is None:
        raise NotSure(value)
    number = float(value)
    if abs(number) == float("inf") or (number == 0 and (value.startswith("-") or _NOT_ZERO.match(value) is not None)):
        raise NotSure(value)
    return number


def _float(value: Any) -> float:
    """The number next to it of 32 bits. Spark takes it through one of 64 bits, which must not decide."""
    number = _double(value)
    try:
        near = _of_32_bits(number)
    except OverflowError:
        raise NotSure(value) from None
    if number == 0 or near == number:
        return near
    if abs(near) < _SMALLEST_NORMAL or abs(near) > _LARGEST_SAFE:
        raise NotSure(value)
    middle = _middle(number, near)
    if abs(number - middle) < abs(middle) * 1e-12:
        raise NotSure(value)
    return near


_SMALLEST_NORMAL: Final = 1e-37
_LARGEST_SAFE: Final = 3e38


def _of_32_bits(number: float) -> float:
    return float(struct.unpack("<f", struct.pack("<f", number))[0])


def _middle(number: float, near: float) -> float:
    """What lies between the 32-bit number and its neighbour on the side of `number`."""
    bits: int = struct.unpack("<i", struct.pack("<f", near))[0]
    outward = abs(number) > abs(near)
    neighbour: float = struct.unpack("<f", struct.pack("<i", bits + (1 if outward else -1)))[0]
    return (near + neighbour) / 2


def _day(value: Any) -> int:
    found = _DAY.fullmatch(value) if isinstance(value, str) and not isinstance(value, Number) else None
    if found is None:
        raise NotSure(value)
    year, month, day = (int(part) for part in found.groups())
    if not _FIRST_YEAR <= year <= _LAST_YEAR:
        raise NotSure(value)
    try:
        return date(year, month, day).toordinal() - _EPOCH
    except ValueError:
        raise NotSure(value) from None


def _moment(value: Any) -> int:
    found = _MOMENT.fullmatch(value) if isinstance(value, str) and not isinstance(value, Number) else None
    if found is None:
        raise NotSure(value)
    day, zone = _day(found[1]), found[6]
    hour, minute, second = (int(part) for part in found.group(2, 3, 4))
    if hour > 23 or minute > 59 or second > 59:
        raise NotSure(value)
    seconds = ((day * 24 + hour) * 60 + minute) * 60 + second
    if zone not in (None, "Z"):
        hours, minutes = int(zone[1:3]), int(zone[4:])
        if hours > 14 or minutes > 59:
            raise NotSure(value)
        seconds -= (hours * 60 + minutes) * 60 * (-1 if zone[0] == "-" else 1)
    return seconds * 1_000_000 + int((found[5] or "0").ljust(6, "0"))


def _clock(value: Any) -> int:
    found = _MOMENT.fullmatch(value) if isinstance(value, str) else None
    if found is None or found[6] is not None:
        raise NotSure(value)
    return _moment(value)


_ALIKE: Final[dict[str, Plain]] = {
    "boolean": _truth,
    "double": _double,
    "float": _float,
    "date": _day,
    "timestamp": _moment,
    "timestamp_ntz": _clock,
}
