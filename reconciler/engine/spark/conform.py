"""Rows made to fit a table: columns, and the fields of structures within them, matched by name, values cast to the table's
types, strictly.

A value that does not fit its column is a problem that names column and value: `checked` tells it beside the row, `conformed`
stops the write with it and says where the row comes from. Fitting is SQL's: text is parsed, a decimal is rounded to its
column's scale; an integer too large for its column does not fit, nor does a moment finer than microseconds, nor text longer
than VARCHAR(n), also within a nested value, nor NULL in a NOT NULL column. A column that the rows lack gets its default,
else NULL. Where the rows can't tell a value that is absent from one that is NULL (`null_is_absent`: JSON), both get the
default.

Two things stop the write either way, since they are of the source and not of a row: a NOT NULL column without default that
it does not have, and a column of a type that can't become the table's, as an array for a number (X712). Nested values that
come as JSON are looked into.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from decimal import Decimal

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql.types import DataType, TimestampType

from reconciler.base.dataclass import dataclass
from reconciler.base.names import fold, quoted
from reconciler.engine.protocol import ColumnType
from reconciler.engine.spark.failures import marked, raised, refusal
from reconciler.engine.spark.json_bytes import as_bytes
from reconciler.engine.spark.json_texts import is_unfit, unmarked
from reconciler.engine.spark.locations import literal
from reconciler.engine.spark.nested import (
    FLOATS,
    TIMES,
    cast_by_name,
    from_text,
    has_zone,
    is_another_number,
    is_no_time,
    misfit,
    moments_for,
    too_long,
    truncated,
    vanished_within,
)
from reconciler.project.program.lateness import Number
from reconciler.sql.types import storage_type

REASON = "reconcile reason"
"""The column of `checked` that says why a row is none, beginning with a code; else it is NULL. It is empty where the same
record's other row says it."""

_VALUE = "reconcile value "
_OTHER = "reconcile other value "
_LENGTH = re.compile(r"(?i)^\s*(?:var)?char\s*\(\s*(\d+)\s*\)\s*$")
_WITHOUT_ZONE = ("date", "timestamp_ntz")
_NESTED = ("struct<", "array<", "map<")
_MOST_DIGITS = 38
CODE_OF_LATE = "X725"
"""How the reason begins why a row is left out that is late."""
TEXT = ("string", "varchar", "char")
"""How types of text begin, in small letters."""


@dataclass(frozen=True, slots=True)
class Given:
    """Where the value of one column comes from: an expression of SQL and whether it yields text to be parsed. `exact`, where
    it is not NULL, is the value in the column's type already; then the other is NULL. `kind` is the type that the source
    has by its own schema: fields within are taken by name then, and by position where it is None, as in an INSERT.
    `may_be_bytes`: the text is one of JSON for a BINARY (`json_bytes`)."""

    expression: str
    is_text: bool
    exact: str | None = None
    kind: DataType | None = None
    may_be_bytes: bool = False


@dataclass(frozen=True, slots=True)
class Rules:
    """What rows must be to fit: the table's columns, defaults by folded name (literals of SQL), and whether NULL means the
    default. Where `deletes` is true (an expression) only the columns of `key` need fit, if there is a key; where `updates`
    is, these and those for which `sets` is true (expressions by folded name), and none has its default. `first_on_time` has
    by folded name the smallest value of a column that is not late."""

    columns: tuple[ColumnType, ...]
    defaults: Mapping[str, str]
    null_is_absent: bool = False
    key: tuple[str, ...] = ()
    deletes: str | None = None
    first_on_time: Mapping[str, Number] = field(default_factory=dict)
    updates: str | None = None
    sets: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Other:
    """The values of a second row of a record, which must fit as well where `exists` is true (an expression): it is inserted
    where the first one is deleted."""

    given: Mapping[str, Given]
    exists: str


