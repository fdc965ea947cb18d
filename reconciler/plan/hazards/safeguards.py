"""H925–H929, H933–H935, H937: a safeguard is loosened (`diff.safeguards`). What it kept from happening may happen next."""

from collections.abc import Iterator
from typing import Final

from reconciler.diff.model import Diff, Safeguard
from reconciler.plan.model import Hazard
from reconciler.project.program.model import Program

CODES: Final = {
    Safeguard.BOOTSTRAP_POLICY: ("H925", "it decides whether later changes need approval"),
    Safeguard.PROTECTION: ("H926", "a later change may delete its rows"),
    Safeguard.EVOLUTION: ("H927", "it decides whether rows are kept when columns change"),
    Safeguard.RETENTION: ("H928", "a prune removes more rows"),
    Safeguard.USED_BY: ("H929", "later plans no longer warn of what these readers lose"),
    Safeguard.MAX_REJECTED: ("H933", "more records may be left out before the input stops"),
    Safeguard.ON_BOOTSTRAP: ("H934", "it decides what the sink gets, keeps and loses when the view is recomputed"),
    Safeguard.PAUSED: ("H935", "none of its rows arrive until it is resumed"),
    Safeguard.START_AFTER: ("H937", "its rows arrive at another time, and of rows with one key the last to arrive wins"),
}


def safeguards_lifted(diff: Diff, applied: Program, desired: Program) -> Iterator[Hazard]:
    """See the module."""
    for one in diff.loosened:
        code, why = CODES[one.safeguard]
        yield Hazard(code, one.subject, f"{one.safeguard.value} of {one.subject}: {one.applied} → {one.desired}; {why}")
