"""Types of columns in the client's form: `{"type": "DECIMAL", "precision": 5, "scale": 2, "nullable": true}`.

Names are those of Feldera's SQL, by which the client chooses how it reads values: INT is INTEGER, FLOAT is REAL, STRING is
VARCHAR. TIMESTAMP_NTZ is a TIMESTAMP, as both are sent alike. What has no counterpart keeps its name, and is read as it
comes.
"""

from typing import Any, Final

from reconciler.base.digest import JsonObject

_NAMES: Final = {
    "INT": "INTEGER",
    "FLOAT": "REAL",
    "STRING": "VARCHAR",
    "BINARY": "VARBINARY",
    "TIMESTAMP_NTZ": "TIMESTAMP",
}
_ANY_LENGTH: Final = -1


def column_type(text: str, nullable: bool) -> JsonObject:
    """A type in SQL, by Spark's names or the canonical ones."""
    name, _, rest = text.strip().partition("<")
    if rest:
        return _nested(name.upper(), _parts(rest[:-1]), nullable)
    name, _, rest = text.strip().partition("(")
    name = name.upper()
    found: dict[str, Any] = {"type": _NAMES.get(name, name), "nullable": nullable}
    numbers = [int(one) for one in rest.rstrip(")").split(",")] if rest else []
    if name == "DECIMAL":
        found |= {"precision": numbers[0] if numbers else 10, "scale": numbers[1] if len(numbers) > 1 else 0}
    elif name in ("STRING", "VARCHAR", "CHAR"):
        found["precision"] = numbers[0] if numbers else _ANY_LENGTH
    return found


def _nested(name: str, parts: list[str], nullable: bool) -> JsonObject:
    if name == "ARRAY":
        return {"type": name, "nullable": nullable, "component": column_type(parts[0], True)}
    if name == "MAP":
        key, value = parts
        return {"type": name, "nullable": nullable, "key": column_type(key, False), "value": column_type(value, True)}
    fields = [part.partition(":") for part in parts]
    return {"type": "STRUCT", "nullable": nullable, "fields": [field(one.strip(), type_, True) for one, _, type_ in fields]}


def field(name: str, type_: str, nullable: bool) -> JsonObject:
    """A column of a relation, or a field of a structure."""
    return {"name": name, "case_sensitive": False, "columntype": column_type(type_, nullable), "unused": False}


def _parts(text: str) -> list[str]:
    """What commas part that stand in no brackets."""
    found, depth, begin = [], 0, 0
    for place, character in enumerate(text):
        depth += (character in "<(") - (character in ">)")
        if character == "," and not depth:
            found.append(text[begin:place])
            begin = place + 1
    return [*found, text[begin:]]
