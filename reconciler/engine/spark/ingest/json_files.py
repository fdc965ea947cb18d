"""JSON files as rows: one object a line, or one array of objects a file.

Two passes, since Spark's reader wants the exact spelling of every key and takes what follows a complete value for granted:
- The first checks every record (one object, no key twice, nothing after it) and collects how the keys of the table's
  columns are spelled, which may differ between records.
- The second reads the values of those keys as text, exactly as they stand: a decimal never passes through a double. Where
  a key is spelled in several ways Spark's reader can't, and records are parsed one by one, which takes longer.
Empty lines are nothing.
"""

from collections.abc import Callable, Sequence

from pyspark.sql import DataFrame, DataFrameReader

from reconciler.digest import JsonObject
from reconciler.engine.protocol import ColumnType
from reconciler.engine.spark.failures import marked
from reconciler.engine.spark.locations import literal, quoted
from reconciler.errors import EngineError
from reconciler.names import fold

Readers = Callable[[], DataFrameReader]
"""Fresh readers with the options of the file system: options given to one stay with it."""

_TEXT = "trim(LEADING '\ufeff' FROM value)"
_NO_COLUMN = "reconcile none"


def read_json(readers: Readers, locations: list[str], config: JsonObject, columns: Sequence[ColumnType]) -> DataFrame:
    """The rows, every column text, and Spark's `_metadata`."""
    update_format = config.get("update_format", "raw")
    if update_format != "raw":
        raise EngineError("X716", f"update_format {update_format!r} of JSON files is not supported: only raw is")
    is_array = bool(config.get("array", False))
    texts = _texts(readers(), locations, is_array)
    spellings = _spellings(texts, is_array, {fold(column.name) for column in columns})
    if any(len(names) > 1 for names in spellings.values()):
        return _read_one_by_one(texts, is_array, spellings)
    schema = ", ".join(f"{quoted(names[0])} STRING" for names in spellings.values()) or f"{quoted(_NO_COLUMN)} STRING"
    reader = readers().option("multiLine", str(is_array).lower()).option("mode", "FAILFAST")
    return reader.schema(schema).json(locations)


def _texts(reader: DataFrameReader, locations: list[str], is_array: bool) -> DataFrame:
    """The text of each line or file (`record`), checked to be one value, with its file (`origin`)."""
    texts = reader.text(locations, wholetext=is_array).where("trim(value) <> ''")
    alone = f"json_array_length(concat('[', {_TEXT}, ']')) <=> 1"
    whole = texts.selectExpr(f"{_TEXT} AS record", f"{alone} AS alone", "_metadata.file_path AS origin", "_metadata")
    return whole.selectExpr(f"{_checked('record', 'alone', _problem(is_array))} AS record", "origin", "_metadata")


def _spellings(texts: DataFrame, is_array: bool, wanted: set[str]) -> dict[str, list[str]]:
    """How the wanted keys are spelled, by folded name; checks every record on the way."""
    if is_array:
        # Good for keys only: on this way numbers pass through doubles.
        elements = f"coalesce(from_json(record, 'array<string>'), {_raised(_problem(is_array))})"
        texts = texts.selectExpr(f"explode({elements}) AS record", "origin")
    keys = f"coalesce(json_object_keys(record), {_raised(_problem(is_array))}) AS keys"
    once = "size(array_distinct(transform(keys, key -> lower(key)))) = size(keys)"
    listed = texts.selectExpr(keys, "record", "origin")
    found = listed.selectExpr(f"explode({_checked('keys', once, 'a record has a key twice')}) AS key").distinct()
    spellings: dict[str, list[str]] = {}
    for key in sorted(row[0] for row in found.collect()):
        if fold(key) in wanted:
            spellings.setdefault(fold(key), []).append(key)
    return spellings


def _read_one_by_one(texts: DataFrame, is_array: bool, spellings: dict[str, list[str]]) -> DataFrame:
    kind = "array<map<string,variant>>" if is_array else "map<string,variant>"
    parsed = f"coalesce(try_cast(try_parse_json(record) AS {kind}), {_raised(_problem(is_array))})"
    objects = f"explode({parsed})" if is_array else parsed
    values = [
        f"coalesce({', '.join(f'CAST(object[{literal(name)}] AS STRING)' for name in names)}, NULL) AS {quoted(key)}"
        for key, names in spellings.items()
    ]
    return texts.selectExpr(f"{objects} AS object", "_metadata").selectExpr(*values, "_metadata")


def _problem(is_array: bool) -> str:
    return "the file is not an array of JSON objects" if is_array else "a record is not a JSON object"


def _checked(value: str, condition: str, problem: str) -> str:
    return f"CASE WHEN {condition} THEN {value} ELSE {_raised(problem)} END"


def _raised(problem: str) -> str:
    return f"raise_error(concat({literal(marked('X714', problem) + ': ')}, left(record, 80), ' in ', origin))"
