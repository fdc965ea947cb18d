"""H912: a view that reads much to be computed.

How much there is varies by itself, so this is no part of the plan, its digest or plan.lock: it is judged beside the plan
each time, and by apply from what is there then. What is not known is not counted.
"""

from reconciler.base.names import fold
from reconciler.plan.impact import Impact, ViewImpact
from reconciler.plan.model import Hazard
from reconciler.project.manifest.verdicts import Limits


def find_impact_hazards(impact: Impact, limits: Limits) -> tuple[Hazard, ...]:
    """The views that surely read more than the limits, sorted."""
    found = [_hazard(view, limits) for view in impact.views]
    return tuple(sorted((one for one in found if one is not None), key=lambda hazard: fold(hazard.subject)))


def _hazard(view: ViewImpact, limits: Limits) -> Hazard | None:
    rows = sum(read.rows or 0 for read in view.reads)
    size = sum(read.bytes or 0 for read in view.reads)
    if rows <= limits.large_rows and size <= limits.large_bytes:
        return None
    measures = [f"{rows:,} rows"] if rows else []
    measures += [f"{size:,} bytes"] if size else []
    return Hazard("H912", view.view, f"view {view.view} is computed from {' and '.join(measures)}")
