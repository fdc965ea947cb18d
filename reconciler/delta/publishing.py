"""Publishing: rows that were written elsewhere become what a table holds, in one commit, without a JVM.

The files stand below the table's own folder already (a staging folder). One commit names them, and no longer names those
before; schema and rows change together. So a reader of the table's permanent path sees the old contents, then the new, and
no row is copied. What every commit here keeps to is said in `tables`.
"""

import json
from typing import TYPE_CHECKING

from reconciler.base.digest import JsonObject
from reconciler.base.errors import RegistryConflict
from reconciler.delta.opening import join_location
from reconciler.delta.schema import delta_schema
from reconciler.delta.staged_tables import files_of, staged_table
from reconciler.delta.tables import overwrite_table
from reconciler.engine.stored import ColumnType, Transaction

if TYPE_CHECKING:
    from deltalake import DeltaTable, Schema


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
    staged = staged_table(join_location(location, staging), staging)
    if staged is None:
        raise RegistryConflict("G605", f"nothing is staged at {join_location(location, staging)}")
    schema = staged.schema
    if columns:
        declared = delta_schema(columns)
        if _names_and_types(declared) != _names_and_types(schema):
            raise RegistryConflict("G605", f"the staged table at {join_location(location, staging)} has other columns")
        schema = declared
    return overwrite_table(location, schema, staged.files, expected, transaction, commit)


def publish_version(
    location: str, staging: str, source: "DeltaTable", expected: int | None, transaction: Transaction
) -> int:
    """Make the rows of another table, as it was opened, the whole contents of this one, in one commit as `publish`. Its
    files stand below `staging` too, under the same paths."""
    from deltalake import Schema

    schema = Schema.from_json(source.schema().to_json())
    return overwrite_table(location, schema, files_of(source, staging), expected, transaction)


def _names_and_types(schema: "Schema") -> list[tuple[str, str]]:
    return [(field["name"], json.dumps(field["type"], sort_keys=True)) for field in json.loads(schema.to_json())["fields"]]
