"""Rows made to fit a table: columns matched by name, values cast to the table's types, strictly.

A value that does not fit its column stops the write with an error that names column, value and (where rows come from
files) file; nothing is written. Fitting is SQL's: text is parsed, a decimal is rounded to its column's scale, an integer
too large for its column is an error, text longer than VARCHAR(n) is an error. A NULL in a NOT NULL column is an error; a
column that the rows lack gets its default, else NULL. Where the rows can't tell a value that is absent from one that is
NULL (`null_is_absent`: JSON), both get the default.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame

from reconciler.engine.protocol import ColumnType
from reconciler.engine.spark.failures import marked
from reconciler.engine.spark.locations import literal, quoted
from reconciler.names import fold

_LENGTH = re.compile(r"(?i)^\s*(?:var)?char(?:acter)?\s*\(\s*(\d+)\s*\)\s*$")
_NESTED = ("struct<", "array<", "map<")
_STRING = ("string", "varchar", "char", "character")


@dataclass(frozen=True, slots=True)
class Given:
    """Where the value of one column comes from: an expression of SQL and whether it yields text to be parsed."""

    expression: str
    is_text: bool


def by_name(frame: DataFrame, hidden: Iterable[str] = ()) -> dict[str, Given]:
    """A frame's columns by folded name, without the hidden ones."""
    left_out = set(hidden)
    return {
        fold(part.name): Given(quoted(part.name), part.dataType.simpleString() == "string")
        for part in frame.schema.fields
        if part.name not in left_out
    }


def conformed(
    frame: DataFrame,
    columns: tuple[ColumnType, ...],
    given: Mapping[str, Given],
    origin: str | None = None,
    kept: Iterable[str] = (),
    defaults: Mapping[str, str] | None = None,
    null_is_absent: bool = False,
) -> DataFrame:
    """The frame's rows with exactly the table's columns, then the `kept` ones of the frame.

    `origin` is an expression of SQL that says where a row comes from, for messages; `defaults` maps columns, by folded
    name, to literals of SQL.
    """
    known = {**given, **_defaulted(columns, given, defaults or {}, null_is_absent)}
    expressions = [f"{_fitted(column, known, origin)} AS {quoted(column.name)}" for column in columns]
    return frame.selectExpr(*expressions, *(quoted(name) for name in kept))


def _defaulted(
    columns: tuple[ColumnType, ...], given: Mapping[str, Given], defaults: Mapping[str, str], null_is_absent: bool
) -> dict[str, Given]:
    """The columns whose values are their defaults, in all rows or in those that lack them."""
    found: dict[str, Given] = {}
    for column in columns:
        default, source = defaults.get(fold(column.name)), given.get(fold(column.name))
        if default is None:
            continue
        if source is None:
            found[fold(column.name)] = Given(default, column.type.strip().lower().startswith(_STRING))
        elif null_is_absent:
            value = f"CAST({default} AS STRING)" if source.is_text else default
            found[fold(column.name)] = Given(f"coalesce({source.expression}, {value})", source.is_text)
    return found


def _fitted(column: ColumnType, given: Mapping[str, Given], origin: str | None) -> str:
    source = given.get(fold(column.name))
    if source is None:
        if column.nullable:
            return f"CAST(NULL AS {column.type})"
        # Raised row by row: no rows lack nothing.
        missing = _raised("X713", f"the NOT NULL column {column.name} is not among the columns of the rows", None, origin)
        return f"CAST({missing} AS {column.type})"
    fitted = _cast(column, source, origin)
    if column.nullable:
        return fitted
    problem = _raised("X713", f"NULL in the NOT NULL column {column.name}", None, origin)
    return f"coalesce({fitted}, {problem})"


def _cast(column: ColumnType, source: Given, origin: str | None) -> str:
    value, kind = source.expression, column.type.strip().lower()
    if kind.startswith(_STRING):
        return _text(column, source, origin)
    problem = _raised("X712", f"a value for column {column.name} does not fit {column.type}", value, origin)
    refused = f"CASE WHEN {value} IS NOT NULL THEN {problem} END"
    if kind.startswith(_NESTED):
        # A nested value that comes as text is JSON. Not try_cast: it would make NULL of a part that does not fit.
        parsed = f"coalesce(try_parse_json({value}), {refused})" if source.is_text else value
        return f"CAST({parsed} AS {column.type})"
    return f"coalesce(try_cast({value} AS {column.type}), {refused})"


def _text(column: ColumnType, source: Given, origin: str | None) -> str:
    value = source.expression if source.is_text else f"CAST({source.expression} AS STRING)"
    limit = _LENGTH.match(column.type)
    if limit is None:
        return value
    problem = _raised("X712", f"a value for column {column.name} is longer than {column.type}", value, origin)
    return f"CASE WHEN length({value}) > {limit.group(1)} THEN {problem} ELSE {value} END"


def _raised(code: str, message: str, value: str | None, origin: str | None) -> str:
    parts = [literal(marked(code, message))]
    if value is not None:
        parts.append(f"': ', left(CAST({value} AS STRING), 80)")
    if origin is not None:
        parts.append(f"' in ', {origin}")
    return f"raise_error(concat({', '.join(parts)}))"
