"""What becomes of the fields of an input's records when columns of its table, or what they are called there, change.

By column: the field that it took and the one that it takes now. Nothing is known here of what the records hold; a
source that goes on with a name that no column takes any more loses these values, so whoever reviews has to see each move.
"""

from reconciler.base.dataclass import dataclass
from reconciler.base.names import fold
from reconciler.connectors.columns import has_fields, sources_by_key
from reconciler.diff.moves import Renames
from reconciler.project.program.model import Connector, Program


@dataclass(frozen=True, slots=True)
class FieldChange:
    """Of a column the field that it took (None: it is new) and the one that it takes (None: it is gone). `is_said`: the
    files say which one it takes."""

    column: str
    before: str | None
    after: str | None
    is_said: bool = False


def field_changes(applied: Program, desired: Program, renames: Renames, old: Connector, new: Connector) -> list[FieldChange]:
    """The columns of an input's table that take another field, in the order of the table; then those that are gone."""
    key, old_key = fold(new.relation), fold(old.relation)
    before, after = applied.tables.get(old_key), desired.tables.get(key)
    if before is None or after is None or not (has_fields(old.settings) and has_fields(new.settings)):
        return []
    old_columns = {fold(column.name): column.name for column in before.columns}
    took_by_key, takes_by_key = sources_by_key(old.settings), sources_by_key(new.settings)
    found = []
    for column in after.columns:
        name = old_columns.pop(renames.applied_column(key, fold(column.name)), None)
        took = None if name is None else took_by_key.get(fold(name), name)
        takes = takes_by_key.get(fold(column.name), column.name)
        if took is None or fold(took) != fold(takes):
            found.append(FieldChange(column.name, took, takes, fold(column.name) in takes_by_key))
    return found + [FieldChange(name, took_by_key.get(fold(name), name), None) for name in old_columns.values()]


def describe_fields(changes: list[FieldChange]) -> str:
    """What of the records goes where from now on; empty where nothing changed."""
    taken = [
        f"new column {one.column} takes field {one.after}"
        if one.before is None
        else f"{one.column} takes field {one.after}, not {one.before}"
        for one in changes
        if one.after is not None
    ]
    now = {fold(one.after) for one in changes if one.after is not None}
    left = [one.before for one in changes if one.before is not None and fold(one.before) not in now]
    if left:
        taken.append(f"no column takes {', '.join(left)}")
    return "; ".join(taken)
