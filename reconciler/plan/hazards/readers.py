"""H915: what is read elsewhere is removed, or loses something that its readers know.

Who reads a table or view from outside of the pipeline, nobody can see: its author says so (`used_by`). What is applied
counts as well as what is desired, so that nobody is forgotten by the change that hurts them. They lose a relation that is
removed or not stored any more; of one that stays, columns that are gone, have another name or another type. What is added
disturbs nobody, and rows that are computed anew are what readers came for.
"""

from collections.abc import Iterator

from reconciler.diff.model import Action, ColumnRemoved, ColumnRenamed, ColumnRetyped, Diff, KindChanged, RelationChange
from reconciler.manifest.model import ViewKind
from reconciler.names import fold
from reconciler.plan.model import Hazard
from reconciler.program.model import Program


def readers_lose(diff: Diff, applied: Program, desired: Program) -> Iterator[Hazard]:
    """See the module."""
    for change in diff.relations:
        keys = {fold(change.name), fold(change.renamed_from or change.name)}
        sides = (applied.settings.used_by, desired.settings.used_by)
        readers = sorted({reader for used_by in sides for key in keys for reader in used_by.get(key, ())})
        lost = _lost(change, applied, desired) if readers else ""
        if lost:
            subject = f"{change.kind.value} {change.name}, which {', '.join(readers)} {_read(readers)},"
            yield Hazard("H915", change.name, f"{subject} {lost}")


def _read(readers: list[str]) -> str:
    return "read" if len(readers) > 1 else "reads"


def _lost(change: RelationChange, applied: Program, desired: Program) -> str:
    """What readers lose, in words; empty when they lose nothing."""
    match change.action:
        case Action.REMOVED:
            return "is removed"
        case Action.MODIFIED:
            if any(isinstance(cause, KindChanged) and cause.applied is ViewKind.MATERIALIZED for cause in change.causes):
                return "is no longer stored"
            return "; ".join([*_of_a_table(change), *_of_a_view(change, applied, desired)])
        case Action.ADDED:
            return ""


def _of_a_table(change: RelationChange) -> Iterator[str]:
    for cause in change.causes:
        match cause:
            case ColumnRemoved():
                yield f"loses column {cause.column}"
            case ColumnRenamed():
                yield f"has column {cause.applied} as {cause.desired}"
            case ColumnRetyped():
                yield f"has {cause.column} as {cause.desired}, which was {cause.applied}"
            case _:
                continue


def _of_a_view(change: RelationChange, applied: Program, desired: Program) -> Iterator[str]:
    before = applied.views.get(fold(change.renamed_from or change.name))
    after = desired.views.get(fold(change.name))
    if before is None or after is None or not before.column_names or not after.column_names:
        return
    there = {fold(name) for name in after.column_names}
    for name in before.column_names:
        if fold(name) not in there:
            yield f"loses column {name}"
