"""Tables compared: every way in which a declaration differs, what becomes of the rows, and what readers see of it.

The seed's rule: a table is modified, and cleared, if types, names or order of its columns have changed in any way, its
primary key constraint has changed, or its materialized or append_only properties were added or removed.

`evolution: evolve` keeps the rows where that is possible without guessing:

| change | clear | evolve |
|---|---|---|
| nullable columns added after all others | cleared | extended: no row is written |
| other nullable columns added, columns dropped, reordered, NOT NULL dropped | cleared | evolved: rows are written anew |
| a type widened (`widens`) | cleared | evolved |
| a type changed otherwise, NOT NULL added, the primary key changed | cleared | cleared |
| `materialized`, `append_only` | cleared | kept |
| a column renamed by `moved`, and nothing else | evolved | evolved |
| DEFAULT, LATENESS, the table renamed by `moved` | kept | kept |
"""

import re
from collections.abc import Callable, Mapping
from typing import Final, assert_never

from reconciler.base.declarations import ColumnDeclaration, Evolution, Settings, TableDeclaration
from reconciler.base.names import fold
from reconciler.diff.causes import (
    ColumnAdded,
    ColumnRemoved,
    ColumnRenamed,
    ColumnRetyped,
    ColumnsReordered,
    DefaultChanged,
    LatenessChanged,
    NullabilityChanged,
    PrimaryKeyChanged,
    PropertyChanged,
    RelationRenamed,
    TableCause,
)
from reconciler.diff.extent import ANY_ROW, Extent, OnlyColumns
from reconciler.diff.model import Fate
from reconciler.project.program.defaults import settled_default, zone_of_default
from reconciler.project.program.model import Table
from reconciler.sql.spelling import Spelling


def table_causes(
    applied: Table,
    desired: Table,
    settings: tuple[Settings, Settings],
    spelling: Spelling = Spelling.EVENED_OUT,
    renamed: Mapping[str, str] | None = None,
) -> tuple[TableCause, ...]:
    """Every way in which a table's declaration differs, or what it says under the `settings` of both sides. `spelling`:
    letter case of column names counts; `renamed`: the applied names of columns that were moved, by desired name, both
    folded."""
    moved = renamed or {}
    key_of = _spelling(spelling)

    def applied_key(column: ColumnDeclaration) -> str:
        return moved.get(fold(column.name)) or key_of(column.name)

    former = set(moved.values())
    before = {fold(one.name) if fold(one.name) in former else key_of(one.name): one for one in applied.columns}
    after = {applied_key(column): column for column in desired.columns}
    causes: list[TableCause] = []
    if fold(applied.name) != fold(desired.name):
        causes.append(RelationRenamed(applied.name, desired.name))
    causes += [ColumnRenamed(before[key].name, one.name) for key, one in after.items() if fold(one.name) in moved]
    causes += [ColumnRemoved(column.name, column.type) for key, column in before.items() if key not in after]
    added = [column for key, column in after.items() if key not in before]
    causes += [ColumnAdded(column.name, column.type, column.nullable, column.default) for column in added]
    kept = [key for key in after if key in before]
    for key in kept:
        causes += _column_causes(before[key], after[key], settings)
    if [key for key in before if key in after] != kept:
        causes.append(ColumnsReordered(applied.column_names, desired.column_names))
    keys = [fold(name) for name in applied.primary_key], [moved.get(fold(n), fold(n)) for n in desired.primary_key]
    if keys[0] != keys[1]:
        causes.append(PrimaryKeyChanged(applied.primary_key, desired.primary_key))
    return (*causes, *_property_causes(applied.declaration, desired.declaration))


def _column_causes(
    applied: ColumnDeclaration, desired: ColumnDeclaration, settings: tuple[Settings, Settings]
) -> list[TableCause]:
    causes: list[TableCause] = []
    if applied.type != desired.type:
        causes.append(ColumnRetyped(desired.name, applied.type, desired.type))
    if applied.nullable != desired.nullable:
        causes.append(NullabilityChanged(desired.name, applied.nullable, desired.nullable))
    zones = zone_of_default(applied, settings[0]), zone_of_default(desired, settings[1])
    if None not in zones and zones[0] != zones[1]:
        settled = settled_default(applied, settings[0]), settled_default(desired, settings[1])
        causes.append(DefaultChanged(desired.name, *settled))
    elif applied.default != desired.default:
        causes.append(DefaultChanged(desired.name, applied.default, desired.default))
    if applied.lateness != desired.lateness:
        causes.append(LatenessChanged(desired.name, applied.lateness, desired.lateness))
    return causes


def _property_causes(applied: TableDeclaration, desired: TableDeclaration) -> list[TableCause]:
    pairs = (
        ("materialized", applied.materialized, desired.materialized),
        ("append_only", applied.append_only, desired.append_only),
    )
    return [PropertyChanged(name, before, after) for name, before, after in pairs if before != after]


