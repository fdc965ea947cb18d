"""A registry and tables that are not of one moment: one of them was restored from a backup, or is gone.

**A registry that is older than the tables** would give a step the number of one that the tables have already. Then the rows
of that one would pass for those of the new one, and inputs for read that never were; a prune would take the rows of now for
those of nobody. So whoever is about to make or finish a step, an apply, a restore or a prune looks first, under the lease,
whether a relation has a transaction of a step that the head knows nothing of: numbers of steps only rise, also those of
steps that were withdrawn, and each is written into the head before anything else. Nothing was touched then.

Only relations that stand at a later Delta version than the published one are asked, which is rare: a look at the log of each
is the usual cost. What an apply alone wrote is not seen.

**Tables that are older than the registry**, that are gone, or others in their place: inputs count as read whose rows nobody
has, and views that nobody computed are said to have no changes. Every plan looks for that on a disk, where it costs next to
nothing. On an object store each look is a request or two: there, whoever is about to write or to say that nothing is to be
done asks, and a plan does not. What an apply is to drop need not be there; so what can't be restored can be taken out of the
files, and be put back after an apply.
"""

from collections.abc import Mapping
from dataclasses import replace

from reconciler.base.errors import RegistryError
from reconciler.base.names import fold
from reconciler.connectors.transport import Direction
from reconciler.delta.opening import join_location
from reconciler.delta.removal import table_identity
from reconciler.delta.standing import Recorded, faults_of
from reconciler.delta.transactions import has_commit_after, last_numbers
from reconciler.environment.target import Target
from reconciler.project.program.model import Program
from reconciler.registry.model import Head
from reconciler.registry.placements import Placement
from reconciler.state.applied import read_snapshot
from reconciler.state.step_history import next_step


def require_newest_registry(target: Target, head: Head) -> None:
    """Raises RegistryError (G609)."""
    if head.published is None or head.applied is None or head.applied.record is None:
        return
    placements = sorted(head.published.relations.items())
    places = {key: (join_location(target.warehouse, place.location), place.version) for key, place in placements}
    moved_on = {key: location for key, (location, version) in places.items() if has_commit_after(location, version)}
    if moved_on:
        program = read_snapshot(target, head.pipeline, head.applied.record).program
        _require_no_later_step(head, program, moved_on)


def _require_no_later_step(head: Head, program: Program, moved_on: dict[str, str]) -> None:
    from reconciler.materialize.withdrawing import ingest_transaction, statement_transaction, view_transaction

    last = head.intent.step if head.intent is not None else next_step(head) - 1
    for key, location in moved_on.items():
        wanted = {view_transaction(last).application, statement_transaction(last).application}
        wanted |= {
            ingest_transaction(one.qualified_name, last).application
            for one in program.connectors.values()
            if one.direction is Direction.INPUT and fold(one.relation) == key
        }
        found = max(last_numbers(location, wanted), default=last)
        if found > last:
            raise RegistryError(
                "G609",
                f"the registry is older than the tables: {key} of {head.pipeline} has rows of step {found}, but the "
                f"registry knows no step after {last}",
                "if the registry was restored from a backup, restore the whole warehouse to the same moment; nothing "
                "was changed",
            )


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


def with_ids(target: Target, placements: Mapping[str, Placement]) -> dict[str, Placement]:
    """Placements that are about to be published, each with the id of its table."""
    return {
        key: one if one.id is not None else replace(one, id=table_identity(join_location(target.warehouse, one.location)))
        for key, one in placements.items()
    }
