"""Small files of a table, put together in the next commit after a write that leaves many (`delta.compaction`)."""

from reconciler.base.boundaries import BEFORE, EFFECTED
from reconciler.delta.tables import TableStatistics, statistics
from reconciler.engine.protocol import Compaction, Transaction
from reconciler.engine.stored import compaction_of
from reconciler.materialize.step_progress import StepProgress
from reconciler.registry.placements import Placement


def put_together(step: StepProgress, placement: Placement, version: int, written: Transaction) -> TableStatistics | None:
    """What is known of a table that was written at a version, after its small files are put together where they are many.
    None: it is not known."""
    location = step.location_of(placement)
    found = statistics(location, version)
    if found is None:
        return None
    step.boundary(f"compaction:{BEFORE}")
    step.check()
    started = step.clock()
    compacted = step.engine.compact(Compaction(location, version, found.small_files, compaction_of(written), step.said))
    step.seconds["ingest"] += step.clock() - started
    step.boundary(f"compaction:{EFFECTED}")
    return found if compacted is None else statistics(location, compacted)