@dataclass(frozen=True, slots=True)
class _Fitted:
    """A column's value, made of `source`, and, where something can be wrong with it, why it does not fit: expressions of
    SQL. `problem` takes the value from the name that it is given."""

    column: ColumnType
    source: str
    value: str
    checks: tuple[tuple[str, str], ...]

    def problem(self, value: str) -> str | None:
        """NULL where it fits."""
        cases = " ".join(f"WHEN {condition} THEN {message}" for condition, message in self.checks)
        return f"CASE {cases} END".replace(_THIS, value) if cases else None


_THIS = "`reconcile this value`"


def by_name(frame: DataFrame, hidden: Iterable[str] = ()) -> dict[str, Given]:
    """A frame's columns by folded name, without the hidden ones."""
    left_out = set(hidden)
    return {
        fold(part.name): Given(quoted(part.name), part.dataType.simpleString() == "string", kind=part.dataType)
        for part in frame.schema.fields
        if part.name not in left_out
    }


def conformed(
    frame: DataFrame,
    rules: Rules,
    given: Mapping[str, Given],
    origin: str | None = None,
    kept: Iterable[str] = (),
) -> DataFrame:
    """The frame's rows with exactly the table's columns, then the `kept` ones of the frame; what does not fit stops it.

    `origin` is an expression of SQL that says where a row comes from, for messages.
    """
    expressions, all_fitted = [], _all_fitted(rules, given)
    for fitted in all_fitted:
        problem, value = fitted.problem(fitted.value), fitted.value
        if problem is not None:
            told = problem if origin is None else f"concat({problem}, ' in ', {origin})"
            stopped = f"CAST({raised(told)} AS {storage_type(fitted.column.type)})"
            value = f"CASE WHEN ({problem}) IS NULL THEN {value} ELSE {stopped} END"
        expressions.append(f"{value} AS {quoted(fitted.column.name)}")
    with _types_told(frame, all_fitted):
        return frame.selectExpr(*expressions, *(quoted(name) for name in kept))


def checked(
    frame: DataFrame,
    rules: Rules,
    given: Mapping[str, Given],
    kept: Sequence[str],
    problem: str | None = None,
    other: Other | None = None,
) -> DataFrame:
    """The frame's rows with exactly the table's columns, REASON, then the `kept` expressions.

    `problem` is an expression that says why a row is none before its values are looked at.
    """
    fitted = _all_fitted(rules, given)
    twins = _all_fitted(rules, other.given) if other is not None else []
    has_other = other.exists if other is not None else "false"
    # Values first, then what is wrong with them: each is computed once.
    with _types_told(frame, [*fitted, *twins]):
        values = frame.selectExpr(
            "*",
            *(f"{one.value} AS {quoted(_VALUE + one.column.name)}" for one in fitted),
            *(f"{one.value} AS {quoted(_OTHER + one.column.name)}" for one in twins),
        )
    reasons = [problem] if problem is not None else []
    reasons += _reasons(fitted, _VALUE, rules)
    if twins:
        opposite = replace(rules, deletes=f"NOT ({rules.deletes})") if rules.deletes else rules
        reasons += [f"CASE WHEN {has_other} THEN {reason} END" for reason in _reasons(twins, _OTHER, opposite)]
        reasons += _late(fitted, _VALUE, rules)
        reasons += [f"CASE WHEN {has_other} THEN {reason} END" for reason in _late(twins, _OTHER, opposite)]
    else:
        reasons += _late(fitted, _VALUE, rules)
    reason = f"coalesce({', '.join(reasons)})" if reasons else "CAST(NULL AS STRING)"
    if twins and rules.deletes:
        # One record, one reason: it stands at the row that is deleted.
        reason = f"if(({has_other}) AND NOT ({rules.deletes}), if({reason} IS NULL, NULL, ''), {reason})"
    return values.selectExpr(
        *(f"{quoted(_VALUE + one.column.name)} AS {quoted(one.column.name)}" for one in fitted),
        f"{reason} AS {quoted(REASON)}",
        *kept,
    )


