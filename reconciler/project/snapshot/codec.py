"""A program to stored definitions and back.

Stored is what the author wrote, with the declared types: query text, not canonical text; connector settings as resolved
(variables filled in, secrets still references). Reading compiles again, so that the running version looks at applied and
desired with the same eyes and an upgrade never plans a change by itself (the seed's Caveat 1). Of what an environment says
to Spark, values that may be secret are stored as their seals; what earlier versions stored of them is read as such.

Of other pipelines' relations, what was known of them is stored, so that a program can be read without them.

What has its default is not stored, so that a new part of a definition changes no record that is there already. What is
stored of a program is its content: `moves`, which only say how it came to be, are not, but for columns that traded names
(`manifest.trades`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from typing import Any, Final, assert_never

from reconciler.base.cache import Cache
from reconciler.base.declarations import (
    ConnectorDeclaration,
    ForeignRelation,
    FunctionDeclaration,
    Manifest,
    PythonBody,
    Settings,
    SqlBody,
    TableDeclaration,
    ViewDeclaration,
)
from reconciler.base.digest import JsonObject
from reconciler.base.json_objects import from_json, to_json
from reconciler.project.program.compile import compile_program
from reconciler.project.program.model import Program
from reconciler.project.program.settings import comparable_value, recorded_environment, sealed_environment

# Of settings what is stored even where it has its default: programs are named by the digest of what is stored of them.
_ALWAYS: Final = ("description", "owner", "tags", "bootstrap_policy", "workers", "spark", "descriptions")


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
    objects += [
        {"kind": "function", "name": key, "definition": _function(function.declaration)}
        for key, function in sorted(program.functions.items())
    ]
    objects += [{"kind": "foreign", "name": key, "definition": to_json(one)} for key, one in sorted(program.foreign.items())]
    return sorted(objects, key=lambda item: (item["kind"], item["name"]))


def encode_definition(program: Program, key: str) -> JsonObject:
    """The definition of one table, view or function (`kind:folded name`), as `encode_program` has it. Raises KeyError where
    there is no such object."""
    match key.split(":", 1):
        case ["table", name]:
            return _table(program.tables[name].declaration)
        case ["view", name]:
            return _view(program.views[name].declaration)
        case ["function", name]:
            return _function(program.functions[name].declaration)
        case _:
            raise KeyError(key)


def decode_program(objects: Iterable[Mapping[str, Any]], cache: Cache | None = None) -> Program:
    """The program of stored definitions. Raises KeyError or ValueError when they are not of the stored form."""
    # What was recorded was taken then, whatever the limits are now.
    return compile_program(decode_manifest(objects), cache=cache, limited=False).program


def decode_manifest(objects: Iterable[Mapping[str, Any]]) -> Manifest:
    """The manifest that stored definitions stand for. Raises KeyError or ValueError when they are not of the stored form."""
    by_kind: dict[str, list[Mapping[str, Any]]] = {
        "settings": [],
        "table": [],
        "view": [],
        "connector": [],
        "function": [],
        "foreign": [],
    }
    for item in objects:
        by_kind[item["kind"]].append(item["definition"])
    (settings,) = by_kind["settings"]
    return Manifest(
        settings=from_json(Settings, {**settings, **_read_environment(settings)}),
        tables=tuple(from_json(TableDeclaration, definition) for definition in by_kind["table"]),
        views=tuple(from_json(ViewDeclaration, one, functions=_read_calls(one)) for one in by_kind["view"]),
        connectors=tuple(from_json(ConnectorDeclaration, definition) for definition in by_kind["connector"]),
        functions=tuple(_read_function(definition) for definition in by_kind["function"]),
        foreign=tuple(from_json(ForeignRelation, definition) for definition in by_kind["foreign"]),
    )


def _read_environment(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The environment's settings of Spark in today's form: earlier versions recorded values that may be secret, too."""
    environment = settings.get("environment")
    if environment is None:
        return {}
    plain = recorded_environment(environment)
    sealed = {**sealed_environment(environment), **settings.get("sealed", {})}
    inherited = {name for name, text in environment.items() if settings["spark"].get(name) == comparable_value(name, text)}
    spark = {name: text for name, text in settings["spark"].items() if name not in inherited - {*plain}}
    return {"spark": spark, "environment": plain, "sealed": dict(sorted(sealed.items()))}


def _settings(settings: Settings) -> dict[str, Any]:
    held = {key: asdict(one) for key, one in settings.held.items()}
    return {**to_json(settings, _ALWAYS), **({"held": held} if held else {})}


def _table(table: TableDeclaration) -> dict[str, Any]:
    return {**to_json(table), "columns": [to_json(column, ("nullable",)) for column in table.columns]}


def _view(view: ViewDeclaration) -> dict[str, Any]:
    # Nobody wrote the query of a stream: it is written anew whenever its program is compiled.
    written = view if view.stream is None else replace(view, query="", sql="")
    return {**to_json(written), **_calls(view)}


def _function(function: FunctionDeclaration) -> dict[str, Any]:
    parameters = [asdict(parameter) for parameter in function.parameters]
    body = function.body
    match body:
        case SqlBody():
            written = {"language": "sql", **to_json(body)}
        case PythonBody():
            written = {"language": "python", **to_json(body, ("requirements", "python"))}
        case _:
            assert_never(body)
    return {**to_json(function), "parameters": parameters, "body": written, **_calls(function)}


def _calls(declaration: ViewDeclaration | FunctionDeclaration) -> dict[str, Any]:
    return {"functions": dict(declaration.functions)} if declaration.functions else {}


def _read_function(definition: Mapping[str, Any]) -> FunctionDeclaration:
    body = {name: value for name, value in definition["body"].items() if name != "language"}
    read = from_json(SqlBody if definition["body"]["language"] == "sql" else PythonBody, body)
    return from_json(FunctionDeclaration, definition, body=read, functions=_read_calls(definition))


def _read_calls(definition: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(definition.get("functions", {}).items()))
