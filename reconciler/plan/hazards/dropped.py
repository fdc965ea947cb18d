"""H913: a column of a table that keeps its rows is removed, and its values are deleted with it.

A column of the same type that is added by the same plan may be meant to be the same one under another name: the message says
how to declare that. What a table loses when it is cleared is H902, and a column renamed by `moved` loses nothing.
"""

from collections.abc import Iterator

from reconciler.diff.causes import (
    ColumnAdded,
    ColumnRemoved,
)
from reconciler.diff.model import (
    Action,
    Diff,
    RelationKind,
)
from reconciler.plan.hazards.alike import one_of
from reconciler.plan.hazards.clearing import is_cleared
from reconciler.plan.model import Hazard
from reconciler.project.program.model import Program


def columns_dropped(diff: Diff, applied: Program, desired: Program) -> Iterator[Hazard]:
    """See the module."""
    for change in diff.relations:
        if change.kind is not RelationKind.TABLE or change.action is not Action.MODIFIED or is_cleared(change):
            continue
        added: dict[str, list[str]] = {}
        for cause in change.causes:
            if isinstance(cause, ColumnAdded):
                added.setdefault(cause.type, []).append(cause.column)
        for cause in change.causes:
            if not isinstance(cause, ColumnRemoved):
                continue
            message = f"column {cause.column} of table {change.name} is removed: its values are deleted"
            alike = added.get(cause.type)
            if alike:
                message += f"; if it was renamed to {one_of(alike)}, declare that under moved, and they are kept"
            yield Hazard("H913", change.name, message)
