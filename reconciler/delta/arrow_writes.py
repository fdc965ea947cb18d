"""Rows held as Arrow written to Delta tables in this process: one commit a call, on the version that the table was read at.

- `append` adds rows, `rewrite` takes some out and adds others, `overwrite` replaces all, `create` makes a table, `put_table`
  one in a staging folder; `put_together` makes one file of some. Rows are taken out by writing anew those files that hold
  any of them, and no others.
- A commit carries its transaction and what it says of itself (`userMetadata`). A table that has the transaction is left as
  it is; one that has a later one, or that somebody else wrote meanwhile, is a conflict (RegistryConflict, G605), and
  nothing is written. What the system refuses is RegistryError (G607); then nothing is written either, unless the commit
  itself got no answer. Whoever asks again finds it by its transaction.
- Which tables are surely written as Spark writes them says `is_writable`: a list of features and settings, and what is not
  on it is not known. So no constraint, generated column, identity, change feed, row tracking or NOT NULL is passed over.
- Files are Parquet that every reader of Delta takes as Spark's: they say that days count in the calendar of today, and
  nothing of the smallest and largest doubles. (deltalake's own writer, and Arrow's, leave NaNs out of these; Spark, for
  which NaN is the largest, would pass over the file.)
- Which rows a commit took out and added is remembered for whoever follows the table (`known_changes`).
- What stays of a file that is not committed (a process died, somebody else was first) is no part of the table.
"""

import json
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject, canonical_json
from reconciler.base.errors import RegistryConflict, RegistryError
from reconciler.delta.arrow_rows import SMALL_FILE, OpenedTable, PlainTable, StoredFile, arrow_schema
from reconciler.delta.arrow_statistics import statistics_text
from reconciler.delta.commits import version_of
from reconciler.delta.known_changes import KnownChanges, remember_changes
from reconciler.delta.log_entries import ENGINE_INFO, after_commit, put_entry
from reconciler.delta.objects import put_object, remove_objects
from reconciler.delta.opening import is_local, open_table
from reconciler.delta.transactions import USER_METADATA, has_transaction, mark_of
from reconciler.delta.writing import writing
from reconciler.engine.stored import Transaction

if TYPE_CHECKING:
    import pyarrow as pa
    from deltalake import DeltaTable, Metadata
    from deltalake.table import ProtocolVersions

_FEATURES: Final = frozenset({"timestampNtz", "invariants", "appendOnly"})
_SETTINGS: Final = frozenset(
    {
        "delta.checkpointInterval",
        "delta.deletedFileRetentionDuration",
        "delta.enableExpiredLogCleanup",
        "delta.logRetentionDuration",
    }
)
_PLAIN: Final[JsonObject] = {"minReaderVersion": 1, "minWriterVersion": 2}
_WITHOUT_ZONES: Final[JsonObject] = {
    "minReaderVersion": 3,
    "minWriterVersion": 7,
    "readerFeatures": ["timestampNtz"],
    "writerFeatures": ["timestampNtz", "invariants", "appendOnly"],
}
"""What tables ask of readers and writers: of most columns nothing, and of TIMESTAMP_NTZ what Spark says of it."""

_CALENDAR: Final = {"org.apache.spark.version": "3.0.0"}
"""By this readers know that days before 1582 count in the calendar of today. Spark asks no more than for 3 or later; where
it is missing, some versions read no such day."""

_OTHER_WAYS_TO_COMMIT: Final = ("AWS_S3_LOCKING_PROVIDER", "AWS_CONDITIONAL_PUT", "AWS_COPY_IF_NOT_EXISTS")
"""Variables by which commits on S3 are to be made otherwise than on the condition that nothing is there."""


def is_writable(table: OpenedTable, nulls_are_checked: bool = False) -> bool:
    """Whether rows that fit its columns can be written to it, and taken out of it, without regard to anything else.
    `nulls_are_checked`: a column of it may be NOT NULL, for the rows to come have no NULL there."""
    return (
        has_known_settings(table.opened.protocol(), table.opened.metadata())
        and can_be_committed_to(table.location)
        and all(
            (field["nullable"] or nulls_are_checked) and _all_may_be_null(field["type"]) for field in table.schema["fields"]
        )
    )


