"""Rows as lines of CSV, such that our own input reads each value as it was.

Spark's writer of CSV would trim texts, escape quotes by backslashes, cut moments to milliseconds, and write a line of one
NULL as the empty text. So the lines are made here, and written as text.

- A field stands in quotes where it has to: one that is empty, that begins or ends with a blank, or holds a quote (doubled),
  the delimiter or a line break. NULL is `null_value`, or else the empty field without quotes.
- Moments are told to the microsecond, in UTC.
- What has no form stops the emission: a value of any type that is written as `null_value` is, and a row of NULLs alone whose
  line would be empty, or hold nothing but blanks: readers pass over such lines.
"""

from pyspark.sql import DataFrame
from pyspark.sql.types import DataType, TimestampNTZType, TimestampType

from reconciler.base.digest import JsonObject
from reconciler.base.names import quoted
from reconciler.engine.spark.emit.messages import LOCAL_TIME, MOMENT
from reconciler.engine.spark.failures import raised
from reconciler.engine.spark.locations import literal

_LAST_BLANK = " "
"""Readers trim whatever comes before it, tabs and other controls among them, and pass over a line that has nothing else."""

_FIRST_OF_ITS_FILE = "(monotonically_increasing_id() & 8589934591) = 0"
"""The id counts the rows of a partition in its last 33 bits. Who writes the lines keeps each partition in one file."""


def lines(rows: DataFrame, config: JsonObject) -> DataFrame:
    """The lines, as `value`, with a header before the first row of each partition."""
    delimiter = str(config.get("delimiter", ","))
    null_value = str(config.get("null_value") or "")
    fields = [_field(quoted(field.name), field.dataType, delimiter, null_value) for field in rows.schema.fields]
    line = f"concat_ws({literal(delimiter)}, {', '.join(fields)})"
    if not null_value and (len(fields) == 1 or delimiter <= _LAST_BLANK):
        told = literal(
            "X716: a row with only NULLs would be an empty or blank line of CSV, which readers skip: set a null_value"
        )
        is_nothing = " AND ".join(f"{quoted(field.name)} IS NULL" for field in rows.schema.fields)
        line = f"if({is_nothing}, CAST({raised(told)} AS STRING), {line})"
    if not config.get("header", True):
        return rows.selectExpr(f"{line} AS value")
    names = (_in_quotes(literal(field.name), delimiter) for field in rows.schema.fields)
    header = f"concat_ws({literal(delimiter)}, {', '.join(names)})"
    numbered = rows.selectExpr(f"{line} AS line", f"{_FIRST_OF_ITS_FILE} AS is_first")
    return numbered.selectExpr(f"explode(if(is_first, array({header}, line), array(line))) AS value")


def _field(value: str, kind: DataType, delimiter: str, null_value: str) -> str:
    match kind:
        case TimestampType():
            text = f"date_format({value}, {literal(MOMENT)})"
        case TimestampNTZType():
            text = f"date_format({value}, {literal(LOCAL_TIME)})"
        case _:
            text = f"CAST({value} AS STRING)"
    field = _in_quotes(text, delimiter)
    nothing = _in_quotes(literal(null_value), delimiter) if null_value else "''"
    if null_value:
        told = literal(f"X716: the value {null_value} would be read as NULL: set another null_value in the format")
        field = f"if({text} = {literal(null_value)}, CAST({raised(told)} AS STRING), {field})"
    return f"CASE WHEN {value} IS NULL THEN {nothing} ELSE {field} END"


def _in_quotes(text: str, delimiter: str) -> str:
    """The text, in quotes where it has to be. Blanks are whatever a reader would trim, and the byte order mark."""
    has_special = f"contains({text}, {literal(delimiter)}) OR {text} RLIKE {literal(_SPECIAL)}"
    return f"""if({has_special}, concat('"', replace({text}, '"', '""'), '"'), {text})"""


_SPECIAL = r'^$|["\r\n]|^[\x00-\x20\s\x{FEFF}]|[\x00-\x20\s]$'
