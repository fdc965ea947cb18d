"""H902: a modified table loses its rows. One whose rows are kept, as they are or under new columns, is no hazard."""

from collections.abc import Iterator

from reconciler.base.names import fold
from reconciler.connectors.transport import Direction
from reconciler.diff.model import Action, Diff, Fate, RelationChange, RelationKind
from reconciler.plan.model import Hazard
from reconciler.project.program.model import Program


def is_cleared(change: RelationChange) -> bool:
    """Whether a change deletes the rows of a table that stays. When it does not say what becomes of them, they are lost."""
    is_modified_table = change.kind is RelationKind.TABLE and change.action is Action.MODIFIED
    return is_modified_table and change.fate in (None, Fate.CLEARED)


def tables_cleared(diff: Diff, applied: Program, desired: Program) -> Iterator[Hazard]:
    """See the module."""
    inputs = {fold(one.relation) for one in desired.connectors.values() if one.direction is Direction.INPUT}
    for name in (change.name for change in diff.relations if is_cleared(change)):
        then = "and its connectors read the input again" if fold(name) in inputs else "and no connector fills it again"
        yield Hazard("H902", name, f"table {name} is modified: its rows are deleted, {then}")
