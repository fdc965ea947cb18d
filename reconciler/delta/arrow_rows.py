"""Rows of a Delta table at one version as Arrow, read in this process: of those tables that are surely read as Spark reads
them.

What is not on a list here is not read (None), and an engine reads it: unknown means that it matters.

- Of the table: no feature of Delta but TIMESTAMP_NTZ without a zone in types, no partitions, no deletion vectors, on a disk
  or on S3; paths of files that need no decoding.
- Of its columns: the types below at any depth, and no metadata but comments and our own mark of order. So no mapped column
  names, no CHAR or VARCHAR of Spark's own, no collations.
- Of its files: Parquet by Spark 3 or later, by Rust's or by Arrow's writer; each column is stored in the form that these
  give its type. A column that a file lacks is NULL in it. Days and moments count in the calendar of today, as Spark takes
  them where no file says otherwise.

Nor are files read whose rows take much memory, which their sizes do not tell.

Values are those that are stored. Moments are whole microseconds from 1970, in any year that fits; never make Python's
`datetime` of them, which lacks most years. Texts are bytes that nobody has checked to be UTF-8.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject
from reconciler.base.errors import RegistryError
from reconciler.delta.objects import can_be_listed, read_objects
from reconciler.delta.opening import is_local, local_path
from reconciler.delta.short_logs import open_log

if TYPE_CHECKING:
    import pyarrow as pa
    from deltalake import DeltaTable
    from pyarrow.parquet import ColumnSchema, ParquetFile

    _Open: TypeAlias = Callable[[], pa.NativeFile]

READ_FEATURES: Final = frozenset({"timestampNtz"})
_MARKS: Final = frozenset({"comment", "reconcile.order"})
_DECIMAL: Final = re.compile(r"decimal\((\d+),(\d+)\)")
_PLAIN_PATH: Final = re.compile(r"[A-Za-z0-9_./=-]+")
_SPARK_VERSION: Final = b"org.apache.spark.version"
_SAID_BY_SPARK: Final = frozenset({_SPARK_VERSION, b"org.apache.spark.sql.parquet.row.metadata"})
_SAID_BY_OTHERS: Final = frozenset({b"ARROW:schema"})
_WRITERS: Final = ("delta-rs version ", "datafusion version ", "parquet-rs version ", "parquet-cpp-arrow version ")
_MOST_IN_MEMORY: Final = 256_000_000
"""So many bytes may rows take that are read at once: less than the process of a run has by far."""

SMALL_FILE: Final = 1 << 20
"""Up to so many bytes a file costs whoever reads it more for being a file than for what it holds."""

_OF_A_VALUE: Final = 16
_WHOLE: Final = frozenset({"PLAIN", "RLE", "BIT_PACKED"})
"""Encodings of texts by which a file holds each by itself."""

_LAST_MOMENT: Final = 9_223_372_036_854
"""The second after which there is no microsecond of 64 bits."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A data file of a table: its path below the location, its size, and its rows if Delta's log says how many."""

    path: str
    bytes: int
    rows: int | None


@dataclass(frozen=True, slots=True)
class PlainTable:
    """A table at one version that is surely read right, and nothing read yet. `schema` is Delta's, as JSON: its `fields`
    have name, type, nullable and metadata."""

    location: str
    version: int
    schema: JsonObject
    files: tuple[StoredFile, ...]

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files)

    @property
    def rows(self) -> int | None:
        """How many rows it has; None where the log of one of its files does not say."""
        known = [file.rows for file in self.files if file.rows is not None]
        return sum(known) if len(known) == len(self.files) else None


@dataclass(frozen=True, slots=True)
class OpenedTable(PlainTable):
    """`opened` is the table at that version, for whoever asks more of its log: no rows are read by it, and nothing is
    written (`short_logs`). It takes 16 KiB for each entry of the log: nobody keeps many."""

    opened: "DeltaTable"

    @property
    def closed(self) -> PlainTable:
        """The same table, to be kept."""
        return PlainTable(self.location, self.version, self.schema, self.files)


def plain_table(location: str, version: int | None = None) -> OpenedTable | None:
    """The table at a location, at a version (default: the newest). None where there is none, it can't be read, or it is not
    one that is surely read right."""
    if not can_be_listed(location):
        return None
    try:
        opened = open_log(location, version)
    except RegistryError:
        return None
    if opened is None or not is_plain(opened):
        return None
    schema: JsonObject = json.loads(opened.schema().to_json())
    files = plain_files(opened)
    if files is None or not is_known_schema(schema):
        return None
    return OpenedTable(location, int(opened.version()), schema, files, opened)


