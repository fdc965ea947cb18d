"""What a step of a stream reads: of the relations below it the rows that came, or what changed in them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from reconciler.base.names import fold
from reconciler.engine.sources import CHANGE_COLUMN, EmptySource, InlineSource, Source, StoredSource
from reconciler.project.program.model import Program, Stream, View
from reconciler.project.program.streams import assigned_query
from reconciler.query.reading import Place
from reconciler.streams.model import CHANGES, AssignWatermarks

Ranges: TypeAlias = Mapping[str, Sequence[tuple[int, int]]]
"""In which versions rows came to a relation (folded) in this step: after the first one of each, up to the second."""


def added_place(place: Place, came: Ranges, changing: Collection[str] = ()) -> Place:
    """Pins relations as `place` does, but of each only the rows that came to it; of the `changing` ones, what changed."""

    def added(key: str) -> StoredSource | EmptySource:
        source = place(key)
        if not isinstance(source, StoredSource):
            return source
        return replace(source, ranges=tuple(came.get(key, ())), changes=key in changing)

    return added


def changing(program: Program, stream: Stream) -> frozenset[str]:
    """The keys of tables of which a stream reads the changes."""
    return frozenset(clock.table for clock in stream.clocks if _reads_changes(program.views[clock.assigned]))


def with_changes(program: Program, sources: tuple[Source, ...]) -> tuple[Source, ...]:
    """Streams that assign event time to changes take what each of them is from the table, where that says so."""
    if not any(isinstance(one, StoredSource) and one.changes for one in sources):
        return sources
    return tuple(
        replace(one, query=_query_of_changes(program.views[fold(one.name)]))
        if isinstance(one, InlineSource) and _reads_changes(program.views.get(fold(one.name)))
        else one
        for one in sources
    )


def _reads_changes(view: View | None) -> bool:
    assigned = view.stream.transformation if view is not None and view.stream is not None else None
    return isinstance(assigned, AssignWatermarks) and assigned.read == CHANGES


def _query_of_changes(view: View) -> str:
    assert view.stream is not None
    assert isinstance(view.stream.transformation, AssignWatermarks)
    return assigned_query(view.stream.transformation, view.stream.inputs[0], f"`{CHANGE_COLUMN}`")
