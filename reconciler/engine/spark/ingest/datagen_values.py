"""The value that stands in one column of a made-up row: an expression of Spark SQL over the row's number.

Random values are hashes of seed, column and number. Numbers, dates (days) and times (milliseconds) are drawn as numbers from
a range that holds its first bound and not its last; `increment` counts through it and begins again at its end. `values` are
given as texts, and made to fit the column like any text that is read.
"""

import json
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any, Final

from reconciler.base.errors import EngineError
from reconciler.base.names import quoted
from reconciler.engine.protocol import ColumnType
from reconciler.engine.spark.locations import literal
from reconciler.engine.spark.nested import FLOATS

ROW: Final = "reconcile row"
"""The column that holds a row's number in its plan."""

_N: Final = quoted(ROW)
# Where the whole numbers of a type end. The last one of a BIGINT is left out: what is above it can't be written.
_WHOLE: Final = {"tinyint": 2**7, "smallint": 2**15, "int": 2**31, "bigint": 2**63 - 1}
_TEXT: Final = re.compile(r"^(string|varchar|char)\b(?:\s*\((\d+)\))?")
_DECIMAL: Final = re.compile(r"^decimal(?:\s*\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?$")
_END_OF_TIME: Final = datetime(2100, 1, 1, tzinfo=UTC)
_LONGEST: Final = 1000
_FIRST_NAMES: Final = [
    "Ada",
    "Ben",
    "Clara",
    "David",
    "Elif",
    "Femi",
    "Grace",
    "Hugo",
    "Ines",
    "Jonas",
    "Kofi",
    "Lena",
    "Mei",
    "Noor",
    "Omar",
    "Pia",
    "Quinn",
    "Rosa",
    "Sami",
    "Tara",
]
_LAST_NAMES: Final = [
    "Adeyemi",
    "Berg",
    "Costa",
    "Dubois",
    "Eriksen",
    "Fischer",
    "Garcia",
    "Haas",
    "Ivanov",
    "Jensen",
    "Kim",
    "Lopez",
    "Meyer",
    "Nakamura",
    "Okafor",
    "Park",
]
_WORDS: Final = [
    "amber",
    "bridge",
    "cloud",
    "delta",
    "ember",
    "field",
    "garden",
    "harbor",
    "island",
    "jade",
    "kettle",
    "lantern",
    "meadow",
    "north",
    "ocean",
    "paper",
]
_CITIES: Final = [
    "Accra",
    "Berlin",
    "Cairo",
    "Dakar",
    "Geneva",
    "Hanoi",
    "Istanbul",
    "Jakarta",
    "Kyoto",
    "Lima",
    "Madrid",
    "Nairobi",
    "Oslo",
    "Paris",
    "Quito",
    "Rome",
]
_COUNTRIES: Final = ["AT", "BR", "CH", "DE", "EG", "FR", "GH", "IN", "JP", "KE", "MX", "NO", "PE", "SE", "TR", "US"]
_KINDS: Final = {
    "word": _WORDS,
    "first_name": _FIRST_NAMES,
    "last_name": _LAST_NAMES,
    "city_name": _CITIES,
    "country_code": _COUNTRIES,
}


def value(column: ColumnType, field: Mapping[str, Any], seed: int) -> str:
    """The expression for a column. Raises EngineError (X716) where a field asks for what its column's type can't be."""
    made = _Maker(column, field, seed).made()
    nulls = float(field.get("null_percentage") or 0)
    if not nulls:
        return made
    chance = f"pmod(xxhash64({seed}L, {literal(column.name)}, 'null', {_N}), 1000000L)"
    return f"CASE WHEN {chance} < {round(nulls * 10_000)}L THEN NULL ELSE {made} END"


