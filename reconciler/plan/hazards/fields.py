"""What an input brings goes elsewhere, or nowhere: H931 and H932.

H931: a column was renamed, and its input goes on with the new name without anybody saying so. Where the source still has the
old name, the column is NULL in every new row. H932: a column was added or removed, so that what an input reads may lack a
field, or bring one that no column takes; or the columns stand at other places, of an input that reads by place. What records
hold is not known here; what a running pipeline finds is told then.
"""

from collections.abc import Iterator, Mapping

from reconciler.base.declarations import RelationKind
from reconciler.base.names import fold
from reconciler.connectors.columns import is_by_place
from reconciler.connectors.transport import Direction
from reconciler.diff.fields import FieldChange, field_changes
from reconciler.diff.model import Action, Diff
from reconciler.diff.moves import Renames, resolve_moves
from reconciler.plan.model import Hazard
from reconciler.project.program.model import Connector, Program


def inputs_lose_fields(diff: Diff, applied: Program, desired: Program) -> Iterator[Hazard]:
    """See the module."""
    touched = {fold(c.name) for c in diff.relations if c.kind is RelationKind.TABLE and c.action is Action.MODIFIED}
    touched |= {fold(c.name.partition(".")[0]) for c in diff.connectors if c.action is Action.MODIFIED}
    if not touched & {fold(one.relation) for one in desired.connectors.values() if one.direction is Direction.INPUT}:
        return
    renames = resolve_moves(applied, desired).renames
    added: dict[str, dict[str, list[str]]] = {}
    removed: dict[str, dict[str, list[str]]] = {}
    for key, connector in sorted(desired.connectors.items()):
        old, table = applied.connectors.get(renames.applied_connector(key)), fold(connector.relation)
        if old is None or connector.direction is not Direction.INPUT or table not in touched:
            continue
        if is_by_place(connector.settings) and is_by_place(old.settings):
            yield from _other_places(connector, old, applied, desired, renames)
            continue
        changes = field_changes(applied, desired, renames, old, connector)
        taken = {fold(one.after) for one in changes if one.after is not None}
        for one in changes:
            if one.before is not None and one.after is not None:
                if not one.is_said:
                    yield _renamed(connector, one, desired)
            elif one.after is not None:
                added.setdefault(table, {}).setdefault(one.after, []).append(connector.qualified_name)
            elif one.before is not None and fold(one.before) not in taken:
                removed.setdefault(table, {}).setdefault(one.before, []).append(connector.qualified_name)
    for table, fields in sorted(added.items()):
        for names, of_these in _by_connectors(fields):
            message = f"{names} may bring no {_fields(of_these)}: rows without it get NULL or the default in the new column"
            yield Hazard("H932", desired.tables[table].name, message)
    for table, fields in sorted(removed.items()):
        for names, of_these in _by_connectors(fields):
            message = f"no column takes {_fields(of_these)} of {names} any more; its values are left out"
            yield Hazard("H932", desired.tables[table].name, message)


def _other_places(
    connector: Connector, old: Connector, applied: Program, desired: Program, renames: Renames
) -> Iterator[Hazard]:
    before, after = applied.tables.get(fold(old.relation)), desired.tables.get(fold(connector.relation))
    if before is None or after is None:
        return
    was = [fold(column.name) for column in before.columns]
    now = [renames.applied_column(fold(after.name), fold(column.name)) for column in after.columns]
    if was != now:
        message = (
            f"{connector.qualified_name} reads lines without a header, and columns take their fields by position: the "
            f"columns were ({', '.join(column.name for column in before.columns)}), and are "
            f"({', '.join(column.name for column in after.columns)}); lines of the old form are rejected or read into "
            "the wrong columns"
        )
        yield Hazard("H932", after.name, message)


def _renamed(connector: Connector, change: FieldChange, desired: Program) -> Hazard:
    table, column = desired.tables[fold(connector.relation)].name, change.column
    message = (
        f"{connector.qualified_name} goes on, and column {column} of {table} takes its field {change.after}, no longer "
        f"{change.before}: records that still have {change.before} give it no value; to go on taking that field, set in "
        f"the connector: columns: {{{column}: {{source: {change.before}}}}}"
    )
    return Hazard("H931", connector.qualified_name, message)


def _by_connectors(fields: Mapping[str, list[str]]) -> list[tuple[str, list[str]]]:
    """The fields by the inputs that they are of, in words: mostly these are the same for all."""
    found: dict[str, list[str]] = {}
    for field, names in sorted(fields.items()):
        found.setdefault(_listed(names), []).append(field)
    return sorted(found.items())


def _fields(names: list[str]) -> str:
    return f"field{'s' if len(names) > 1 else ''} {_listed(names)}"


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
