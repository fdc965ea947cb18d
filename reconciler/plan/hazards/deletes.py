"""Deletes that no longer find the rows that they are meant for: H938.

A table without a primary key finds the row of a delete by all its columns. Rows that are there when a column is added, gets
another type or another default hold what they held: NULL, the old default, the value as the old type had it. What an input
brings is taken by the new columns. So its delete of such a row finds none, the row stays, and an update puts its new row
beside it. Types that hold every old value as it was change nothing of that.

The same is true where a column takes another field of what an input brings than it did (`columns` of a connector or
table): the rows that are there hold what the earlier field gave. A column that was renamed, and of which neither side says a
field, is not told here: that its input goes on with the old name is H931.
"""

import re
from collections.abc import Iterator
from typing import Final

from reconciler.base.declarations import RelationKind
from reconciler.base.names import first_of, fold
from reconciler.connectors.catalogue import brings_deletes
from reconciler.connectors.columns import sources_by_key
from reconciler.connectors.transport import Direction
from reconciler.diff.causes import ColumnAdded, ColumnRetyped, DefaultChanged
from reconciler.diff.model import Action, Diff, RelationChange
from reconciler.diff.moves import Renames, resolve_moves
from reconciler.plan.hazards.removal import is_cleared
from reconciler.plan.model import Hazard
from reconciler.project.program.model import Connector, Program, Table

_NAMED: Final = 5
_INTEGER: Final = re.compile(r"(tiny|small|big)?int(eger)?|byte|short|long", re.IGNORECASE)
_TEXT: Final = re.compile(r"string|text|varchar *(\([0-9 ]+\))?", re.IGNORECASE)


def deletes_miss(diff: Diff, applied: Program, desired: Program) -> Iterator[Hazard]:
    """See the module."""
    changes = {fold(one.name): one for one in diff.relations}
    changed = {key: columns for key, one in changes.items() if (columns := _unlike(one))}
    connectors = {fold(one.name) for one in diff.connectors if one.action is Action.MODIFIED}
    if not changed and not connectors:
        return
    moves = resolve_moves(applied, desired)
    inputs: dict[str, dict[str, list[str]]] = {}
    for name, one in sorted(desired.connectors.items()):
        key = fold(one.relation)
        before = applied.connectors.get(moves.renames.applied_connector(name))
        if one.direction is not Direction.INPUT or before is None or not brings_deletes(one.settings):
            continue
        is_kept = key not in changes or (changes[key].action is Action.MODIFIED and not is_cleared(changes[key]))
        others = _of_other_fields(desired.tables[key], before, one, moves.renames) if name in connectors and is_kept else []
        columns = list(dict.fromkeys((*changed.get(key, ()), *others)))
        if columns:
            inputs.setdefault(key, {})[one.qualified_name] = columns
    for key, found in sorted(inputs.items()):
        table = desired.tables[key]
        if table.primary_key or table.declaration.append_only:
            continue
        unlike = list(dict.fromkeys(column for columns in found.values() for column in columns))
        message = (
            f"{first_of(list(found), _NAMED)} can bring deletes and updates, and {table.name} has no primary key: they find "
            f"a row by all its columns. Rows that are there now differ in {first_of(unlike, _NAMED)} from what comes: "
            "a delete finds none of them, and an update puts its row beside the old one"
        )
        yield Hazard("H938", table.name, message)


def _of_other_fields(table: Table, before: Connector, after: Connector, renames: Renames) -> list[str]:
    """The columns that take another field of an input than they did."""
    had, has = sources_by_key(before.settings), sources_by_key(after.settings)
    key, found = fold(table.name), []
    for column in table.columns:
        name = fold(column.name)
        old = renames.applied_column(key, name)
        if (old in had or name in has) and fold(had.get(old, old)) != fold(has.get(name, name)):
            found.append(column.name)
    return found


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
