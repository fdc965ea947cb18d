"""H914: the Delta table of a relation that stays gets a feature that its readers must know.

A reader that does not know it can't open the table any more, whatever columns it asks for. Of the types that a table may
declare, TIMESTAMP_NTZ is one that asks for it. Only tables are looked at: types of views are not known without Spark.
"""

from collections.abc import Iterator
from typing import Final

from reconciler.base.names import fold
from reconciler.diff.model import Action, Diff, RelationKind
from reconciler.plan.model import Hazard
from reconciler.project.program.model import Program, Table

_ASKING: Final = "TIMESTAMP_NTZ"


def features_added(diff: Diff, applied: Program, desired: Program) -> Iterator[Hazard]:
    """See the module."""
    for change in diff.relations:
        if change.kind is not RelationKind.TABLE or change.action is not Action.MODIFIED:
            continue
        before = applied.tables.get(fold(change.renamed_from or change.name))
        after = desired.tables.get(fold(change.name))
        if before is not None and after is not None and _asks(after) and not _asks(before):
            what = f"table {change.name} gets its first {_ASKING}"
            message = f"{what}: a Delta reader without support for it can't open the table"
            yield Hazard("H914", change.name, message)


def _asks(table: Table) -> bool:
    return any(_ASKING in column.type for column in table.columns)
