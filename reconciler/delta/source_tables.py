"""Delta tables that somebody else writes, at one version, where their rows are surely read here as Spark reads them.

What `arrow_rows` says of tables and files holds here, too. Beyond that:

- Files may have deletion vectors: the rows that these name are left out. How many rows a file has is told with them.
- Only files that are asked for are read; a table whose log is read for what commits added may be of any size.
- Properties of the table are known ones. A column without NULLs has none, and a file has as many rows as its log says.

What is not so gives None: an engine reads the table then, or says what is wrong with it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Final

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject
from reconciler.base.errors import RegistryError
from reconciler.delta.arrow_rows import (
    READ_FEATURES,
    PlainTable,
    StoredFile,
    arrow_schema,
    is_known_schema,
    is_plain,
    is_plain_path,
    plain_files,
    rows_by_file,
)
from reconciler.delta.opening import is_local, local_path, open_table
from reconciler.delta.short_logs import open_log

if TYPE_CHECKING:
    import pyarrow as pa
    from deltalake import DeltaTable

_VECTORS: Final = "deletionVectors"
_PROPERTIES: Final = frozenset(
    {
        "delta.appendOnly",
        "delta.autoOptimize.autoCompact",
        "delta.autoOptimize.optimizeWrite",
        "delta.checkpointInterval",
        "delta.dataSkippingNumIndexedCols",
        "delta.deletedFileRetentionDuration",
        "delta.enableChangeDataFeed",
        "delta.enableDeletionVectors",
        "delta.enableExpiredLogCleanup",
        "delta.logRetentionDuration",
        "delta.targetFileSize",
        "delta.tuneFileSizesForRewrites",
    }
)
"""What a table may say of itself that decides nothing of what its rows are."""


@dataclass(frozen=True, slots=True)
class SourceTable:
    """A table at one version, and nothing read yet. `left_out` are the places of the rows of a file, by its path, that are
    no rows of the table any more. `id` is what Delta calls the table by."""

    plain: PlainTable
    id: str
    left_out: Mapping[str, frozenset[int]] = field(default_factory=dict)

    @property
    def fields(self) -> Sequence[JsonObject]:
        """The columns, as Delta's schema has them."""
        found: Sequence[JsonObject] = self.plain.schema["fields"]
        return found

    def files_beyond(self, other: "SourceTable") -> tuple[StoredFile, ...]:
        """The files with rows that another version of the table does not have for sure."""
        theirs = {(file.path, other.left_out.get(file.path)) for file in other.plain.files}
        return tuple(file for file in self.plain.files if (file.path, self.left_out.get(file.path)) not in theirs)


def source_table(location: str, version: int) -> SourceTable | None:
    """The table on this machine at a version, with all of its files."""
    found = _opened(location, version)
    if found is None:
        return None
    opened, schema = found
    files = plain_files(opened)
    vectors = {} if _VECTORS not in _features(opened) else _left_out(location, version)
    if files is None or vectors is None or not vectors.keys() <= {file.path for file in files}:
        return None
    return SourceTable(PlainTable(location, version, schema, files), str(opened.metadata().id), vectors)


def table_with_added(location: str, version: int, adds: Sequence[JsonObject]) -> SourceTable | None:
    """The same with these files alone, as commits up to that version say that they added them, without deletion vectors."""
    found = _opened(location, version)
    files = None if found is None else _added_files(adds)
    if found is None or files is None:
        return None
    opened, schema = found
    return SourceTable(PlainTable(location, version, schema, files), str(opened.metadata().id))


def source_rows(table: SourceTable, files: Sequence[StoredFile], fields: Sequence[JsonObject]) -> "pa.Table | None":
    """The rows of these of its files, in these of its columns."""
    import pyarrow as pa

    own = replace(table.plain, schema={**table.plain.schema, "fields": list(fields)})
    parts = rows_by_file(own, files)
    if parts is None or any(part.num_rows != file.rows for part, file in zip(parts, files, strict=True)):
        return None
    kept = [_without(part, table.left_out.get(file.path)) for part, file in zip(parts, files, strict=True)]
    rows = pa.concat_tables([arrow_schema(own.schema).empty_table(), *kept])
    if any(not one["nullable"] and rows.column(at).null_count for at, one in enumerate(fields)):
        return None
    return rows


def _opened(location: str, version: int) -> "tuple[DeltaTable, JsonObject] | None":
    if not is_local(location):
        return None
    try:
        opened = open_log(location, version)
    except RegistryError:
        return None
    if opened is None or int(opened.version()) != version or not is_plain(opened, READ_FEATURES | {_VECTORS}):
        return None
    schema: JsonObject = json.loads(opened.schema().to_json())
    properties = opened.metadata().configuration
    if not is_known_schema(schema) or not all(map(_is_known, properties)):
        return None
    return opened, schema


def _is_known(name: str) -> bool:
    return name in _PROPERTIES or not name.lower().startswith("delta.")


def _features(table: "DeltaTable") -> Sequence[str]:
    return table.protocol().reader_features or ()


def _left_out(location: str, version: int) -> Mapping[str, frozenset[int]] | None:
    """What deletion vectors say. These lie beside the files, so the table is opened where they are."""
    import pyarrow as pa
    from deltalake.exceptions import DeltaError

    try:
        table = open_table(location, version)
        if table is None:
            return None
        told = pa.table(table.deletion_vectors().read_all())
    except (DeltaError, RegistryError, OSError, ValueError):
        return None
    start = f"file://{local_path(location).rstrip('/')}/"
    found: dict[str, frozenset[int]] = {}
    for path, is_kept in zip(told["filepath"].to_pylist(), told["selection_vector"].to_pylist(), strict=True):
        if not path.startswith(start):
            return None
        found[path.removeprefix(start)] = frozenset(place for place, kept in enumerate(is_kept) if not kept)
    return found


def _without(rows: "pa.Table", places: frozenset[int] | None) -> "pa.Table":
    import pyarrow as pa

    if not places:
        return rows
    return rows.filter(pa.array([place not in places for place in range(rows.num_rows)], pa.bool_()))


def _added_files(adds: Sequence[JsonObject]) -> tuple[StoredFile, ...] | None:
    paths = [str(add["path"]) for add in adds]
    if len(set(paths)) < len(paths) or any(add.get("deletionVector") for add in adds) or not all(map(is_plain_path, paths)):
        return None
    try:
        rows = [json.loads(add.get("stats") or "{}").get("numRecords") for add in adds]
    except (AttributeError, ValueError):
        return None
    return tuple(StoredFile(path, int(add["size"]), count) for path, add, count in zip(paths, adds, rows, strict=True))
