"""What retention has to know of a pipeline, read from the registry: versions and where their rows are, steps, checkpoints,
outputs, who reads its tables and views from other pipelines, open work, and what former prunes left. What follows from it is
`retention`'s.

- The rows of a version are where its relation stood at the last step at which it was active (`sources` reads there);
  of a view that is computed in place, where what it reads stood then. Those whose folders were removed since have none.
- Policies are those of what is applied: they were approved with it.
- The newest checkpoint stays, and those that somebody named, for as long as retention says. Others stay as steps do.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, assert_never

from reconciler.base.dataclass import dataclass
from reconciler.base.declarations import DEFAULT_STEPS_SECONDS
from reconciler.base.names import fold
from reconciler.delta.opening import join_location
from reconciler.engine.sources import StoredSource
from reconciler.environment.locations import with_absolute_location, with_root
from reconciler.environment.target import Target
from reconciler.project.program.model import Program
from reconciler.query.reading import sources_for
from reconciler.registry.entries import BuildIntent, KeptIntent, PublishCopyIntent, PublishKeptIntent
from reconciler.registry.intents import ComputeAgain, CopyRows, PutBack, RestoreCheckpoint, StepWork
from reconciler.registry.model import Head, Readers
from reconciler.registry.placements import ForeignStep, read_of
from reconciler.registry.protocol import History
from reconciler.retention.references import version_references
from reconciler.retention.rules import Held, Known, KnownVersion, decide, kept_by_all
from reconciler.state.applied import read_snapshot
from reconciler.state.checkpoints import age_order
from reconciler.state.histories import published_rows
from reconciler.state.past_states import PastState, PastStates, Place, read_past_states
from reconciler.state.pruned import folder_rows, last_pruned, left_of, version_rows
from reconciler.state.refreshed import refreshed_key

_NAMED = "named"


@dataclass(frozen=True, slots=True)
class _Span:
    """When a version was active last: `ended` None while it is; `last` is the last step of it."""

    name: str
    first: int
    last: int
    ended: datetime | None


@dataclass(frozen=True, slots=True)
class _Checkpoint:
    name: str
    step: int
    places: frozenset[Place]


def steps_seconds(program: Program) -> int:
    """For how long a step stays."""
    said = program.settings.retention.steps
    return DEFAULT_STEPS_SECONDS if said is None else said


def read_states(target: Target, head: Head, program: Program, now: datetime) -> PastStates:
    """Where everything stood at the steps that have a say in what stays: the whole history of steps is read."""
    ends = {span.last for span in _last_spans(_spans(target, head)).values()}
    return read_past_states(target.registry, head, ends, now - timedelta(seconds=steps_seconds(program)))


def read_known(target: Target, head: Head, program: Program, now: datetime, states: PastStates | None = None) -> Known:
    """All that decides what stays. `program` is the one that is applied. `states` are those of the head's step, where they
    were read before (`read_states`)."""
    return _known(target, head, program, now, states or read_states(target, head, program, now))


def _known(target: Target, head: Head, program: Program, now: datetime, states: PastStates, readers: bool = True) -> Known:
    """Without `readers`, nothing of what pipelines need that read this one."""
    published = head.published
    assert published is not None
    settings = program.settings
    spans = _spans(target, head)
    last = _last_spans(spans)
    checkpoints = tuple(_checkpoints(target, head, settings.retention.checkpoints, now))
    held = [Held(f"checkpoint {one.name}", _standing(states, one.step, one.places)) for one in checkpoints]
    held += [Held("what views read", _read(published.foreign, head.pipeline, head.pipeline))]
    held += [*_outputs(head, program), *_open_work(head, head.pipeline)]
    cursors: dict[str, int] = {}
    for pipeline in target.registry.pipelines() if readers else ():
        other = target.registry.head(pipeline)
        if other is not None:
            held += _open_work(other.value, head.pipeline) if pipeline != head.pipeline else []
            _follow(target, other.value, published.relations.values(), cursors, held)
    held += _readers(target, head, now) if readers else []
    current = {placement.location: placement.version for placement in published.relations.values()}
    return Known(
        versions=tuple(_versions(target, head, program, _Past(spans, last, states, checkpoints))),
        steps=tuple(states.recent),
        held=tuple(held),
        current=current,
        cursors=cursors,
        left=_left(target, head, states),
        retention=_policies(head, program),
        steps_seconds=steps_seconds(program),
    )


def _spans(target: Target, head: Head) -> dict[str, list[tuple[int | None, _Span]]]:
    """By object: its versions one after the other, as often as they were active; None while it was not there."""
    assert head.published is not None
    columns = ("object", "number", "name", "at", "step")
    by_object: dict[str, list[Mapping[str, str]]] = {}
    for row in published_rows(target.registry, head, History.ACTIVATIONS, columns):
        by_object.setdefault(row["object"], []).append(row)
    found: dict[str, list[tuple[int | None, _Span]]] = {}
    for key, rows in by_object.items():
        following: list[Mapping[str, str] | None] = [*rows[1:], None]
        for row, after in zip(rows, following, strict=True):
            ended = datetime.fromisoformat(after["at"]) if after is not None else None
            end = int(after["step"]) - 1 if after is not None else head.published.step
            span = _Span(row["name"], int(row["step"]), end, ended)
            found.setdefault(key, []).append((int(row["number"]) if row["number"] else None, span))
    return found


def _last_spans(spans: Mapping[str, list[tuple[int | None, _Span]]]) -> dict[tuple[str, int], _Span]:
    return {(key, number): span for key, all_of_it in spans.items() for number, span in all_of_it if number is not None}


@dataclass(frozen=True, slots=True)
class _Past:
    """What was active before now: by object all spans of its versions, by version the last of them, the states at the ends
    of these, and the checkpoints."""

    spans: Mapping[str, list[tuple[int | None, _Span]]]
    last: Mapping[tuple[str, int], _Span]
    states: PastStates
    checkpoints: tuple[_Checkpoint, ...]


def _versions(target: Target, head: Head, program: Program, past: _Past) -> Iterator[KnownVersion]:
    states = past.states
    pruned = last_pruned(version_rows(target.registry, head.pipeline))
    references = version_references(target, head, program)
    names = {one.id: key.partition(":")[2] for key, one in head.versions.items()}
    programs: dict[str, Program] = {}
    for (key, number), span in sorted(past.last.items()):
        kind, state = key.partition(":")[0], states.at.get(span.last)
        if kind == "function":
            continue
        places: frozenset[Place] = frozenset()
        if state is not None and pruned.get((key, number), -1) < state.step:
            places = _places(target, head, state, span.name, programs)
            if not all(states.stands(state.step, place.location) for place in places):
                places = frozenset()
        refreshed = head.refreshed.get(refreshed_key(key, number))
        ended = span.ended
        if refreshed is not None and ended is not None:
            places |= {Place(refreshed.folder, 0)}
            ended = max(ended, datetime.fromisoformat(refreshed.at))
        if not places:
            continue
        by_checkpoints = [
            f"checkpoint {one.name}"
            for one in past.checkpoints
            if any(number == other and it.first <= one.step <= it.last for other, it in past.spans[key])
        ]
        held_by = (*references.get((key, number), ()), *sorted(by_checkpoints))
        yield KnownVersion(key, kind, names.get(key, span.name), number, ended, places, held_by)


def _places(target: Target, head: Head, state: PastState, name: str, programs: dict[str, Program]) -> frozenset[Place]:
    """Where the rows of a relation were at a step; empty where it can't be read from outside, or reads nothing."""
    stored = state.relations.get(fold(name))
    if stored is not None:
        return frozenset((stored,))
    if not state.record:
        return frozenset()
    if state.record not in programs:
        programs[state.record] = read_snapshot(target, head.pipeline, state.record).program
    then = programs[state.record]
    view = then.views.get(fold(name))
    if view is None or view.is_local:
        return frozenset()
    found: set[Place] = set()

    def place(key: str) -> StoredSource:
        read = state.relations[key] if key in state.relations else state.foreign[key]
        found.add(read)
        return StoredSource(key, read.location, read.version)

    try:
        sources_for(then, [name], place)
    except KeyError:
        return frozenset()
    return frozenset(found)


