"""The rows of a query in each form that the client asks for.

| form | what is written |
|---|---|
| json | a JSON object a line; decimals are numbers with all their digits, times texts in ISO 8601, NaN and infinities null |
| text | a table for people |
| arrow_ipc | a stream of Arrow record batches |
| parquet | one Parquet file |
| hash | SHA-256 over the columns and all rows, whatever their order |
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from hashlib import sha256
from itertools import chain
from typing import IO, Any, Final

from reconciler.base.printing import printable
from reconciler.engine.arrow.answers import write_parquet, write_stream
from reconciler.engine.protocol import Rows

MEDIA_TYPES: Final[Mapping[str, str]] = {
    "json": "application/json",
    "text": "text/plain",
    "arrow_ipc": "application/vnd.apache.arrow.stream",
    "parquet": "application/vnd.apache.parquet",
    "hash": "text/plain",
}
"""The forms, and what they are called in a header."""
_HASHES: Final = 1 << 256


def write_answer(rows: Rows, form: str, into: IO[bytes]) -> None:
    """Write the rows."""
    _WRITERS[form](rows, into)
    into.flush()


def json_text(value: Any) -> str:
    """A value as JSON, with all digits of a decimal."""
    match value:
        case Decimal():
            return format(value, "f") if value.is_finite() else "null"
        case float():
            return repr(value) if math.isfinite(value) else "null"
        case None | bool() | int() | str():
            return json.dumps(value, ensure_ascii=False)
        case datetime():
            # The client's TIMESTAMP has no zone: it is in UTC.
            return f'"{(value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)).isoformat()}"'
        case date() | time():
            return f'"{value.isoformat()}"'
        case bytes() | bytearray():
            return f'"{value.hex()}"'
        case Mapping():
            parts = (f"{json.dumps(_key(key), ensure_ascii=False)}:{json_text(one)}" for key, one in value.items())
            return "{" + ",".join(parts) + "}"
        case tuple() if hasattr(value, "asDict"):
            return json_text(value.asDict())
        case list() | tuple():
            return "[" + ",".join(map(json_text, value)) + "]"
        case _:
            return json.dumps(str(value), ensure_ascii=False)


def word_of(value: float) -> str:
    """What stands in a request for a number that JSON has none for."""
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def row_text(names: Sequence[str], row: Sequence[Any]) -> str:
    """A row as a JSON object."""
    return json_text(dict(zip(names, row, strict=True)))


def _key(key: Any) -> str:
    return key if isinstance(key, str) else json_text(key).strip('"')


def _write_json(rows: Rows, into: IO[bytes]) -> None:
    names = [column.name for column in rows.columns]
    for row in rows.rows:
        into.write(row_text(names, row).encode() + b"\n")


def _write_text(rows: Rows, into: IO[bytes]) -> None:
    names = [column.name for column in rows.columns]
    widths = [0] * len(names)
    # They may be more than there is memory for: they are gone through twice.
    for row in chain((names,), rows.rows):
        widths = [max(width, len(_cell(cell))) for width, cell in zip(widths, row, strict=True)]
    rule = "+" + "+".join("-" * (width + 2) for width in widths) + "+"
    into.write(f"{rule}\n{_line(names, widths)}\n{rule}\n".encode())
    for row in rows.rows:
        into.write(f"{_line(row, widths)}\n".encode())
    into.write(f"{rule}\n".encode())


def _line(row: Sequence[Any], widths: Sequence[int]) -> str:
    return "| " + " | ".join(_cell(cell).ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"


def _cell(value: Any) -> str:
    return printable(value if isinstance(value, str) else "" if value is None else json_text(value).strip('"'))


def _write_hash(rows: Rows, into: IO[bytes]) -> None:
    count, total = 0, 0
    for row in rows.rows:
        # A sum has no order, and counts rows as often as they are there.
        count, total = count + 1, total + int.from_bytes(sha256(json_text(list(row)).encode()).digest())
    columns = [[column.name, column.type] for column in rows.columns]
    into.write(sha256(json_text([columns, count, total % _HASHES]).encode()).hexdigest().upper().encode())


_WRITERS: Final[Mapping[str, Callable[[Rows, IO[bytes]], None]]] = {
    "json": _write_json,
    "text": _write_text,
    "arrow_ipc": write_stream,
    "parquet": write_parquet,
    "hash": _write_hash,
}
