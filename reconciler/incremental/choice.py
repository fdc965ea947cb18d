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

from reconciler.incremental.model import AddedRows, KeptAggregate, Way

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
    (None: not known), by key. `kept`: the bytes that are kept by the same definition. `is_current`: what is kept is that of
    the step before, or nothing has to be, and rows only came."""

    relations: Mapping[str, Size]
    changed: Mapping[str, int | None]
    kept: int | None
    is_current: bool


Choose: TypeAlias = Callable[[KeptAggregate | AddedRows, Sizes], Way]
"""Says which way to take. What `can_follow` does not allow is none."""


def can_follow(method: KeptAggregate | AddedRows, sizes: Sizes) -> bool:
    """Whether a view can follow what changed, from what there is."""
    return sizes.is_current and method.fixed.isdisjoint(sizes.changed)


def cheapest(method: KeptAggregate | AddedRows, sizes: Sizes) -> Way:
    """The way that costs least."""
    if all(size.is_small for size in sizes.relations.values()):
        return Way.RECOMPUTED
    froms, fixed = _froms(method), method.fixed
    whole = _bytes(sizes, [*(relation for uses in froms for relation in uses), *fixed])
    kept = sizes.kept or 0
    if isinstance(method, KeptAggregate) and whole is not None and _KEPT_TWICE * kept > whole:
        return Way.RECOMPUTED
    other, following = (Way.RECOMPUTED, Way.ADDED) if isinstance(method, AddedRows) else (Way.ANEW, Way.CHANGES)
    if not can_follow(method, sizes):
        return other
    by_changes = [_by_changes(uses, sizes) for uses in froms]
    known = [one for one in by_changes if one is not None]
    is_cheaper = whole is None or sum(known) + _KEPT_TWICE * kept < whole
    return following if len(known) == len(by_changes) and is_cheaper else other


def _froms(method: KeptAggregate | AddedRows) -> list[list[str]]:
    """The relations of each FROM."""
    blocks = method.blocks if isinstance(method, AddedRows) else (method.block,)
    return [[use.relation for use in block.relations] for block in blocks]


def _by_changes(uses: list[str], sizes: Sizes) -> float | None:
    """What the terms of a FROM read; None where that is not known."""
    found = 0.0
    for place, relation in enumerate(uses):
        if relation in sizes.changed:
            own, others = sizes.changed[relation], _bytes(sizes, [*uses[:place], *uses[place + 1 :]])
            if own is None or others is None:
                return None
            found += own + _JOINED * others
    return found


def _bytes(sizes: Sizes, relations: Collection[str]) -> int | None:
    found = [sizes.relations[one].bytes for one in relations]
    known = [one for one in found if one is not None]
    return sum(known) if len(known) == len(found) else None