def _checkpoints(target: Target, head: Head, seconds: int | None, now: datetime) -> Iterator[_Checkpoint]:
    columns = ("name", "at", "step", "cause", "relations")
    rows = target.registry.last_rows(History.CHECKPOINTS, head.pipeline, columns, "step", None)
    newest: dict[str, Mapping[str, Any]] = {}
    for row in sorted(rows, key=age_order):
        newest.pop(row["name"], None)
        newest[row["name"]] = row
    last = list(newest.values())[-1] if newest else None
    for row in newest.values():
        is_recent = seconds is None or datetime.fromisoformat(row["at"]) > now - timedelta(seconds=seconds)
        if row is last or (row["cause"] == _NAMED and is_recent):
            places = (Place(one["location"], one["version"]) for one in json.loads(row["relations"]).values())
            yield _Checkpoint(row["name"], int(row["step"]), frozenset(places))


def _standing(states: PastStates, step: int, places: frozenset[Place]) -> frozenset[Place]:
    return frozenset(place for place in places if states.stands(step, place.location))


def _outputs(head: Head, program: Program) -> Iterator[Held]:
    """What outputs have to tell the differences from and to."""
    assert head.published is not None
    for key, state in sorted(head.outputs.items()):
        connector = program.connectors.get(key)
        placement = head.published.relations.get(fold(connector.relation)) if connector is not None else None
        if connector is None or placement is None:
            continue
        versions = {state.sent, *(version for skip in state.skips for version in skip)}
        if state.sending is not None:
            versions |= {state.sending.before, state.sending.after}
        places = frozenset(Place(placement.location, version) for version in versions if version is not None)
        yield Held(f"output {connector.qualified_name}", places)