def has_known_settings(protocol: "ProtocolVersions", metadata: "Metadata") -> bool:
    """Whether a table asks nothing of writers but what its columns say."""
    is_old = protocol.min_reader_version == 1 and protocol.min_writer_version <= 2
    lists_features = protocol.min_writer_version == 7 and set(protocol.writer_features or ()) <= _FEATURES
    return (is_old or lists_features) and set(metadata.configuration) <= _SETTINGS


def can_be_committed_to(location: str) -> bool:
    """Whether commits there are made here as all others make them."""
    return is_local(location) or not any(os.environ.get(name) for name in _OTHER_WAYS_TO_COMMIT)


def append(table: OpenedTable, rows: "pa.Table", transaction: Transaction, commit: JsonObject | None = None) -> int:
    """Add rows, in the table's columns; returns the version that has them."""
    said = _information("WRITE", {"mode": "Append", "partitionBy": "[]"}, commit, is_blind=True)
    changes = KnownChanges(table.schema, rows.slice(0, 0), rows)
    return _Write(table.location, table, transaction).commit(said, [rows], (), changes=changes)


@dataclass(frozen=True, slots=True)
class Taken:
    """Rows that are taken out of a table: of each file that holds any of them, by its path, the rows that stay; and the rows
    that go (None: nobody is told)."""

    staying: "Mapping[str, pa.Table]"
    went: "pa.Table | None" = None


def rewrite(
    table: OpenedTable,
    taken: Taken,
    rows: "pa.Table",
    transaction: Transaction,
    commit: JsonObject | None = None,
    counts: Mapping[str, int] | None = None,
) -> int:
    """Take rows out and add others, in one commit; returns its version. What stays of a large file is a file again, so that
    rows that came together go on lying together. `counts` are what else the commit's metrics say, by the names that Spark
    gives them."""
    import pyarrow as pa

    gone = tuple(file for file in table.files if file.path in taken.staying)
    large = {file.path for file in gone if file.bytes > SMALL_FILE}
    small = [stays for path, stays in taken.staying.items() if path not in large]
    parts = [*(taken.staying[path] for path in large), pa.concat_tables([*small, rows])]
    said = {**_information("MERGE", {}, commit), "operationMetrics": dict(counts or {})}
    changes = None if taken.went is None else KnownChanges(table.schema, taken.went, rows)
    return _Write(table.location, table, transaction).commit(said, parts, gone, changes=changes)


def overwrite(
    table: OpenedTable,
    schema: JsonObject,
    rows: "pa.Table",
    transaction: Transaction,
    commit: JsonObject | None = None,
) -> int:
    """Make these rows, in the columns of this schema (Delta's, all of whose types are known), the whole table; returns the
    version that holds them. Raises ValueError for a schema that needs a feature that the table has not."""
    if needs_features(schema) and not needs_features(table.schema):
        raise ValueError(f"the table at {table.location} lacks a feature for its new columns")
    said = _information("WRITE", {"mode": "Overwrite", "partitionBy": "[]", "canOverwriteSchema": True}, commit)
    first = [] if schema == table.schema else [with_schema(table.opened.metadata(), schema)]
    return _Write(table.location, table, transaction).commit(said, [rows], table.files, first)


def create(
    location: str, schema: JsonObject, rows: "pa.Table", transaction: Transaction, commit: JsonObject | None = None
) -> int:
    """Make a table of these columns (Delta's schema, all of whose types are known) and rows; returns its version. Raises
    ValueError for a schema that needs a feature of Delta."""
    if needs_features(schema):
        raise ValueError(f"a table with these columns needs a feature of Delta: {json.dumps(schema)}")
    return _create(location, schema, rows, transaction, commit)


def put_table(location: str, schema: JsonObject, rows: "pa.Table") -> "tuple[PlainTable, pa.Table]":
    """Make a table that nobody sees yet, as Spark writes one to a staging folder: one commit, version 0, whose columns may
    all be NULL, with the features that they need, and no transaction. `schema` is Delta's, all of whose types are known, and
    the rows have its columns. Gives the table, and its rows, as they would be read."""
    columns = all_nullable(schema)
    fitting = rows.cast(arrow_schema(columns))
    write = _Write(location, None, None)
    write.commit(_creation(None), [fitting], (), _first_actions(columns))
    files = tuple(StoredFile(one["path"], one["size"], fitting.num_rows) for one in write.added)
    return PlainTable(location, 0, columns, files), fitting


def _create(
    location: str,
    schema: JsonObject,
    rows: "pa.Table",
    transaction: Transaction | None,
    commit: JsonObject | None = None,
) -> int:
    return _Write(location, None, transaction).commit(_creation(commit), [rows], (), _first_actions(schema))