class _Maker:
    """The expression for one column, by its strategy and type."""

    def __init__(self, column: ColumnType, field: Mapping[str, Any], seed: int) -> None:
        self._column, self._field, self._seed = column, field, seed
        self._type = column.type.strip().lower()
        self._strategy = str(field.get("strategy") or "increment")

    def made(self) -> str:
        if "values" in self._field:
            return self._one_of([_text(one) for one in self._field["values"]], self._strategy)
        text = _TEXT.match(self._type)
        if text is not None:
            return self._text(int(text.group(2)) if text.group(2) else None)
        if self._strategy not in ("increment", "uniform", "zipf"):
            raise self._refused(f"{self._strategy} makes texts, not {self._column.type}")
        if self._type == "boolean":
            return f"{self._number('0', '2')} = 1"
        if self._type in _WHOLE:
            return f"CAST({self._number(*self._bounds('0', str(_WHOLE[self._type])))} AS {self._type})"
        decimal = _DECIMAL.match(self._type)
        if decimal is not None:
            whole = int(decimal.group(1) or 10) - int(decimal.group(2) or 0)
            low, high = self._bounds("0", str(10 ** min(whole, 15)))
            return f"CAST({self._real(low, high)} AS {self._column.type})"
        if self._type in FLOATS:
            low, high = self._bounds("0", "1" if self._strategy == "uniform" else str(10**15))
            return f"CAST({self._real(low, high)} AS {self._type})"
        if self._type == "date":
            return f"date_from_unix_date(CAST({self._number(*self._bounds('0', str(_days(date(2100, 1, 1)))))} AS INT))"
        if self._type.startswith("timestamp"):
            made = f"timestamp_millis({self._number(*self._bounds('0', str(_milliseconds(_END_OF_TIME))))})"
            return f"CAST({made} AS {self._type})"
        if self._column.nullable and not self._field:
            return f"CAST(NULL AS {self._column.type})"
        raise self._refused(f"a {self._column.type} can only be one of its values")

    def _bounds(self, low: str, high: str) -> tuple[str, str]:
        given = self._field.get("range")
        return (low, high) if given is None else (self._bound(given[0]), self._bound(given[1]))

    def _bound(self, given: Any) -> str:
        if isinstance(given, int | float):
            return repr(given)
        try:
            if self._type == "date":
                return str(_days(date.fromisoformat(given)))
            if self._type.startswith("timestamp"):
                read = datetime.fromisoformat(given)
                return str(_milliseconds(read if read.tzinfo else read.replace(tzinfo=UTC)))
        except ValueError:
            pass
        raise self._refused(f"{given!r} is not a bound for {self._column.type}")

    def _number(self, low: str, high: str) -> str:
        """A whole number of the range."""
        width = int(float(high)) - int(float(low)) if "." in low + high or "e" in low + high else int(high) - int(low)
        if width <= 0:
            raise self._refused(f"the range [{low}, {high}) is empty")
        return f"({int(float(low)) if '.' in low or 'e' in low else low}L + {self._below(width)})"

    def _below(self, width: int) -> str:
        scale = self._field.get("scale", 1)
        match self._strategy:
            case "increment":
                return f"pmod(CAST({_N} * {scale!r} AS BIGINT), {width}L)"
            case "uniform":
                drawn = f"pmod({self._hash('value')}, {width}L)"
                return drawn if scale == 1 else f"pmod(CAST({drawn} * {scale!r} AS BIGINT), {width}L)"
            case _:
                return f"CAST({self._rank(width)} AS BIGINT)"

    def _real(self, low: str, high: str) -> str:
        """A number of the range that need not be whole; counted, it goes up in steps of the scale."""
        if self._strategy == "zipf":
            return self._number(low, high)
        scale = self._field.get("scale", 1)
        width = float(high) - float(low)
        if width <= 0:
            raise self._refused(f"the range [{low}, {high}) is empty")
        if self._strategy == "uniform":
            drawn = f"{self._share('value')} * {width!r}D"
            drawn = drawn if scale == 1 else f"pmod({drawn} * {scale!r}, {width!r}D)"
        else:
            drawn = f"pmod(CAST({_N} AS DOUBLE) * {scale!r}, {width!r}D)"
        return f"({float(low)!r}D + {drawn})"

    def _rank(self, width: int) -> str:
        """A number below `width` by about Zipf's law: the continuous one, cut off to whole numbers."""
        share, exponent = self._share("value"), float(self._field.get("e", 1))
        if exponent == 1:
            rank = f"power({width + 1}D, {share})"
        else:
            power = 1 - exponent
            rank = f"power(1 + {share} * (power({width + 1}D, {power!r}D) - 1), {1 / power!r}D)"
        return f"least(greatest(floor({rank}) - 1, 0L), {width - 1}L)"

    def _text(self, most: int | None) -> str:
        match self._strategy:
            case "increment":
                scale = self._field.get("scale", 1)
                return f"CAST({_N} AS STRING)" if scale == 1 else f"CAST({_N} * {scale!r} AS STRING)"
            case "zipf":
                return f"CAST({self._number(*self._bounds('0', '1000'))} AS STRING)"
            case "uniform":
                low, high = self._lengths(0, 25 if most is None else min(25, most + 1))
                parts = [f"lpad(lower(hex({self._hash(f'part {part}')})), 16, '0')" for part in range(-(-high // 16) or 1)]
                length = f"{low} + pmod({self._hash('length')}, {max(high - low, 1)}L)"
                return f"substring(concat({', '.join(parts)}), 1, CAST({length} AS INT))"
            case "words":
                low, high = self._lengths(3, 8)
                words = [self._one_of(_WORDS, "uniform", f"word {number}") for number in range(max(high - 1, 1))]
                count = f"{low} + pmod({self._hash('count')}, {max(high - low, 1)}L)"
                return f"array_join(slice(array({', '.join(words)}), 1, CAST({count} AS INT)), ' ')"
            case "name":
                return f"concat({self._part('first_name')}, ' ', {self._part('last_name')})"
            case "username":
                return f"lower(concat({self._part('first_name')}, pmod({self._hash('value')}, 10000L)))"
            case "email":
                names = f"{self._part('first_name')}, '.', {self._part('last_name')}"
                return f"lower(concat({names}, pmod({self._hash('value')}, 10000L), '@example.com'))"
            case "ipv4":
                parts = [f"pmod({self._hash(f'part {part}')}, 256L)" for part in range(4)]
                return f"concat_ws('.', {', '.join(parts)})"
            case kind:
                return self._part(kind)

    def _lengths(self, low: int, high: int) -> tuple[int, int]:
        given = self._field.get("range") or (low, high)
        if not all(isinstance(one, int) for one in given) or not 0 <= given[0] < given[1] <= _LONGEST:
            raise self._refused(f"the range of a text is its length, from 0 to {_LONGEST}: {list(given)}")
        return int(given[0]), int(given[1])

    def _part(self, kind: str) -> str:
        return self._one_of(_KINDS[kind], "uniform", kind)

    def _one_of(self, texts: list[str | None] | list[str], strategy: str, what: str = "value") -> str:
        array = f"array({', '.join('CAST(NULL AS STRING)' if text is None else literal(text) for text in texts)})"
        match strategy:
            case "increment":
                place = f"pmod({_N}, {len(texts)}L)"
            case "zipf":
                place = self._rank(len(texts))
            case _:
                place = f"pmod({self._hash(what)}, {len(texts)}L)"
        return f"element_at({array}, CAST({place} + 1 AS INT))"

    def _hash(self, what: str) -> str:
        return f"xxhash64({self._seed}L, {literal(self._column.name)}, {literal(what)}, {_N})"

    def _share(self, what: str) -> str:
        """At least 0 and less than 1."""
        return f"(shiftrightunsigned({self._hash(what)}, 11) / 9007199254740992D)"

    def _refused(self, why: str) -> EngineError:
        return EngineError("X716", f"column {self._column.name}: {why}")


def _text(given: Any) -> str | None:
    if given is None or isinstance(given, str):
        return given
    return json.dumps(given)


def _days(day: date) -> int:
    return (day - date(1970, 1, 1)).days


def _milliseconds(at: datetime) -> int:
    return round(at.timestamp() * 1000)
