"""H909: a view whose query is new or changed, and joins everything with everything.

One that is only computed again because of what it reads was judged when its query was written. Queries are parsed when a
pipeline is compiled, which takes most of the time of a plan. They are parsed again here only where their words give cause
to.
"""

from collections.abc import Iterator, Mapping

from reconciler.base.names import fold
from reconciler.diff.model import Action, Diff, QueryChanged, RelationChange
from reconciler.plan.hazards.determinism import computed_views
from reconciler.plan.model import Hazard
from reconciler.project.program.model import Program, View
from reconciler.sql.cross_join_signs import may_cross_join
from reconciler.sql.cross_joins import cross_joins
from reconciler.sql.query import parse_query


def cross_joins_added(diff: Diff, applied: Program, desired: Program) -> Iterator[Hazard]:
    """See the module."""
    unchanged = {fold(change.name) for change in diff.relations if not _is_written_anew(change)}
    for view in computed_views(diff, desired):
        if fold(view.name) in unchanged:
            continue
        if may_cross_join(view.query) and cross_joins(parse_query(view.query), _columns_read(view, desired)):
            message = f"view {view.name} joins relations without a condition that links them: each row meets each"
            yield Hazard("H909", view.name, message)


def _is_written_anew(change: RelationChange) -> bool:
    return change.action is Action.ADDED or any(isinstance(cause, QueryChanged) for cause in change.causes)


def _columns_read(view: View, program: Program) -> Mapping[str, Mapping[str, str | None]]:
    """The columns of what the view reads; none where they are not known without Spark."""
    found: dict[str, Mapping[str, str | None]] = {}
    for read in view.reads:
        key = fold(read.relation)
        table = program.tables.get(key)
        if table is not None:
            found[key] = {column.name: column.type for column in table.columns}
        elif key in program.views:
            found[key] = dict.fromkeys(program.views[key].column_names)
        elif key in program.foreign:
            found[key] = dict(program.foreign[key].columns)
    return found
