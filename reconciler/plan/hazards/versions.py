"""H940: a view reads a version, which nobody keeps up to date.

Told where a view comes to read it: a reviewer should know that these rows stay what they are.
"""

from collections.abc import Iterator

from reconciler.diff.model import Action, Diff
from reconciler.names import fold, is_version
from reconciler.plan.model import Hazard
from reconciler.program.model import Program


def versions_are_read(diff: Diff, applied: Program, desired: Program) -> Iterator[Hazard]:
    """See the module."""
    for change in diff.relations:
        view = desired.views.get(fold(change.name))
        if view is None or change.action is Action.REMOVED:
            continue
        before = applied.views.get(fold(change.renamed_from or change.name))
        known = {fold(read.relation) for read in before.reads} if before is not None else set()
        for read in view.reads:
            if is_version(read.relation) and fold(read.relation) not in known:
                message = f"view {view.name} reads {read.relation}, whose rows stay what they were when it was active last"
                yield Hazard("H940", view.name, message)