def _open_work(head: Head, pipeline: str) -> list[Held]:
    """What an open step, restore or apply of a pipeline reads of `pipeline`'s folders."""
    found: set[Place] = set()
    found |= _read(head.intent.foreign if head.intent is not None else {}, pipeline, head.pipeline)
    found |= _read(head.journal.foreign if head.journal is not None else {}, pipeline, head.pipeline)
    found |= _read_by_restore(head.intent.work if head.intent is not None else None, pipeline)
    for entry in head.journal.entries if head.journal is not None and head.pipeline == pipeline else ():
        match entry.intent:
            case BuildIntent(location, _, int(read)):
                found.add(Place(location, read))
            case KeptIntent(location, kept):
                found.add(Place(kept.location or location, kept.version))
            case PublishKeptIntent(location, _, version) | PublishCopyIntent(source=location, version=version):
                found.add(Place(location, version))
    return [Held(f"open work of {head.pipeline}", frozenset(found))] if found else []


def _read_by_restore(work: StepWork | None, pipeline: str) -> set[Place]:
    """What a restore that is open reads of a pipeline's folders."""
    if not isinstance(work, RestoreCheckpoint) or work.source != pipeline:
        return set()
    found = set()
    for one in work.restored.values():
        match one:
            case PutBack():
                found.add(Place(one.location, one.read))
            case CopyRows():
                found.add(Place(one.source, one.read))
            case ComputeAgain():
                pass
            case _:
                assert_never(one)
    return found


def _readers(target: Target, head: Head, now: datetime) -> Iterator[Held]:
    """What pipelines that read this one need of it: what they are computed from, and whatever of their own past stays."""
    stored = target.registry.document(head.pipeline, Readers)
    for reader in stored.value.pipelines if stored is not None else ():
        other = target.registry.head(reader)
        if other is None or other.value.published is None or other.value.applied is None or not other.value.applied.record:
            continue
        program = read_snapshot(target, reader, other.value.applied.record).program
        states = read_states(target, other.value, program, now)
        # What of it is in folders of others says nothing here.
        needed = decide(_known(target, other.value, program, now, states, readers=False), now).wanted
        yield Held(f"pipeline {reader}", needed | _read(other.value.published.foreign, head.pipeline, reader))


def _read(foreign: Mapping[str, ForeignStep], pipeline: str, reader: str) -> frozenset[Place]:
    """Where a reader reads relations of a pipeline, and versions of them."""
    return frozenset(Place(one.location, one.version) for one in read_of(foreign, pipeline, reader).values())


def _follow(target: Target, head: Head, placements: Any, cursors: dict[str, int], held: list[Held]) -> None:
    """How far the inputs of a pipeline have read what stands in these folders."""
    if head.applied is None or head.applied.record is None:
        return
    ours = {join_location(target.warehouse, one.location): one.location for one in placements}
    program = read_snapshot(target, head.pipeline, head.applied.record).program
    for key, connector in sorted(program.connectors.items()):
        if connector.transport != "delta_table_input":
            continue
        config = with_absolute_location(connector.settings, target.root)["transport"]["config"]
        location = ours.get(str(config["uri"]).removeprefix("file://").rstrip("/"))
        if location is None:
            continue
        position = head.positions.get(key)
        if position is None and isinstance(config.get("version"), int):
            _from(cursors, location, config["version"])
        elif position is not None and isinstance(position.get("version"), int) and not position.get("complete"):
            _from(cursors, location, position["version"])
        for ingest in head.intent.ingests if head.intent is not None else ():
            read = with_root(ingest.range, target.root)
            if fold(ingest.connector) == key and isinstance(read.get("version", read.get("from")), int):
                held.append(Held(f"open work of {head.pipeline}", frozenset((Place(location, _first(read)),))))


def _first(read: Mapping[str, Any]) -> int:
    return int(read["version"] if "version" in read else read["from"])


def _from(cursors: dict[str, int], location: str, version: int) -> None:
    cursors[location] = min(version, cursors.get(location, version))


def _left(target: Target, head: Head, states: PastStates) -> dict[str, Any]:
    rows = folder_rows(target.registry, head.pipeline)
    by_location: dict[str, list[Any]] = {}
    for row in rows:
        if states.stands(int(row["step"]), row["location"]):
            by_location.setdefault(row["location"], []).append(left_of(row))
    found = {location: kept_by_all(lefts) for location, lefts in by_location.items()}
    return {location: left for location, left in found.items() if left is not None}


def _policies(head: Head, program: Program) -> dict[str, Any]:
    """The retention of each object, by id: of what is not part of the program any more, the pipeline's."""
    own, others = program.settings.relation_retention, program.settings.retention
    return {one.id: own.get(key.partition(":")[2], others) for key, one in head.versions.items()}
