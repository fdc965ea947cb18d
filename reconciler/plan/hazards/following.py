"""H941: a view followed what changed in what it reads, and is computed from its query in each step from now on. H942: a new
or changed view has no method by which it could follow; told only where policy asks.

H941 is told where the view itself, a column that it reads, a view that is computed in place below it or a setting changes so
that its query has no method any more (`incremental`). Types of columns that only Spark knows are taken for unknown, so that
the hazards are the same on every machine. Whether a method pays depends on sizes, and is no part of a plan.
"""

from collections.abc import Iterator

from reconciler.base.names import fold
from reconciler.diff.model import Action, Diff
from reconciler.incremental.derive import Questions, maintenance
from reconciler.incremental.model import Recompute
from reconciler.plan.model import Hazard
from reconciler.project.program.model import Program, View


def methods_lost(diff: Diff, applied: Program, desired: Program) -> Iterator[Hazard]:
    """See the module."""
    questions = Questions(applied, desired)
    for change in diff.relations:
        if change.action is not Action.MODIFIED:
            continue
        before, after = applied.views.get(fold(change.renamed_from or change.name)), desired.views.get(fold(change.name))
        if before is None or after is None or not _may_follow(before) or not _may_follow(after):
            continue
        if questions.are_equal(before, after):
            continue
        found = maintenance(desired, after, {})
        if isinstance(found, Recompute) and not isinstance(maintenance(applied, before, {}), Recompute):
            lost = f"view {after.name} no longer follows what changes ({found.reason})"
            yield Hazard("H941", after.name, f"{lost}: each step computes it from its query")


def methods_missing(diff: Diff, desired: Program) -> Iterator[Hazard]:
    """H942, of each stored view that is added or modified."""
    for change in diff.relations:
        after = desired.views.get(fold(change.name)) if change.action is not Action.REMOVED else None
        if after is None or not _may_follow(after):
            continue
        found = maintenance(desired, after, {})
        if isinstance(found, Recompute):
            helps = f"; to change that: {found.hint}" if found.hint is not None else ""
            message = f"view {after.name} is computed from its query in each step ({found.reason}{helps})"
            yield Hazard("H942", after.name, message)


def _may_follow(view: View) -> bool:
    return view.is_stored and view.stream is None
