"""SQL files through the cache: a file whose text was read before, without a complaint, is not parsed again.

A file that declares functions is always read: their bodies stand in other files.
"""

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from reconciler.base.cache import Cache
from reconciler.base.declarations import ColumnDeclaration, ConnectorDeclaration, TableDeclaration, ViewDeclaration, ViewKind
from reconciler.base.diagnostics import Location
from reconciler.base.digest import read_json
from reconciler.sql.declared import SqlFile


def read_sql_files(files: Mapping[str, str], cache: Cache) -> list[SqlFile]:
    """What `sql.statements.read_sql` gives for each of the files: path → text."""
    keys = {file: f"sql:{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:40]}" for file, text in files.items()}
    cache.prepare(keys.values())
    return [_read_sql_file(text, file, keys[file], cache) for file, text in files.items()]


def _read_sql_file(text: str, file: str, key: str, cache: Cache) -> SqlFile:
    kept = cache.recall(key)
    if kept is not None:
        return _decode(kept, file)
    from reconciler.sql.statements import read_sql

    read = read_sql(text, file)
    if not read.diagnostics and not read.functions:
        cache.remember(key, _encode(read))
    return read


def _encode(read: SqlFile) -> str:
    value = [
        [_table(table) for table in read.tables],
        [_view(view) for view in read.views],
        [[one.relation, one.name, one.ordinal, one.settings, _place(one.location)] for one in read.connectors],
    ]
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _place(location: Location | None) -> list[int] | None:
    return None if location is None else [location.line, location.column]


def _table(table: TableDeclaration) -> list[Any]:
    columns = [
        [one.name, one.type, one.nullable, _place(one.location), one.default, one.lateness, one.comment]
        for one in table.columns
    ]
    return [
        table.name,
        columns,
        table.primary_key,
        table.materialized,
        table.append_only,
        table.sql,
        _place(table.location),
    ]


def _view(view: ViewDeclaration) -> list[Any]:
    places = _place(view.location), _place(view.query_location)
    return [view.name, view.kind.value, view.column_names, view.query, view.sql, *places]


def _decode(kept: str, file: str) -> SqlFile:
    def at(place: list[int] | None) -> Location | None:
        return None if place is None else Location(file, place[0], place[1])

    def column(name: str, kind: str, nullable: bool, place: list[int] | None, *rest: str | None) -> ColumnDeclaration:
        return ColumnDeclaration(name, kind, nullable, at(place), *rest)

    def table(kept: list[Any]) -> TableDeclaration:
        name, columns, key, materialized, append_only, sql, place = kept
        declared = tuple([column(*one) for one in columns])
        return TableDeclaration(name, declared, tuple(key), materialized, append_only, sql, at(place))

    tables, views, connectors = read_json(kept)
    return SqlFile(
        tuple([table(one) for one in tables]),
        tuple(
            [
                ViewDeclaration(name, ViewKind(kind), tuple(names), query, sql, at(place), at(query_place))
                for name, kind, names, query, sql, place, query_place in views
            ]
        ),
        tuple(
            [
                ConnectorDeclaration(relation, name, ordinal, settings, at(place))
                for relation, name, ordinal, settings, place in connectors
            ]
        ),
        (),
    )
