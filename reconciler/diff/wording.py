"""Causes in words: one clause each, without a subject, for every form in which a plan is shown.

What users wrote stands in these clauses, made printable (`reconciler.base.printing`).
"""

from collections.abc import Sequence
from typing import assert_never

from reconciler.base.names import fold
from reconciler.base.printing import printable
from reconciler.base.secrets.redaction import MASK, masked_as_set, masked_in_words
from reconciler.connectors.transport import Direction
from reconciler.diff.causes import (
    Cause,
    ColumnAdded,
    ColumnNamesChanged,
    ColumnRemoved,
    ColumnRenamed,
    ColumnRetyped,
    ColumnsReordered,
    DefaultChanged,
    FunctionChanged,
    KindChanged,
    LatenessChanged,
    MeaningChanged,
    NullabilityChanged,
    Path,
    PrimaryKeyChanged,
    PropertyChanged,
    QueryChanged,
    ReadsChanged,
    RelationRenamed,
    SettingsChanged,
    StorageChanged,
    StreamChanged,
    WrittenNamesChanged,
)
from reconciler.diff.model import ConnectorChange, SettingDifference, Spared


def describe_cause(cause: Cause) -> str:
    """For example: `reads avg_grade.class_avg, whose query changed`."""
    return printable(_describe_cause(cause))


def _describe_cause(cause: Cause) -> str:
    match cause:
        case ColumnAdded():
            required = "" if cause.nullable else " NOT NULL"
            default = "" if cause.default is None else f" DEFAULT {masked_as_set(cause.column, cause.default)[0]}"
            return f"column {cause.column} {cause.type}{required}{default} added"
        case ColumnRemoved():
            return f"column {cause.column} {cause.type} removed"
        case ColumnRenamed():
            return f"column {cause.applied} renamed to {cause.desired}"
        case ColumnRetyped():
            return f"type of column {cause.column} changed from {cause.applied} to {cause.desired}"
        case DefaultChanged():
            masked = masked_as_set(cause.column, cause.applied or "", cause.desired or "")
            sides = (one if of is not None else None for one, of in zip(masked, (cause.applied, cause.desired), strict=True))
            return f"default of column {cause.column} {_replaced(*sides)}"
        case LatenessChanged():
            return f"lateness of column {cause.column} {_replaced(cause.applied, cause.desired)}"
        case RelationRenamed():
            return f"renamed from {cause.applied}"
        case NullabilityChanged():
            return f"column {cause.column} is now {'nullable' if cause.desired else 'NOT NULL'}"
        case ColumnsReordered():
            return f"columns reordered from ({', '.join(cause.applied)}) to ({', '.join(cause.desired)})"
        case PrimaryKeyChanged():
            return f"primary key changed from {_key(cause.applied)} to {_key(cause.desired)}"
        case PropertyChanged():
            return f"{cause.property} {'added' if cause.desired else 'removed'}"
        case QueryChanged():
            return _describe_query(cause)
        case FunctionChanged():
            return _describe_call(cause)
        case StreamChanged():
            return f"definition changed: {', '.join(map(_stream_setting, cause.settings))}"
        case ColumnNamesChanged():
            return f"column names changed from {_key(cause.applied)} to {_key(cause.desired)}"
        case WrittenNamesChanged():
            return "column names may be written with another spelling by outputs"
        case KindChanged():
            return f"was {cause.applied.value}, is now {cause.desired.value}"
        case StorageChanged():
            return _STORAGE_CHANGED[cause.is_stored]
        case SettingsChanged():
            return f"settings that decide results changed: {', '.join(_settings(cause))}"
        case ReadsChanged():
            return _describe_reads(cause)
        case MeaningChanged():
            return "its meaning changed"
        case _:
            assert_never(cause)


def _settings(cause: SettingsChanged) -> list[str]:
    values = cause.values or (None,) * len(cause.settings)
    pairs = zip(cause.settings, values, strict=True)
    return [name if shown is None else f"{name}: {shown[0]} → {shown[1]}" for name, shown in pairs]


def _stream_setting(setting: tuple[str, str | None, str | None]) -> str:
    path, applied, desired = setting
    if applied is None or desired is None:
        return f"{path} added ({desired})" if applied is None else f"{path} removed ({applied})"
    return f"{path} (not shown)" if applied == desired else f"{path}: {applied} → {desired}"


_STORAGE_CHANGED = {
    True: "is now stored, because an output reads it; computing it again may give other rows",
    False: "is no longer stored, because no output reads it; computing it again may give other rows",
}


def told_readers(readers: Sequence[str]) -> str:
    """Who reads a relation from outside, in the author's words, without what they say of secrets; `nobody` for none."""
    return ", ".join(map(masked_in_words, readers)) or "nobody"