@contextmanager
def _types_told(frame: DataFrame, fitted: Iterable[_Fitted]) -> Iterator[None]:
    """Where Spark refuses to make one type of another, the column is told by name, with both."""
    try:
        yield
    except AnalysisException as error:
        if not (error.getCondition() or "").startswith("DATATYPE_MISMATCH"):
            raise
        for one in fitted:
            kind = frame.selectExpr(one.source).schema[0].dataType.simpleString()
            try:
                frame.selectExpr(one.value)
            except AnalysisException:
                told = f"the values for column {one.column.name} do not fit {one.column.type}: they are of type {kind}"
                raise refusal("X712", told) from error
        raise


def _reasons(fitted: Iterable[_Fitted], prefix: str, rules: Rules) -> list[str]:
    problems = [(one.column, one.problem(quoted(prefix + one.column.name))) for one in fitted]
    return [_where_it_counts(column, problem, rules) for column, problem in problems if problem is not None]


def _late(fitted: Iterable[_Fitted], prefix: str, rules: Rules) -> list[str]:
    """Why rows are late that fit."""
    found = []
    for column in (one.column for one in fitted):
        first = rules.first_on_time.get(fold(column.name))
        if first is not None:
            value = quoted(prefix + column.name)
            message = literal(f"{CODE_OF_LATE}: the row is late: its {column.name} is ")
            reason = f"CASE WHEN {is_late(value, column, first)} THEN concat({message}, {_told(value, column)}) END"
            found.append(_where_it_counts(column, reason, rules))
    return found


def _told(value: str, column: ColumnType) -> str:
    """A value as a reason says it: timestamps in UTC, whatever the session's time zone."""
    if column.type != "TIMESTAMP":
        return f"CAST({value} AS STRING)"
    return (
        f"concat(CAST(timestampadd(MICROSECOND, unix_micros({value}), TIMESTAMP_NTZ '1970-01-01 00:00:00') AS STRING), 'Z')"
    )


def is_late(value: str, column: ColumnType, first: Number) -> str:
    """Whether a value of a column, an expression in its type, is smaller than the first on time; NULL of a NULL."""
    match column.type.strip().lower():
        case "date":
            return f"unix_date({value}) < {first}"
        case "timestamp":
            return f"unix_micros({value}) < {first}"
        case "timestamp_ntz":
            return f"timestampdiff(MICROSECOND, TIMESTAMP_NTZ '1970-01-01 00:00:00', {value}) < {first}"
        case "float" | "double":
            return f"CAST({value} AS DOUBLE) < CAST({literal(repr(first))} AS DOUBLE)"
        case _:
            return f"{value} < {_as_decimal(Decimal(first))}"


def _as_decimal(number: Decimal) -> str:
    """A number as a literal. One that no decimal of Spark holds has all values of a type on one side."""
    text = format(number, "f")
    digits = sum(sign.isdigit() for sign in text)
    return f"CAST({literal(text)} AS DOUBLE)" if digits > _MOST_DIGITS else f"{text}BD"


def _where_it_counts(column: ColumnType, reason: str, rules: Rules) -> str:
    """A reason of a column; of a row that is deleted by its key, only those of the key count."""
    key = {fold(name) for name in rules.key}
    if not key or rules.deletes is None or fold(column.name) in key:
        return reason
    without = f"({rules.deletes})"
    if rules.updates is not None:
        without = f"({without} OR ({rules.updates}) AND NOT ({rules.sets[fold(column.name)]}))"
    return f"CASE WHEN NOT {without} THEN {reason} END"


def _all_fitted(rules: Rules, given: Mapping[str, Given]) -> list[_Fitted]:
    known = {**given, **_defaulted(rules, given)}
    return [_fitted(column, known.get(fold(column.name))) for column in rules.columns]


def _defaulted(rules: Rules, given: Mapping[str, Given]) -> dict[str, Given]:
    """The columns whose values are their defaults, in all rows or in those that lack them."""
    found: dict[str, Given] = {}
    for column in rules.columns:
        default, source = rules.defaults.get(fold(column.name)), given.get(fold(column.name))
        if default is None:
            continue
        if source is None:
            found[fold(column.name)] = Given(default, column.type.strip().lower().startswith(TEXT))
        elif rules.null_is_absent:
            value = f"CAST({default} AS STRING)" if source.is_text else default
            known = f"coalesce({source.expression}, {value})"
            if rules.updates is not None:
                known = f"if({rules.updates}, {source.expression}, {known})"
            found[fold(column.name)] = replace(source, expression=known)
    return found


