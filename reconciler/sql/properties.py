"""`WITH ('property' = 'value', …)` of a table or view, and the connectors inside it.

Rules:
- Names and values are quoted strings. A table knows `materialized`, `append_only` and `connectors`, a view `connectors`.
- `connectors` is a JSON list of objects inside the string, in which `''` stands for one quote and a backslash for itself.
  Problems are placed inside the string, at the character that is wrong; a connector's place is its `{`.
- A property given twice, or a value of the wrong form, is reported and the property left at its default.

Not here: what a connector's settings may hold (that is `connectors`' and `manifest`'s).
"""

import json
from collections.abc import Sequence
from dataclasses import field
from typing import Any, NoReturn

from reconciler.base.dataclass import dataclass
from reconciler.base.declarations import ConnectorDeclaration
from reconciler.base.names import did_you_mean, is_identifier
from reconciler.sql.cursor import Cursor, shown
from reconciler.sql.lexer import Kind, Token, unquote
from reconciler.sql.limits import MAXIMUM_CONNECTORS

TABLE_PROPERTIES = ("append_only", "connectors", "materialized")
VIEW_PROPERTIES = ("connectors",)


@dataclass(slots=True)
class Properties:
    """What WITH said."""

    flags: dict[str, bool] = field(default_factory=dict)
    connectors: list[ConnectorDeclaration] = field(default_factory=list)


class _Repeated(ValueError):
    """A JSON object names one key twice."""


def read_properties(cursor: Cursor, relation: str, known: Sequence[str]) -> Properties:
    """Read from the word WITH on, when it stands there."""
    properties = Properties()
    if cursor.accept_word("WITH") is None:
        return properties
    cursor.expect_symbol("(", "after WITH")
    seen: set[str] = set()
    while True:
        _read_property(cursor, relation, known, seen, properties)
        if cursor.accept_symbol(",") is None:
            break
    cursor.expect_symbol(")", "or ',' after a property")
    return properties


def _read_property(cursor: Cursor, relation: str, known: Sequence[str], seen: set[str], into: Properties) -> None:
    key = cursor.take()
    if key.kind not in (Kind.STRING, Kind.WORD, Kind.QUOTED):
        cursor.position = key.start
        cursor.fail("S203", key, f"expected a property's name in quotes, found {shown(key)}")
    name = unquote(key).lower()
    cursor.expect_symbol("=", f"after {shown(key)}")
    value = cursor.take()
    if value.kind is not Kind.STRING:
        if not value.is_word("TRUE", "FALSE"):
            cursor.position = value.start
            cursor.fail("S203", value, f"expected the value of '{name}' as a quoted string, found {shown(value)}")
        cursor.report("S205", value, f"the value of '{name}' must be quoted", f"write '{value.text.lower()}'")
    elif name not in known:
        hint = did_you_mean(name, known) or f"known here: {', '.join(known)}"
        cursor.report("S204", key, f"unknown property '{name}'", hint)
    elif name in seen:
        cursor.report("S205", key, f"property '{name}' is given twice", "keep one")
    elif name == "connectors":
        into.connectors = _read_connectors(cursor, relation, value)
    else:
        _read_flag(cursor, name, value, into)
    seen.add(name)


def _read_flag(cursor: Cursor, name: str, value: Token, into: Properties) -> None:
    text = unquote(value).strip().lower()
    if text in ("true", "false"):
        into.flags[name] = text == "true"
    else:
        cursor.report("S205", value, f"'{name}' must be 'true' or 'false', found {shown(value)}")


def _offsets(token: Token) -> list[int]:
    """For each character of the string that a token stands for, and for its end, the offset in the file."""
    offsets: list[int] = []
    position = 1
    while position < len(token.text) - 1:
        offsets.append(token.start + position)
        position += 2 if token.text.startswith("''", position) else 1
    offsets.append(token.end - 1)
    return offsets


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _Repeated(next(key for key in keys if keys.count(key) > 1))
    return found


def _not_a_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_without_repeats, parse_constant=_not_a_number)
_BLANK = " \t\r\n"


def _after_blanks(text: str, position: int) -> int:
    while position < len(text) and text[position] in _BLANK:
        position += 1
    return position


