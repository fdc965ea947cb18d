"""Moments of Parquet's old type INT96, which counts nanoseconds: Spark reads them, and cuts what is finer than microseconds.

- A row with a finer moment in a column that is read, at any depth, is told as a problem (X712).
- Spark's reader by rows gives the bytes of such a value where a BINARY is asked for, so the values are looked at once more,
  in these columns alone. Which files have such columns says the end of each file.
- What Spark itself wrote is not looked at: it knows nothing finer.
- A structure, array or map that has moments of both types, old and new, stops the connector (X712): the bytes of the new
  ones can't be had.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from operator import or_
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import ArrayType, BinaryType, DataType, MapType, StructField, StructType, TimestampType

from reconciler.base.errors import EngineError
from reconciler.base.names import fold, quoted
from reconciler.engine.spark.ingest.storage import sessions_with
from reconciler.engine.spark.java_calls import long_by

FINER = "reconcile finer"
"""The column that says of which moment too much would be cut, beginning with a code; NULL where none is too fine."""

_FILE, _ROW = "reconcile file", "reconcile row"
_BY_VECTORS = "spark.sql.parquet.enableVectorizedReader"
_AT_ONCE = 16


def with_finer(
    session: SparkSession,
    rows: DataFrame,
    kept: Sequence[str],
    files: Mapping[str, str],
    options: Mapping[str, str],
    names: Iterable[str],
) -> DataFrame:
    """The rows with what is `kept` of them (expressions), and with FINER if it is not NULL in all of them. `files`: paths by
    what Spark is given to read them; `names`: of the columns that are read, folded."""
    known = set(names)
    moments = {fold(one.name): one for one in rows.schema.fields if fold(one.name) in known and _has_moments(one.dataType)}
    groups = _groups(session, files, options, moments) if moments else {}
    found = [_finer(session, columns, group, options) for columns, group in groups.items()]
    if not found:
        return rows.selectExpr(*kept)
    finer = reduce(DataFrame.unionAll, found)
    before = session.conf.get(_BY_VECTORS)
    session.conf.set(_BY_VECTORS, "false")
    if finer.isEmpty():
        session.conf.set(_BY_VECTORS, str(before))
        return rows.selectExpr(*kept)
    placed = rows.selectExpr(*kept, f"_metadata.file_path AS {quoted(_FILE)}", f"_metadata.row_index AS {quoted(_ROW)}")
    return placed.join(finer, [_FILE, _ROW], "left").drop(_FILE, _ROW)


def _groups(
    session: SparkSession, files: Mapping[str, str], options: Mapping[str, str], moments: Mapping[str, StructField]
) -> dict[tuple[StructField, ...], list[str]]:
    """The files that have such columns, by these columns."""
    jvm: Any = session._jvm
    configuration = sessions_with(lambda: session, dict(options))()._jsparkSession.sessionState().newHadoopConf()

    def columns_of(path: str) -> tuple[StructField, ...]:
        whole = jvm.org.apache.parquet.format.converter.ParquetMetadataConverter.SKIP_ROW_GROUPS
        place = jvm.org.apache.hadoop.fs.Path(path)
        end = jvm.org.apache.parquet.hadoop.ParquetFileReader.readFooter(configuration, place, whole).getFileMetaData()
        if "int96" not in str(end.getSchema().toString()) or _is_of_spark(end):
            return ()
        old = {fold(name) for name, kind in _moments(end) if kind == "INT96"} & set(moments)
        mixed = old & {fold(name) for name, kind in _moments(end) if kind != "INT96"}
        if mixed:
            column = moments[min(mixed)].name
            message = f"the moments within column {column} of {path} are partly of type INT96: they can't be compared"
            raise EngineError("X712", message, "write the file anew, with timestamps of microseconds")
        return tuple(moments[name] for name in sorted(old))

    groups: dict[tuple[StructField, ...], list[str]] = {}
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for location, columns in zip(files, pool.map(columns_of, files.values()), strict=True):
            if columns:
                groups.setdefault(columns, []).append(location)
    return groups


def _is_of_spark(end: Any) -> bool:
    # Others hand on what they do not know, so that alone is no proof.
    return str(end.getCreatedBy()).startswith("parquet-mr") and "org.apache.spark.version" in end.getKeyValueMetaData()


def _moments(end: Any) -> list[tuple[str, str]]:
    """The columns with moments, each with a type of them."""
    found = []
    for leaf in end.getSchema().getColumns():
        kind = leaf.getPrimitiveType()
        physical, meaning = str(kind.getPrimitiveTypeName().name()), str(kind.getLogicalTypeAnnotation())
        if physical == "INT96" or re.match("TIMESTAMP", meaning):
            found.append((str(leaf.getPath()[0]), physical))
    return found


def _finer(
    session: SparkSession, columns: Sequence[StructField], locations: list[str], options: Mapping[str, str]
) -> DataFrame:
    schema = StructType([StructField(one.name, _as_bytes(one.dataType)) for one in columns])
    cases = [f.when(_is_finer(f.col(quoted(one.name)), one.dataType), f.lit(_told(one))) for one in columns]
    place = f"_metadata.file_path AS {quoted(_FILE)}", f"_metadata.row_index AS {quoted(_ROW)}"
    read = session.read.options(**options).schema(schema).parquet(*locations).select("*", *map(f.expr, place))
    return read.select(_FILE, _ROW, f.coalesce(*cases).alias(FINER)).where(f"{quoted(FINER)} IS NOT NULL")


def _told(column: StructField) -> str:
    return f"X712: a value for column {column.name} does not fit TIMESTAMP: it is finer than microseconds"


def _is_finer(value: Column, kind: DataType) -> Column:
    """A condition. Of the twelve bytes the first eight are the nanoseconds of the day, the last of them the highest."""
    match kind:
        case TimestampType():
            prefix = long_by(value, "org.apache.spark.unsafe.types.ByteArray", "getPrefix")
            return long_by(prefix, "java.lang.Long", "reverseBytes") % 1000 != 0
        case ArrayType():
            return f.exists(value, lambda part: _is_finer(part, kind.elementType))
        case MapType():
            keys = f.exists(f.map_keys(value), lambda key: _is_finer(key, kind.keyType))
            return keys | f.exists(f.map_values(value), lambda part: _is_finer(part, kind.valueType))
        case StructType():
            return reduce(or_, (_is_finer(value.getField(one.name), one.dataType) for one in kind.fields))
        case _:
            return f.lit(False)


def _has_moments(kind: DataType) -> bool:
    return _as_bytes(kind) != kind


def _as_bytes(kind: DataType) -> DataType:
    """The type with bytes in the place of moments."""
    match kind:
        case TimestampType():
            return BinaryType()
        case ArrayType():
            return ArrayType(_as_bytes(kind.elementType), kind.containsNull)
        case MapType():
            return MapType(_as_bytes(kind.keyType), _as_bytes(kind.valueType), kind.valueContainsNull)
        case StructType():
            return StructType([StructField(one.name, _as_bytes(one.dataType), one.nullable) for one in kind.fields])
        case _:
            return kind
