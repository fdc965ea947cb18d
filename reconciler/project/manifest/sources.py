"""What columns are called in what is read, where pipeline.yaml says it of a table, or with the move that renamed a column.

It becomes part of each input of the table that does not say otherwise, so that nobody later need know where it was written.
What is said of a table goes before what a move says.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from reconciler.base.dataclass import dataclass
from reconciler.base.declarations import ConnectorDeclaration, TableDeclaration
from reconciler.base.diagnostics import Diagnostic
from reconciler.base.names import did_you_mean, fold
from reconciler.base.places import Path, Places
from reconciler.connectors.columns import COLUMNS, has_fields, written_sources
from reconciler.project.manifest.check import part

MAXIMUM_SOURCES: Final = 100_000


@dataclass(frozen=True, slots=True)
class _Source:
    """One column (as written) of a table (folded), and what it is called elsewhere."""

    table: str
    column: str
    source: str
    path: Path


def with_sources(
    connectors: Iterable[ConnectorDeclaration], value: Any, places: Places, tables: Iterable[TableDeclaration]
) -> tuple[tuple[ConnectorDeclaration, ...], list[Diagnostic]]:
    """The connectors with all that is said of their columns, and what is said of columns that there are not (M170)."""
    declared = {fold(table.name): table for table in tables}
    found: list[Diagnostic] = []
    sources: dict[str, dict[str, str]] = {}
    columns_of: dict[str, dict[str, str]] = {}
    for one in (*_of_moves(value), *_of_tables(value)):
        if one.table not in columns_of:
            known = declared[one.table].columns if one.table in declared else ()
            columns_of[one.table] = {fold(column.name): column.name for column in known}
        columns = columns_of[one.table]
        if fold(one.column) in columns:
            sources.setdefault(one.table, {})[columns[fold(one.column)]] = one.source
        elif one.table in declared or one.path[1] == "moved":
            message = f"{one.column!r} is not a column of a table, and only columns of tables have a source"
            found.append(Diagnostic("M170", message, places.of_value(one.path), did_you_mean(one.column, columns.values())))
    return _with_all(list(connectors), sources, found), found


def _with_all(
    connectors: list[ConnectorDeclaration], sources: Mapping[str, Mapping[str, str]], into: list[Diagnostic]
) -> tuple[ConnectorDeclaration, ...]:
    """The connectors with what is said of their tables. It is part of each, so there is a limit to both together."""
    count = 0
    for connector in connectors:
        count += len(sources.get(fold(connector.relation), ()))
        if count > MAXIMUM_SOURCES:
            message = f"with this one, the pipeline's inputs declare more than {MAXIMUM_SOURCES:,} sources of columns"
            into.append(
                Diagnostic("M103", message, connector.location, "declare sources of fewer columns, or use fewer inputs")
            )
            return tuple(connectors)
    return tuple(_with(connector, sources.get(fold(connector.relation), {})) for connector in connectors)


def _with(connector: ConnectorDeclaration, sources: Mapping[str, str]) -> ConnectorDeclaration:
    if not sources or not has_fields(connector.settings):
        return connector
    said = {fold(column) for column in written_sources(connector.settings)}
    more = {column: {"source": source} for column, source in sources.items() if fold(column) not in said}
    return replace(connector, settings={**connector.settings, COLUMNS: {**connector.settings.get(COLUMNS, {}), **more}})


def _of_tables(value: Any) -> Iterable[_Source]:
    tables = part(value, "spec", "tables")
    for table, entry in sorted(tables.items()) if isinstance(tables, Mapping) else ():
        for column, source in written_sources(entry if isinstance(entry, Mapping) else {}).items():
            yield _Source(fold(table), column, source, ("spec", "tables", table, COLUMNS, column))


def _of_moves(value: Any) -> Iterable[_Source]:
    moves = part(value, "spec", "moved")
    for index, entry in enumerate(moves if isinstance(moves, list) else ()):
        source, target = part(entry, "source"), part(entry, "to")
        if isinstance(source, str) and isinstance(target, str):
            table, _, column = target.partition(".")
            yield _Source(fold(table), column or target, source, ("spec", "moved", index, "source"))
