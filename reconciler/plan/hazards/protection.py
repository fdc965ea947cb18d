"""H911: a protected relation loses its rows.

Protected is what was applied as protected, or is desired so: whoever deletes the entry, the file or the folder takes no
protection away by it. A view that is no longer materialized loses its stored rows, too. So does a table that gets another
pipeline's rows by a restore, also where both programs are the same.
"""

from collections.abc import Iterator

from reconciler.base.declarations import ViewKind
from reconciler.base.names import fold
from reconciler.diff.causes import (
    KindChanged,
)
from reconciler.diff.model import (
    Action,
    Diff,
)
from reconciler.plan.hazards.clearing import is_cleared
from reconciler.plan.model import Hazard
from reconciler.project.program.model import Program


def protection_broken(diff: Diff, applied: Program, desired: Program) -> Iterator[Hazard]:
    """See the module."""
    protected = _protected(applied, desired)
    for change in diff.relations:
        if protected.isdisjoint({fold(change.name), fold(change.renamed_from or change.name)}):
            continue
        subject = f"{change.kind.value} {change.name} is protected, and"
        if change.action is Action.REMOVED:
            yield Hazard("H911", change.name, f"{subject} is removed")
        elif is_cleared(change):
            yield Hazard("H911", change.name, f"{subject} its rows are deleted")
        elif any(isinstance(cause, KindChanged) and cause.applied is ViewKind.MATERIALIZED for cause in change.causes):
            yield Hazard("H911", change.name, f"{subject} its stored rows are dropped")


def protected_rows_replaced(applied: Program, desired: Program, rows_of: str, told: frozenset[str]) -> Iterator[Hazard]:
    """Tables that stay, and whose rows are replaced by those of another pipeline, `rows_of`. Of `told`, which lose their own
    rows by the diff, that is said already."""
    protected = _protected(applied, desired)
    for key, table in sorted(desired.tables.items()):
        if key in applied.tables and key in protected and table.name not in told:
            yield Hazard(
                "H911", table.name, f"table {table.name} is protected, and its rows are replaced by those of {rows_of}"
            )


def _protected(applied: Program, desired: Program) -> frozenset[str]:
    return frozenset(map(fold, (*applied.settings.protected, *desired.settings.protected)))