def rows_of(table: PlainTable, files: Iterable[StoredFile] | None = None) -> "pa.Table | None":
    """The rows of these of its files (default: all), in the table's columns. None where one is gone, can't be read, or is
    not surely read right, and where the rows of all take much memory."""
    import pyarrow as pa

    parts = rows_by_file(table, table.files if files is None else tuple(files))
    return None if parts is None else pa.concat_tables([arrow_schema(table.schema).empty_table(), *parts])


def rows_by_file(table: PlainTable, files: Sequence[StoredFile]) -> "list[pa.Table] | None":
    """The rows of each of these files, as `rows_of` reads them."""
    import pyarrow as pa

    wanted = arrow_schema(table.schema)
    parts, held = [], 0
    try:
        for open_file in _opened(table.location, [file.path for file in files]):
            part = _rows(open_file, wanted)
            held += 0 if part is None else part.nbytes
            if part is None or held > _MOST_IN_MEMORY:
                return None
            parts.append(part)
    except (RegistryError, OSError, pa.ArrowException):
        return None
    return parts


def rows_with_texts_once(table: PlainTable, file: StoredFile) -> "pa.Table | None":
    """All rows of one file, in columns of which those of texts hold each text once, however many rows have it. None as of
    `rows_of`; `fitted` makes of some of the rows what that gives."""
    import pyarrow as pa

    wanted = arrow_schema(table.schema)
    try:
        (open_file,) = _opened(table.location, [file.path])
        return _with_texts_once(open_file, wanted)
    except (RegistryError, OSError, pa.ArrowException):
        return None


def _opened(location: str, paths: Sequence[str]) -> "Iterator[_Open]":
    """What opens each file. Of one on a disk only what is asked for is read."""
    import pyarrow as pa

    if is_local(location):
        for path in paths:
            yield partial(pa.OSFile, os.path.join(local_path(location), path), "rb")
    else:
        for text in read_objects(location, paths):
            yield partial(pa.BufferReader, text)


def fitted(rows: "pa.Table", schema: JsonObject) -> "pa.Table":
    """Rows in the columns of a table. What is lacking is NULL."""
    return _fitted(rows, arrow_schema(schema))


def arrow_schema(schema: JsonObject) -> "pa.Schema":
    """Delta's schema, all of whose types are known, as Arrow's. All columns may be NULL."""
    import pyarrow as pa

    return pa.schema([(field["name"], arrow_type(field["type"])) for field in schema["fields"]])


def is_known_schema(schema: JsonObject) -> bool:
    """Whether all columns have types and metadata that are known here."""
    return all(_is_known(field) for field in schema["fields"])


def arrow_type(kind: Any) -> "pa.DataType":
    """The type that values of a type of Delta's schema have here. Raises ValueError for one that is not known."""
    import pyarrow as pa

    if isinstance(kind, str):
        found = _DECIMAL.fullmatch(kind)
        if found is not None:
            return pa.decimal128(int(found[1]), int(found[2]))
        if kind in _primitives():
            return _primitives()[kind]
    elif kind["type"] == "array":
        return pa.list_(pa.field("element", arrow_type(kind["elementType"])))
    elif kind["type"] == "map":
        return pa.map_(arrow_type(kind["keyType"]), arrow_type(kind["valueType"]))
    elif kind["type"] == "struct" and kind["fields"]:
        return pa.struct([pa.field(part["name"], arrow_type(part["type"])) for part in kind["fields"]])
    raise ValueError(f"no rows of type {kind!r} are read here")


