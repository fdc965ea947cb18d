"""Column types: the seeds' and Spark's spellings read into one canonical text.

Rules:
- Canonical text is upper case without spaces outside of field names: `DECIMAL(15,2)`, `ARRAY<STRING>`,
  `STRUCT<a:INT,b:MAP<STRING,DATE>>`. Field names keep their spelling.
- Aliases become one type: INTEGER is INT, REAL is FLOAT, TEXT and VARCHAR without length are STRING, VARBINARY is
  BINARY, NUMERIC and DEC are DECIMAL; DECIMAL is DECIMAL(10,0) and DECIMAL(p) is DECIMAL(p,0), as in Spark.
- VARIANT holds any JSON value; it is no key of a MAP.
- `T ARRAY` and `ROW(a T, …)` are the seeds' spellings of ARRAY<T> and STRUCT<a:T,…>.
- What Spark could not store (precision above 38, scale above precision, length 0) is no type: None.

Not here: what values a type takes, and which changes of type keep data (that is `diff`'s).
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

_SIMPLE: Final = {
    "BIGINT": "BIGINT",
    "LONG": "BIGINT",
    "INT": "INT",
    "INTEGER": "INT",
    "SMALLINT": "SMALLINT",
    "SHORT": "SMALLINT",
    "TINYINT": "TINYINT",
    "BYTE": "TINYINT",
    "STRING": "STRING",
    "TEXT": "STRING",
    "DOUBLE": "DOUBLE",
    "FLOAT": "FLOAT",
    "REAL": "FLOAT",
    "BOOLEAN": "BOOLEAN",
    "BOOL": "BOOLEAN",
    "DATE": "DATE",
    "TIMESTAMP": "TIMESTAMP",
    "TIMESTAMP_LTZ": "TIMESTAMP",
    "TIMESTAMP_NTZ": "TIMESTAMP_NTZ",
    "BINARY": "BINARY",
    "VARBINARY": "BINARY",
    "VARIANT": "VARIANT",
}
_DECIMAL: Final = frozenset({"DECIMAL", "NUMERIC", "DEC"})
_STORED_AS_STRING: Final = re.compile(r"\b(?:VARCHAR|CHAR)\(\d+\)")
# A field's name stands before a colon.
_VARIANT: Final = re.compile(r"\bVARIANT\b(?!:)")
_OTHER_KEYS: Final = re.compile(r"\bMAP<(?!STRING,|VARCHAR\(|CHAR\()")
_TOKEN: Final = re.compile(r"\s*(?:([A-Za-z_]\w*)|`([A-Za-z_]\w*)`|\"([A-Za-z_]\w*)\"|(\d+)|([<>(),:]))")

MAXIMUM_PRECISION: Final = 38
KNOWN_TYPES: Final = tuple(sorted({*_SIMPLE, *_DECIMAL, "VARCHAR", "CHAR", "ARRAY", "MAP", "STRUCT", "ROW"}))


class _Unreadable(Exception):
    """The text is no type. Never leaves this module."""


class _Reader:
    """A recursive-descent reader over the tokens of one type."""

    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str]] = []
        position = 0
        text = text.strip()
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None:
                raise _Unreadable
            word, ticked, quoted, number, symbol = match.groups()
            if word is not None:
                self.tokens.append(("word", word))
            elif ticked is not None or quoted is not None:
                self.tokens.append(("name", ticked or quoted))
            elif number is not None:
                self.tokens.append(("number", number))
            else:
                self.tokens.append(("symbol", symbol))
            position = match.end()
        self.position = 0

    def peek(self) -> tuple[str, str]:
        return self.tokens[self.position] if self.position < len(self.tokens) else ("end", "")

    def take(self, kind: str) -> str:
        found, value = self.peek()
        if found != kind:
            raise _Unreadable
        self.position += 1
        return value

    def symbol(self, wanted: str) -> None:
        if self.take("symbol") != wanted:
            raise _Unreadable

    def accept(self, wanted: str) -> bool:
        if self.peek() == ("symbol", wanted):
            self.position += 1
            return True
        return False

    def accept_word(self, wanted: str) -> bool:
        kind, value = self.peek()
        if kind == "word" and value.upper() == wanted:
            self.position += 1
            return True
        return False


def _numbers(reader: _Reader) -> tuple[int, ...]:
    """The parameters in parentheses after a type's name, none when there are no parentheses."""
    if not reader.accept("("):
        return ()
    numbers = [int(reader.take("number"))]
    while reader.accept(","):
        numbers.append(int(reader.take("number")))
    reader.symbol(")")
    return tuple(numbers)


