"""A new Delta table of rows that are held as Arrow: what Spark writes to a staging folder, written in this process.

It has one commit, version 0, and in it what Spark's would say: the columns, all of which may be NULL, the features of Delta
that they need, no settings, and one file of rows, or none where there are no rows. Statistics are those of
`arrow_statistics`, which leaves out some that Spark tells: that only costs skipping.
"""

import json
import time
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from reconciler.base.digest import JsonObject
from reconciler.base.errors import RegistryConflict
from reconciler.base.version import __version__
from reconciler.delta.arrow_rows import arrow_schema
from reconciler.delta.arrow_statistics import statistics_text
from reconciler.delta.arrow_writes import needs_features, parquet_of
from reconciler.delta.log_entries import put_entry
from reconciler.delta.objects import put_object
from reconciler.delta.writing import writing

if TYPE_CHECKING:
    import pyarrow as pa

_PLAIN: Final[JsonObject] = {"minReaderVersion": 1, "minWriterVersion": 2}
_WITHOUT_ZONES: Final[JsonObject] = {
    "minReaderVersion": 3,
    "minWriterVersion": 7,
    "readerFeatures": ["timestampNtz"],
    "writerFeatures": ["timestampNtz", "invariants", "appendOnly"],
}


def put_table(location: str, schema: JsonObject, rows: "pa.Table") -> None:
    """Make the table, where there is none. `schema` is Delta's, all of whose types are known (`is_known_schema`), and the
    rows have its columns. Raises RegistryError (G607) for what the system refuses, RegistryConflict (G605) where a table
    stands there."""
    columns = without_requirements(schema)
    rows = rows.cast(arrow_schema(columns))
    with writing(location, None, data=rows.nbytes):
        adds = [_put_rows(location, rows)] if rows.num_rows else []
        metadata = {
            "id": str(uuid4()),
            "format": {"provider": "parquet", "options": {}},
            "schemaString": json.dumps(columns, separators=(",", ":"), ensure_ascii=False),
            "partitionColumns": [],
            "configuration": {},
            "createdTime": _now(),
        }
        protocol = _WITHOUT_ZONES if needs_features(columns) else _PLAIN
        actions: list[JsonObject] = [{"metaData": metadata}, {"protocol": protocol}, *({"add": add} for add in adds)]
        is_done = put_entry(location, 0, _information(rows, adds), actions)
    if not is_done:
        raise RegistryConflict("G605", f"there is already a table at {location}")


def without_requirements(kind: Any) -> Any:
    """A schema, or a type, in which everything may be NULL: so Spark declares the columns of a table that it makes."""
    if not isinstance(kind, dict):
        return kind
    match kind["type"]:
        case "struct":
            fields = [{**one, "type": without_requirements(one["type"]), "nullable": True} for one in kind["fields"]]
            return {**kind, "fields": fields}
        case "array":
            return {**kind, "elementType": without_requirements(kind["elementType"]), "containsNull": True}
        case "map":
            key, value = without_requirements(kind["keyType"]), without_requirements(kind["valueType"])
            return {**kind, "keyType": key, "valueType": value, "valueContainsNull": True}
        case _:
            return kind


def _put_rows(location: str, rows: "pa.Table") -> JsonObject:
    """Write the file of rows; what the log is to say of it."""
    text = parquet_of(rows)
    path = f"part-00000-{uuid4()}-c000.snappy.parquet"
    put_object(location, path, text)
    return {
        "path": path,
        "partitionValues": {},
        "size": len(text),
        "modificationTime": _now(),
        "dataChange": True,
        "stats": statistics_text(rows),
    }


def _information(rows: "pa.Table", adds: list[JsonObject]) -> JsonObject:
    return {
        "timestamp": _now(),
        "operation": "WRITE",
        "operationParameters": {"mode": "ErrorIfExists", "partitionBy": "[]"},
        "isolationLevel": "Serializable",
        "isBlindAppend": True,
        "operationMetrics": {
            "numFiles": str(len(adds)),
            "numOutputRows": str(rows.num_rows),
            "numOutputBytes": str(sum(add["size"] for add in adds)),
        },
        "engineInfo": f"reconcile/{__version__}",
    }


def _now() -> int:
    return time.time_ns() // 1_000_000
