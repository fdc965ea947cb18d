"""Values without Spark, for `recording`: literals in statements, and what fits a column.

The rules are Spark's as far as they go (see `spark.conform`): text is parsed, decimals are rounded to their scale, what does
not fit is X712, NULL in a NOT NULL column X713. Of nested values the fields are taken by name, numbers, truths and moments
are looked at, and what is a number in the place of a text is a text.
"""

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, time
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

from reconciler.base.errors import EngineError
from reconciler.base.names import fold
from reconciler.engine.protocol import ColumnType, TableTarget
from reconciler.engine.statement import Delete, Insert
from reconciler.sql.lexer import Dialect, Kind, Token, tokens_of
from reconciler.sql.structures import Elements, Entries, Leaf, Shape, Structure, shape_of

_Kind: TypeAlias = list[Any]
"""The name of a type, then its numbers."""
_TYPE = re.compile(r"(\w+)(?:\((\d+)(?:,\s*(\d+))?\))?")
_WHOLE = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
_TEXTS = frozenset({"STRING", "VARCHAR", "CHAR"})
_LARGEST_FLOAT = 3.4028235677973366e38
"""What is less is nearer to the largest number of 32 bits than to the next there would be."""
_SMALLEST_FLOAT = 2.0**-150
"""What is more is nearer to the smallest number of 32 bits than to 0."""
_TOO_FINE = re.compile(r"\.[0-9]{6}[0-9]*[1-9]")
_DAY = re.compile(r"\s*([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})(?=[T ]|$)")
_CONSTANTS = {"NULL": None, "TRUE": True, "FALSE": False}


def fitted(value: Any, column: ColumnType) -> Any:
    """The value as the column holds it. Raises EngineError when it does not fit."""
    if value is None:
        if not column.nullable:
            raise EngineError("X713", f"NULL in the NOT NULL column {column.name}")
        return None
    kind = _read(column.type.upper())
    if kind is None:
        shape = shape_of(column.type)
        if not _fits_within(value, shape):
            raise EngineError("X712", f"a value for column {column.name} does not fit {column.type}: {value}")
        return _by_name(value, shape)
    try:
        return _CONVERSIONS[kind[0]](value, kind)
    except (ValueError, InvalidOperation):
        raise EngineError("X712", f"a value for column {column.name} does not fit {column.type}: {value}") from None


def _by_name(value: Any, shape: Shape) -> Any:
    """A value with the fields of its structures under the names of the column's type, those that it lacks NULL; a number
    that stands where the type has a text becomes a text."""
    match shape, value:
        case Structure(), dict():
            known = {fold(name): part for name, part in value.items()}
            return {name: _by_name(known.get(fold(name)), inner) for name, inner in shape.fields}
        case Elements(), list():
            return [_by_name(part, shape.element) for part in value]
        case Entries(), dict():
            return {key: _by_name(part, shape.value) for key, part in value.items()}
        case Leaf(type_), Decimal() | int() if not isinstance(value, bool) and _is_text(_read(type_)):
            return str(value)
        case _:
            return value


def _fits_within(value: Any, shape: Shape) -> bool:
    """Whether the numbers, truths and moments within a value are what the type says; texts are not looked at."""
    match shape, value:
        case _, None:
            return True
        case Structure(), dict():
            known = {fold(name): part for name, part in value.items()}
            return all(_fits_within(known.get(fold(name)), inner) for name, inner in shape.fields)
        case Elements(), list():
            return all(_fits_within(part, shape.element) for part in value)
        case Entries(), dict():
            return all(_fits_within(part, shape.value) for part in value.values())
        case Leaf(type_), _:
            kind = _read(type_)
            if kind is None or _is_text(kind):
                return True
            try:
                _CONVERSIONS[kind[0]](value, kind)
            except (ValueError, InvalidOperation):
                return False
    return True


def _read(type_: str) -> _Kind | None:
    """The name and the numbers of a canonical type; None for one that has parts, or whose values are taken as they are."""
    found = _TYPE.match(type_)
    if found is None or found.group(1) not in _CONVERSIONS:
        return None
    return [found.group(1), *(int(part) for part in found.groups()[1:] if part is not None)]


def _is_text(kind: _Kind | None) -> bool:
    return kind is not None and kind[0] in _TEXTS


def matching(
    record: Mapping[str, Any], columns: Sequence[ColumnType], defaults: Mapping[str, str] | None = None
) -> tuple[Any, ...]:
    """A record's values in the columns' order, by name; for those it lacks their default, else None."""
    given = {key: _literal(list(tokens_of(text, Dialect.QUERY)))[0] for key, text in (defaults or {}).items()}
    values = given | {fold(name): value for name, value in record.items()}
    return tuple(values.get(fold(column.name)) for column in columns)


def inserted(insert: Insert, target: TableTarget) -> list[tuple[Any, ...]]:
    """The rows of INSERT … VALUES, in the table's order. Raises EngineError for other queries."""
    known = [fold(column.name) for column in target.columns]
    named = [fold(name) for name in insert.columns] or known
    for name in named:
        if name not in known:
            raise EngineError("X720", f"table {target.name} has no column {name}")
    rows = []
    for values in _tuples(list(tokens_of(insert.query, Dialect.QUERY))):
        if len(values) != len(named):
            raise EngineError("X720", f"the INSERT gives {len(values)} value(s) a row for {len(named)} column(s)")
        rows.append(matching(dict(zip(named, values, strict=True)), target.columns, target.defaults))
    return rows