def _primitives() -> "dict[str, pa.DataType]":
    import pyarrow as pa

    return {
        "byte": pa.int8(),
        "short": pa.int16(),
        "integer": pa.int32(),
        "long": pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "boolean": pa.bool_(),
        "string": pa.string(),
        "binary": pa.binary(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us", "UTC"),
        "timestamp_ntz": pa.timestamp("us"),
    }


def is_plain(table: "DeltaTable", features: frozenset[str] = READ_FEATURES) -> bool:
    """Whether a table has no feature but these by which its log, and its files, mean something else; its columns are not
    looked at."""
    protocol = table.protocol()
    lists_features = protocol.min_reader_version == 3 and set(protocol.reader_features or ()) <= features
    return (protocol.min_reader_version == 1 or lists_features) and not table.metadata().partition_columns


def plain_files(table: "DeltaTable") -> tuple[StoredFile, ...] | None:
    """The files of a table; None where a path needs decoding."""
    actions = table.get_add_actions(flatten=True)
    if actions.num_rows == 0:
        return ()
    names = actions.schema.names
    paths, sizes = actions["path"].to_pylist(), actions["size_bytes"].to_pylist()
    rows = actions["num_records"].to_pylist() if "num_records" in names else [None] * len(paths)
    if not all(map(is_plain_path, paths)):
        return None
    return tuple(StoredFile(*one) for one in zip(paths, sizes, rows, strict=True))


def is_plain_path(path: str) -> bool:
    """Whether a path as a log says it, of a file below the table, needs no decoding."""
    return _PLAIN_PATH.fullmatch(path) is not None and ".." not in path and not path.startswith("/")


def _is_known(field: JsonObject) -> bool:
    return set(field["metadata"]) <= _MARKS and _is_known_type(field["type"])


def _is_known_type(kind: Any) -> bool:
    if isinstance(kind, dict):
        match kind["type"]:
            case "array":
                return _is_known_type(kind["elementType"])
            case "map":
                return _is_known_type(kind["keyType"]) and _is_known_type(kind["valueType"])
            case "struct":
                return bool(kind["fields"]) and all(_is_known(part) for part in kind["fields"])
            case _:
                return False
    return _DECIMAL.fullmatch(kind) is not None or kind in _primitives()


def _rows(open_file: "_Open", wanted: "pa.Schema") -> "pa.Table | None":
    """The rows of a file; None where it stores a column in a form that is not known."""
    file = _known_file(open_file, wanted)
    if file is None:
        return None
    names = [name for name in wanted.names if name in file.schema_arrow.names]
    if _most_bytes(file, names) <= _MOST_IN_MEMORY:
        rows: pa.Table | None = file.read(names, use_threads=False)
    else:
        once = _with_texts_once(open_file, wanted)
        rows = _read_in_batches(file, names) if once is None else _with_plain_texts(once)
    return None if rows is None else _fitted(rows, wanted)


def _with_texts_once(open_file: "_Open", wanted: "pa.Schema") -> "pa.Table | None":
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

    file = _known_file(open_file, wanted)
    if file is None:
        return None
    texts = [one.name for one in file.schema_arrow if pa.types.is_string(one.type) or pa.types.is_binary(one.type)]
    names = [name for name in wanted.names if name in file.schema_arrow.names]
    if _most_bytes(file, names, frozenset(texts)) > _MOST_IN_MEMORY:
        return None
    once = ParquetFile(open_file(), coerce_int96_timestamp_unit="us", read_dictionary=texts)
    return once.read(names, use_threads=False)


def _with_plain_texts(once: "pa.Table") -> "pa.Table | None":
    """Rows whose texts are held once, with each text where it stands; None where these take too much memory."""
    import pyarrow as pa
    from pyarrow import compute

    held, columns = 0, []
    for column in once.columns:
        is_of_texts = pa.types.is_dictionary(column.type)
        if is_of_texts:
            lengths = (compute.binary_length(one.dictionary).take(one.indices) for one in column.chunks)
            held += sum(compute.sum(one).as_py() or 0 for one in lengths)
        else:
            held += column.nbytes
        if held > _MOST_IN_MEMORY:
            return None
        columns.append(column.cast(column.type.value_type) if is_of_texts else column)
    return pa.table(columns, names=once.column_names)


def _fitted(rows: "pa.Table", wanted: "pa.Schema") -> "pa.Table":
    """The rows in the columns that are wanted; what a file lacks is NULL."""
    import pyarrow as pa

    columns = [
        _cast(rows.column(name), kind) if name in rows.column_names else pa.nulls(rows.num_rows, kind)
        for name, kind in zip(wanted.names, wanted.types, strict=True)
    ]
    return pa.table(columns, schema=wanted)


def _cast(column: Any, kind: "pa.DataType") -> Any:
    """Arrow copies a column that is cast to its own type."""
    return column if column.type == kind else column.cast(kind)


def _known_file(open_file: "_Open", wanted: "pa.Schema") -> "ParquetFile | None":
    """The file, if it stores all columns that are wanted in forms that are known."""
    from pyarrow.parquet import ParquetFile

    file = ParquetFile(open_file(), coerce_int96_timestamp_unit="us")
    if not _is_of_a_known_writer(file):
        return None
    found = {field.name: field.type for field in file.schema_arrow}
    folded = {name.lower() for name in file.schema_arrow.names}
    # Spark would take a column whose name differs in letter case.
    if len(folded) < len(file.schema_arrow.names) or any(
        name not in found and name.lower() in folded for name in wanted.names
    ):
        return None
    leaves = iter([file.schema.column(index) for index in range(len(file.schema.names))])
    old_moments = []
    for name, kind in found.items():
        own = [next(leaves) for _ in range(_leaves(kind))]
        if name in wanted.names:
            if not _is_stored_as(kind, wanted.field(name).type, iter(own)):
                return None
            if any(leaf.physical_type == "INT96" for leaf in own):
                old_moments.append(name)
    if old_moments and not _fit_in_microseconds(open_file, old_moments):
        return None
    return file


def _read_in_batches(file: "ParquetFile", names: list[str]) -> "pa.Table | None":
    """These columns; None where they take too much memory. A file of few bytes may hold the same long text many times."""
    import pyarrow as pa

    most = _most_bytes(file, names)
    if any(file.schema.column(index).max_repetition_level for index in range(len(file.schema.names))):
        # One row may hold most of it.
        return None
    batches, held = [], 0
    at_once = max(1, file.metadata.num_rows * _MOST_IN_MEMORY // most)
    for batch in file.iter_batches(at_once, columns=names, use_threads=False):
        held += batch.nbytes
        if held > _MOST_IN_MEMORY:
            return None
        batches.append(batch)
    return pa.Table.from_batches(batches)


def _most_bytes(file: "ParquetFile", names: list[str], held_once: frozenset[str] = frozenset()) -> int:
    """What the values of these columns take in memory at most: of one that stands only once, each may be as long as all of
    it, but in columns whose values are held once."""
    leaves = [file.schema.column(index).path for index in range(len(file.schema.names))]
    wanted = {path for path in leaves if any(path == name or path.startswith(f"{name}.") for name in names)}
    most = 0
    for group in map(file.metadata.row_group, range(file.metadata.num_row_groups)):
        for column in map(group.column, range(group.num_columns)):
            if column.path_in_schema not in wanted:
                continue
            size = column.total_uncompressed_size
            is_shared = (
                column.physical_type == "BYTE_ARRAY"
                and column.path_in_schema not in held_once
                and not set(column.encodings) <= _WHOLE
            )
            most += size + column.num_values * (_OF_A_VALUE + (size if is_shared else 0))
    return most


def _is_of_a_known_writer(file: "ParquetFile") -> bool:
    """Whether who wrote the file counts days as we do."""
    said = file.metadata.metadata or {}
    if _SPARK_VERSION in said:
        return said[_SPARK_VERSION] >= b"3." and set(said) <= _SAID_BY_SPARK
    return set(said) <= _SAID_BY_OTHERS and str(file.metadata.created_by or "").startswith(_WRITERS)


def _leaves(kind: "pa.DataType") -> int:
    """How many columns of Parquet hold values of this type."""
    return sum(_leaves(kind.field(index).type) for index in range(kind.num_fields)) if kind.num_fields else 1


def _is_stored_as(found: "pa.DataType", wanted: "pa.DataType", leaves: "Iterator[ColumnSchema]") -> bool:
    """Whether this is a form in which values of the type that is wanted are surely stored."""
    from pyarrow import types

    if found.num_fields:
        if types.is_struct(found):
            is_same = types.is_struct(wanted) and [one.name for one in found] == [one.name for one in wanted]
        else:
            is_same = found.id == wanted.id and found.num_fields == wanted.num_fields
        return is_same and all(
            _is_stored_as(found.field(index).type, wanted.field(index).type, leaves) for index in range(found.num_fields)
        )
    leaf = next(leaves)
    if leaf.physical_type == "INT96":
        return types.is_timestamp(wanted) and wanted.tz is not None
    if types.is_string(wanted):
        return any(is_one(found) for is_one in (types.is_string, types.is_large_string, types.is_string_view))
    if types.is_binary(wanted):
        return any(is_one(found) for is_one in (types.is_binary, types.is_large_binary, types.is_binary_view))
    return bool(found == wanted)


def _fit_in_microseconds(open_file: "_Open", names: list[str]) -> bool:
    """Whether all moments of these columns do that are stored as days and nanoseconds. Arrow takes days before the first of
    the Julian calendar for others, very far away."""
    import pyarrow as pa
    from pyarrow import compute
    from pyarrow.parquet import ParquetFile

    rows = ParquetFile(open_file(), coerce_int96_timestamp_unit="s").read(names, use_threads=False)
    for column in rows.columns:
        for moments in _moments_in_seconds(column.combine_chunks()):
            last = compute.max(moments.cast(pa.int64())).as_py()
            if last is not None and last > _LAST_MOMENT:
                return False
    return True


def _moments_in_seconds(array: Any) -> Iterator[Any]:
    from pyarrow import types

    if types.is_map(array.type):
        yield from _moments_in_seconds(array.keys)
        yield from _moments_in_seconds(array.items)
    elif types.is_struct(array.type):
        for part in array.flatten():
            yield from _moments_in_seconds(part)
    elif types.is_list(array.type):
        yield from _moments_in_seconds(array.flatten())
    elif types.is_timestamp(array.type) and array.type.unit == "s":
        yield array
