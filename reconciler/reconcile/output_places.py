"""No output writes into a warehouse: who approved what stands there, and the tables of other pipelines.

Judged when a pipeline's files are compiled: where the address leads now, relative to the repository's root as an emission
has it, links followed. What only a run can tell (a secret in the address, a link that changes, what lies on a store) the
engine judges when it writes (X755).
"""

from collections.abc import Iterable, Iterator

from reconciler.delta.warehouse_places import warehouse_around
from reconciler.diagnostics import Diagnostic
from reconciler.manifest.model import ConnectorDeclaration
from reconciler.reconcile.locations import written_place
from reconciler.reconcile.target import Target


def misplaced_outputs(target: Target, connectors: Iterable[ConnectorDeclaration]) -> Iterator[Diagnostic]:
    """C418 for each output whose address leads into a warehouse."""
    for one in connectors:
        place = written_place(one.settings, target.root)
        around = warehouse_around(place, target.warehouses) if place is not None else None
        if around is not None:
            transport = one.settings["transport"]["name"]
            message = f"{transport} of {one.relation} leads into the warehouse {around}, which reconciler alone writes"
            hint = "name a folder outside of every warehouse, and look where links on its path lead"
            yield Diagnostic("C418", message, one.location, hint)
