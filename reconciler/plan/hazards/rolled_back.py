"""H930: a plan from the files ends a rollback, since they say something else by now."""

from collections.abc import Iterator

from reconciler.diff.model import Diff
from reconciler.plan.model import Hazard
from reconciler.project.program.model import Program
from reconciler.project.program.moves import moved_key


def rollbacks_ended(diff: Diff, applied: Program, desired: Program) -> Iterator[Hazard]:
    """What was rolled back, for a reason, and is not held any more."""
    del diff
    for key, held in sorted(applied.settings.held.items()):
        if moved_key(desired, key) in desired.settings.held:
            continue
        kind, _, name = key.partition(":")
        where = "to before it existed" if held.number is None else f"to v{held.number}"
        yield Hazard(
            "H930",
            name,
            f"{kind} {name} was rolled back {where}; the files now define it otherwise, and this plan ends the rollback",
        )
