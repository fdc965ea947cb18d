"""Publishing: rows that were written elsewhere become what a table holds, in one commit, without a JVM.

The files stand below the table's own folder already (a staging folder). One commit names them, and no longer names those
before; schema and rows change together. So a reader of the table's permanent path sees the old contents, then the new, and
no row is copied. What every commit here keeps to is said in `tables`.
"""

import json
from typing import TYPE_CHECKING

from reconciler.base.digest import JsonObject
from reconciler.base.errors import RegistryConflict
from reconciler.delta.file_statistics import statistics_texts
from reconciler.delta.opening import join_location, open_table
from reconciler.delta.schema import delta_schema
from reconciler.delta.tables import overwrite_table
from reconciler.engine.stored import ColumnType, Transaction

if TYPE_CHECKING:
    from deltalake import DeltaTable, Schema
    from deltalake.transaction import AddAction


def publish(
    location: str,
    staging: str,
    expected: int | None,
    transaction: Transaction,
    columns: tuple[ColumnType, ...] = (),
    commit: JsonObject | None = None,
) -> int:
    """Make the rows staged in the folder `staging` (relative to `location`) the whole contents of the table.

    One commit on version `expected` (None: there is no table yet); schema and rows change together. Returns the new
    version. The staged Delta table lies below the permanent one, so its files are named, not copied. The columns are the
    staged ones; with `columns`, these: the same names and types, as a table declares them (NOT NULL). `commit` is written
    with the commit, for whoever reads the table's history.
    """
    staged = open_table(join_location(location, staging))
    if staged is None:
        raise RegistryConflict("G605", f"nothing is staged at {join_location(location, staging)}")
    from deltalake import Schema

    schema = Schema.from_json(staged.schema().to_json())
    if columns:
        declared = delta_schema(columns)
        if _names_and_types(declared) != _names_and_types(schema):
            raise RegistryConflict("G605", f"the staged table at {join_location(location, staging)} has other columns")
        schema = declared
    return overwrite_table(location, schema, add_actions(staged, staging), expected, transaction, commit)


def publish_version(
    location: str, staging: str, source: "DeltaTable", expected: int | None, transaction: Transaction
) -> int:
    """Make the rows of another table, as it was opened, the whole contents of this one, in one commit as `publish`. Its
    files stand below `staging` too, under the same paths."""
    from deltalake import Schema

    schema = Schema.from_json(source.schema().to_json())
    return overwrite_table(location, schema, add_actions(source, staging), expected, transaction)


def _names_and_types(schema: "Schema") -> list[tuple[str, str]]:
    return [(field["name"], json.dumps(field["type"], sort_keys=True)) for field in json.loads(schema.to_json())["fields"]]


def add_actions(staged: "DeltaTable", prefix: str) -> "list[AddAction]":
    """The files of a staged table, as a table above it names them."""
    from deltalake.transaction import AddAction

    rows = staged.get_add_actions(flatten=False)
    if rows.num_rows == 0:
        return []
    # Not the statistics: Python has no value for some of them.
    facts = zip(*(rows[name].to_pylist() for name in ("path", "size_bytes", "modification_time")), strict=True)
    return [
        AddAction(
            path=f"{prefix}/{path}",
            size=size,
            partition_values={},
            modification_time=modified,
            data_change=True,
            stats=stats,
        )
        for (path, size, modified), stats in zip(facts, statistics_texts(rows), strict=True)
    ]
