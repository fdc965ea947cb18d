"""Whether a record that came over HTTP can become a row of its table.

What surely can't is refused at once, so that the sender learns of it. What is not sure is left to the step that reads the
record: that has the rules (docs/formats.md), and writes dead letters.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, Literal, TypeAlias

from reconciler.base.names import fold
from reconciler.project.program.model import Table
from reconciler.rest.answers import json_text

_BITS: Final = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
_NUMBER: Final = re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*")
_NO_NUMBERS: Final = frozenset({"nan", "infinity", "inf"})
_TRUTHS: Final = frozenset({"true", "false", "t", "f", "yes", "no", "y", "n", "1", "0"})
_LONGEST_SHOWN: Final = 80

Kind: TypeAlias = Literal["insert", "delete", "update"]
"""What a line of a request does."""


def row_of(table: Table, record: Any) -> Mapping[str, Any]:
    """A row as an object: by the names of its columns, or as an array of all values in the order of the columns. Raises
    ValueError."""
    if isinstance(record, Mapping):
        return record
    if not isinstance(record, Sequence) or isinstance(record, str):
        raise ValueError(f"a row is an object or an array, and this is none: {shown(record)}")
    if len(record) != len(table.columns):
        raise ValueError(f"the array has {len(record)} values, and the table {len(table.columns)} columns: {shown(record)}")
    return {column.name: value for column, value in zip(table.columns, record, strict=True)}


def require_fits(table: Table, row: Mapping[str, Any], kind: Kind) -> None:
    """Raises ValueError for a row that can't be one of the table's, or can't be updated."""
    values = {fold(name): value for name, value in row.items()}
    keys = {fold(name) for name in table.primary_key}
    if kind == "update":
        _require_key(table, values, keys)
    for column in table.columns:
        value = values.get(fold(column.name))
        if value is not None:
            why = _misfit(column.type, value)
            if why is not None:
                raise ValueError(f"column {column.name}: {why}: {shown(value)}")
        elif kind == "delete" or column.nullable:
            continue
        elif column.default is None if kind == "insert" else fold(column.name) in values:
            raise ValueError(f"column {column.name} is NOT NULL, and the row has no value for it")


def _require_key(table: Table, values: Mapping[str, Any], keys: Collection[str]) -> None:
    if not keys:
        raise ValueError(f"an update needs a primary key, and table {table.name} has none: send a delete and an insert")
    missing = [name for name in table.primary_key if values.get(fold(name)) is None]
    if missing:
        raise ValueError(f"an update says the key of its row, and this has no value for {', '.join(missing)}")
    if table.declaration.append_only:
        raise ValueError(f"rows of the append-only table {table.name} can't be updated")


def with_plain_bytes(table: Table, row: Mapping[str, Any]) -> Mapping[str, Any]:
    """The row with what stands for bytes in the form that `http_input` surely knows (docs/formats.md): no empty array, and
    no text that may look like one."""
    binary = {fold(column.name) for column in table.columns if column.type.upper() == "BINARY"}
    return {name: _plain_bytes(value) if fold(name) in binary else value for name, value in row.items()} if binary else row


def _plain_bytes(value: Any) -> Any:
    match value:
        case []:
            return ""
        case str() if value.startswith("["):
            return [*value.encode()]
        case _:
            return value


def shown(value: Any) -> str:
    """A value as it is shown in messages."""
    # Half of a character, as JSON may have it, can't be sent back.
    text = json_text(value).encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def _misfit(type_: str, value: Any) -> str | None:
    """Why a value can't be one of a type."""
    kind = type_.partition("(")[0].partition("<")[0].upper()
    check = _CHECKS.get(kind)
    if check is None:
        return None
    if (isinstance(value, Mapping | list) and kind != "BINARY") or not check(kind, value):
        return f"a value that is no {type_}"
    return None


def _is_whole(kind: str, value: Any) -> bool:
    if not _is_number(kind, value) or (isinstance(value, str) and value.strip().lower() in _NO_NUMBERS):
        return False
    number, limit = Decimal(str(value).strip()), 1 << (_BITS[kind] - 1)
    return number == number.to_integral_value() and -limit <= number < limit


def _is_number(kind: str, value: Any) -> bool:
    if isinstance(value, str):
        return _NUMBER.fullmatch(value) is not None or value.strip().lstrip("+-").lower() in _NO_NUMBERS
    return not isinstance(value, bool)


def _is_truth(kind: str, value: Any) -> bool:
    return isinstance(value, bool) or (isinstance(value, str) and value.strip().lower() in _TRUTHS)


def _is_text(kind: str, value: Any) -> bool:
    return isinstance(value, str)


def _is_bytes(kind: str, value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(type(one) is int and 0 <= one < 256 for one in value))


_CHECKS: Final[Mapping[str, Callable[[str, Any], bool]]] = {
    **dict.fromkeys(_BITS, _is_whole),
    **dict.fromkeys(("DECIMAL", "FLOAT", "DOUBLE"), _is_number),
    "BINARY": _is_bytes,
    "BOOLEAN": _is_truth,
    **dict.fromkeys(("DATE", "TIMESTAMP", "TIMESTAMP_NTZ"), _is_text),
}
