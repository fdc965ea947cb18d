"""The tables of a pipeline as Delta tables: create, clear, extend, inspect; each change is one commit. What gives them new
rows is `delta.publishing`, what puts them back to an earlier version `delta.restoring`.

Rules:
- Every change names the Delta version that it expects and a transaction. A change whose transaction the table already
  has is done and is not repeated; a table that moved on otherwise, or has a later transaction of the same application, is a
  conflict (G605), nothing is overwritten.
- Nothing here deletes data files; what the newest version no longer names is removed by retention (`delta.unneeded_files`).
  So no table that is made here cleans its log up by itself: how far back that must reach, Delta can't know.
"""

import json
import os
import re
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject, digest_text
from reconciler.base.errors import RegistryConflict, RegistryError
from reconciler.delta.arrow_rows import SMALL_FILE
from reconciler.delta.commits import version_of, version_with
from reconciler.delta.nested_warehouses import require_no_warehouse
from reconciler.delta.opening import is_local, local_path, open_table
from reconciler.delta.overwriting import overwrite_on_disk
from reconciler.delta.schema import column_types, delta_schema
from reconciler.delta.short_logs import open_log
from reconciler.delta.transactions import commit_properties, has_transaction
from reconciler.delta.writing import writing
from reconciler.engine.stored import ColumnType, Transaction

if TYPE_CHECKING:
    from deltalake import DeltaTable, Schema
    from deltalake.transaction import AddAction


# A schema writes a type after `type`, `elementType` or `valueType`; a column may be named like it.
_VARIANT: Final = re.compile('[tT]ype":"variant"')
KEEPS_ITS_LOG: Final = {"delta.enableExpiredLogCleanup": "false"}
"""Of a table whose log no writer cleans up by itself, which every one does after a month otherwise."""

_ABOUT_AN_ACTION: Final = 1000
"""So many bytes say of a file that it is there."""


@dataclass(frozen=True, slots=True)
class TableStatistics:
    """What Delta's log says of a table at one version. `rows` is None when a file lacks statistics. `small_files` are those
    that could be put together (`compaction`)."""

    version: int
    rows: int | None
    bytes: int
    files: int
    small_files: int


def table_version(location: str) -> int | None:
    """The newest Delta version of the table there, or None when there is no table."""
    table = open_log(location)
    return None if table is None else table.version()


def is_staged(location: str) -> bool:
    """Whether a table stands in a folder that is written once: on a disk one look at its only commit tells."""
    if is_local(location):
        return os.path.exists(os.path.join(local_path(location), "_delta_log", f"{0:020d}.json"))
    return table_version(location) is not None


def table_columns(location: str, version: int | None = None) -> tuple[tuple[str, str], ...]:
    """(name, Delta type as JSON text) of each column, in order. Empty when there is no table."""
    table = open_log(location, version)
    if table is None:
        return ()
    fields = json.loads(table.schema().to_json())["fields"]
    return tuple((field["name"], json.dumps(field["type"])) for field in fields)


def typed_columns(location: str, version: int | None = None) -> tuple[ColumnType, ...]:
    """The columns with their types as Spark names them, in order. Empty when there is no table."""
    table = open_log(location, version)
    return () if table is None else column_types(table.schema())


def statistics(location: str, version: int | None = None) -> TableStatistics | None:
    """Rows, bytes and files of a table from its log, or None when there is no table."""
    table = open_log(location, version)
    if table is None:
        return None
    actions = table.get_add_actions(flatten=True)
    rows: int | None = 0
    if actions.num_rows > 0:
        counts = actions["num_records"].to_pylist() if "num_records" in actions.schema.names else [None]
        rows = None if any(count is None for count in counts) else sum(counts)
    sizes = actions["size_bytes"].to_pylist()
    small = sum(size <= SMALL_FILE for size in sizes)
    return TableStatistics(table.version(), rows, sum(sizes), actions.num_rows, small)


def create_table(location: str, columns: tuple[ColumnType, ...], transaction: Transaction) -> int:
    """Create an empty table with these columns; returns its version. Raises RegistryConflict when another is there."""
    from deltalake import DeltaTable

    existing = open_table(location)
    if existing is None:
        # Where somebody made one meanwhile, it is looked at below whose it is.
        with suppress(RegistryConflict), writing(location, None):
            DeltaTable.create(
                location,
                schema=delta_schema(columns),
                mode="error",
                configuration=dict(KEEPS_ITS_LOG),
                commit_properties=commit_properties(transaction),
            )
        existing = open_table(location)
    if existing is not None and has_transaction(existing, transaction):
        return _prepared_version(location, existing, existing.schema(), transaction)
    raise RegistryConflict("G605", f"there is already a table at {location}, and this pipeline did not create it")


def clear_table(location: str, columns: tuple[ColumnType, ...], expected: int, transaction: Transaction) -> int:
    """Give a table these columns and no rows, in one commit on version `expected`; returns the new version."""
    return overwrite_table(location, delta_schema(columns), [], expected, transaction)


