"""Retention: which versions of objects lose their rows, and which Delta versions of which folder must stay readable. Pure.

What stays:

- what is published, and every step that was published, or replaced by the next one, within `steps`;
- of each table and view the active version, and of the others those that retention keeps: so many that were active last, or
  that were active within a time; either is enough, and where nothing is said, all are kept;
- whatever somebody holds (`held_by`): an alias, a pin, a checkpoint, another's SQL; and what checkpoints, outputs and open
  work need (`Held`), and everything from where a reader has got to in a folder's log (`cursors`).

Rules:
- Nothing that a former prune let go comes back: what it left (`left`) is the most that can be left now. What is asked for
  beyond that has expired already.
- A version whose rows all stay for another reason is not pruned: it can be read.
- Keeping more never removes more, and pruning again at the same moment finds nothing
  (tests/retention/test_rules.py).
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import field
from datetime import datetime, timedelta
from typing import Final

from reconciler.base.dataclass import dataclass
from reconciler.base.declarations import DEFAULT_STEPS_SECONDS, Retention
from reconciler.state.past_states import PastStep, Place
from reconciler.state.pruned import Left

ACTIVE: Final = "active"
WITHIN_RETENTION: Final = "retention"
AS_PAST_STEP: Final = "steps"


@dataclass(frozen=True, slots=True)
class KnownVersion:
    """A version of a table or view (`object` is its id, `name` the present one) that has rows. `ended`: when it was active
    last; None: it is. `places` are what reading it reads. `held_by` says who needs it, in words."""

    object: str
    kind: str
    name: str
    number: int
    ended: datetime | None
    places: frozenset[Place]
    held_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Held:
    """Places that something needs, in words."""

    why: str
    places: frozenset[Place]


@dataclass(frozen=True, slots=True)
class Known:
    """All that decides; see the module. `current` are the folders in use, each at the published version; `retention` is that
    of each object (by id), `left` what former prunes left of a folder, if there were any."""

    versions: tuple[KnownVersion, ...]
    steps: tuple[PastStep, ...]
    held: tuple[Held, ...]
    current: Mapping[str, int]
    cursors: Mapping[str, int] = field(default_factory=dict)
    left: Mapping[str, Left] = field(default_factory=dict)
    retention: Mapping[str, Retention] = field(default_factory=dict)
    steps_seconds: int = DEFAULT_STEPS_SECONDS


@dataclass(frozen=True, slots=True)
class Stays:
    """A version that is not active and keeps its rows, and why."""

    version: KnownVersion
    why: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Decision:
    """The versions that lose their rows, those that are not active and stay, and what is left of each folder in use.
    `first_step` is the first of the steps that can be read as a whole, `wanted` all places that are needed for more than
    being published, in whatever folder."""

    pruned: tuple[KnownVersion, ...]
    stays: tuple[Stays, ...]
    left: Mapping[str, Left]
    first_step: int | None
    wanted: frozenset[Place] = frozenset()


def decide(known: Known, now: datetime) -> Decision:
    """What goes and what stays."""
    since = now - timedelta(seconds=known.steps_seconds)
    recent = [step for step in known.steps if step.replaced is None or step.replaced > since]
    reasons = _reasons(known, now)
    wanted = {place for one in known.held for place in one.places} | {place for step in recent for place in step.read}
    wanted |= {place for version, why in zip(known.versions, reasons, strict=True) if why for place in version.places}
    left = _left(known, recent, wanted)
    pruned: list[KnownVersion] = []
    stays: list[Stays] = []
    for version, why in zip(known.versions, reasons, strict=True):
        stay = why or (_as_past_step(version, left) if version.places else ())
        if not stay:
            pruned.append(version)
        elif version.ended is not None:
            stays.append(Stays(version, stay))
    return Decision(
        tuple(sorted(pruned, key=_order)),
        tuple(sorted(stays, key=lambda one: _order(one.version))),
        left,
        min((step.step for step in recent), default=None),
        frozenset(wanted.union(*(step.places for step in recent))),
    )


def kept_by_all(lefts: Iterable[Left]) -> Left | None:
    """What several prunes of one folder left together; None of none."""
    found = tuple(lefts)
    if not found:
        return None
    since = max(one.since for one in found)
    begins = sorted(one.since for one in found)
    named = Counter(version for one in found for version in {*one.versions} if version < one.since)
    candidates = {*named, *begins}
    # Between two beginnings everything is left by one and some of it by the other: that one names it.
    return Left(
        since, tuple(sorted(v for v in candidates if v < since and named[v] == len(begins) - bisect_right(begins, v)))
    )


def _reasons(known: Known, now: datetime) -> list[tuple[str, ...]]:
    """Why each version keeps its rows, whatever else does; empty: it need not."""
    ranks: dict[tuple[str, int], int] = {}
    by_object: dict[str, list[KnownVersion]] = {}
    for version in known.versions:
        if version.ended is not None:
            by_object.setdefault(version.object, []).append(version)
    for versions in by_object.values():
        # The last one first; of those that ended together, the later number.
        versions.sort(key=lambda one: (one.ended is not None and one.ended.timestamp(), one.number), reverse=True)
        ranks.update({(one.object, one.number): rank for rank, one in enumerate(versions)})
    return [_why(version, known, ranks, now) for version in known.versions]


def _why(version: KnownVersion, known: Known, ranks: Mapping[tuple[str, int], int], now: datetime) -> tuple[str, ...]:
    if version.ended is None:
        return (ACTIVE, *version.held_by)
    rule = known.retention.get(version.object, Retention())
    is_kept = rule.versions is None and rule.keep is None
    is_kept = is_kept or (rule.versions is not None and ranks[version.object, version.number] < rule.versions)
    is_kept = is_kept or (rule.keep is not None and version.ended > now - timedelta(seconds=rule.keep))
    return (*version.held_by, *((WITHIN_RETENTION,) if is_kept else ()))


def _as_past_step(version: KnownVersion, left: Mapping[str, Left]) -> tuple[str, ...]:
    # Rows that were computed once, below the folder of their view, are no past step of anything.
    if any(place.location.rpartition("/")[0] in left for place in version.places):
        return ()
    # What is not in a folder that is in use is not removed here.
    readable = all(place.location not in left or left[place.location].has(place.version) for place in version.places)
    return (AS_PAST_STEP,) if readable else ()


def _left(known: Known, recent: Iterable[PastStep], wanted: set[Place]) -> dict[str, Left]:
    since = dict(known.current)
    for place in (place for step in recent for place in step.places):
        if place.location in since:
            since[place.location] = min(since[place.location], place.version)
    for location, version in known.cursors.items():
        if location in since:
            since[location] = min(since[location], version)
    found: dict[str, Left] = {}
    for location, first in sorted(since.items()):
        singles = {place.version for place in wanted if place.location == location}
        singles |= {place.version for step in recent for place in step.places if place.location == location}
        found[location] = _reduced(first, singles, known.left.get(location))
    return found


def _reduced(since: int, singles: set[int], former: Left | None) -> Left:
    """What is wanted, as far as a former prune left it."""
    if former is None:
        return Left(since, tuple(sorted(version for version in singles if version < since)))
    wanted = singles | {version for version in former.versions if version >= since}
    begin = max(since, former.since)
    return Left(begin, tuple(sorted(version for version in wanted if version < begin and former.has(version))))


def _order(version: KnownVersion) -> tuple[str, str, int]:
    return version.name, version.kind, version.number
