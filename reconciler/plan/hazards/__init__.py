"""Hazards: what a reviewer must not miss, found by small analysers with permanent codes (docs/errors/hazards.md).

Each analyser looks at one kind of loss or surprise and gives zero or more hazards, from what both sides mean and nothing
else: a hazard is part of plan.lock, so it is the same on every machine. What varies by itself (sizes) is judged beside the
plan, by `large`. Analysers look at what changed only, and read a query's text only where its words give cause to.

Not here: what is done about a hazard (`plan.policy`).
"""

from collections.abc import Callable, Iterator
from typing import Final

from reconciler.base.dataclass import dataclass
from reconciler.base.names import fold
from reconciler.diff.model import Diff
from reconciler.plan.hazards.columns import features_added, public_columns_changed
from reconciler.plan.hazards.connectors import inputs_may_wait, inputs_read_again, sinks_left_stale, sinks_of_others
from reconciler.plan.hazards.deletes import deletes_miss
from reconciler.plan.hazards.fields import inputs_lose_fields
from reconciler.plan.hazards.following import methods_lost, methods_missing
from reconciler.plan.hazards.queries import cross_joins_added, undetermined_views
from reconciler.plan.hazards.readers import NOTHING_BESIDE, Beside, readers_lose
from reconciler.plan.hazards.removal import (
    columns_dropped,
    everything_removed,
    large_share_removed,
    protected_rows_replaced,
    protection_broken,
    tables_cleared,
    tables_removed,
    views_removed,
)
from reconciler.plan.hazards.settings import reading_changed, rollbacks_ended, safeguards_lifted
from reconciler.plan.hazards.versions import versions_are_read
from reconciler.plan.model import Hazard
from reconciler.project.manifest.verdicts import Limits
from reconciler.project.program.model import Program

__all__ = ["NOTHING_ASKED", "Asked", "find_hazards"]


@dataclass(frozen=True, slots=True)
class Asked:
    """What policy asks of a pipeline: from where on hazards of size are hazards, and the codes that its rules name. Some
    hazards are none where nobody asks."""

    limits: Limits = Limits()
    codes: frozenset[str] = frozenset()


NOTHING_ASKED: Final = Asked()


def find_hazards(
    diff: Diff,
    applied: Program,
    desired: Program,
    *,
    removes_pipeline: bool,
    beside: Beside = NOTHING_BESIDE,
    asked: Asked = NOTHING_ASKED,
) -> tuple[Hazard, ...]:
    """All hazards of a diff, sorted by code and subject."""
    found = [hazard for analyse in _ANALYSERS for hazard in analyse(diff, applied, desired)]
    found += methods_lost(diff, applied, desired, beside.types)
    found += readers_lose(diff, applied, desired, beside.readers)
    found += sinks_of_others(desired, beside.writers)
    if beside.rows_of:
        told = frozenset(hazard.subject for hazard in found if hazard.code == "H911")
        found += protected_rows_replaced(applied, desired, beside.rows_of, told)
    if not beside.rollback:
        # Whoever ends a rollback by its name need not be told.
        found += rollbacks_ended(diff, applied, desired)
    if "H942" in asked.codes:
        found += methods_missing(diff, desired, beside.types)
    everything = tuple(everything_removed(diff, applied, desired, removes_pipeline=removes_pipeline))
    found += everything or large_share_removed(diff, applied, asked.limits)
    return tuple(sorted(found, key=lambda hazard: (hazard.code, fold(hazard.subject), hazard.message)))


_ANALYSERS: tuple[Callable[[Diff, Program, Program], Iterator[Hazard]], ...] = (
    tables_removed,
    tables_cleared,
    columns_dropped,
    views_removed,
    inputs_read_again,
    inputs_lose_fields,
    deletes_miss,
    inputs_may_wait,
    sinks_left_stale,
    public_columns_changed,
    undetermined_views,
    cross_joins_added,
    features_added,
    protection_broken,
    reading_changed,
    safeguards_lifted,
    versions_are_read,
)