def extend_table(location: str, columns: tuple[ColumnType, ...], expected: int | None, transaction: Transaction) -> int:
    """Add nullable columns at the end of a table, in one commit on version `expected` that names no data file: rows that
    are there have NULL in them. Returns the new version. Raises RegistryConflict (G605) where there is no table."""
    current = open_table(location)
    if current is not None and has_transaction(current, transaction):
        return version_of(location, int(current.version()), transaction)
    schema = delta_schema(columns)
    current = _expected(location, current, schema, expected, transaction)
    if current is None:
        raise RegistryConflict("G605", f"there is no table at {location}")
    try:
        with writing(location, current.version()):
            current.alter.add_columns(schema.fields, commit_properties=commit_properties(transaction))
    except RegistryError:
        again = open_table(location)
        if again is not None and has_transaction(again, transaction):
            return version_of(location, int(again.version()), transaction)
        raise
    return int(current.version())


def remove_local(location: str) -> bool:
    """Remove a local table's folder; False when the location is not local (then the engine has to)."""
    if not is_local(location):
        return False
    path = local_path(location)
    require_no_warehouse(location)
    # The log goes first: a reader finds either the whole table or none, never a table whose files are going.
    shutil.rmtree(os.path.join(path, "_delta_log"), ignore_errors=True)
    shutil.rmtree(path, ignore_errors=True)
    return True


def overwrite_table(
    location: str,
    schema: Any,
    actions: "list[AddAction]",
    expected: int | None,
    transaction: Transaction,
    commit: JsonObject | None = None,
) -> int:
    """Make these files and this schema the whole table, in one commit on version `expected` (None: there is no table yet);
    returns the new version."""
    from deltalake.transaction import create_table_with_add_actions

    made = overwrite_on_disk(location, schema, actions, expected, transaction, commit)
    if made is not None:
        return made
    current = open_table(location)
    if current is not None and has_transaction(current, transaction):
        return _prepared_version(location, current, current.schema(), transaction)
    current = _expected(location, current, schema, expected, transaction)
    properties = commit_properties(transaction, commit)
    try:
        with writing(location, None if current is None else current.version(), data=_ABOUT_AN_ACTION * len(actions)):
            if current is None:
                create_table_with_add_actions(
                    location,
                    schema,
                    actions,
                    mode="error",
                    partition_by=[],
                    configuration=dict(KEEPS_ITS_LOG),
                    commit_properties=properties,
                )
            else:
                replacing = _told_apart(current.schema(), schema)
                current.create_write_transaction([*actions], "overwrite", replacing, [], commit_properties=properties)
                return current.version() + 1
    except RegistryError:
        again = open_table(location)
        if again is None or not has_transaction(again, transaction):
            raise
    created = open_table(location)
    if created is None:
        raise RegistryConflict("G605", f"the table at {location} no longer exists")
    return _prepared_version(location, created, schema, transaction)


def _prepared_version(location: str, table: "DeltaTable", schema: "Schema", transaction: Transaction) -> int:
    """The version that has what a transaction wrote, and the features that its columns need. Others may have written the
    table since."""
    newest = int(_with_features(location, table, schema, transaction).version())
    own = version_of(location, newest, transaction)
    prepared = own + 1
    has_features = prepared <= newest and version_with(location, prepared, _preparation(transaction)) == prepared
    return prepared if has_features else own


def _expected(
    location: str, table: "DeltaTable | None", schema: "Schema", expected: int | None, transaction: Transaction
) -> "DeltaTable | None":
    """The table at the version that is expected, or one commit further: with the features that its new schema needs."""
    found = None if table is None else table.version()
    prepared = table is not None and has_transaction(table, _preparation(transaction)) and found == (expected or 0) + 1
    if found != expected and not prepared:
        raise RegistryConflict("G605", f"the table at {location} is at version {found}, expected {expected}")
    return None if table is None else _with_features(location, table, schema, transaction)


def _told_apart(found: "Schema", wanted: "Schema") -> "Schema":
    """The wanted schema, such that deltalake takes it for another one where it is: it compares fields without regard to
    their order, and writes no schema that it takes for the same. A mark on a field, which readers ignore, tells them
    apart."""
    from deltalake import Schema

    text = wanted.to_json()
    if found != wanted or found.to_json() == text:
        return wanted
    value = json.loads(text)
    # What the mark says is nothing; that no field had it before is enough.
    value["fields"][0]["metadata"]["reconcile.order"] = digest_text(found.to_json())
    return Schema.from_json(json.dumps(value))


def _preparation(transaction: Transaction) -> Transaction:
    return Transaction(f"{transaction.application}/features", transaction.version)


def _with_features(location: str, table: "DeltaTable", schema: "Schema", transaction: Transaction) -> "DeltaTable":
    """The table with the features that the schema needs, added in a commit of their own where they are missing: neither an
    overwrite nor a new table brings all of them along.

    TIMESTAMP_NTZ and VARIANT need one; a table that lists features has to list those, too, which tables without a list have
    by themselves, or Spark refuses to open it once a column is NOT NULL.
    """
    from deltalake import TableFeatures

    protocol = table.protocol()
    kinds = schema.to_json()
    has_variants = _VARIANT.search(kinds) is not None
    wanted = {"timestampNtz", "invariants", "appendOnly", *(["variantType"] if has_variants else [])}
    lists_features = protocol.min_writer_version >= 7 or "timestamp_ntz" in kinds or has_variants
    if not lists_features or wanted <= set(protocol.writer_features or ()):
        return table
    added = [TableFeatures.TimestampWithoutTimezone, TableFeatures.Invariants, TableFeatures.AppendOnly]
    if has_variants:
        added.append(TableFeatures.VariantType)
    with writing(location, table.version()):
        table.alter.add_feature(
            added,
            allow_protocol_versions_increase=True,
            commit_properties=commit_properties(_preparation(transaction)),
        )
    return table
