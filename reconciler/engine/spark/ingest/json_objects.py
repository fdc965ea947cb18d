"""Ordinary JSON objects read by columns: most records of most sources, for half the work of `json_records`.

A record is ordinary where reading it by columns gives what reading it by keys gives. What is not sure goes the other way:

- It is one object, and nothing follows it: the only `}` is its last character.
- Each of its keys is a column, spelled as the table spells it, and stands once: as many keys as columns that were found.
- Each value is of its column's type. Integers, truth values and doubles are read as such (not what is too large for a
  double: that is infinite here, and a problem there); all others as text, as `json_records` does, and not where a number may
  have lost digits, or its spelling, in a double. Decimals as well: Spark's parser would work on 1e1000000000 for hours.

Tables with nested columns have no ordinary records: their values are looked into one by one.
"""

from collections.abc import Sequence
from typing import Final

from reconciler.engine.protocol import ColumnType
from reconciler.engine.spark.locations import literal, quoted

_CORRUPT: Final = "reconcile corrupt"
_EXACT: Final = frozenset({"int", "integer", "bigint", "long", "boolean", "double"})
_NESTED: Final = ("struct", "array", "map", "variant", "binary", "void")


def is_exact(column: ColumnType) -> bool:
    """Whether a column is read in its own type."""
    return column.type.strip().lower() in _EXACT


def can_be_read_by_columns(columns: Sequence[ColumnType]) -> bool:
    """Whether a table can have ordinary records."""
    return bool(columns) and not any(column.type.strip().lower().startswith(_NESTED) for column in columns)


def by_columns(record: str, columns: Sequence[ColumnType]) -> str:
    """The struct of the columns' values in a record."""
    parts = [f"{quoted(column.name)} {column.type if is_exact(column) else 'STRING'}" for column in columns]
    schema = literal(", ".join([*parts, f"{quoted(_CORRUPT)} STRING"]))
    return f"from_json({record}, {schema}, map('columnNameOfCorruptRecord', {literal(_CORRUPT)}))"


def is_ordinary(record: str, parsed: str, keys: str, columns: Sequence[ColumnType], inexact: str) -> str:
    """Whether a record is ordinary, given its struct, its keys (`json_object_keys`), and what tells that a value lost
    something. Never NULL."""
    found = " + ".join(
        f"CAST({parsed}.{quoted(c.name)} IS NOT NULL OR array_contains({keys}, {literal(c.name)}) AS INT)" for c in columns
    )
    alone = f"octet_length(substring_index({record}, '}}', 1)) = octet_length({record}) - 1"
    whole = f"startswith({record}, '{{') AND endswith({record}, '}}') AND {alone}"
    infinite = "".join(
        f" AND coalesce(abs({parsed}.{quoted(c.name)}) <> double('Infinity'), true)" for c in columns if _is_double(c)
    )
    known = f"{parsed} IS NOT NULL AND {parsed}.{quoted(_CORRUPT)} IS NULL AND size({keys}) = {found}"
    return f"coalesce({whole} AND {known} AND NOT ({inexact}){infinite}, false)"


def _is_double(column: ColumnType) -> bool:
    return column.type.strip().lower() == "double"
