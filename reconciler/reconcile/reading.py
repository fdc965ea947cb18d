"""Reading: the sources that a query needs, each pinned, in dependency order.

A table or stored view is read where it stands at the version that its placement names; a plain or LOCAL view is computed
in place, over its own sources. Nothing is ever read "as it is now".
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from reconciler.delta.opening import join_location
from reconciler.engine.protocol import ColumnType, EmptySource, InlineSource, Source, StoredSource
from reconciler.errors import RegistryError
from reconciler.names import fold
from reconciler.program.model import Program, Table
from reconciler.registry.model import Placement
from reconciler.sql.types import storage_type

Place: TypeAlias = Callable[[str], StoredSource | EmptySource]


def table_columns(table: Table) -> tuple[ColumnType, ...]:
    """A table's columns as stored. Columns of the primary key hold no NULL."""
    key = {fold(name) for name in table.primary_key}
    return tuple(
        ColumnType(column.name, storage_type(column.type), column.nullable and fold(column.name) not in key)
        for column in table.columns
    )


def table_defaults(table: Table) -> dict[str, str]:
    """What columns get in rows that lack them, by folded name."""
    return {fold(column.name): column.default for column in table.columns if column.default is not None}


def sources_for(program: Program, wanted: Iterable[str], place: Place) -> tuple[Source, ...]:
    """The sources for a query that names these relations (any spelling); `place` pins a stored relation by folded name."""
    needed: set[str] = set()
    waiting = [fold(name) for name in wanted]
    while waiting:
        key = waiting.pop()
        if key in needed:
            continue
        needed.add(key)
        if key in program.views and not program.views[key].is_stored:
            waiting += [fold(read.relation) for read in program.views[key].reads]
    return tuple(_source(program, key, place) for key in program.order if key in needed)


def _source(program: Program, key: str, place: Place) -> Source:
    view = program.views.get(key)
    if view is not None and not view.is_stored:
        return InlineSource(view.name, view.query, view.declaration.column_names)
    return place(key)


def published_place(program: Program, warehouse: str, placements: Mapping[str, Placement]) -> Place:
    """Pins relations at the published step."""

    def place(key: str) -> StoredSource:
        placement = placements.get(key)
        relation = program.relation(key)
        if placement is None or relation is None:
            raise RegistryError("G602", f"the registry publishes no placement of {key!r}")
        return StoredSource(relation.name, join_location(warehouse, placement.location), placement.version)

    return place
