"""What changed in a table or view, step by step, for whoever listens.

Each published step gives the rows that came and went in it, in chunks, and then its number (`processed_steps`). A step is
the difference of two versions of the relation, which Delta keeps: so a listener who is slow misses nothing, and no step
waits for him. While nothing happens an empty chunk comes every few seconds. The stream ends when the pipeline stops.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any, Final

from reconciler.base.errors import NotFound
from reconciler.delta.opening import join_location
from reconciler.engine.arrow.emit.changes import Changes, changes
from reconciler.engine.protocol import Emission, Transaction
from reconciler.engine.sources import StoredSource
from reconciler.project.program.model import Program
from reconciler.registry.placements import Placement
from reconciler.rest.addresses import key_in
from reconciler.rest.answers import row_text
from reconciler.rest.errors import Refused
from reconciler.rest.shared import Service
from reconciler.state.step_history import read_step

_POLL_SECONDS: Final = 0.1
_IDLE_SECONDS: Final = 3.0
_ROWS: Final = 1_000
_TOO_MANY: Final = "a step changed more rows of {} than are sent over HTTP: attach an output connector, or query the view"


class Follower:
    """One who listens to a relation."""

    def __init__(self, service: Service, pipeline: str, key: str, name: str) -> None:
        self._service, self._pipeline, self._key, self._name = service, pipeline, key, name
        self._registry = service.target.registry
        self._number = 0
        self._incarnation = service.deployments.wish(pipeline).incarnation
        self._is_over = False
        head = self._registry.head(pipeline)
        assert head is not None
        assert head.value.published is not None
        self._step = head.value.published.step
        self._at = head.value.published.relations.get(key)

    def first(self, *, with_snapshot: bool) -> list[bytes]:
        """The chunks that come at once: all rows, if they are asked for."""
        found = [*self._chunks(None, self._at, snapshot=True)] if with_snapshot and self._at is not None else []
        return [*found, self._chunk("")]

    def next(self) -> list[bytes] | None:
        """The chunks of the steps since the last look; None: the pipeline has stopped."""
        if self._is_over:
            return None
        # Looked at before the steps are: so none is missing of those before the stop.
        self._is_over = self._has_stopped()
        stored = self._registry.head(self._pipeline)
        published = stored.value.published if stored is not None else None
        if stored is None or published is None:
            return None
        found: list[bytes] = []
        for step in range(self._step + 1, published.step + 1):
            try:
                at = read_step(self._registry, stored.value, step).relations.get(self._key)
            except NotFound:
                # One that was withdrawn.
                continue
            if at != self._at and at is not None:
                found += self._chunks(self._at, at, snapshot=False)
            found.append(self._chunk(f',"processed_steps":{step}'))
            self._step, self._at = step, at
        return None if self._is_over and not found else found

    def _has_stopped(self) -> bool:
        """Whether the pipeline stopped since, be it that it was started again."""
        deployments = self._service.deployments
        return deployments.wish(self._pipeline).incarnation != self._incarnation or deployments.is_stopped(self._pipeline)

    def idle(self) -> bytes:
        """An empty chunk."""
        return self._chunk("")

    def _chunks(self, before: Placement | None, after: Placement, *, snapshot: bool) -> Iterator[bytes]:
        found = changes(self._emission(before, after))
        if found is None:
            raise Refused(500, "TooManyChanges", _TOO_MANY.format(self._name))
        lines = [*lines_of(found)]
        for begin in range(0, len(lines), _ROWS):
            part = ",".join(lines[begin : begin + _ROWS])
            yield self._chunk(f',"json_data":[{part}]', snapshot=snapshot)

    def _emission(self, before: Placement | None, after: Placement) -> Emission:
        def source(at: Placement) -> StoredSource:
            return StoredSource(self._name, join_location(self._service.target.warehouse, at.location), at.version)

        former = None if before is None else source(before)
        return Emission(self._name, self._name, {}, former, source(after), False, 0, Transaction("", 0))

    def _chunk(self, more: str, *, snapshot: bool = False) -> bytes:
        text = f'{{"sequence_number":{self._number},"snapshot":{"true" if snapshot else "false"}{more}}}\r\n'
        self._number += 1
        return text.encode()


def follow(service: Service, pipeline: str, program: Program, name: str, *, with_snapshot: bool) -> AsyncIterator[bytes]:
    """The chunks, from now on. Raises Refused for a relation that can't be followed."""
    key = key_in(program, name)
    relation = program.relation(key) if key is not None else None
    if key is None or relation is None:
        raise Refused(404, "UnknownOutputStream", f"pipeline {pipeline} has no table or view {name!r}")
    if not relation.is_stored:
        message = f"view {relation.name} is not stored, so nobody knows what changed in it: CREATE MATERIALIZED VIEW"
        raise Refused(400, "NotMaterialized", message)
    follower = Follower(service, pipeline, key, relation.name)
    return _followed(follower, follower.first(with_snapshot=with_snapshot))


async def _followed(follower: Follower, first: list[bytes]) -> AsyncIterator[bytes]:
    for chunk in first:
        yield chunk
    told = time.monotonic()
    while True:
        found = await asyncio.to_thread(follower.next)
        if found is None:
            return
        for chunk in found:
            yield chunk
        if found:
            told = time.monotonic()
        elif time.monotonic() - told > _IDLE_SECONDS:
            yield follower.idle()
            told = time.monotonic()
        await asyncio.sleep(_POLL_SECONDS)


def lines_of(found: Changes) -> Iterator[str]:
    """The rows that went, then those that came, both in their order."""
    names = list(found.coming.column_names)
    going = [row for row, copies in zip(_values(found.going), found.copies, strict=True) for _ in range(copies)]
    for kind, rows in (("delete", going), ("insert", [*_values(found.coming)])):
        for row in _in_order(rows):
            yield f'{{"{kind}":{row_text(names, row)}}}'


def _in_order(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """By the values of their columns, NULL first; values that have no order leave the rows as they are."""
    try:
        return sorted(rows, key=lambda row: [(value is not None, value) for value in row])
    except TypeError:
        return rows


def _values(table: Any) -> Iterator[tuple[Any, ...]]:
    columns = [[_as_sent(value, column.type) for value in column.to_pylist()] for column in table.columns]
    return zip(*columns, strict=True)


def _as_sent(value: Any, kind: Any) -> Any:
    """A value of an Arrow type as the client knows it: bytes are numbers. A MAP is an object, unless its keys are of many
    values: then it is an array of pairs."""
    match value:
        case bytes():
            return [*value]
        case list() if hasattr(kind, "key_type"):
            pairs = [(key, _as_sent(one, kind.item_type)) for key, one in value]
            if kind.key_type.num_fields:
                return [[_as_sent(key, kind.key_type), one] for key, one in pairs]
            return dict(pairs)
        case list():
            return [_as_sent(one, kind.value_type) for one in value]
        case dict():
            return {name: _as_sent(one, kind.field(name).type) for name, one in value.items()}
    return value
