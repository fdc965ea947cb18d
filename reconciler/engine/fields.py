"""The fields of what an input reads, held against the columns of its table: alike for all engines.

Readers get the table under the names that its source uses (`under_source_names`); what they find is put back under the
table's own. So no reader knows that a column can have two names.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from reconciler.base.digest import JsonObject
from reconciler.base.names import fold
from reconciler.connectors.columns import sources_by_key
from reconciler.engine.protocol import TableTarget
from reconciler.sql.structures import Shape, shape_of, without_taker

_NO_SHAPES: Final[Mapping[str, Shape]] = {}
MOST_FIELDS: Final = 20
"""So many names of one row are told, at most: in what has keys for data each record has others."""


def under_source_names(target: TableTarget, settings: JsonObject) -> TableTarget:
    """The table as its source would declare it."""
    sources = sources_by_key(settings)
    named = {key: sources.get(key, column.name) for column in target.columns for key in [fold(column.name)]}
    return replace(
        target,
        columns=tuple(replace(column, name=named[fold(column.name)]) for column in target.columns),
        primary_key=tuple(named[fold(name)] for name in target.primary_key),
        defaults={fold(named.get(name, name)): text for name, text in target.defaults.items()},
    )


def unknown_fields(names: Iterable[str], target: TableTarget, shapes: Mapping[str, Shape] = _NO_SHAPES) -> tuple[str, ...]:
    """Of the names of a source those that no column takes, sorted. `target` bears the source's names; `shapes` are of the
    source's columns, by folded name: of the fields within them those are told that the columns' types lack."""
    taken = {fold(column.name) for column in target.columns}
    pairs = ((c.name, shapes[fold(c.name)], shape_of(c.type)) for c in target.columns if fold(c.name) in shapes)
    within = (path for name, own, wanted in pairs for path in without_taker(own, wanted, name))
    return tuple(sorted([*(name for name in names if fold(name) not in taken), *within])[:MOST_FIELDS])


def missing_fields(names: Iterable[str], target: TableTarget, shapes: Mapping[str, Shape] = _NO_SHAPES) -> tuple[str, ...]:
    """The names that columns take and a source lacks, sorted, and the fields within columns that it lacks. See there."""
    there = {fold(name) for name in names}
    pairs = ((c.name, shapes[fold(c.name)], shape_of(c.type)) for c in target.columns if fold(c.name) in shapes)
    within = (path for name, own, wanted in pairs for path in without_taker(wanted, own, name))
    return tuple(sorted([*(c.name for c in target.columns if fold(c.name) not in there), *within]))


def no_common_field(path: str, type_: str, source: str) -> str:
    """Says that a structure of a source, within a column or the column itself, has no field of the column's type."""
    return f"the values for column {path} have no field of {type_}: they are of type {source}"
