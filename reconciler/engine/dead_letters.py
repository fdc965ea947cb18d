"""The dead letters of a pipeline: the records that could not become rows, each with where it stood and why.

One Delta table a pipeline, beside its relations. A record is there once: it is written in the step that read its range, and
taken out again when that step is withdrawn.
"""

from typing import Final

from reconciler.engine.stored import ColumnType

DEAD_LETTER_FOLDER: Final = "dead-letters"
"""Its folder in the pipeline's: no relation's name has a hyphen."""

DEAD_LETTER_COLUMNS: Final = (
    ColumnType("step", "bigint"),
    ColumnType("connector", "string"),
    ColumnType("table", "string"),
    ColumnType("position", "string"),
    ColumnType("reason", "string"),
    ColumnType("record", "string"),
)
"""`position` is where the record stood, as JSON: {"topic", "partition", "offset"}; {"file", "line"} (JSON), {"file",
"element"} (arrays), {"file", "record"} (CSV: its number after the header, no blank lines counted); or what else the
transport knows. `reason` begins with a permanent code. `record` is the text as it was read, or the row as JSON."""
