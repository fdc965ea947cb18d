"""Rows as JSON texts, in the forms that our inputs read.

`insert_delete`: {"insert": row} or {"delete": row}. `debezium`: {"payload": {"op": "c" or "d", "before": …, "after": …}}.
`raw`: the row; then what went can't be told, and is left out. NULLs are written. `array`: in a list of one. Moments are told
to the microsecond, in UTC: Spark would cut them to milliseconds.
"""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import ArrayType, BinaryType, DataType, MapType, StructType, VariantType

from reconciler.base.digest import JsonObject
from reconciler.base.errors import EngineError
from reconciler.base.names import quoted
from reconciler.engine.spark.copies import COPIES, repeated
from reconciler.engine.spark.emit.changes import Changes
from reconciler.engine.spark.locations import literal

LOCAL_TIME: Final = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"
MOMENT: Final = f"{LOCAL_TIME}XXX"
JSON_OPTIONS: Final = (
    f"map('ignoreNullFields', 'false', 'timeZone', 'UTC', "
    f"'timestampFormat', {literal(MOMENT)}, 'timestampNTZFormat', {literal(LOCAL_TIME)})"
)


def require_writable(schema: StructType, of: str, form: str, otherwise: str = "", *, is_flat: bool = False) -> None:
    """Raise EngineError (X716) where a column can't be written such that what reads it gets the same: bytes, for which
    neither JSON nor CSV has a form; and where all has to be flat, what holds other values. `otherwise`: what else can be
    done about bytes than to make them texts."""
    more = f"; or {otherwise}" if otherwise else ""
    for field in schema.fields:
        if _holds(field.dataType, BinaryType):
            message = f"{of}: {form} has no form for the bytes of column {field.name}"
            raise EngineError(
                "X716", message, f"convert them to text in the view, as in base64(column) or hex(column){more}"
            )
        if is_flat and isinstance(field.dataType, ArrayType | MapType | StructType | VariantType):
            message = f"{of}: {form} has no form for column {field.name}, of type {field.dataType.simpleString()}"
            raise EngineError(
                "X716", message, "convert it to text in the view, as in to_json(column); or write json or parquet"
            )


def require_texts_for_both(found: Changes, of: str, update_format: str, otherwise: str = "") -> None:
    """`require_writable` as JSON, of the rows that come and, where they are told, of those that went: they may have had
    other columns."""
    require_writable(found.after.schema, of, "JSON", otherwise)
    if found.columns_differ and update_format != "raw":
        try:
            require_writable(found.frames[0].schema, f"{of}: of deleted rows", "JSON")
        except EngineError as error:
            # What an earlier version of the view holds can't be changed any more.
            error.hint = (
                "to start the output over: reconcile connector seek PIPELINE CONNECTOR --to snapshot (or --to latest)"
            )
            raise


def _holds(kind: DataType, wanted: type[DataType]) -> bool:
    match kind:
        case ArrayType():
            return _holds(kind.elementType, wanted)
        case MapType():
            return _holds(kind.keyType, wanted) or _holds(kind.valueType, wanted)
        case StructType():
            return any(_holds(field.dataType, wanted) for field in kind.fields)
        case _:
            return isinstance(kind, wanted)


def texts(frame: DataFrame, config: JsonObject, update_format: str, more: tuple[str, ...] = ()) -> DataFrame:
    """Of each copy of each row its text, as `value`, beside COPIES (1 or -1) and what `more` selects."""
    row = f"struct({', '.join(quoted(name) for name in frame.columns if name != COPIES)})"
    goes = f"{quoted(COPIES)} < 0"
    match update_format:
        case "raw":
            value = f"to_json({row}, {JSON_OPTIONS})"
        case "debezium":
            sides = f"'before', if({goes}, {row}, NULL), 'after', if({goes}, NULL, {row})"
            payload = f"named_struct('op', if({goes}, 'd', 'c'), {sides})"
            value = f"to_json(named_struct('payload', {payload}), {JSON_OPTIONS})"
        case _:
            value = (
                f"if({goes}, to_json(named_struct('delete', {row}), {JSON_OPTIONS}), "
                f"to_json(named_struct('insert', {row}), {JSON_OPTIONS}))"
            )
    if config.get("array", False):
        value = f"concat('[', {value}, ']')"
    found = frame if update_format != "raw" else frame.where(f.col(quoted(COPIES)) > 0)
    return repeated(found).selectExpr(f"{value} AS value", quoted(COPIES), *more)
