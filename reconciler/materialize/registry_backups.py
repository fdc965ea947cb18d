"""A registry that is older than the tables, since it was restored from a backup.

It would give a step the number of one that the tables have already. Then the rows of that one would pass for those of the
new one, and inputs for read that never were; a prune would take the rows of now for those of nobody. So whoever is about to
make or finish a step, an apply, a restore or a prune looks first, under the lease, whether a relation has a transaction of a
step that the head knows nothing of: numbers of steps only rise, also those of steps that were withdrawn, and each is written
into the head before anything else. Nothing was touched then.

Only relations that stand at a later Delta version than the published one are asked, which is rare: a look at the log of each
is the usual cost. What an apply alone wrote is not seen.

Tables that are older than the registry: `standing_tables`.
"""

from collections.abc import Mapping
from dataclasses import replace

from reconciler.base.errors import RegistryError
from reconciler.base.names import fold
from reconciler.connectors.transport import Direction
from reconciler.delta.opening import join_location
from reconciler.delta.removal import table_identity
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


def with_ids(target: Target, placements: Mapping[str, Placement]) -> dict[str, Placement]:
    """Placements that are about to be published, each with the id of its table."""
    return {
        key: one if one.id is not None else replace(one, id=table_identity(join_location(target.warehouse, one.location)))
        for key, one in placements.items()
    }
