"""Where everything stood at past steps, for many steps at once: one pass through the history of steps.

The rules are those of `step_history`, which answers for one step. A folder that a later state lacks, or has at an earlier
Delta version, was removed in between; what stands there now began with that later state: nothing older can be read of it.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import field
from datetime import datetime
from typing import Any

from reconciler.base.dataclass import dataclass
from reconciler.base.names import is_foreign
from reconciler.registry.model import Head
from reconciler.registry.protocol import History, Registry
from reconciler.state.step_history import WITHDRAWN

_COLUMNS = ("step", "at", "kind", "record", "whole", "relations")


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A folder (below the warehouse) at a Delta version."""

    location: str
    version: int


@dataclass(frozen=True, slots=True)
class PastStep:
    """A published step: when the next one came (None: it is the last), where everything stood, and what else was read: of
    other pipelines, and versions of the own one."""

    step: int
    replaced: datetime | None
    places: frozenset[Place]
    read: frozenset[Place] = frozenset()


@dataclass(frozen=True, slots=True)
class PastState:
    """Where each relation (folded) stood at a step, under the program of that record; and where those of other pipelines
    (`pipeline.name`) and versions (`name@v2`) were read."""

    step: int
    record: str
    relations: Mapping[str, Place]
    foreign: Mapping[str, Place] = field(default_factory=dict)


@dataclass(slots=True)
class PastStates:
    """`at`: the state of the last published step up to each that was asked for, where it is known. `recent`: of each recent
    step, what moved since the one before (of the first, everything), and the time of the next one. `begins`: since which
    step each folder holds what it holds now. `foreign` are folders of other pipelines: theirs is the say of what is gone."""

    at: dict[int, PastState] = field(default_factory=dict)
    recent: list[PastStep] = field(default_factory=list)
    begins: dict[str, int] = field(default_factory=dict)
    foreign: set[str] = field(default_factory=set)

    def stands(self, step: int, location: str) -> bool:
        """Whether a folder is still the one that it was at a step."""
        return self.begins[location] <= step if location in self.begins else location in self.foreign


def read_past_states(registry: Registry, head: Head, wanted: Iterable[int], since: datetime) -> PastStates:
    """The states at these steps, and the steps that were replaced after `since`."""
    published = head.published
    if published is None:
        return PastStates()
    rows = [row for row in _rows(registry, head) if int(row["step"]) <= published.step]
    found, passing = PastStates(), _Passing()
    asked = sorted({step for step in wanted if step <= published.step})
    for index, row in enumerate(rows):
        step = int(row["step"])
        if row["kind"] == WITHDRAWN:
            passing.pass_by(step)
            continue
        following = next((rows[at] for at in range(index + 1, len(rows)) if rows[at]["kind"] != WITHDRAWN), None)
        passing.go_on(step, row)
        if not passing.is_known:
            continue
        while asked and asked[0] < step:
            asked.pop(0)  # before the history begins
        end = int(following["step"]) if following is not None else published.step + 1
        while asked and asked[0] < end:
            found.at[asked.pop(0)] = PastState(step, row["record"], dict(passing.relations), dict(passing.foreign))
        replaced = None if following is None else datetime.fromisoformat(following["at"])
        if replaced is None or replaced > since:
            moved = passing.moved if found.recent else frozenset(passing.relations.values())
            found.recent.append(PastStep(step, replaced, moved, frozenset(passing.foreign.values())))
        found.foreign |= {place.location for place in passing.foreign.values()}
    found.begins = passing.begins
    return found


class _Passing:
    """The state at one step after the other."""

    def __init__(self) -> None:
        self.relations: dict[str, Place] = {}
        self.foreign: dict[str, Place] = {}
        self.moved: frozenset[Place] = frozenset()
        self.begins: dict[str, int] = {}
        self.is_known = False
        self._last = -1

    def go_on(self, step: int, row: Mapping[str, Any]) -> None:
        is_whole = row["whole"] == "true"
        relations = json.loads(row["relations"])
        places = {key: Place(one["location"], one["version"]) for key, one in relations.items()}
        moved = {key: place for key, place in places.items() if not is_read_elsewhere(key, relations[key])}
        foreign = {key: place for key, place in places.items() if key not in moved}
        before = {place.location: place.version for place in self.relations.values()}
        # What stands between two steps that are recorded can't be told, until one tells everything.
        self.is_known = is_whole or (self.is_known and step == self._last + 1)
        self.relations = moved if is_whole else {**self.relations, **moved}
        self.foreign = foreign if is_whole else {**self.foreign, **foreign}
        self.moved = frozenset(moved.values())
        self._last = step
        for place in moved.values():
            known = before.get(place.location)
            if known is None or place.version < known:
                self.begins[place.location] = step
        if is_whole:
            locations = {place.location for place in moved.values()}
            self.begins = {location: begin for location, begin in self.begins.items() if location in locations}

    def pass_by(self, step: int) -> None:
        """A step that was withdrawn changed nothing."""
        self._last = step


def is_read_elsewhere(key: str, place: Mapping[str, Any]) -> bool:
    """Whether what stands among the relations of a row is another pipeline's, or a version that is read (`step_history`)."""
    return is_foreign(key) and "step" in place


def _rows(registry: Registry, head: Head) -> list[Mapping[str, Any]]:
    by_step: dict[int, Mapping[str, Any]] = {}
    for row in registry.last_rows(History.STEPS, head.pipeline, _COLUMNS, "step", None):
        if int(row["step"]) not in by_step or row["kind"] == WITHDRAWN:
            by_step[int(row["step"])] = row
    return [row for _, row in sorted(by_step.items())]
