"""H940: a view reads a version, which nobody keeps up to date.

Told where a view comes to read it: a reviewer should know that these rows stay what they are.
"""

from collections.abc import Iterator

from reconciler.base.names import fold
from reconciler.diff.model import Action, Diff
from reconciler.plan.model import Hazard
from reconciler.project.program.model import Program, View


def versions_are_read(diff: Diff, applied: Program, desired: Program) -> Iterator[Hazard]:
    """See the module."""
    if not desired.foreign:
        return
    for change in diff.relations:
        view = desired.views.get(fold(change.name))
        if view is None or change.action is Action.REMOVED:
            continue
        before = applied.views.get(fold(change.renamed_from or change.name))
        known = _versions_of(before, applied) if before is not None else []
        for name in _versions_of(view, desired):
            if fold(name) not in map(fold, known):
                message = f"view {view.name} reads {name}, which is no longer active: its rows are no longer updated"
                yield Hazard("H940", view.name, message)


def _versions_of(view: View, program: Program) -> list[str]:
    """The versions that a view reads and that nobody keeps up to date, as it names them."""
    names = [read.relation for read in view.reads]
    foreign = {name: program.foreign.get(fold(name)) for name in names}
    return [name for name, relation in foreign.items() if relation is not None and relation.version is not None]
