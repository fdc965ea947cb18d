"""What may stand after a column's type besides constraints: DEFAULT, LATENESS, COMMENT.

    DEFAULT <literal>        a number (with a sign), '…', X'…', TRUE, FALSE, DATE '…', TIMESTAMP '…', TIMESTAMP_NTZ '…', NULL
    LATENESS <bound>         INTERVAL '4' HOURS, INTERVAL 1 HOUR on DATE and TIMESTAMP; a number on numbers
    COMMENT '…'

Rules:
- A default is the same for every row, whenever it comes in: CURRENT_TIMESTAMP and other calls are refused. DEFAULT NULL is
  no default: a column without one is NULL where a row lacks it.
- A default fits its column exactly, without a conversion that Spark would have to guess: text for text, numbers without
  more digits than the column holds, DATE for DATE.
- Texts are canonical, so that what means the same is the same: keywords in upper case, no `+`, units in the singular, and
  a text as Spark writes it (the file's only escape is '').
- What is wrong is told at its place and left out; the column stays.
"""

import re
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Final

from reconciler.base.dataclass import dataclass
from reconciler.sql.cursor import Cursor, shown
from reconciler.sql.lexer import Kind, Token, unquote

UNITS: Final = ("MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK")
CLAUSES: Final = ("DEFAULT", "LATENESS", "COMMENT")

_NUMBER: Final = re.compile(r"(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\Z")
_WHOLE_NUMBERS: Final = {"TINYINT": 7, "SMALLINT": 15, "INT": 31, "BIGINT": 63}
_DECIMAL: Final = re.compile(r"DECIMAL\((\d+),(\d+)\)")
_LENGTH: Final = re.compile(r"(?:VARCHAR|CHAR)\((\d+)\)")
_TIMES: Final = ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ")
_FARTHEST_OFFSET: Final = timedelta(hours=18)
_UNKNOWN: Final = "UNKNOWN"
_DEFAULT_FORMS: Final = "write a number, '…', TRUE, FALSE, DATE '…', TIMESTAMP '…' or NULL"
_LATENESS_FORMS: Final = "write INTERVAL '4' HOURS, or a number for a column of numbers"


@dataclass(slots=True)
class Clauses:
    """What was read of one column; texts as in `base.declarations.ColumnDeclaration`."""

    default: str | None = None
    lateness: str | None = None
    comment: str | None = None
    given: tuple[str, ...] = ()
    null_default: Token | None = None


def read_clause(cursor: Cursor, column: str, column_type: str, clauses: Clauses) -> None:
    """Read the clause that begins with the next word, one of CLAUSES."""
    word = cursor.take()
    name = word.text.upper()
    if name in clauses.given:
        cursor.report("S265", word, f"column {column!r} has {name} twice", "keep one of them")
    clauses.given = (*clauses.given, name)
    match name:
        case "DEFAULT":
            _read_default(cursor, column, column_type, clauses)
        case "LATENESS":
            _read_lateness(cursor, column, column_type, clauses)
        case _:
            text = cursor.peek()
            if text.kind is not Kind.STRING:
                cursor.fail("S203", text, f"expected a text in quotes after COMMENT, found {shown(text)}", "write '…'")
            clauses.comment = unquote(cursor.take())


def check_clauses(cursor: Cursor, column: str, nullable: bool, clauses: Clauses) -> None:
    """What can be judged only when the whole column was read."""
    if clauses.null_default is not None and not nullable:
        message = f"column {column!r} is NOT NULL: its default can't be NULL"
        cursor.report("S262", clauses.null_default, message, "remove DEFAULT NULL, or give another value")


@dataclass(frozen=True, slots=True)
class _Literal:
    """A literal: what kind of value it is (a type, NUMBER, TEXT or NULL), its canonical text, and its value as text."""

    kind: str
    text: str
    value: str


def _read_default(cursor: Cursor, column: str, column_type: str, clauses: Clauses) -> None:
    first = cursor.peek()
    literal = _literal(cursor)
    after = cursor.peek()
    if literal is None or not _ends(after):
        place = first if literal is None else after
        cursor.fail("S261", place, f"the default of column {column!r} is not a constant: {shown(place)}", _DEFAULT_FORMS)
    if literal.kind == "NULL":
        clauses.null_default = first
        return
    problem = _misfit(literal, column_type)
    if problem is not None:
        cursor.report("S262", first, f"the default of column {column!r} does not fit {column_type}: {problem}")
        return
    clauses.default = literal.text


def _ends(token: Token) -> bool:
    """Whether a constant can end before this token: then a clause, a constraint or the next column follows."""
    return token.kind in (Kind.WORD, Kind.END, Kind.QUOTED) or token.text in (",", ")", ";")


def _literal(cursor: Cursor) -> _Literal | None:
    """The literal that stands next, taken; None when there is none."""
    first = cursor.peek()
    if first.kind is Kind.NUMBER or first.is_symbol("-") or first.is_symbol("+"):
        sign = "-" if first.is_symbol("-") else ""
        if first.kind is Kind.SYMBOL:
            cursor.take()
        number = cursor.peek()
        if number.kind is not Kind.NUMBER or not _NUMBER.match(number.text):
            return None
        text = sign + cursor.take().text.upper()
        return _Literal("NUMBER", text, text)
    if first.kind is Kind.STRING:
        text = unquote(cursor.take())
        return _Literal("TEXT", spark_text(text), text)
    if first.is_word("TRUE", "FALSE", "NULL"):
        word = cursor.take().text.upper()
        return _Literal("NULL" if word == "NULL" else "BOOLEAN", word, word)
    if first.is_word(*_TIMES, "X"):
        cursor.take()
        text_token = cursor.peek()
        if text_token.kind is not Kind.STRING:
            return None
        text, word = unquote(cursor.take()), first.text.upper()
        if word == "X":
            return _Literal("BINARY", f"X'{text.upper()}'", text)
        return _Literal(word, f"{word} {spark_text(text.strip())}", text.strip())
    return None


