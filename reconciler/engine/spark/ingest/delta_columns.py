"""Which columns of a Delta table are the same in two of its versions, and so what became of rows that no commit wrote.

A column is known by its physical name, and by its id where it has one: they stay with it when it is renamed, and no other
column ever gets them. Its name may pass to another column. Where columns are not mapped, the name is the physical name.

A column that was not there is NULL in all rows that are there, if it is a new one: no column of the table had its id before.
One that was there under another name, or came back (RESTORE), may have values in them. What can't be told counts as changed.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject
from reconciler.base.names import fold

MODE: Final = "delta.columnMapping.mode"
HIGHEST_ID: Final = "delta.columnMapping.maxColumnId"
_PHYSICAL_NAME: Final = "delta.columnMapping.physicalName"
_ID: Final = "delta.columnMapping.id"


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of one version, by folded name, as Delta's schema has them. `highest_id`: the highest that a column of the
    table has had so far; None where it can't be told."""

    fields: Mapping[str, JsonObject]
    is_mapped: bool = False
    highest_id: int | None = None


def columns_of(schema: JsonObject, mode: str | None, highest_id: str | None) -> Columns:
    """The columns of a version with this schema and these values of MODE and HIGHEST_ID among its properties."""
    fields = {fold(one["name"]): one for one in schema["fields"]}
    known = highest_id if highest_id is not None and highest_id.isdecimal() else None
    return Columns(fields, (mode or "none").lower() != "none", None if known is None else int(known))


def changed_everywhere(before: Columns, after: Columns, wanted: Iterable[str], defaults: Mapping[str, str]) -> bool:
    """Whether a table with these columns (folded names) has something else, for the version after, of rows that both
    versions have. What a version lacks is the default there, or NULL."""
    return any(_differs(name, before, after, defaults) for name in wanted)


def same(name: str, before: Columns, after: Columns) -> bool:
    """Whether a folded name means the same column, of the same type, in both versions."""
    old, new = before.fields.get(name), after.fields.get(name)
    if old is None or new is None:
        return old is new
    ids = {_id(one) for one in (old, new)} - {None}
    return old["type"] == new["type"] and _physical(old) == _physical(new) and len(ids) <= 1


def _differs(name: str, before: Columns, after: Columns, defaults: Mapping[str, str]) -> bool:
    if name in before.fields or name not in after.fields:
        return not same(name, before, after)
    return name in defaults or not _is_new(after.fields[name], before, after)


def _is_new(column: JsonObject, before: Columns, after: Columns) -> bool:
    """Whether a column of the version after is NULL in all rows of the one before."""
    if before.is_mapped is not after.is_mapped or _physical(column) in map(_physical, before.fields.values()):
        return False
    if not after.is_mapped:
        return True
    number = _id(column)
    return number is not None and before.highest_id is not None and number > before.highest_id


def _physical(column: JsonObject) -> str:
    return str(_metadata(column).get(_PHYSICAL_NAME, column["name"]))


def _id(column: JsonObject) -> int | None:
    found = _metadata(column).get(_ID)
    return None if found is None else int(found)


def _metadata(column: JsonObject) -> Mapping[str, Any]:
    return column.get("metadata") or {}
