"""Rows as JSON texts, in the forms that our inputs read.

`insert_delete`: {"insert": row} or {"delete": row}. `debezium`: {"payload": {"op": "c" or "d", "before": …, "after": …}}.
`raw`: the row; then what went can't be told, and is left out. NULLs are written. `array`: in a list of one.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from reconciler.base.digest import JsonObject
from reconciler.engine.spark.copies import COPIES, repeated
from reconciler.engine.spark.locations import quoted

_OPTIONS = "map('ignoreNullFields', 'false')"


def texts(frame: DataFrame, config: JsonObject, update_format: str, more: tuple[str, ...] = ()) -> DataFrame:
    """Of each copy of each row its text, as `value`, beside COPIES (1 or -1) and what `more` selects."""
    row = f"struct({', '.join(quoted(name) for name in frame.columns if name != COPIES)})"
    goes = f"{quoted(COPIES)} < 0"
    match update_format:
        case "raw":
            value = f"to_json({row}, {_OPTIONS})"
        case "debezium":
            sides = f"'before', if({goes}, {row}, NULL), 'after', if({goes}, NULL, {row})"
            payload = f"named_struct('op', if({goes}, 'd', 'c'), {sides})"
            value = f"to_json(named_struct('payload', {payload}), {_OPTIONS})"
        case _:
            value = (
                f"if({goes}, to_json(named_struct('delete', {row}), {_OPTIONS}), "
                f"to_json(named_struct('insert', {row}), {_OPTIONS}))"
            )
    if config.get("array", False):
        value = f"concat('[', {value}, ']')"
    found = frame if update_format != "raw" else frame.where(f.col(quoted(COPIES)) > 0)
    return repeated(found).selectExpr(f"{value} AS value", quoted(COPIES), *more)