def _spelling(spelling: Spelling) -> Callable[[str], str]:
    return str if spelling else fold


_SEVERITY: Final = (Fate.KEPT, Fate.EXTENDED, Fate.EVOLVED, Fate.CLEARED)


def judge_rows(causes: tuple[TableCause, ...], desired: Table, evolution: Evolution) -> Fate:
    """What becomes of the rows of a modified table: the worst that any cause asks for."""
    return max(_fates(causes, desired, evolution), key=_SEVERITY.index, default=Fate.KEPT)


def clearing_causes(causes: tuple[TableCause, ...], desired: Table, evolution: Evolution) -> tuple[TableCause, ...]:
    """Those of the causes that ask for the rows to be deleted."""
    fates = _fates(causes, desired, evolution)
    return tuple(cause for cause, fate in zip(causes, fates, strict=True) if fate is Fate.CLEARED)


def _fates(causes: tuple[TableCause, ...], desired: Table, evolution: Evolution) -> list[Fate]:
    added = {fold(cause.column) for cause in causes if isinstance(cause, ColumnAdded)}
    names = [fold(column.name) for column in desired.columns]
    at_the_end = not any(name in added for name in names[: len(names) - len(added)])
    required = {fold(column.name) for column in desired.columns if not column.nullable}
    return [_fate(cause, evolution, at_the_end, required) for cause in causes]


def _fate(cause: TableCause, evolution: Evolution, at_the_end: bool, required: set[str]) -> Fate:
    match cause:
        case DefaultChanged() | LatenessChanged() | RelationRenamed():
            return Fate.KEPT
        case ColumnRenamed():
            return Fate.EVOLVED
        case _ if evolution is Evolution.CLEAR:
            return Fate.CLEARED
        case ColumnAdded():
            if fold(cause.column) in required:
                return Fate.CLEARED
            return Fate.EXTENDED if at_the_end else Fate.EVOLVED
        case ColumnRemoved() | ColumnsReordered():
            return Fate.EVOLVED
        case ColumnRetyped():
            return Fate.EVOLVED if widens(cause.applied, cause.desired) else Fate.CLEARED
        case NullabilityChanged():
            return Fate.EVOLVED if cause.desired else Fate.CLEARED
        case PrimaryKeyChanged():
            return Fate.CLEARED
        case PropertyChanged():
            return Fate.KEPT
        case _:
            assert_never(cause)


def table_extent(causes: tuple[TableCause, ...], fate: Fate, spelling: Spelling) -> Extent:
    """What of the table may differ for whoever reads it. `spelling`: a column of another name is another column."""
    if fate is Fate.CLEARED:
        return ANY_ROW
    names: set[str] = set()
    renamed: set[str] = set()
    reordered = False
    for cause in causes:
        match cause:
            case ColumnAdded() | ColumnRemoved() | ColumnRetyped():
                names.add(fold(cause.column))
            case ColumnRenamed():
                renamed |= {fold(cause.applied), fold(cause.desired)}
            case ColumnsReordered():
                reordered = True
            case _:
                # Nullability, defaults, lateness, keys and names of the table change no value that is there.
                pass
    if spelling:
        return OnlyColumns(frozenset(names | renamed), reordered=reordered)
    return OnlyColumns(frozenset(names), frozenset(renamed), reordered)


_WHOLE_NUMBERS: Final = {"TINYINT": 3, "SMALLINT": 5, "INT": 10, "BIGINT": 19}
_DECIMAL: Final = re.compile(r"DECIMAL\((\d+),(\d+)\)")
_VARYING: Final = re.compile(r"VARCHAR\((\d+)\)")


def widens(applied: str, desired: str) -> bool:
    """Whether every value of the applied type is exactly a value of the desired one (canonical types)."""
    if applied in _WHOLE_NUMBERS:
        digits = _WHOLE_NUMBERS[applied]
        if desired in _WHOLE_NUMBERS:
            return digits <= _WHOLE_NUMBERS[desired]
        decimal = _DECIMAL.fullmatch(desired)
        if decimal is not None:
            return int(decimal[1]) - int(decimal[2]) >= digits
        return desired == "DOUBLE" and applied != "BIGINT"
    if applied == "FLOAT":
        return desired == "DOUBLE"
    before, after = _DECIMAL.fullmatch(applied), _DECIMAL.fullmatch(desired)
    if before is not None and after is not None:
        whole = int(before[1]) - int(before[2]), int(after[1]) - int(after[2])
        return whole[0] <= whole[1] and int(before[2]) <= int(after[2])
    varying = _VARYING.fullmatch(applied)
    if varying is not None:
        longer = _VARYING.fullmatch(desired)
        return desired == "STRING" or (longer is not None and int(varying[1]) <= int(longer[1]))
    return False
