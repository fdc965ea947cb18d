"""Records of files as changes, without Spark, for `recording`: what a record says, and why it is none.

The rules are those of `spark.ingest.json_records` and `spark.ingest.changes`, one record at a time.
"""

import csv
import json
import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject
from reconciler.base.errors import EngineError
from reconciler.base.names import fold
from reconciler.engine.fields import missing_fields, unknown_fields
from reconciler.engine.protocol import TableTarget
from reconciler.engine.quotes import OTHER_WIDTH, UNMATCHED_QUOTES, quoted_field_of
from reconciler.engine.texts import (
    FOR_NOTHING,
    FOR_NUMBERS,
    HALF_A_CHARACTER,
    HOLDS_NUL,
    NONCHARACTER,
    NOT_UTF_8,
    from_bytes,
    is_half,
    shown,
)
from reconciler.testing.literals import fitted, matching

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """A row that a record inserts or deletes; `unknown` are the fields beside it that no column takes. `sets`: an update of
    the row with this key, which sets the columns at these places."""

    row: Row
    deletes: bool = False
    unknown: tuple[str, ...] = ()
    sets: frozenset[int] | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """What one record gives: its changes, or a problem (with a code in front), and where it stood (JSON). `is_late`: the
    problem is that a row of it is late."""

    position: str
    text: str
    changes: tuple[Change, ...] = ()
    problem: str | None = None
    is_late: bool = False


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of CSV and its fields; whether its bytes are text, or else `text` shows them."""

    text: str
    fields: list[str]
    is_text: bool = True


def read_records(paths: Sequence[str], format_: JsonObject, target: TableTarget) -> Iterator[Record]:
    """The records of JSON or CSV files, in order, their values not yet fitted."""
    config = format_.get("config") or {}
    for path in paths:
        data = Path(path).read_bytes().removeprefix(BOM_UTF8)
        match format_.get("name"):
            case "json" if config.get("array"):
                if data.strip():
                    yield from _json_records({"file": path}, data, config, target)
            case "json":
                for number, one in enumerate(data.splitlines(), 1):
                    if one.strip():
                        yield from _json_records({"file": path, "line": number}, one, config, target)
            case "csv":
                yield from _csv_records(path, data, config, target)
            case name:
                raise EngineError("X716", f"the engine can't read the format {name!r}")


def fitting(record: Record, target: TableTarget) -> Record:
    """The record with values as the table holds them, or with the reason why it has none."""
    if record.problem is not None:
        return record
    if target.append_only and any(change.deletes or change.sets is not None for change in record.changes):
        return replace(record, problem=f"X722: rows of the append-only table {target.name} can't be deleted")
    try:
        return replace(record, changes=tuple(_fitting(change, target) for change in record.changes))
    except EngineError as error:
        return replace(record, problem=f"{error.code}: {error.message}")


def _fitting(change: Change, target: TableTarget) -> Change:
    key = {fold(name) for name in target.primary_key}
    pairs = zip(change.row, target.columns, strict=True)
    if change.deletes and key:
        return replace(change, row=tuple(fitted(v, c) if fold(c.name) in key else None for v, c in pairs))
    if change.sets is not None:
        counts = [place in change.sets or fold(column.name) in key for place, column in enumerate(target.columns)]
        return replace(
            change, row=tuple(fitted(v, c) if counted else None for (v, c), counted in zip(pairs, counts, strict=True))
        )
    return replace(change, row=tuple(fitted(value, column) for value, column in pairs))


def updated(before: Change, update: Change) -> Change:
    """A change with what a later update of its key sets; there is nothing to set behind a delete."""
    sets = update.sets or frozenset()
    if before.deletes:
        return before
    pairs = enumerate(zip(before.row, update.row, strict=True))
    row = tuple(new if place in sets else old for place, (old, new) in pairs)
    return replace(before, row=row, sets=None if before.sets is None else before.sets | sets)


def missing_from(paths: Sequence[str], format_: JsonObject, target: TableTarget) -> tuple[str, ...]:
    """The fields that columns take and that the header of some file lacks. Records of JSON may leave out what is NULL."""
    config = format_.get("config") or {}
    if format_.get("name") != "csv":
        return ()
    headers = [_header(_csv_lines(Path(path).read_bytes().removeprefix(BOM_UTF8), config), config, target) for path in paths]
    return tuple(sorted({name for header in headers if header for name in missing_fields(header, target)}))


def _csv_lines(data: bytes, config: JsonObject) -> list[_Line]:
    # Of bytes, not of text: what else Unicode takes for an end of a line may stand within a value.
    return [_csv_line(line, config.get("delimiter", ",")) for line in data.splitlines() if line.strip()]


def _csv_line(data: bytes, delimiter: str) -> _Line:
    text = from_bytes(data)
    if text is None:
        return _Line(shown(data), [], is_text=False)
    return _Line(text, next(csv.reader([text], delimiter=delimiter)))


def _header(lines: list[_Line], config: JsonObject, target: TableTarget) -> list[str]:
    """The names of the fields, taken off the lines where they stand there."""
    if not lines or not config.get("header", True):
        return [column.name for column in target.columns] if lines else []
    return lines.pop(0).fields


def _csv_records(path: str, data: bytes, config: JsonObject, target: TableTarget) -> Iterator[Record]:
    lines = _csv_lines(data, config)
    header = _header(lines, config, target)
    unknown = unknown_fields(header, target)
    for number, line in enumerate(lines, 1):
        position = _position({"file": path, "record": number})
        problem = _wrong(line, len(header), config.get("delimiter", ","))
        if problem is not None:
            yield Record(position, line.text, problem=f"X714: {problem}")
            continue
        known = {name: part or None for name, part in zip(header, line.fields, strict=True)}
        yield Record(position, line.text, (Change(matching(known, target.columns, target.defaults), unknown=unknown),))


def _wrong(line: _Line, width: int, delimiter: str) -> str | None:
    if not line.is_text:
        return NOT_UTF_8
    if "\0" in line.text:
        return HOLDS_NUL
    if FOR_NOTHING in line.text:
        return NONCHARACTER
    if '"' in re.sub(quoted_field_of(delimiter), r"\1", line.text.replace('""', "")):
        return UNMATCHED_QUOTES
    return OTHER_WIDTH if len(line.fields) != width else None


def _position(place: Mapping[str, Any]) -> str:
    return json.dumps(place, separators=(",", ":"))


def _json_records(place: Mapping[str, Any], data: bytes, config: JsonObject, target: TableTarget) -> Iterator[Record]:
    text = from_bytes(data)
    if text is None:
        yield Record(_position(place), shown(data), problem=f"X714: {NOT_UTF_8}")
        return
    is_array = bool(config.get("array"))
    problem = "the text is not an array of JSON objects" if is_array else "a record is not a JSON object"
    try:
        value = json.loads(text, parse_float=Decimal, parse_constant=_refuse, object_pairs_hook=_Pairs)
    except ValueError:
        value = None
    told = json.dumps(value, default=str, ensure_ascii=False)
    if is_half(told):
        value, problem = None, HALF_A_CHARACTER
    elif FOR_NUMBERS in told:
        value, problem = None, NONCHARACTER
    elements = value if is_array else [value]
    if not isinstance(elements, list) or not all(isinstance(element, _Pairs) for element in elements):
        yield Record(_position(place), text, problem=f"X714: {problem}")
        return
    update_format = str(config.get("update_format", "raw"))
    for number, element in enumerate(elements, 1):
        is_numbered = is_array and update_format != "debezium"
        position = _position({**place, "element": number} if is_numbered else place)
        try:
            changes = _changes(_once(element), update_format, target)
            yield Record(position, text, tuple(changes))
        except ValueError as error:
            yield Record(position, text, problem=f"X714: {error}")


def _refuse(constant: str) -> None:
    """NaN and Infinity are no JSON."""
    raise ValueError(constant)


class _Pairs(list[tuple[str, Any]]):
    """An object as it was read."""


def _once(value: Any) -> Any:
    if isinstance(value, _Pairs):
        if len({fold(key) for key, _ in value}) < len(value):
            raise ValueError("a record has a key twice")
        return {key: _once(part) for key, part in value}
    return [_once(part) for part in value] if isinstance(value, list) else value


def _changes(element: Mapping[str, Any], update_format: str, target: TableTarget) -> list[Change]:
    def change(values: Mapping[str, Any], deletes: bool) -> Change:
        known = {name: value for name, value in values.items() if value is not None}
        return Change(matching(known, target.columns, target.defaults), deletes, unknown_fields(values, target))

    def update(values: Mapping[str, Any]) -> Change:
        named = set(map(fold, values))
        sets = frozenset(place for place, column in enumerate(target.columns) if fold(column.name) in named)
        return Change(matching(values, target.columns, {}), False, unknown_fields(values, target), sets)

    match update_format:
        case "raw":
            return [change(element, False)]
        case "insert_delete":
            inserts, deletes = element.get("insert"), element.get("delete")
            if isinstance(inserts, dict) == isinstance(deletes, dict):
                raise ValueError('a record is not {"insert": {…}} or {"delete": {…}}')
            return [change(inserts, False)] if isinstance(inserts, dict) else [change(deletes or {}, True)]
        case "insert_delete_update":
            given = {kind: row for kind in ("insert", "delete", "update") if isinstance(row := element.get(kind), dict)}
            if len(given) != 1:
                raise ValueError('a record is not {"insert": {…}}, {"delete": {…}} or {"update": {…}}')
            ((kind, row),) = given.items()
            return [update(row) if kind == "update" else change(row, kind == "delete")]
        case "debezium":
            event = element.get("payload") or element
            operation, before, after = event.get("op"), event.get("before"), event.get("after")
            if operation in ("c", "r") and after is not None:
                return [change(after, False)]
            if operation == "d" and before is not None:
                return [change(before, True)]
            if operation == "u" and after is not None and (before is not None or target.primary_key):
                return [*([change(before, True)] if before is not None else []), change(after, False)]
            raise ValueError(f"a change event with op {operation or 'NULL'} lacks before or after, or has another op")
        case other:
            raise EngineError("X716", f"the engine knows no update_format {other!r}: raw, insert_delete or debezium")