def _elements(text: str) -> list[tuple[int, Any]]:
    """The elements of a JSON list with their offsets. Raises JSONDecodeError at the first problem."""
    position = _after_blanks(text, 0)
    if not text.startswith("[", position):
        raise json.JSONDecodeError("Expecting '['", text, position)
    elements: list[tuple[int, Any]] = []
    position = _after_blanks(text, position + 1)
    if text.startswith("]", position):
        position += 1
    else:
        while True:
            start = _after_blanks(text, position)
            try:
                value, position = _DECODER.raw_decode(text, start)
            except json.JSONDecodeError:
                raise
            except _Repeated as repeated:
                raise json.JSONDecodeError(f"key '{repeated}' is given twice", text, start) from None
            except (ValueError, RecursionError) as problem:
                raise json.JSONDecodeError(str(problem), text, start) from None
            elements.append((start, value))
            position = _after_blanks(text, position)
            if text.startswith(",", position):
                position += 1
            elif text.startswith("]", position):
                position += 1
                break
            else:
                raise json.JSONDecodeError("Expecting ',' or ']'", text, position)
    position = _after_blanks(text, position)
    if position < len(text):
        raise json.JSONDecodeError("Extra data after the list", text, position)
    return elements


def _json_problem(problem: json.JSONDecodeError) -> tuple[str, str | None, int]:
    """A message and hint of ours for the common slips, and where the slip is."""
    comma = _idle_comma(problem.doc, problem.pos)
    if comma is not None:
        return "a comma with nothing after it", "JSON allows no comma before a closing bracket", comma
    if problem.doc[problem.pos : problem.pos + 1] == "'":
        return "a name or text in single quotes", "JSON uses double quotes", problem.pos
    text = problem.msg[:1].lower() + problem.msg[1:]
    return text.replace("expecting", "expected"), None, problem.pos


def _idle_comma(text: str, position: int) -> int | None:
    """The comma before a closing bracket at which decoding stopped. Python 3.13 stops at the comma, others behind it."""
    comma = position if text.startswith(",", position) else len(text[:position].rstrip(_BLANK)) - 1
    after = _after_blanks(text, comma + 1)
    return comma if comma >= 0 and text[comma] == "," and text[after : after + 1] in ("]", "}", "") else None


def _read_connectors(cursor: Cursor, relation: str, value: Token) -> list[ConnectorDeclaration]:
    text = unquote(value)
    offsets = _offsets(value)

    def point(index: int) -> Token:
        start = offsets[min(index, len(offsets) - 1)]
        return Token(Kind.SYMBOL, "", start, start)

    start = _after_blanks(text, 0)
    if start == len(text) or text[start] not in "[":
        looks_like_one = text.startswith("{", start)
        hint = "put the connector in [ ]" if looks_like_one else "write a JSON list of connector objects: '[{…}]'"
        cursor.report("S207", point(start), "'connectors' must hold a JSON list", hint)
        return []
    try:
        elements = _elements(text)
    except json.JSONDecodeError as problem:
        message, advice, slip = _json_problem(problem)
        cursor.report("S206", point(slip), f"'connectors' is not valid JSON: {message}", advice)
        return []
    if len(elements) > MAXIMUM_CONNECTORS:
        message = f"{len(elements):,} connectors; at most {MAXIMUM_CONNECTORS:,} are allowed"
        cursor.report("S207", point(elements[MAXIMUM_CONNECTORS][0]), message)
        return []
    found: list[ConnectorDeclaration] = []
    for ordinal, (offset, element) in enumerate(elements):
        place = point(offset)
        if not isinstance(element, dict):
            cursor.report("S207", place, "a connector must be a JSON object", 'write {"transport": {…}, …}')
            continue
        name = element.get("name")
        if name is not None and not isinstance(name, str):
            cursor.report("S207", place, "a connector's name must be a text")
            continue
        if name is not None and not _is_connector_name(name):
            cursor.report("S211", place, f"{name!r} is not a valid name of a connector", "use letters, digits, '_' and '-'")
            continue
        settings = {key: part for key, part in element.items() if key != "name"}
        found.append(ConnectorDeclaration(relation, name, ordinal, settings, cursor.at(place.start)))
    return found


def _is_connector_name(name: str) -> bool:
    """As for relations, and dashes: names that are made up for unnamed connectors hold one."""
    return is_identifier(name.replace("-", "_"))
