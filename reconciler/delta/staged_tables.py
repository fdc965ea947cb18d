"""A table in a staging folder, as its log says: the columns and files that are published with it.

What this process stages on a disk has a log of one entry, which is read here. Any other table (Spark wrote it, its log has
more entries, it stands on an object store) is opened by deltalake.
"""

import os
from typing import TYPE_CHECKING, Any, Final

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject, json_lines
from reconciler.delta.arrow_rows import is_plain_path
from reconciler.delta.file_statistics import statistics_texts
from reconciler.delta.log_entries import ENGINE_INFO
from reconciler.delta.opening import is_local, local_path, open_table

if TYPE_CHECKING:
    from deltalake import DeltaTable, Schema
    from deltalake.transaction import AddAction

_MOST_BYTES: Final = 1 << 20
_ACTIONS: Final = frozenset({"commitInfo", "metaData", "protocol", "add"})
_OF_A_FILE: Final = frozenset({"path", "partitionValues", "size", "modificationTime", "dataChange", "stats"})


@dataclass(frozen=True, slots=True)
class StagedTable:
    """The columns and the files of a table; the paths of these are relative to a folder above it."""

    schema: "Schema"
    files: "list[AddAction]"


def staged_table(location: str, prefix: str) -> StagedTable | None:
    """The table at a location, whose files a table above it names with `prefix` before their paths. None where there is no
    table. Raises RegistryError (G602) for one that can't be read."""
    from deltalake import Schema

    found = _of_one_entry(location, prefix) if is_local(location) else None
    if found is not None:
        return found
    opened = open_table(location)
    if opened is None:
        return None
    return StagedTable(Schema.from_json(opened.schema().to_json()), files_of(opened, prefix))


def files_of(table: "DeltaTable", prefix: str) -> "list[AddAction]":
    """The files of a table, as one above it names them."""
    rows = table.get_add_actions(flatten=False)
    if rows.num_rows == 0:
        return []
    # Not the statistics: Python has no value for some of them.
    paths, sizes, moments = (rows[name].to_pylist() for name in ("path", "size_bytes", "modification_time"))
    facts = zip(paths, sizes, moments, statistics_texts(rows), strict=True)
    return [_file(f"{prefix}/{path}", size, modified, stats) for path, size, modified, stats in facts]


def _of_one_entry(location: str, prefix: str) -> StagedTable | None:
    log = os.path.join(local_path(location), "_delta_log")
    try:
        if os.listdir(log) != [f"{0:020d}.json"]:
            return None
        with open(os.path.join(log, f"{0:020d}.json"), encoding="utf-8") as file:
            text = file.read(_MOST_BYTES)
        return _read(json_lines(text), prefix) if len(text) < _MOST_BYTES else None
    except (OSError, ValueError, KeyError, TypeError):
        # deltalake says what is wrong.
        return None


def _read(actions: Any, prefix: str) -> StagedTable | None:
    """What an entry says that was made here (`log_entries`). None for any other."""
    from deltalake import Schema

    found: dict[str, list[JsonObject]] = {name: [] for name in _ACTIONS}
    for action in actions:
        ((name, said),) = action.items()
        if name not in _ACTIONS:
            return None
        found[name].append(said)
    (information,), (metadata,), adds = found["commitInfo"], found["metaData"], found["add"]
    is_ours = information["engineInfo"] == ENGINE_INFO and not metadata["partitionColumns"]
    if not is_ours or not all(set(one) == _OF_A_FILE and is_plain_path(one["path"]) for one in adds):
        return None
    schema = Schema.from_json(metadata["schemaString"])
    files = [_file(f"{prefix}/{one['path']}", one["size"], one["modificationTime"], one["stats"]) for one in adds]
    return StagedTable(schema, files)


def _file(path: str, size: int, modified: int, statistics: str) -> "AddAction":
    from deltalake.transaction import AddAction

    return AddAction(
        path=path, size=size, partition_values={}, modification_time=modified, data_change=True, stats=statistics
    )
