"""From canonical SQL types to Delta's schema, and back to types as Spark names them.

CHAR(n) and VARCHAR(n) are stored as strings (`sql.types.storage_type`): any Delta reader reads them, and their length is
part of the declaration, not of the file.
"""

import json
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from reconciler.engine.stored import ColumnType

if TYPE_CHECKING:
    from deltalake import Schema

_PRIMITIVES = {
    "TINYINT": "byte",
    "SMALLINT": "short",
    "INT": "integer",
    "BIGINT": "long",
    "FLOAT": "float",
    "DOUBLE": "double",
    "BOOLEAN": "boolean",
    "STRING": "string",
    "BINARY": "binary",
    "DATE": "date",
    "TIMESTAMP": "timestamp",
    "TIMESTAMP_NTZ": "timestamp_ntz",
    "VARIANT": "variant",
}
_SPARK_NAMES = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}
_DECIMAL = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)$")
_LENGTH = re.compile(r"(CHAR|VARCHAR)\(\d+\)$")


def delta_schema(columns: Iterable[ColumnType]) -> "Schema":
    """The Delta schema of these columns."""
    from deltalake import Schema

    return Schema.from_json(json.dumps(_struct(columns)))


def column_types(schema: "Schema") -> tuple[ColumnType, ...]:
    """The columns of a Delta schema, their types as Spark names them."""
    fields = json.loads(schema.to_json())["fields"]
    return tuple(ColumnType(field["name"], _type_text(field["type"]), field["nullable"]) for field in fields)


def _type_text(found: Any) -> str:
    if isinstance(found, str):
        return _SPARK_NAMES.get(found, found)
    match found["type"]:
        case "array":
            return f"array<{_type_text(found['elementType'])}>"
        case "map":
            return f"map<{_type_text(found['keyType'])},{_type_text(found['valueType'])}>"
        case _:
            parts = [f"{one['name']}:{_type_text(one['type'])}" for one in found["fields"]]
            return f"struct<{','.join(parts)}>"


def _struct(columns: Iterable[ColumnType]) -> dict[str, Any]:
    fields = [
        {"name": column.name, "type": _type(column.type), "nullable": column.nullable, "metadata": {}} for column in columns
    ]
    return {"type": "struct", "fields": fields}


def _type(text: str) -> Any:
    upper = text.strip().upper()
    if upper in _PRIMITIVES:
        return _PRIMITIVES[upper]
    if match := _DECIMAL.match(upper):
        return f"decimal({match.group(1)},{match.group(2)})"
    if _LENGTH.match(upper):
        return "string"
    inner = text.strip()
    opening = inner.find("<")
    if opening > 0 and inner.endswith(">"):
        parts = _split(inner[opening + 1 : -1])
        match upper[:opening]:
            case "ARRAY":
                return {"type": "array", "elementType": _type(parts[0]), "containsNull": True}
            case "MAP":
                key, value = parts
                return {"type": "map", "keyType": _type(key), "valueType": _type(value), "valueContainsNull": True}
            case "STRUCT":
                return _struct(_field(part) for part in parts)
    raise ValueError(f"no Delta type for {text!r}")


def _field(part: str) -> ColumnType:
    name, _, type_text = part.strip().partition(":") if ":" in part.split("<")[0] else part.strip().partition(" ")
    return ColumnType(name.strip(), type_text.strip())


def _split(text: str) -> list[str]:
    """Split at commas outside of brackets."""
    parts, depth, start = [], 0, 0
    for index, character in enumerate(text):
        if character in "<(":
            depth += 1
        elif character in ">)":
            depth -= 1
        elif character == "," and depth == 0:
            parts.append(text[start:index])
            start = index + 1
    return [*parts, text[start:]]