def deleted(delete: Delete, target: TableTarget) -> dict[int, Any]:
    """What DELETE … WHERE column = literal [AND …] asks for: column index → value. Empty for every row."""
    wanted: dict[int, Any] = {}
    if delete.condition is None:
        return wanted
    known = {fold(column.name): place for place, column in enumerate(target.columns)}
    words = list(tokens_of(delete.condition, Dialect.QUERY))
    while words:
        if len(words) < 3 or fold(words[0].text) not in known or not words[1].is_symbol("="):
            raise EngineError("X716", "this engine deletes by `column = literal` only")
        place = known[fold(words[0].text)]
        value, used = _literal(words[2:])
        wanted[place] = fitted(value, target.columns[place])
        words = words[2 + used :]
        if words and not words.pop(0).is_word("AND"):
            raise EngineError("X716", "this engine joins conditions by AND only")
    return wanted


def _tuples(words: list[Token]) -> list[list[Any]]:
    if not words or not words[0].is_word("VALUES"):
        raise EngineError("X716", "this engine inserts VALUES only")
    rows: list[list[Any]] = []
    position = 1
    while position < len(words):
        if words[position].is_symbol("("):
            rows.append([])
            position += 1
        elif words[position].is_symbol(",") or words[position].is_symbol(")"):
            position += 1
        else:
            value, used = _literal(words[position:])
            rows[-1].append(value)
            position += used
    return rows


def _literal(words: list[Token]) -> tuple[Any, int]:
    first = words[0]
    if first.kind is Kind.NUMBER:
        return Decimal(first.text), 1
    if first.is_symbol("-") and len(words) > 1 and words[1].kind is Kind.NUMBER:
        return -Decimal(words[1].text), 2
    if first.kind is Kind.STRING:
        return re.sub(r"\\(.)", r"\1", first.text[1:-1].replace(first.text[0] * 2, first.text[0])), 1
    if first.is_word("DATE", "TIMESTAMP") and len(words) > 1 and words[1].kind is Kind.STRING:
        return words[1].text[1:-1], 2
    if first.kind is Kind.WORD and first.text.upper() in _CONSTANTS:
        return _CONSTANTS[first.text.upper()], 1
    raise EngineError("X716", f"this engine takes literals only, not {first.text!r}")


def _whole(value: Any, kind: _Kind) -> int:
    number = Decimal(str(value))
    bound = 2 ** (_WHOLE[kind[0]] - 1)
    if number != number.to_integral_value() or not -bound <= number < bound:
        raise ValueError(value)
    return int(number)


def _decimal(value: Any, kind: _Kind) -> Decimal:
    precision, scale = (kind[1], kind[2] if len(kind) > 2 else 0) if len(kind) > 1 else (10, 0)
    number = Decimal(str(value)).quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP)
    if abs(number) >= Decimal(10) ** (precision - scale):
        raise ValueError(value)
    return number


def _text(value: Any, kind: _Kind) -> str:
    text = json.dumps(value, default=str) if isinstance(value, dict | list) else str(value)
    if len(kind) > 1 and len(text) > kind[1]:
        raise ValueError(value)
    return text


def _number(value: Any, kind: _Kind) -> float:
    if isinstance(value, bool):
        raise ValueError(value)
    number = float(value)
    most = _LARGEST_FLOAT if kind[0] == "FLOAT" else sys.float_info.max
    if abs(number) > most and not (isinstance(value, str) and "inf" in value.lower()):
        raise ValueError(value)
    least = _SMALLEST_FLOAT if kind[0] == "FLOAT" else 0.0
    if abs(number) <= least and Decimal(str(value)) != 0:
        raise ValueError(value)
    return number


def _instant(value: Any, kind: _Kind) -> datetime:
    read = _time(value)
    return read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)


def _time_without_zone(value: Any, kind: _Kind) -> datetime:
    read = _time(value)
    if read.tzinfo is not None:
        raise ValueError(value)
    return read


def _day(value: Any, kind: _Kind) -> date:
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    read = _time_without_zone(value, kind)
    if read.time() != time():
        raise ValueError(value)
    return read.date()


def _time(value: Any) -> datetime:
    """A day and a time of it, at least a day."""
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime.combine(value, time())
    found = _DAY.match(value) if isinstance(value, str) else None
    if found is None or _TOO_FINE.search(value):
        raise ValueError(value)
    year, month, day = map(int, found.groups())
    clock, _, zone = value[found.end() :].rstrip().rpartition(" ")
    if clock and zone[:1].isalpha():
        read = datetime.fromisoformat(f"{year:04}-{month:02}-{day:02}{clock}")
        return read.replace(tzinfo=ZoneInfo(zone))
    return datetime.fromisoformat(f"{year:04}-{month:02}-{day:02}{value[found.end() :].rstrip()}")


def _bytes(value: Any, kind: _Kind) -> bytes:
    if not isinstance(value, list):
        return value if isinstance(value, bytes) else str(value).encode()
    if not value or not all(isinstance(one, int) and not isinstance(one, bool) for one in value):
        raise ValueError(value)
    return bytes(value)


def _flag(value: Any, kind: _Kind) -> bool:
    if str(value).lower() not in ("true", "false"):
        raise ValueError(value)
    return str(value).lower() == "true"


_CONVERSIONS: dict[str, Callable[[Any, _Kind], Any]] = {
    **dict.fromkeys(_WHOLE, _whole),
    "DECIMAL": _decimal,
    "DOUBLE": _number,
    "FLOAT": _number,
    "STRING": _text,
    "VARCHAR": _text,
    "CHAR": _text,
    "BINARY": _bytes,
    "BOOLEAN": _flag,
    "DATE": _day,
    "TIMESTAMP": _instant,
    "TIMESTAMP_NTZ": _time_without_zone,
}
