"""The fields of what an input reads, held against the columns of its table: alike for all engines.

Readers get the table under the names that its source uses (`under_source_names`); what they find is put back under the
table's own. So no reader knows that a column can have two names.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from reconciler.connectors.columns import sources_by_key
from reconciler.digest import JsonObject
from reconciler.engine.protocol import TableTarget
from reconciler.names import fold

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


def unknown_fields(names: Iterable[str], target: TableTarget) -> tuple[str, ...]:
    """Of the names of a source those that no column takes, sorted. `target` bears the source's names."""
    taken = {fold(column.name) for column in target.columns}
    return tuple(sorted(name for name in names if fold(name) not in taken)[:MOST_FIELDS])


def missing_fields(names: Iterable[str], target: TableTarget) -> tuple[str, ...]:
    """The names that columns take and a source lacks, sorted. `target` bears the source's names."""
    there = {fold(name) for name in names}
    return tuple(sorted(column.name for column in target.columns if fold(column.name) not in there))
