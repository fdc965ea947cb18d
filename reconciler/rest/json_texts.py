"""JSON values that stand one after the other in a text, with or without lines between them.

What is no JSON is a value that can't be read, up to the end of its line. To find that out costs as much as the value is
long, and not as much as all that stands before it: the parser counts lines up to each error, so it is shown a part of the
text.
"""

import json
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, Final, NoReturn

from reconciler.rest.fitting import shown

Read = Callable[[], Any]
"""Gives a value, or raises ValueError or RecursionError for one that can't be read."""
_NEXT: Final = re.compile(r"\s*\S")
_PART: Final = 4_096
_MORE: Final = 8
_LONGEST_WORD: Final = 16
"""Of a word of JSON, an escape, or the beginning of a number."""
_UNTERMINATED: Final = "Unterminated string"
_MOST_DIGITS: Final = 400
"""No type holds a number with more. Written out, one such as 1e999999999 has a gigabyte."""


def values_of(text: str) -> Iterator[Read]:
    """Of each value what gives it."""
    place = 0
    while match := _NEXT.match(text, place):
        begin = match.end() - 1
        try:
            value, place = _read(text, begin)
        except (ValueError, RecursionError) as error:
            yield failing(error)
            place = text.find("\n", begin)
            if place < 0:
                return
            continue
        yield _giving(value)


def items_of(text: str) -> Iterator[Read]:
    """Of each item of the arrays that a text is made of what gives it. After what can't be read nothing is taken."""
    place = 0
    while match := _NEXT.match(text, place):
        try:
            value, place = _read(text, match.end() - 1)
        except (ValueError, RecursionError) as error:
            yield failing(error)
            return
        match value:
            case None:
                # The client sends null for a list without rows.
                pass
            case list():
                yield from map(_giving, value)
            case _:
                yield _refusing(value)


def value_of(text: str) -> Any:
    """The one value that a text is. Raises ValueError, RecursionError."""
    return _DECODER.decode(text)


def failing(error: Exception) -> Read:
    """What raises an error."""

    def fail() -> NoReturn:
        raise error

    return fail


def decimal_of(text: str) -> Decimal:
    """A number as it is written. Raises ValueError, ArithmeticError."""
    found = Decimal(text)
    if found.is_finite() and abs(found.adjusted()) > _MOST_DIGITS:
        raise ValueError(f"a number that is too large or too small: {shown(text)}")
    return found


def _no_json(text: str) -> NoReturn:
    # Python reads it all the same; written out again it would be null.
    raise ValueError(f'{text} is no JSON: as a value of a DOUBLE or FLOAT write "{text}", in quotes')


_DECODER: Final = json.JSONDecoder(parse_float=decimal_of, parse_constant=_no_json)


def _read(text: str, begin: int) -> tuple[Any, int]:
    """The value that begins there, and where it ends."""
    size = _PART
    while True:
        part = text[begin : begin + size]
        is_last = begin + size >= len(text)
        try:
            value, end = _DECODER.raw_decode(part)
        except json.JSONDecodeError as error:
            if is_last or not _may_be_cut(error, len(part)):
                raise
        else:
            # A number at the end of the part may go on.
            if is_last or end < len(part):
                return value, begin + end
        size *= _MORE


def _may_be_cut(error: json.JSONDecodeError, length: int) -> bool:
    return error.pos > length - _LONGEST_WORD or error.msg.startswith(_UNTERMINATED)


def _giving(value: Any) -> Read:
    return lambda: value


def _refusing(value: Any) -> Read:
    def fail() -> NoReturn:
        raise ValueError(f"this is no array: {shown(value)}")

    return fail
