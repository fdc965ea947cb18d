"""What settings decide otherwise from now on: H920, H925–H930, H933–H935, H937.

H920: a Spark setting changed that decides which files, records and values are read. Views are computed anew for it, but
what inputs read before stays as it was; and what is ignored from now on is missed by nobody. H930: a plan from the files
ends a rollback, since they say something else by now. The others: a safeguard is loosened (`diff.safeguards`); what it kept
from happening may happen next.
"""

from collections.abc import Iterator
from typing import Final

from reconciler.diff.model import Diff, Safeguard
from reconciler.plan.model import Hazard
from reconciler.project.manifest.known_spark_settings import DECIDING_WHAT_IS_READ
from reconciler.project.program.model import Program
from reconciler.project.program.moves import moved_key
from reconciler.project.program.settings import differing_settings


def reading_changed(diff: Diff, applied: Program, desired: Program) -> Iterator[Hazard]:
    """H920. A first apply and a removal change nothing that was read."""
    del diff
    if not applied.relations or not desired.relations:
        return
    for name in differing_settings(applied.settings, desired.settings):
        if DECIDING_WHAT_IS_READ.has(name):
            message = (
                f"{name} decides what inputs read: from now on rows may be skipped or parsed differently; "
                "rows already read stay"
            )
            yield Hazard("H920", name, message)


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
    """A safeguard is loosened."""
    for one in diff.loosened:
        code, why = CODES[one.safeguard]
        yield Hazard(code, one.subject, f"{one.safeguard.value} of {one.subject}: {one.applied} → {one.desired}; {why}")


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