def describe_difference(difference: SettingDifference) -> str:
    """For example: `transport.config.uri: a → b`; what may be secret is not shown."""
    if difference.applied is None and difference.desired is None:
        return printable(f"{difference.path} changed (not shown)")
    return printable(f"{difference.path}: {difference.applied or '(none)'} → {difference.desired or '(none)'}")


def describe_address(change: ConnectorChange) -> tuple[str, ...]:
    """Where the rows of a connector that is new or modified go to or come from: `writes to a; until now to b`. One clause;
    none where there is no such place."""
    if change.address is None:
        return ()
    writes = change.direction is Direction.OUTPUT
    told = f"writes to {_place(change.address)}" if writes else f"reads {_place(change.address)}"
    if change.applied_address not in (None, change.address):
        told += f" (was {_place(change.applied_address)})"
    return (printable(told),)


def _place(address: str | None) -> str:
    return "an address that is not shown" if address in (None, MASK) else str(address)


def describe_what_is_spared(spared: Spared, qualified: bool = True) -> str:
    """What changed of the relation that a spared view reads: `of which only orders.note changed`."""

    def listed(columns: tuple[str, ...]) -> str:
        return ", ".join(f"{spared.relation}.{column}" if qualified else column for column in columns)

    changed = f"of which only {listed(spared.columns)} changed" if spared.columns else "in which no value changed"
    if not spared.computed_again:
        return changed
    again = f"{listed(spared.computed_again)} may get other values when {spared.relation} is recomputed"
    return f"{changed}, and {again}" if spared.columns else f"of which only {again}"


def _describe_reads(cause: ReadsChanged) -> str:
    columns = ", ".join(f"{cause.relation}.{column}" for column in cause.columns) or cause.relation
    if len(cause.path.names) == 1:
        if cause.origin is None:
            return f"reads {columns}; {cause.relation} is new"
        if is_computed_again(cause.origin, cause.columns):
            told = describe_cause(cause.origin)
            return f"reads {columns}, which may get other values when {cause.relation} is recomputed ({told})"
        if cause.columns and _is_of_the_whole(cause.origin, cause.columns):
            return f"reads {columns}; {cause.relation} changed ({describe_cause(cause.origin)})"
        return f"reads {columns}, {_origin(cause.origin)}"
    return f"reads {columns}, which reads {_way(cause.path)}, {_origin(cause.origin)}"


def _way(path: Path) -> str:
    """`b → c`: what stands between what is used and where the change began, and that."""
    *between, last = path.names[1:]
    passed = [f"{path.passed_over} more"] if path.passed_over else []
    return " → ".join((*between, *passed, last))


def is_computed_again(origin: Cause, columns: tuple[str, ...]) -> bool:
    """Whether a change is surely of none of these columns: then they only come out of the same query again."""
    return (
        isinstance(origin, QueryChanged | FunctionChanged)
        and origin.columns is not None
        and {fold(column) for column in columns}.isdisjoint(origin.columns)
    )


def _is_of_the_whole(origin: Cause, columns: tuple[str, ...]) -> bool:
    """Whether a change reaches these columns only because it reaches the whole table."""
    read = {fold(column) for column in columns}
    match origin:
        case ColumnAdded() | ColumnRemoved() | ColumnRetyped() | NullabilityChanged():
            return fold(origin.column) not in read
        case ColumnsReordered() | PrimaryKeyChanged() | PropertyChanged():
            return True
        case _:
            return False


def _origin(origin: Cause | None) -> str:
    match origin:
        case None:
            return "which is new"
        case QueryChanged():
            return "whose query changed"
        case MeaningChanged():
            return "which changed"
        case _:
            return f"which changed ({describe_cause(origin)})"


def _describe_query(cause: QueryChanged) -> str:
    if cause.columns is None:
        return "query changed"
    return (
        f"query changed in {', '.join(cause.columns)} only"
        if cause.columns
        else "query changed in the order of columns only"
    )


def _describe_call(cause: FunctionChanged) -> str:
    verdict = "which is new" if cause.is_new else "which changed"
    only = "" if cause.columns is None else f", in {', '.join(cause.columns)} only"
    if len(cause.path.names) == 1:
        return f"calls {cause.function}, {verdict}{only}"
    return f"calls {cause.function}, which calls {_way(cause.path)}, {verdict}{only}"


def _replaced(applied: str | None, desired: str | None) -> str:
    if applied is None:
        return f"set to {desired}"
    return f"dropped (was {applied})" if desired is None else f"changed from {applied} to {desired}"


def _key(names: tuple[str, ...]) -> str:
    return f"({', '.join(names)})" if names else "none"