def _creation(commit: JsonObject | None) -> JsonObject:
    return _information("WRITE", {"mode": "ErrorIfExists", "partitionBy": "[]"}, commit, is_blind=True)


def _first_actions(schema: JsonObject) -> list[JsonObject]:
    """What the log of a new table begins with."""
    return [
        {"metaData": _as_metadata(str(uuid4()), schema, {}, _now())},
        {"protocol": _WITHOUT_ZONES if needs_features(schema) else _PLAIN},
    ]


def put_together(
    table: OpenedTable,
    files: Sequence[StoredFile],
    rows: "Sequence[pa.Table]",
    transaction: Transaction,
    commit: JsonObject | None = None,
) -> int:
    """Make one file of these, whose rows are given, in a commit that changes no rows; returns its version."""
    import pyarrow as pa

    said = _information("OPTIMIZE", {"predicate": "[]", "zOrderBy": "[]"}, commit)
    whole = pa.concat_tables(rows).combine_chunks()
    return _Write(table.location, table, transaction, changes_rows=False).commit(said, [whole], tuple(files))


def needs_features(kind: Any) -> bool:
    """Whether a table with such columns lists features of Delta: of Delta's schema, or a type."""
    if not isinstance(kind, dict):
        return bool(kind == "timestamp_ntz")
    within = [field["type"] for field in kind.get("fields", ())]
    return any(map(needs_features, [*within, *(kind.get(part) for part in ("elementType", "keyType", "valueType"))]))


def all_nullable(kind: Any) -> Any:
    """Delta's schema, or a type, such that NULL may stand everywhere, as Spark gives it to tables that it makes of rows."""
    if not isinstance(kind, dict):
        return kind
    match kind["type"]:
        case "struct":
            fields = [{**field, "type": all_nullable(field["type"]), "nullable": True} for field in kind["fields"]]
            return {**kind, "fields": fields}
        case "array":
            return {**kind, "elementType": all_nullable(kind["elementType"]), "containsNull": True}
        case "map":
            key, value = all_nullable(kind["keyType"]), all_nullable(kind["valueType"])
            return {**kind, "keyType": key, "valueType": value, "valueContainsNull": True}
        case _:
            return kind


class _Write:
    """One commit to a table; None: there is none yet. One without a transaction is made once, or not."""

    def __init__(
        self, location: str, table: OpenedTable | None, transaction: Transaction | None, *, changes_rows: bool = True
    ) -> None:
        self._location = location
        self._table = table
        self._transaction = transaction
        self._changes_rows = changes_rows
        self.added: Sequence[JsonObject] = ()
        """What the log says of the files that came."""

    def commit(
        self,
        said: JsonObject,
        parts: "Sequence[pa.Table]",
        gone: tuple[StoredFile, ...],
        first: Sequence[JsonObject] = (),
        changes: KnownChanges | None = None,
    ) -> int:
        """Add rows, a file of each part that has any, and remove files. `first` are actions before that, `changes` the rows
        that change by it, where they are known. Returns the version that did it."""
        if self._table is not None:
            done = self._done(self._table.opened)
            if done is not None:
                return done
        expected = None if self._table is None else self._table.version
        version = 0 if expected is None else expected + 1
        with writing(self._location, expected, data=sum(rows.nbytes for rows in parts)):
            self.added = added = [self._put_file(rows) for rows in parts if rows.num_rows]
            information = {
                "timestamp": _now(),
                **said,
                **({} if expected is None else {"readVersion": expected}),
                "operationMetrics": _metrics(parts, added, gone, said.get("operationMetrics", {})),
                "engineInfo": ENGINE_INFO,
            }
            adds = [{"add": one} for one in added]
            removes = [removed(file, self._changes_rows) for file in gone]
            actions = [*self._marks(), *first, *adds, *removes]
            # Where there is no answer the commit may stand: then its file stays, too.
            is_done = put_entry(self._location, version, information, actions)
        if not is_done:
            return self._second(added)
        if changes is not None:
            remember_changes(self._location, version, changes)
        after_commit(self._location, version, {} if self._table is None else self._table.opened.metadata().configuration)
        return version

    def _second(self, added: Sequence[JsonObject]) -> int:
        """Somebody else made the commit of that version: the same, perhaps."""
        if added:
            with suppress(RegistryError):
                remove_objects(self._location, [one["path"] for one in added])
        table = open_table(self._location)
        done = None if table is None else self._done(table)
        if done is not None:
            return done
        raise RegistryConflict("G605", f"another process wrote {self._location} meanwhile")

    def _done(self, table: "DeltaTable") -> int | None:
        """The version that has the transaction already. Others may have written the table since."""
        if self._transaction is None or not has_transaction(table, self._transaction, self._location):
            return None
        return version_of(self._location, int(table.version()), self._transaction)

    def _marks(self) -> list[JsonObject]:
        if self._transaction is None:
            return []
        return [{"txn": mark_of(self._transaction, _now())}]

    def _put_file(self, rows: "pa.Table") -> JsonObject:
        """Write a data file; what the log is to say of it."""
        text = parquet_of(rows)
        path = f"part-00000-{uuid4()}-c000.snappy.parquet"
        put_object(self._location, path, text)
        return {
            "path": path,
            "partitionValues": {},
            "size": len(text),
            "modificationTime": _now(),
            "dataChange": self._changes_rows,
            "stats": statistics_text(rows),
        }


