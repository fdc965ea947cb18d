"""Which way a step takes with a view, by sizes that are known before anything is read: bytes of files, as the log has them.

- Small relations are held in memory: a query over them is computed in one job, and nothing is cheaper than that.
- Where what changed is known, a step that follows it reads the changed files, the other relations of a join once for each
  relation that changed, and what is kept, which it writes anew. To compute all anew reads every relation once.
- Where relations changed for whose changes there is no rule, or what is kept is not that of the step before, it is computed
  anew with the view; unless it is as large as what it is computed from, which pays for nobody.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from reconciler.incremental.model import KeptAggregate, Way

FEW_ROWS: Final = 20_000
"""Relations of so many rows at most are small (`engine.spark.held_rows` has the same bound)."""

_KEPT_TWICE: Final = 2
"""What is kept is read and written."""

_JOINED: Final = 0.5
"""To read a relation for a join with few rows costs that much of what it costs to group it: most rows go at once. Measured
by bench/incremental.py."""


@dataclass(frozen=True, slots=True)
class Size:
    """What is known of a relation: rows and bytes. None: not known."""

    rows: int | None
    bytes: int | None

    @property
    def is_small(self) -> bool:
        return self.rows is not None and self.rows <= FEW_ROWS


@dataclass(frozen=True, slots=True)
class Sizes:
    """What is known before a step: of all relations that the view reads, and the bytes of what changed in some of them
    (None: not known), by key. `kept`: the bytes that are kept by the same definition; `is_current`: as of the step
    before."""

    relations: Mapping[str, Size]
    changed: Mapping[str, int | None]
    kept: int | None
    is_current: bool


Choose: TypeAlias = Callable[[KeptAggregate, Sizes], Way]
"""Says which way to take, of those that `can_follow` leaves."""


def can_follow(kept: KeptAggregate, sizes: Sizes) -> bool:
    """Whether what is kept can follow what changed."""
    return sizes.is_current and kept.fixed.isdisjoint(sizes.changed)


def cheapest(kept: KeptAggregate, sizes: Sizes) -> Way:
    """The way that costs least."""
    if all(size.is_small for size in sizes.relations.values()):
        return Way.RECOMPUTED
    uses = [use.relation for use in kept.block.relations]
    whole = _bytes(sizes, [*uses, *kept.block.fixed])
    if sizes.kept is not None and whole is not None and _KEPT_TWICE * sizes.kept > whole:
        return Way.RECOMPUTED
    if not can_follow(kept, sizes):
        return Way.ANEW
    by_changes = _by_changes(kept, sizes, sizes.changed)
    return Way.CHANGES if by_changes is not None and (whole is None or by_changes < whole) else Way.ANEW


def _by_changes(kept: KeptAggregate, sizes: Sizes, changed: Collection[str]) -> float | None:
    """What a step reads that follows what changed; None where that is not known."""
    uses = [use.relation for use in kept.block.relations]
    found = float(_KEPT_TWICE * (sizes.kept or 0))
    for place, relation in enumerate(uses):
        if relation not in changed:
            continue
        others = _bytes(sizes, [*uses[:place], *uses[place + 1 :], *kept.block.fixed])
        own = sizes.changed[relation]
        if own is None or others is None:
            return None
        found += own + _JOINED * others
    return found


def _bytes(sizes: Sizes, relations: Collection[str]) -> int | None:
    found = [sizes.relations[one].bytes for one in relations]
    known = [one for one in found if one is not None]
    return sum(known) if len(known) == len(found) else None