def _decimal(reader: _Reader) -> str:
    match _numbers(reader):
        case ():
            precision, scale = 10, 0
        case (precision,):
            scale = 0
        case (precision, scale):
            pass
        case _:
            raise _Unreadable
    if not (1 <= precision <= MAXIMUM_PRECISION and scale <= precision):
        raise _Unreadable
    return f"DECIMAL({precision},{scale})"


def _text(name: str, reader: _Reader) -> str:
    match _numbers(reader):
        case ():
            return "STRING" if name == "VARCHAR" else "CHAR(1)"
        case (length,) if length >= 1:
            return f"{name}({length})"
        case _:
            raise _Unreadable


def _fields(reader: _Reader, close: str) -> str:
    fields: list[str] = []
    seen: set[str] = set()
    while True:
        kind, name = reader.peek()
        if kind not in ("word", "name") or name.lower() in seen:
            raise _Unreadable
        seen.add(name.lower())
        reader.position += 1
        reader.accept(":")
        fields.append(f"{name}:{_type(reader)}")
        if reader.accept_word("NOT"):
            if not reader.accept_word("NULL"):
                raise _Unreadable
            fields[-1] += " NOT NULL"
        else:
            reader.accept_word("NULL")
        if not reader.accept(","):
            break
    reader.symbol(close)
    return f"STRUCT<{','.join(fields)}>"


def _array(reader: _Reader) -> str:
    reader.symbol("<")
    element = _type(reader)
    reader.symbol(">")
    return f"ARRAY<{element}>"


def _map(reader: _Reader) -> str:
    reader.symbol("<")
    key = _type(reader)
    reader.symbol(",")
    value = _type(reader)
    reader.symbol(">")
    if key.startswith("MAP<") or is_variant(key):
        raise _Unreadable
    return f"MAP<{key},{value}>"


def _struct(reader: _Reader) -> str:
    reader.symbol("<")
    return _fields(reader, ">")


def _row(reader: _Reader) -> str:
    reader.symbol("(")
    return _fields(reader, ")")


_NESTED: Final[dict[str, Callable[[_Reader], str]]] = {"ARRAY": _array, "MAP": _map, "STRUCT": _struct, "ROW": _row}


def _base(reader: _Reader) -> str:
    name = reader.take("word").upper()
    if name in _DECIMAL:
        return _decimal(reader)
    if name in ("VARCHAR", "CHAR"):
        return _text(name, reader)
    if name == "CHARACTER":
        return _text("VARCHAR" if reader.accept_word("VARYING") else "CHAR", reader)
    if name == "VARBINARY":
        _numbers(reader)
        return "BINARY"
    if name == "DOUBLE":
        reader.accept_word("PRECISION")
        return "DOUBLE"
    if name in _NESTED:
        return _NESTED[name](reader)
    if name in _SIMPLE:
        return _SIMPLE[name]
    raise _Unreadable


def _type(reader: _Reader) -> str:
    found = _base(reader)
    while reader.accept_word("ARRAY"):
        found = f"ARRAY<{found}>"
    return found


@lru_cache(maxsize=4096)
def canonical_type(text: str) -> str | None:
    """The canonical text of a type, or None when it is unknown or can't be."""
    try:
        reader = _Reader(text)
        found = _type(reader)
    except (_Unreadable, RecursionError):
        return None
    return found if reader.position == len(reader.tokens) else None


def struct_fields(canonical: str) -> tuple[tuple[str, str], ...] | None:
    """The fields of a STRUCT in its canonical text, by name with their types; None for another type."""
    if not (canonical.startswith("STRUCT<") and canonical.endswith(">")):
        return None
    fields: list[tuple[str, str]] = []
    depth, begin = 0, len("STRUCT<")
    for place in range(begin, len(canonical)):
        depth += (canonical[place] in "<(") - (canonical[place] in ">)")
        if depth < 0 or (depth == 0 and canonical[place] == ","):
            name, _, kind = canonical[begin:place].partition(":")
            fields.append((name, kind))
            begin = place + 1
    return tuple(fields)


def element_type(canonical: str) -> str | None:
    """The type of an ARRAY's elements in its canonical text; None for another type."""
    return canonical[len("ARRAY<") : -1] if canonical.startswith("ARRAY<") and canonical.endswith(">") else None


def is_variant(canonical: str) -> bool:
    """Whether values of a type are VARIANTs, or have some among their parts. Spark compares none of them."""
    return _VARIANT.search(canonical) is not None


def has_keys_that_are_no_texts(canonical: str) -> bool:
    """Whether a type is, or has within it, a MAP whose keys are no texts. The keys of a JSON object are."""
    return _OTHER_KEYS.search(canonical) is not None


def storage_type(canonical: str) -> str:
    """What Delta stores for a canonical type: text of bounded length is a STRING there, at any depth."""
    return _STORED_AS_STRING.sub("STRING", canonical)