def parquet_of(rows: "pa.Table") -> bytes:
    """A file of Parquet with these rows."""
    import pyarrow as pa
    from pyarrow import parquet

    sink = pa.BufferOutputStream()
    ends = _with_ends(rows.schema)
    with parquet.ParquetWriter(sink, rows.schema, compression="snappy", store_schema=False, write_statistics=ends) as writer:
        writer.write_table(rows)
        writer.add_key_value_metadata(_CALENDAR)
    return bytes(sink.getvalue())


def _with_ends(schema: "pa.Schema") -> list[str]:
    """The columns of whose values the file says which are the smallest and the largest."""
    from pyarrow import types

    return [field.name for field in schema if not (field.type.num_fields or types.is_floating(field.type))]


def _information(operation: str, parameters: JsonObject, commit: JsonObject | None, is_blind: bool = False) -> JsonObject:
    said: JsonObject = {
        "operation": operation,
        "operationParameters": parameters,
        "isolationLevel": "Serializable",
        "isBlindAppend": is_blind,
    }
    return {**said, USER_METADATA: canonical_json(commit)} if commit else said


def _metrics(
    parts: "Sequence[pa.Table]", added: Sequence[JsonObject], gone: tuple[StoredFile, ...], others: JsonObject
) -> JsonObject:
    """In Spark's words, as texts."""
    found = {
        **others,
        "numFiles": len(added),
        "numOutputRows": sum(rows.num_rows for rows in parts),
        "numOutputBytes": sum(one["size"] for one in added),
        "numRemovedFiles": len(gone),
        "numRemovedBytes": sum(file.bytes for file in gone),
    }
    return {name: str(number) for name, number in found.items()}


def removed(file: StoredFile, changes_rows: bool) -> JsonObject:
    """The action by which a file is no longer one of the table."""
    return {
        "remove": {
            "path": file.path,
            "deletionTimestamp": _now(),
            "dataChange": changes_rows,
            "extendedFileMetadata": True,
            "partitionValues": {},
            "size": file.bytes,
        }
    }


def with_schema(found: "Metadata", schema: JsonObject) -> JsonObject:
    """The action by which a table that is described so has these columns from now on; all else of it stays."""
    told = _as_metadata(str(found.id), schema, found.configuration, found.created_time)
    named = {"name": found.name, "description": found.description}
    return {"metaData": {**{name: text for name, text in named.items() if text is not None}, **told}}


def _as_metadata(identity: str, schema: JsonObject, configuration: dict[str, str], created: int | None) -> JsonObject:
    told: JsonObject = {
        "id": identity,
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps(schema, separators=(",", ":"), ensure_ascii=False),
        "partitionColumns": [],
        "configuration": configuration,
    }
    return told if created is None else {**told, "createdTime": created}


def _all_may_be_null(kind: Any) -> bool:
    """Whether a schema, or a type, asks for a value nowhere."""
    if not isinstance(kind, dict):
        return True
    match kind["type"]:
        case "struct":
            return all(field["nullable"] and _all_may_be_null(field["type"]) for field in kind["fields"])
        case "array":
            return bool(kind["containsNull"]) and _all_may_be_null(kind["elementType"])
        case "map":
            return bool(kind["valueContainsNull"]) and _all_may_be_null(kind["valueType"])
        case _:
            return False


def _now() -> int:
    return time.time_ns() // 1_000_000
