"""JSON, CSV and Parquet files as rows.

- JSON and CSV values are read as text and cast afterwards (see `conform`), so that nothing is lost on the way: a decimal
  never passes through a double, and a value that does not fit is reported with its file. Keys and headers are matched
  without regard to case; a key that no column has is ignored.
- JSON: one object a line, or `array: true`: one array of objects a file (see `json_files`).
- CSV: `header` (default true) gives names; without it columns are matched by position. `delimiter` (default `,`),
  `null_value` (default: the empty unquoted field), `multi_line` (default false: a field holds no line breaks, and large
  files are read in parts). Quotes inside of quotes are doubled. All files of a range have one header.
- A column that a file lacks gets its default; Parquet files are told apart in that one by one, and in JSON a null is as good
  as absent.
- Text that is not what the format says stops the ingestion with an error that names the file.
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce

from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as f

from reconciler.digest import JsonObject
from reconciler.engine.protocol import ColumnType, TableTarget
from reconciler.engine.spark.conform import by_name
from reconciler.engine.spark.ingest.incoming import Incoming
from reconciler.engine.spark.ingest.json_files import read_json
from reconciler.engine.spark.locations import quoted, spark_location
from reconciler.engine.spark.writes import ORDER
from reconciler.errors import EngineError
from reconciler.names import fold

_FILE = "reconcile file"


def read(
    session: SparkSession,
    paths: Sequence[str],
    format_: JsonObject,
    target: TableTarget,
    options: Mapping[str, str],
) -> Incoming:
    """The rows of these files. `options` are those of the file system that holds them."""
    columns = target.columns
    locations = [_escaped(spark_location(path)) for path in paths]
    config = format_.get("config") or {}
    match format_.get("name"):
        case "json":
            rows = read_json(lambda: session.read.options(**options), locations, config, columns)
            return replace(_from_files(rows), null_is_absent=True)
        case "csv":
            return _csv(session, locations, config, columns, options)
        case "parquet":
            return _parquet(session, locations, options, target)
        case name:
            raise EngineError("X716", f"the engine can't read the format {name!r}: it reads json, csv and parquet")


def _escaped(location: str) -> str:
    """A path as the pattern that matches only itself: Spark reads every path as a pattern."""
    return "".join(f"\\{letter}" if letter in "*?[]{}\\" else letter for letter in location)


def _csv(
    session: SparkSession,
    locations: list[str],
    config: JsonObject,
    columns: tuple[ColumnType, ...],
    options: Mapping[str, str],
) -> Incoming:
    header, delimiter = bool(config.get("header", True)), str(config.get("delimiter", ","))
    names = _header(session.read.options(**options), locations, delimiter) if header else [column.name for column in columns]
    _check_names(names)
    # With pruning Spark does not see that a line has too many or too few fields.
    session.conf.set("spark.sql.csv.parser.columnPruning.enabled", "false")
    reader = (
        session.read.options(**options)
        .option("header", str(header).lower())
        .option("sep", delimiter)
        .option("quote", '"')
        .option("escape", '"')
        .option("mode", "FAILFAST")
        .option("enforceSchema", "false")
        .option("multiLine", str(bool(config.get("multi_line", False))).lower())
    )
    if config.get("null_value") is not None:
        reader = reader.option("nullValue", str(config["null_value"]))
    schema = ", ".join(f"{quoted(name)} STRING" for name in names or ["reconcile none"])
    return _from_files(reader.schema(schema).csv(locations))


def _header(reader: DataFrameReader, locations: list[str], delimiter: str) -> list[str]:
    """The names in the first line of the first file that has one; Spark's reader checks the others against it."""
    for location in locations:
        line = reader.text(location).where("trim(value) <> ''").first()
        if line is not None:
            return next(csv.reader([line[0].removeprefix("\ufeff")], delimiter=delimiter))
    return []


def _parquet(session: SparkSession, locations: list[str], options: Mapping[str, str], target: TableTarget) -> Incoming:
    frames = []
    for group, lacking in _alike(session, locations, options, target):
        rows = session.read.options(**options).option("mergeSchema", "true").parquet(*group)
        _check_names(rows.columns)
        named = _with_origin(rows)
        for column in lacking:
            named = named.withColumn(column.name, f.expr(f"CAST({target.defaults[fold(column.name)]} AS {column.type})"))
        frames.append(named)
    return _incoming(reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames))


def _alike(
    session: SparkSession, locations: list[str], options: Mapping[str, str], target: TableTarget
) -> list[tuple[list[str], tuple[ColumnType, ...]]]:
    """Files grouped by the columns with a default that they lack: read together, the one that lacks a column would have
    NULL there as soon as another has it."""
    defaulted = [column for column in target.columns if fold(column.name) in target.defaults]
    if not defaulted or len(locations) == 1:
        return [(locations, ())]
    groups: dict[tuple[ColumnType, ...], list[str]] = {}
    for location in locations:
        known = {fold(name) for name in session.read.options(**options).parquet(location).columns}
        groups.setdefault(tuple(c for c in defaulted if fold(c.name) not in known), []).append(location)
    return [(group, lacking) for lacking, group in groups.items()]


def _from_files(rows: DataFrame) -> Incoming:
    return _incoming(_with_origin(rows))


def _with_origin(rows: DataFrame) -> DataFrame:
    return _ordered(rows, *(quoted(name) for name in rows.columns if name != "_metadata"))


def _incoming(with_origin: DataFrame) -> Incoming:
    return Incoming(with_origin, by_name(with_origin, (_FILE, ORDER)), quoted(_FILE), (ORDER,))


def _ordered(rows: DataFrame, *columns: str) -> DataFrame:
    order = f.struct(f.col("_metadata.file_path"), f.col("_metadata.file_block_start"), f.monotonically_increasing_id())
    return rows.select(*columns, f.col("_metadata.file_path").alias(_FILE), order.alias(ORDER))


def _check_names(names: Sequence[str]) -> None:
    folded = [fold(name) for name in names]
    twice = sorted({name for name in folded if folded.count(name) > 1})
    if twice:
        raise EngineError("X714", f"the files have more than one column named {', '.join(twice)}")
