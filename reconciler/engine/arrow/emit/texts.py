"""Rows as texts, letter by letter as Spark writes them (`engine.spark.emit.messages`, `lines`): JSON, and lines of CSV.

Only values of which Spark's text is surely known: whole numbers, decimals, truths, texts, days and moments of the years 1 to
9999, doubles that are whole and small or no numbers at all, and lists and structs of these; of maps those whose keys are
texts or whole numbers. For any other value there is no text here (`NotSurelyTold`): Java's shortest form of a double, for
one, depends on its version.
"""

import re
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Final

from reconciler.base.digest import JsonObject
from reconciler.engine.arrow.equal_rows import plain_type

if TYPE_CHECKING:
    import pyarrow as pa

Told = Callable[[Any], str]

_FIRST_DAY: Final = date(1970, 1, 1)
_DAY: Final = 86_400_000_000
_WHOLE: Final = 10_000_000
"""From here on Java writes exponents."""

_ESCAPED: Final = re.compile('["\\\\\x00-\x1f]')
_SHORT: Final = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
_SPECIAL: Final = re.compile('^$|["\r\n]|^[\x00-\x20\ufeff]|[\x00-\x20]$')
_ENDS_OF_LINES: Final = re.compile("[\u0085\u2028\u2029]")
"""Java's patterns take these for ends of lines, too."""


class NotSurelyTold(Exception):
    """A value has no text that is surely Spark's."""


def json_texts(rows: "pa.Table", around: Callable[[str], str], is_array: bool) -> Iterator[str]:
    """Of each row its text as JSON, within what `around` puts there."""
    columns = [(_quoted(name), _json_of(kind)) for name, kind in zip(rows.column_names, rows.schema.types, strict=True)]
    for values in _values(rows):
        parts = (f"{name}:{_or_null(told, value)}" for (name, told), value in zip(columns, values, strict=True))
        text = around("{" + ",".join(parts) + "}")
        yield f"[{text}]" if is_array else text


def csv_lines(rows: "pa.Table", config: JsonObject) -> Iterator[str]:
    """The header, if there is to be one and there are rows, and the line of each row. Of a row that has no form Spark says
    so."""
    delimiter, null_value = str(config.get("delimiter", ",")), str(config.get("null_value") or "")
    columns = [_csv_of(kind) for kind in rows.schema.types]
    nothing = _in_quotes(null_value, delimiter) if null_value else ""
    if config.get("header", True) and rows.num_rows:
        yield delimiter.join(_in_quotes(name, delimiter) for name in rows.column_names)
    for values in _values(rows):
        texts = [None if value is None else told(value) for told, value in zip(columns, values, strict=True)]
        if (null_value and null_value in texts) or (not null_value and all(text is None for text in texts)):
            raise NotSurelyTold
        yield delimiter.join(nothing if text is None else _in_quotes(text, delimiter) for text in texts)


def _values(rows: "pa.Table") -> Iterator[tuple[Any, ...]]:
    try:
        columns = [column.cast(plain_type(column.type, with_texts=True)).to_pylist() for column in rows.columns]
    except UnicodeDecodeError:
        raise NotSurelyTold from None
    return zip(*columns, strict=True)


def _or_null(told: Told, value: Any) -> str:
    return "null" if value is None else told(value)


def _json_of(kind: "pa.DataType") -> Told:
    from pyarrow import types

    if types.is_struct(kind):
        parts = [(field.name, _quoted(field.name), _json_of(field.type)) for field in kind]
        return lambda value: "{" + ",".join(f"{name}:{_or_null(told, value[key])}" for key, name, told in parts) + "}"
    if types.is_list(kind):
        of_part = _json_of(kind.value_type)
        return lambda value: "[" + ",".join(_or_null(of_part, one) for one in value) + "]"
    if types.is_map(kind) and (types.is_string(kind.key_type) or types.is_integer(kind.key_type)):
        of_item = _json_of(kind.item_type)
        return lambda value: "{" + ",".join(f"{_quoted(str(key))}:{_or_null(of_item, item)}" for key, item in value) + "}"
    if types.is_string(kind):
        return _quoted
    if types.is_boolean(kind):
        return _truth
    if types.is_decimal(kind):
        return str
    if types.is_floating(kind):
        return lambda value: _number(value) if value - value == 0 else _quoted(_number(value))
    told = _plain_text(kind)
    return told if types.is_integer(kind) else lambda value: f'"{told(value)}"'


def _csv_of(kind: "pa.DataType") -> Told:
    from pyarrow import types

    if types.is_string(kind):
        return str
    if types.is_boolean(kind):
        return _truth
    if types.is_decimal(kind):
        return lambda value: format(value, "f")
    if types.is_floating(kind):
        return _number
    return _plain_text(kind)


def _plain_text(kind: "pa.DataType") -> Told:
    from pyarrow import types

    if types.is_integer(kind):
        return str
    if types.is_date(kind):
        return _day
    if types.is_timestamp(kind):
        return _moment if kind.tz else _local_time
    raise NotSurelyTold


def _quoted(text: str) -> str:
    return '"' + _ESCAPED.sub(lambda found: _SHORT.get(found[0]) or f"\\u{ord(found[0]):04X}", text) + '"'


def _truth(value: bool) -> str:
    return "true" if value else "false"


def _number(value: float) -> str:
    if value != value:
        return "NaN"
    if value - value != 0:
        return "Infinity" if value > 0 else "-Infinity"
    if abs(value) >= _WHOLE or not value.is_integer():
        raise NotSurelyTold
    return repr(value)


def _day(days: int) -> str:
    try:
        return (_FIRST_DAY + timedelta(days)).isoformat()
    except OverflowError:
        raise NotSurelyTold from None


def _local_time(micros: int) -> str:
    days, left = divmod(micros, _DAY)
    seconds, fraction = divmod(left, 1_000_000)
    return f"{_day(days)}T{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{fraction:06}"


def _moment(micros: int) -> str:
    return f"{_local_time(micros)}Z"


def _in_quotes(text: str, delimiter: str) -> str:
    if _ENDS_OF_LINES.search(text):
        raise NotSurelyTold
    if delimiter in text or _SPECIAL.search(text):
        doubled = text.replace('"', '""')
        return f'"{doubled}"'
    return text
