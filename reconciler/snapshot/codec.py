"""A program to stored definitions and back.

Stored is what the author wrote, with the declared types: query text, not canonical text; connector settings as resolved
(variables filled in, secrets still references). Reading compiles again, so that the running version looks at applied and
desired with the same eyes and an upgrade never plans a change by itself (the seed's Caveat 1).
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from reconciler.manifest.model import (
    BootstrapPolicy,
    ColumnDeclaration,
    ConnectorDeclaration,
    Manifest,
    Settings,
    TableDeclaration,
    ViewDeclaration,
    ViewKind,
)
from reconciler.program.compile import compile_program
from reconciler.program.model import Program


def encode_program(program: Program) -> list[dict[str, Any]]:
    """The definitions as JSON objects {kind, name, definition}, sorted."""
    objects = [{"kind": "settings", "name": program.name, "definition": _settings(program.settings)}]
    objects += [
        {"kind": "table", "name": key, "definition": _table(table.declaration)}
        for key, table in sorted(program.tables.items())
    ]
    objects += [
        {"kind": "view", "name": key, "definition": _view(view.declaration)} for key, view in sorted(program.views.items())
    ]
    objects += [
        {
            "kind": "connector",
            "name": key,
            "definition": {
                "relation": connector.relation,
                "name": connector.name,
                "ordinal": connector.declaration.ordinal,
                "settings": connector.settings,
            },
        }
        for key, connector in sorted(program.connectors.items())
    ]
    return sorted(objects, key=lambda item: (item["kind"], item["name"]))


def decode_program(objects: Iterable[Mapping[str, Any]]) -> Program:
    """The program of stored definitions. Raises KeyError or ValueError when they are not of the stored form."""
    by_kind: dict[str, list[Mapping[str, Any]]] = {"settings": [], "table": [], "view": [], "connector": []}
    for item in objects:
        by_kind[item["kind"]].append(item["definition"])
    (settings,) = by_kind["settings"]
    manifest = Manifest(
        settings=Settings(
            **{
                **settings,
                "tags": tuple(settings["tags"]),
                "bootstrap_policy": BootstrapPolicy(settings["bootstrap_policy"]),
            }
        ),
        tables=tuple(_read_table(definition) for definition in by_kind["table"]),
        views=tuple(_read_view(definition) for definition in by_kind["view"]),
        connectors=tuple(ConnectorDeclaration(**definition) for definition in by_kind["connector"]),
    )
    return compile_program(manifest).program


def _settings(settings: Settings) -> dict[str, Any]:
    return {
        **asdict(settings),
        "tags": list(settings.tags),
        "bootstrap_policy": settings.bootstrap_policy.value,
        "spark": dict(settings.spark),
        "descriptions": dict(settings.descriptions),
    }


def _table(table: TableDeclaration) -> dict[str, Any]:
    return {
        "name": table.name,
        "columns": [{"name": column.name, "type": column.type, "nullable": column.nullable} for column in table.columns],
        "primary_key": list(table.primary_key),
        "materialized": table.materialized,
        "append_only": table.append_only,
        "sql": table.sql,
    }


def _view(view: ViewDeclaration) -> dict[str, Any]:
    return {
        "name": view.name,
        "kind": view.kind.value,
        "column_names": list(view.column_names),
        "query": view.query,
        "sql": view.sql,
    }


def _read_table(definition: Mapping[str, Any]) -> TableDeclaration:
    return TableDeclaration(
        **{
            **definition,
            "columns": tuple(ColumnDeclaration(**column) for column in definition["columns"]),
            "primary_key": tuple(definition["primary_key"]),
        }
    )


def _read_view(definition: Mapping[str, Any]) -> ViewDeclaration:
    return ViewDeclaration(
        **{**definition, "kind": ViewKind(definition["kind"]), "column_names": tuple(definition["column_names"])}
    )