def spark_text(text: str) -> str:
    """A text as a literal of Spark's."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _misfit(literal: _Literal, column_type: str) -> str | None:
    """Why the literal is no value of the type, in words; None when it is one."""
    if column_type == _UNKNOWN:
        return None
    match literal.kind:
        case "NUMBER":
            return _number_misfit(Decimal(literal.value), column_type)
        case "TEXT":
            if column_type == "STRING":
                return None
            length = _LENGTH.fullmatch(column_type)
            if length is None:
                return f"it is a text; {_instead(column_type)}"
            return f"it has {len(literal.value)} characters" if len(literal.value) > int(length[1]) else None
        case "BINARY":
            if not re.fullmatch(r"(?:[0-9A-Fa-f]{2})*", literal.value):
                return "X'…' must hold pairs of the digits 0 to 9 and A to F"
            return None if column_type == "BINARY" else f"it is binary; {_instead(column_type)}"
        case "BOOLEAN":
            return None if column_type == "BOOLEAN" else f"it is a truth value; {_instead(column_type)}"
        case _:
            if literal.kind != column_type:
                return f"it is a {literal.kind}; {_instead(column_type)}"
            return None if _is_time(literal) else f"{literal.value!r} is not a valid {literal.kind}"


def _instead(column_type: str) -> str:
    if column_type in _TIMES:
        return f"write {column_type} '…'"
    if column_type == "STRING" or _LENGTH.fullmatch(column_type):
        return "write '…'"
    if column_type == "BINARY":
        return "write X'…'"
    if column_type == "BOOLEAN":
        return "write TRUE or FALSE"
    if column_type.startswith(("ARRAY", "MAP", "STRUCT", "VARIANT")):
        return "the only default of a column with parts is NULL"
    return "write a number"


def _number_misfit(number: Decimal, column_type: str) -> str | None:
    if column_type in ("FLOAT", "DOUBLE"):
        return None
    if column_type in _WHOLE_NUMBERS:
        if number != number.to_integral_value():
            return "it is not a whole number"
        bound = 2 ** _WHOLE_NUMBERS[column_type]
        return None if -bound <= number < bound else "it is out of range"
    decimal = _DECIMAL.fullmatch(column_type)
    if decimal is None:
        return f"it is a number; {_instead(column_type)}"
    precision, scale = int(decimal[1]), int(decimal[2])
    exponent = number.normalize().as_tuple().exponent
    if isinstance(exponent, int) and -exponent > scale:
        return f"it has more than {scale} digits after the point"
    return None if abs(number) < Decimal(10) ** (precision - scale) else "it is out of range"


def _is_time(literal: _Literal) -> bool:
    try:
        if literal.kind == "DATE":
            date.fromisoformat(literal.value)
        else:
            # Python has no more than six digits of a second and takes UTC for Z.
            offset = datetime.fromisoformat(literal.value).utcoffset()
            if offset is not None:
                # Spark has none beyond these, and no fractions of a second.
                return literal.kind == "TIMESTAMP" and abs(offset) <= _FARTHEST_OFFSET and not offset.microseconds
    except ValueError:
        return False
    return True


def _read_lateness(cursor: Cursor, column: str, column_type: str, clauses: Clauses) -> None:
    first = cursor.peek()
    found = _interval(cursor) if first.is_word("INTERVAL") else _bound(cursor)
    if found is None or not _ends(cursor.peek()):
        place = cursor.peek()
        cursor.fail("S263", place, f"unexpected {shown(place)} after the lateness of column {column!r}", _LATENESS_FORMS)
    is_interval = found.startswith("INTERVAL")
    if column_type != _UNKNOWN and is_interval is not (column_type in _TIMES):
        message = f"the lateness of column {column!r} does not fit {column_type}"
        numbers = column_type in (*_WHOLE_NUMBERS, "FLOAT", "DOUBLE") or column_type.startswith("DECIMAL")
        if column_type in _TIMES:
            cursor.report("S264", first, message, "write INTERVAL '4' HOURS")
            return
        if is_interval or not numbers:
            hint = "write a number" if numbers else "only numbers, dates and timestamps have a lateness"
            cursor.report("S264", first, message, hint)
            return
    clauses.lateness = found


def _interval(cursor: Cursor) -> str | None:
    cursor.take()
    token = cursor.peek()
    if token.kind not in (Kind.NUMBER, Kind.STRING):
        return None
    parts = unquote(token).split()
    # INTERVAL '4 hours' says its unit inside.
    if not parts or len(parts) > 2 or not _NUMBER.match(parts[0]):
        return None
    cursor.take()
    unit = parts[1] if len(parts) == 2 else ""
    if not unit:
        named = cursor.peek()
        if named.kind is not Kind.WORD:
            return None
        unit = cursor.take().text
    singular = unit.upper().removesuffix("S")
    return f"INTERVAL '{_even(parts[0])}' {singular}" if singular in UNITS else None


def _bound(cursor: Cursor) -> str | None:
    token = cursor.peek()
    if token.kind is not Kind.NUMBER or not _NUMBER.match(token.text):
        return None
    return _even(cursor.take().text)


def _even(number: str) -> str:
    """A number without leading zeros and without zeros at its end after the point."""
    text = format(Decimal(number).normalize(), "f")
    return text if text != "-0" else "0"
