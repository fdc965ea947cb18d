"""H920: a Spark setting changed that decides which files, records and values are read.

Views are computed anew for it, but what inputs read before stays as it was; and what is ignored from now on is missed by
nobody.
"""

from collections.abc import Iterator

from reconciler.diff.model import Diff
from reconciler.plan.model import Hazard
from reconciler.project.manifest.known_spark_settings import DECIDING_WHAT_IS_READ
from reconciler.project.program.model import Program
from reconciler.project.program.settings import differing_settings


def reading_changed(diff: Diff, applied: Program, desired: Program) -> Iterator[Hazard]:
    """See the module. A first apply and a removal change nothing that was read."""
    del diff
    if not (applied.tables or applied.views) or not (desired.tables or desired.views):
        return
    for name in differing_settings(applied.settings, desired.settings):
        if DECIDING_WHAT_IS_READ.has(name):
            message = (
                f"{name} decides what inputs read: from now on rows may be skipped or parsed differently; "
                "rows already read stay"
            )
            yield Hazard("H920", name, message)
