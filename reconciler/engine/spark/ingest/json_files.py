"""JSON files as rows: one object a line, or one array of objects a file.

Two passes, since Spark's reader wants the exact spelling of every key and takes what follows a complete value for granted:
- The first checks every record (one object, no key twice, nothing after it) and collects how the keys of the table's
  columns are spelled. A key spelled in several ways is an error, as is anything that is not an object.
- The second reads the values of those keys as text, exactly as they stand: a decimal never passes through a double.
Empty lines are nothing.
"""

from collections.abc import Sequence
from itertools import pairwise

from pyspark.sql import DataFrame, SparkSession

from reconciler.digest import JsonObject
from reconciler.engine.protocol import ColumnType
from reconciler.engine.spark.failures import marked
from reconciler.engine.spark.locations import quoted
from reconciler.errors import EngineError
from reconciler.names import fold

_TEXT = "trim(LEADING '\ufeff' FROM value)"


def read_json(session: SparkSession, locations: list[str], config: JsonObject, columns: Sequence[ColumnType]) -> DataFrame:
    """The rows, every column text, with Spark's `_metadata`."""
    update_format = config.get("update_format", "raw")
    if update_format != "raw":
        raise EngineError("X716", f"update_format {update_format!r} of JSON files is not supported: only raw is")
    is_array = bool(config.get("array", False))
    spellings = _spellings(session, locations, is_array, {fold(column.name) for column in columns})
    schema = ", ".join(f"{quoted(name)} STRING" for name in spellings) or "`reconcile none` STRING"
    reader = session.read.option("multiLine", str(is_array).lower()).option("mode", "FAILFAST")
    return reader.schema(schema).json(locations)


def _spellings(session: SparkSession, locations: list[str], is_array: bool, wanted: set[str]) -> list[str]:
    texts = session.read.text(locations, wholetext=is_array).where("trim(value) <> ''")
    what = "an array of JSON objects" if is_array else "a JSON object"
    alone = f"json_array_length(concat('[', {_TEXT}, ']')) <=> 1"
    whole = texts.selectExpr(f"{_TEXT} AS record", f"{alone} AS alone", "_metadata.file_path AS origin")
    whole = whole.selectExpr(f"{_checked('record', 'alone', f'a record is not {what}')} AS record", "origin")
    if is_array:
        elements = f"coalesce(from_json(record, 'array<string>'), {_raised(f'the file is not {what}', 'record')})"
        whole = whole.selectExpr(f"explode({elements}) AS record", "origin")
    listed = f"coalesce(json_object_keys(record), {_raised(f'a record is not {what}', 'record')})"
    keys = whole.selectExpr(f"{listed} AS keys", "record", "origin")
    once = "size(array_distinct(transform(keys, key -> lower(key)))) = size(keys)"
    found = keys.selectExpr(f"explode({_checked('keys', once, 'a record has a key twice')}) AS key").distinct()
    spelled = sorted((row[0] for row in found.collect() if fold(row[0]) in wanted), key=lambda key: (fold(key), key))
    for first, second in pairwise(spelled):
        if fold(first) == fold(second):
            raise EngineError("X714", f"a key is spelled both {first!r} and {second!r}")
    return spelled


def _checked(value: str, condition: str, problem: str) -> str:
    return f"CASE WHEN {condition} THEN {value} ELSE {_raised(problem, 'record')} END"


def _raised(problem: str, shown: str) -> str:
    return f"raise_error(concat('{marked('X714', problem)}: ', left({shown}, 80), ' in ', origin))"
