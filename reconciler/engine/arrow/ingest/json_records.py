"""JSON texts as rows, where there is no doubt what they say. `engine.spark.ingest.json_records` has the rules for others.

A record is taken where it is one object, in UTF-8, of which every parser of JSON has the same idea: no key stands twice, no
escape is half a character, no number is longer than 40 signs, nothing is nested deeply. What stands in a column is a plain
value (`values`); fields that no column takes are counted, whatever they hold.

`update_format` says what an object stands for, as there: `raw`, `insert_delete` (also with updates) and `debezium`, each in
its plain form, with keys spelled as their rules spell them.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from reconciler.base.digest import JsonObject
from reconciler.engine.arrow.ingest.incoming import Change, TableRows
from reconciler.engine.arrow.ingest.values import NotSure, Number
from reconciler.engine.http_ranges import WITH_UPDATES
from reconciler.engine.texts import FOR_NUMBERS

_LONGEST_NUMBER: Final = 40
_LONGEST_NAME: Final = 40_000
"""Spark's parser takes none that are much longer."""
_DEEPEST: Final = 20
_SETTINGS: Final = frozenset({"update_format", "array"})
_HALF: Final = re.compile(r"\\u[dD][89a-fA-F]")
_PAIR: Final = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_WRITTEN_MARK: Final = re.compile(r"\\u[fF][dD][dD]2")
_OF_AN_EVENT: Final = ("op", "before", "after")
_AROUND: Final = frozenset({*_OF_AN_EVENT, "payload"})

_Changes = Callable[[Mapping[str, Any], TableRows], Iterator[Change]]


def changes_of(records: Iterable[bytes], config: JsonObject, rows: TableRows) -> Iterator[Change]:
    """The changes of records in their order; those that are blank are none. `config` is the format's; with `array` a record
    is an array of objects. Raises NotSure."""
    if not set(config) <= _SETTINGS:
        raise NotSure(config)
    changes = _formats(rows.has_key).get(str(config.get("update_format")))
    if changes is None:
        raise NotSure(config)
    is_array = bool(config.get("array", False))
    for record in records:
        text = text_of(record)
        if text.strip(" "):
            for one in _elements(_parsed(text)) if is_array else (_parsed(text),):
                yield from changes(_object_with_plain_depth(one), rows)


def text_of(record: bytes) -> str:
    """A record that is text. Raises NotSure."""
    try:
        return record.decode("utf-8")
    except UnicodeDecodeError:
        raise NotSure(record) from None


def _parsed(text: str) -> Any:
    if FOR_NUMBERS in text or (len(text) > _LONGEST_NAME and max(map(len, text.split('"'))) > _LONGEST_NAME):
        raise NotSure(text)
    if "\\u" in text:
        escapes = text.replace("\\\\", "_")
        if _WRITTEN_MARK.search(escapes) or _HALF.search(_PAIR.sub("_", escapes)):
            raise NotSure(text)
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError):
        raise NotSure(text) from None


def _elements(found: Any) -> Sequence[Any]:
    if not isinstance(found, list):
        raise NotSure(found)
    return found


def _object_with_plain_depth(found: Any) -> Mapping[str, Any]:
    if not isinstance(found, dict) or not _is_flatter(found, _DEEPEST):
        raise NotSure(found)
    return found


def _is_flatter(value: Any, depth: int) -> bool:
    """Whether there are fewer levels of objects and arrays within a value, itself among them."""
    if not isinstance(value, dict | list):
        return True
    parts = value.values() if isinstance(value, dict) else value
    return depth > 0 and all(_is_flatter(part, depth - 1) for part in parts if isinstance(part, dict | list))


def _formats(has_key: bool) -> Mapping[str, _Changes]:
    return {
        "raw": _raw,
        "insert_delete": _insert_delete,
        WITH_UPDATES: _insert_delete_update,
        "debezium": _debezium if has_key else _debezium_without_key,
    }


def _raw(record: Mapping[str, Any], rows: TableRows) -> Iterator[Change]:
    yield rows.change(record)


def _insert_delete(record: Mapping[str, Any], rows: TableRows) -> Iterator[Change]:
    if len(record) != 1:
        raise NotSure(record)
    [(kind, row)] = record.items()
    if kind not in ("insert", "delete") or not isinstance(row, dict):
        raise NotSure(record)
    yield rows.change(row, kind == "delete")


def _insert_delete_update(record: Mapping[str, Any], rows: TableRows) -> Iterator[Change]:
    row = record.get("update")
    if len(record) == 1 and isinstance(row, dict):
        yield rows.update(row)
    else:
        yield from _insert_delete(record, rows)


def _debezium(record: Mapping[str, Any], rows: TableRows) -> Iterator[Change]:
    kind, before, after = _event(record)
    if kind == "u" and before is None and after is not None:
        yield rows.change(after)
    else:
        yield from _debezium_without_key(record, rows)


def _debezium_without_key(record: Mapping[str, Any], rows: TableRows) -> Iterator[Change]:
    kind, before, after = _event(record)
    match kind:
        case "c" | "r" if after is not None:
            yield rows.change(after)
        case "d" if before is not None:
            yield rows.change(before, deletes=True)
        case "u" if before is not None and after is not None:
            yield rows.change(before, deletes=True)
            yield rows.change(after)
        case _:
            raise NotSure(record)


def _event(record: Mapping[str, Any]) -> tuple[str, Mapping[str, Any] | None, Mapping[str, Any] | None]:
    event: Any = _around(record)
    if "payload" in event:
        if any(name in event for name in _OF_AN_EVENT) or not isinstance(event["payload"], dict):
            raise NotSure(record)
        event = _around(event["payload"])
        if "payload" in event:
            raise NotSure(record)
    kind, before, after = (event.get(name) for name in _OF_AN_EVENT)
    if not isinstance(kind, str) or not all(one is None or isinstance(one, dict) for one in (before, after)):
        raise NotSure(record)
    return kind, before, after


def _around(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """An object around a row, whose names are told apart for sure."""
    folded = {name.lower() for name in record}
    if len(folded) < len(record) or not all(name.isascii() for name in record) or (folded & _AROUND) - set(record):
        raise NotSure(record)
    return record


def _number(text: str) -> Number:
    if len(text) > _LONGEST_NUMBER:
        raise NotSure(text)
    return Number(text)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise NotSure("a key twice")
    return found


def _refuse(constant: str) -> None:
    """NaN and Infinity are no JSON."""
    raise NotSure(constant)


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_object, parse_float=_number, parse_int=_number, parse_constant=_refuse)
