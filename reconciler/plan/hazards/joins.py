"""H909: a view whose query is new or changed, and joins everything with everything.

One that is only computed again because of what it reads was judged when its query was written. Whether a query does so is
found when a pipeline is compiled, while it is parsed: that takes most of the time of a plan.
"""

from collections.abc import Iterator

from reconciler.base.names import fold
from reconciler.diff.causes import (
    QueryChanged,
)
from reconciler.diff.model import (
    Action,
    Diff,
    RelationChange,
)
from reconciler.plan.hazards.determinism import computed_views
from reconciler.plan.model import Hazard
from reconciler.project.program.model import Program


def cross_joins_added(diff: Diff, applied: Program, desired: Program) -> Iterator[Hazard]:
    """See the module."""
    unchanged = {fold(change.name) for change in diff.relations if not _is_written_anew(change)}
    for view in computed_views(diff, desired):
        if fold(view.name) in unchanged:
            continue
        if view.joins_crosswise:
            message = f"view {view.name} joins relations without a join condition: each row is combined with every other"
            yield Hazard("H909", view.name, message)


def _is_written_anew(change: RelationChange) -> bool:
    return change.action is Action.ADDED or any(isinstance(cause, QueryChanged) for cause in change.causes)
