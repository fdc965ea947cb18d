"""Tables that are older than the registry, that are gone, or others in their place, since a backup was restored.

Inputs count as read whose rows nobody has, and views that nobody computed are said to have no changes. Every plan looks for
that on a disk, where it costs next to nothing. On an object store each look is a request or two: there, whoever is about to
write or to say that nothing is to be done asks, and a plan does not. What an apply is to drop need not be there; so what
can't be restored can be taken out of the files, and be put back after an apply.
"""

from reconciler.base.errors import RegistryError
from reconciler.delta.opening import join_location
from reconciler.delta.standing import Recorded, faults_of
from reconciler.environment.target import Target
from reconciler.registry.model import Head
from reconciler.registry.placements import Placement
from reconciler.state.applied import read_snapshot


def require_standing_tables(target: Target, head: Head, going: frozenset[str] = frozenset()) -> None:
    """What is published stands as it was recorded, but for relations (folded) that are about to go. Raises RegistryError
    (G610). While an apply or a step is open, it knows better which are there."""
    if head.published is None or head.applied is None or head.applied.record is None:
        return
    if head.journal is not None or head.intent is not None:
        return
    placements = head.published.relations
    faults = list(faults_of(_recorded(target, one) for key, one in placements.items() if key not in going))
    if not faults:
        return
    # What a restore has left in the way is in no program, and nobody needs it.
    program = read_snapshot(target, head.pipeline, head.applied.record).program
    needed = {key: one for key, one in placements.items() if program.relation(key) is not None and key not in going}
    faults = list(faults_of(_recorded(target, one) for _, one in sorted(needed.items())))
    now = target.registry.head(head.pipeline) if faults else None
    # Else somebody applied meanwhile, and what is gone was dropped.
    if now is not None and now.value.published == head.published and now.value.journal is None:
        more = f", and {len(faults) - 1} more of its tables and views are not as they were" if len(faults) > 1 else ""
        raise RegistryError(
            "G610",
            f"tables of {head.pipeline} are older than the registry: {faults[0]}{more}",
            "restore the whole warehouse to one moment; what can't be restored: take it out of the files and apply, then "
            "put it back and apply",
        )


def _recorded(target: Target, placement: Placement) -> Recorded:
    return Recorded(join_location(target.warehouse, placement.location), placement.version, placement.id)
