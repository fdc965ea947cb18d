"""Deletes that no longer find the rows that they are meant for: H938.

A table without a primary key finds the row of a delete by all its columns. Rows that are there when a column is added, gets
another type or another default hold what they held: NULL, the old default, the value as the old type had it. What an input
brings is taken by the new columns. So its delete of such a row finds none, the row stays, and an update puts its new row
beside it. Types that hold every old value as it was change nothing of that.
"""

import re
from collections.abc import Iterator
from typing import Final

from reconciler.connectors.catalogue import brings_deletes
from reconciler.connectors.transport import Direction
from reconciler.diff.model import Action, ColumnAdded, ColumnRetyped, DefaultChanged, Diff, RelationChange, RelationKind
from reconciler.diff.moves import resolve_moves
from reconciler.names import first_of, fold
from reconciler.plan.hazards.clearing import is_cleared
from reconciler.plan.model import Hazard
from reconciler.program.model import Program

_NAMED: Final = 5
_INTEGER: Final = re.compile(r"(tiny|small|big)?int(eger)?|byte|short|long", re.IGNORECASE)
_TEXT: Final = re.compile(r"string|text|varchar *(\([0-9 ]+\))?", re.IGNORECASE)


def deletes_miss(diff: Diff, applied: Program, desired: Program) -> Iterator[Hazard]:
    """See the module."""
    changed = {fold(one.name): columns for one in diff.relations if (columns := _unlike(one))}
    if not changed:
        return
    renames = resolve_moves(applied, desired).renames
    for key, columns in sorted(changed.items()):
        table = desired.tables[key]
        if table.primary_key or table.declaration.append_only:
            continue
        inputs = [
            one.qualified_name
            for name, one in sorted(desired.connectors.items())
            if one.direction is Direction.INPUT
            and fold(one.relation) == key
            and renames.applied_connector(name) in applied.connectors
            and brings_deletes(one.settings)
        ]
        if inputs:
            message = (
                f"{first_of(inputs, _NAMED)} can bring deletes and updates, and {table.name} has no primary key: they find "
                f"a row by all its columns. Rows that are there now differ in {first_of(columns, _NAMED)} from what comes: "
                "a delete finds none of them, and an update puts its row beside the old one"
            )
            yield Hazard("H938", table.name, message)


def _unlike(change: RelationChange) -> list[str]:
    """The columns in which rows that stay differ from what the same records would give now."""
    if change.kind is not RelationKind.TABLE or change.action is not Action.MODIFIED or is_cleared(change):
        return []
    found: dict[str, None] = {}
    for cause in change.causes:
        match cause:
            case ColumnAdded() | DefaultChanged():
                found[cause.column] = None
            case ColumnRetyped() if not _holds_the_same(cause):
                found[cause.column] = None
            case _:
                pass
    return list(found)


def _holds_the_same(cause: ColumnRetyped) -> bool:
    return any(kind.fullmatch(cause.applied) and kind.fullmatch(cause.desired) for kind in (_INTEGER, _TEXT))