def _fitted(column: ColumnType, source: Given | None) -> _Fitted:
    if source is None:
        if column.nullable:
            return _Fitted(column, "NULL", f"CAST(NULL AS {storage_type(column.type)})", ())
        # Raised row by row: no rows lack nothing.
        missing = marked("X713", f"the NOT NULL column {column.name} is not among the columns of the rows")
        return _Fitted(column, "NULL", f"CAST(raise_error({literal(missing)}) AS {storage_type(column.type)})", ())
    value, checks = _cast(column, source)
    if not column.nullable:
        checks = (*checks, (f"{_THIS} IS NULL", literal(f"X713: NULL in the NOT NULL column {column.name}")))
    return _Fitted(column, source.expression, value, checks)


def _cast(column: ColumnType, source: Given) -> tuple[str, tuple[tuple[str, str], ...]]:
    text, kind = source.expression, column.type.strip().lower()
    told = f"left(CAST({unmarked(text) if source.may_be_bytes else text} AS STRING), 80)"
    if kind.startswith(TEXT):
        value, limit = text if source.is_text else f"CAST({text} AS STRING)", _LENGTH.match(column.type)
        if limit is None:
            return value, ()
        message = literal(f"X712: a value for column {column.name} is longer than {column.type}: ")
        return value, ((f"length({_THIS}) > {limit.group(1)}", f"concat({message}, {told})"),)
    message = f"concat({literal(f'X712: a value for column {column.name} does not fit {column.type}: ')}, {told})"
    if not kind.startswith(_NESTED):
        value = as_bytes(text) if source.may_be_bytes else f"try_cast({text} AS {column.type})"
        value = value if source.exact is None else f"coalesce({source.exact}, {value})"
        checks = [(f"{_THIS} IS NULL AND {text} IS NOT NULL", message)]
        if source.is_text and kind in TIMES:
            if kind in _WITHOUT_ZONE:
                zoned = literal(
                    f"X712: a value for column {column.name} has a zone, and {column.type} has none (a TIMESTAMP has): "
                )
                checks.append((has_zone(text), f"concat({zoned}, {told})"))
            checks.append((is_no_time(text, kind), message))
        if source.is_text and kind in FLOATS:
            # Beside an exact value, the text is that of a default, if it is any.
            read = text if source.exact is None else f"if({source.exact} IS NULL, {text}, NULL)"
            checks.append((is_another_number(_THIS, read), message))
        if isinstance(source.kind, TimestampType) and kind in _WITHOUT_ZONE:
            raise refusal("X712", moments_for(column.name, column.type))
        altered = truncated(text, source.kind, storage_type(column.type)) if source.kind is not None else None
        if altered is not None and not source.is_text:
            checks.append((altered, message))
        return value, tuple(checks)
    stored, condition = storage_type(column.type), too_long(_THIS, column.type)
    long = literal(f"X712: a text within a value for column {column.name} is too long for {column.type}: ")
    lengths = ((condition, f"concat({long}, {told})"),) if condition is not None else ()
    if not source.is_text:
        if source.kind is not None:
            altered = truncated(text, source.kind, stored)
            wrong_parts = ((altered, message),) if altered is not None else ()
            return cast_by_name(text, source.kind, stored, column.name), (*wrong_parts, *lengths)
        return f"CAST({text} AS {stored})", lengths
    # Not try_cast: it would make NULL of a part that does not fit.
    parsed = f"try_parse_json({text})"
    vanished = vanished_within(text, stored)
    altered = f"{misfit(parsed, stored)} OR {vanished}" if vanished is not None else misfit(parsed, stored)
    wrong = f"{text} IS NOT NULL AND ({parsed} IS NULL OR {is_unfit(text)} OR {altered})"
    return f"CASE WHEN NOT ({wrong}) THEN {from_text(text, parsed, stored)} END", ((wrong, message), *lengths)
