"""The history of steps: at which Delta version each relation stood, and under which program, as of any published step.

Rules:
- Every number up to that of the last step was published, or withdrawn; none is used twice, by steps, applies and restores
  alike. An apply that is taken back before it could write any history never had one. So the history tells what is missing
  from it.
- A step's row is written before the head's commit that publishes it, under the step's number as its serial: a replay
  appends it once. So a row alone proves nothing. A step counts if its number is not beyond the published one and no row says
  that it was withdrawn; that row is written before the head forgets the step, and has no serial: a writer that was taken
  over may append the step's own row before or after it, and it makes no difference.
- A row holds what moved since the step before; those of applies and restores, and each hundredth, hold everything. What was
  read of other pipelines stands among the relations, by `pipeline.name`, with the step of that pipeline.
- What is told of how a step came about (`ToldOfStep`) decides nothing. Rows of versions before it was told have its kind.
- Data is kept by retention, not by this history: a step that is known may have lost its rows (X730). A folder that was
  dropped and made again since has other data under the same versions; that is told from the later rows.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from datetime import datetime
from typing import Any, TypeAlias

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject, canonical_json
from reconciler.base.errors import NotFound
from reconciler.base.json_objects import from_json, to_json
from reconciler.base.moments import moment_of, this_moment
from reconciler.registry.model import Head
from reconciler.registry.placements import ForeignStep, Placement, StreamState, foreign_places, recorded_place
from reconciler.registry.protocol import HISTORY_COLUMNS, History, Registry

WITHDRAWN = "withdrawn"
_STEP = "step"
_WHOLE_EVERY = 100
_WHOLE_KINDS = ("apply", "restore")
_PORTION = 2 * _WHOLE_EVERY

Row: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToldOfStep:
    """What is told of a step: its kind; by connector (qualified name) since when the oldest change that it brought could be
    seen at its source (None: nobody knows); and the connectors, tables and views that were written without Spark, sorted
    (None: nobody told). `ways` has by view which way it was brought up to date (`incremental.model.Way`)."""

    kind: str
    since: Mapping[str, str | None] = field(default_factory=dict)
    without_spark: tuple[str, ...] | None = None
    ways: Mapping[str, str] = field(default_factory=dict)

    def to_row(self) -> dict[str, str]:
        """Its columns in a row of the history."""
        rest = {name: part for name, part in to_json(self).items() if name != "kind"}
        return {"kind": self.kind, "told": canonical_json(rest)}

    @staticmethod
    def of_row(row: Row) -> "ToldOfStep":
        """What a row of the history tells."""
        return from_json(ToldOfStep, {**json.loads(row["told"] or "{}"), "kind": row["kind"]})


@dataclass(frozen=True, slots=True)
class StepState:
    """A published step: the record of the program that was applied then, where each relation (folded) stood, and how far
    each connector (folded) had read. `gone` are relations whose folders were removed since: what may be there now is another
    table. `foreign` is what was read of other pipelines."""

    step: int
    at: str
    record: str
    relations: Mapping[str, Placement]
    positions: Mapping[str, JsonObject]
    gone: frozenset[str] = frozenset()
    foreign: Mapping[str, ForeignStep] = field(default_factory=dict)


def next_step(head: Head) -> int:
    """The number of the next step, apply or restore: one that none ever had."""
    if head.applied is None and head.published is None and head.last_step == 0:
        return 0
    return max(head.published.step if head.published else 0, head.last_step) + 1


def record_step(registry: Registry, before: Head, after: Head, told: ToldOfStep) -> None:
    """Record the step by which `after` differs from `before`; call it before `after` is written."""
    step = after.published.step if after.published else after.last_step
    whole = told.kind in _WHOLE_KINDS or step % _WHOLE_EVERY == 0
    relations = _places(after)
    positions: Mapping[str, JsonObject] = after.positions
    if not whole:
        known = _places(before)
        relations = {key: place for key, place in relations.items() if known.get(key) != place}
        positions = {key: place for key, place in positions.items() if before.positions.get(key) != place}
    row = {
        "step": str(step),
        "at": after.published.at if after.published else this_moment(),
        **told.to_row(),
        "record": (after.applied.record if after.applied else None) or "",
        "epoch": str(after.epoch),
        "whole": "true" if whole else "false",
        "relations": canonical_json(relations),
        "positions": canonical_json(positions),
    }
    registry.append(History.STEPS, after.pipeline, [row], step)


def record_withdrawal(registry: Registry, head: Head, step: int) -> None:
    """Record that a step was withdrawn; call it before the head forgets it. A repeat does no harm."""
    row = {
        "step": str(step),
        "at": this_moment(),
        **ToldOfStep(WITHDRAWN).to_row(),
        "record": "",
        "epoch": str(head.epoch),
        "whole": "false",
    }
    registry.append(History.STEPS, head.pipeline, [{**row, "relations": "{}", "positions": "{}"}], None)


def read_step(registry: Registry, head: Head, step: int) -> StepState:
    """The state as of a published step. Raises NotFound (A515) when there is none, or it is not known any more."""
    published = head.published
    if published is None or head.applied is None or head.applied.record is None:
        raise NotFound("A515", f"pipeline {head.pipeline} has no published step")
    if step > published.step:
        raise _unknown(head, step, f"the last published step is {published.step}")
    if step == published.step:
        record, foreign = head.applied.record, published.foreign
        return StepState(step, published.at, record, published.relations, head.positions, foreign=foreign)
    rows: dict[int, Row] = {}
    begin = None
    for number, row in rows_back(registry, head.pipeline, step):
        rows[number] = row
        if row["whole"] == "true":
            begin = number
            break
    found = rows.get(step)
    if found is not None and found["kind"] == WITHDRAWN:
        raise _unknown(head, step, "the step was withdrawn and never published")
    if begin is None or found is None:
        known = min((*_whole_rows(registry, head.pipeline, (0, published.step)), published.step))
        raise _unknown(head, step, f"the history of steps begins with {known}")
    if not found["record"]:
        raise _unknown(head, step, "that step removed the pipeline")
    relations: dict[str, Any] = {}
    positions: dict[str, JsonObject] = {}
    for number in range(begin, step + 1):
        if number not in rows:
            raise _unknown(head, step, f"the registry has no record of step {number}, the step before it")
        relations |= json.loads(rows[number]["relations"])
        positions |= json.loads(rows[number]["positions"])
    own = _own(dict(sorted(relations.items())))
    places = {key: _placement(place) for key, place in own.items()}
    gone = removed_since(registry, head, step, places)
    return StepState(step, found["at"], found["record"], places, positions, gone, _foreign(relations))


def published_state(registry: Registry, head: Head, begin: int, end: int) -> StepState:
    """The last state from `end` back to `begin`: steps in between may have been withdrawn."""
    for step in range(end, begin, -1):
        try:
            return read_step(registry, head, step)
        except NotFound:
            continue
    return read_step(registry, head, begin)


def _foreign(relations: Mapping[str, Mapping[str, Any]]) -> dict[str, ForeignStep]:
    """What was read of other pipelines. A pipeline's relations are all read at one step: what was recorded of an earlier one
    is read no more."""
    found: dict[str, ForeignStep] = {}
    for key, place in sorted(relations.items()):
        if _STEP not in place:
            continue
        pipeline, name = recorded_place(key, place)
        known = found.get(pipeline, ForeignStep(-1))
        if place[_STEP] > known.step:
            known = ForeignStep(place[_STEP])
        if place[_STEP] == known.step:
            placement = Placement(place["location"], place["version"])
            found[pipeline] = ForeignStep(known.step, {**known.relations, name: placement}, {**known.ids, name: place["id"]})
    return found


def step_at(registry: Registry, head: Head, time: datetime) -> int:
    """The last step that was published by a time. Raises NotFound (A515) when none was, or none of then is known."""
    published = head.published
    if published is None:
        raise NotFound("A515", f"pipeline {head.pipeline} has no published step")
    sought = moment_of(time)
    if published.at <= sought:
        return published.step
    told = registry.last_rows(History.STEPS, head.pipeline, ("step", "at", "kind"), "step", None, (0, published.step))
    rows = _by_step(told)
    found = [number for number, row in rows.items() if row["kind"] != WITHDRAWN and row["at"] <= sought]
    if not found:
        first = min((row["at"] for row in rows.values()), default=published.at)
        message = f"{head.pipeline} can't be read as of {sought}: its history of steps begins at {first}"
        raise NotFound("A515", message, "name a later time")
    return max(found)


def removed_since(registry: Registry, head: Head, step: int, places: Mapping[str, Placement]) -> frozenset[str]:
    """Which of these placements, as of a step, have lost their folder since: a folder that a later state lacks, or has at an
    earlier version, was removed; what is there now is another table.

    Folders are removed by applies and restores, whose rows hold everything, and are there: each is written before the head
    that publishes its step. So those rows are enough to tell."""
    published = head.published
    if published is None:
        return frozenset(places)
    # What is beyond was not published, or not yet.
    later = _whole_rows(registry, head.pipeline, (step + 1, published.step)).values()
    states = [{one["location"]: one["version"] for one in _own(json.loads(row["relations"])).values()} for row in later]
    states.append({one.location: one.version for one in published.relations.values()})
    return frozenset(
        key for key, place in places.items() if any(state.get(place.location, -1) < place.version for state in states)
    )


def _placement(place: Mapping[str, Any]) -> Placement:
    state = place.get("state")
    return Placement(place["location"], place["version"], state=None if state is None else from_json(StreamState, state))


def _own(relations: Mapping[str, Any]) -> dict[str, Any]:
    return {key: place for key, place in relations.items() if _STEP not in place}


def rows_back(registry: Registry, pipeline: str, last: int) -> Iterator[tuple[int, Row]]:
    """The steps from that number backwards with their rows, that of the withdrawal where there is one. Read as they are
    wanted, in portions that grow: who needs a few pays for a few, however long the history."""
    portion = _PORTION
    while last >= 0:
        first = max(0, last - portion + 1)
        columns = HISTORY_COLUMNS[History.STEPS]
        rows = _by_step(registry.last_rows(History.STEPS, pipeline, columns, "step", None, (first, last)))
        for number in sorted(rows, reverse=True):
            yield number, rows[number]
        last, portion = first - 1, portion * 4


def _whole_rows(registry: Registry, pipeline: str, between: tuple[int, int]) -> dict[int, Row]:
    """Of these steps, less those that were withdrawn, the rows that hold everything."""
    columns = ("step", "kind", "relations")
    found = registry.last_rows(History.STEPS, pipeline, columns, "step", None, between, whole="true")
    withdrawn = registry.last_rows(History.STEPS, pipeline, columns, "step", None, between, kind=WITHDRAWN)
    return {number: row for number, row in _by_step((*found, *withdrawn)).items() if row["kind"] != WITHDRAWN}


def _by_step(rows: Iterable[Row]) -> dict[int, Row]:
    """One row a step; that of its withdrawal where there is one."""
    found: dict[int, Row] = {}
    for row in rows:
        number = int(row["step"])
        if number not in found or row["kind"] == WITHDRAWN:
            found[number] = row
    return found


def _places(head: Head) -> dict[str, JsonObject]:
    if head.published is None:
        return {}
    own: dict[str, JsonObject] = {
        key: {
            "location": placement.location,
            "version": placement.version,
            **({"state": to_json(placement.state)} if placement.state is not None else {}),
        }
        for key, placement in head.published.relations.items()
    }
    return own | foreign_places(head.published.foreign)


def _unknown(head: Head, step: int, why: str) -> NotFound:
    return NotFound("A515", f"{head.pipeline} can't be read at step {step}: {why}")
