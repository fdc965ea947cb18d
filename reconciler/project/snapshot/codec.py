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
from dataclasses import asdict
from typing import Any, assert_never

from reconciler.base.cache import Cache
from reconciler.base.declarations import (
    DEFAULT_CHECKPOINT_INTERVAL,
    FIRST_SPARK,
    BootstrapPolicy,
    ColumnDeclaration,
    ConnectorDeclaration,
    Evolution,
    ForeignRelation,
    FunctionDeclaration,
    Held,
    Manifest,
    ParameterDeclaration,
    Pin,
    PythonBody,
    Retention,
    Settings,
    SqlBody,
    TableDeclaration,
    ViewDeclaration,
    ViewKind,
)
from reconciler.base.digest import JsonObject
from reconciler.project.program.compile import compile_program
from reconciler.project.program.model import Program
from reconciler.project.program.settings import comparable_value, recorded_environment, sealed_environment


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
    objects += [
        {"kind": "foreign", "name": key, "definition": _foreign(one)} for key, one in sorted(program.foreign.items())
    ]
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
        settings=Settings(
            **{
                **settings,
                "tags": tuple(settings["tags"]),
                "bootstrap_policy": BootstrapPolicy(settings["bootstrap_policy"]),
                "evolution": Evolution(settings.get("evolution", Evolution.CLEAR)),
                "table_evolution": {key: Evolution(one) for key, one in settings.get("table_evolution", {}).items()},
                "protected": tuple(settings.get("protected", ())),
                "used_by": {relation: tuple(readers) for relation, readers in settings.get("used_by", {}).items()},
                "pins": {relation: Pin(**pin) for relation, pin in settings.get("pins", {}).items()},
                "function_pins": {name: Pin(**pin) for name, pin in settings.get("function_pins", {}).items()},
                "maintained": {view: tuple(numbers) for view, numbers in settings.get("maintained", {}).items()},
                "held": {key: Held(**held) for key, held in settings.get("held", {}).items()},
                "traded": tuple(tuple((source, target) for source, target in trade) for trade in settings.get("traded", ())),
                "retention": Retention(**settings.get("retention", {})),
                "relation_retention": {
                    relation: Retention(**one) for relation, one in settings.get("relation_retention", {}).items()
                },
                **_read_environment(settings),
            }
        ),
        tables=tuple(_read_table(definition) for definition in by_kind["table"]),
        views=tuple(_read_view(definition) for definition in by_kind["view"]),
        connectors=tuple(ConnectorDeclaration(**definition) for definition in by_kind["connector"]),
        functions=tuple(_read_function(definition) for definition in by_kind["function"]),
        foreign=tuple(_read_foreign(definition) for definition in by_kind["foreign"]),
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
    optional = {
        "evolution": settings.evolution.value if settings.evolution is not Evolution.CLEAR else None,
        "table_evolution": {key: one.value for key, one in settings.table_evolution.items()},
        "protected": list(settings.protected),
        "memory": settings.memory,
        "driver_memory": settings.driver_memory,
        "checkpoint_interval_seconds": (
            settings.checkpoint_interval_seconds
            if settings.checkpoint_interval_seconds != DEFAULT_CHECKPOINT_INTERVAL
            else None
        ),
        "version_reads": settings.version_reads,
        "used_by": {relation: list(readers) for relation, readers in settings.used_by.items()},
        "pins": {relation: _pin(pin) for relation, pin in settings.pins.items()},
        "function_pins": {function: _pin(pin) for function, pin in settings.function_pins.items()},
        "maintained": {view: list(numbers) for view, numbers in settings.maintained.items()},
        "traded": [[list(pair) for pair in trade] for trade in settings.traded],
        "held": {key: {"number": one.number, "written": one.written} for key, one in sorted(settings.held.items())},
        "retention": _retention(settings.retention),
        "relation_retention": {relation: _retention(one) for relation, one in settings.relation_retention.items()},
        "spark_version": settings.spark_version if settings.spark_version != FIRST_SPARK else None,
        "sealed": dict(sorted(settings.sealed.items())),
    }
    return {
        "name": settings.name,
        "description": settings.description,
        "owner": settings.owner,
        "tags": list(settings.tags),
        "bootstrap_policy": settings.bootstrap_policy.value,
        "workers": settings.workers,
        "spark": dict(settings.spark),
        "descriptions": dict(settings.descriptions),
        **{key: value for key, value in optional.items() if value},
        # Nothing in it is something else than nothing known of it.
        **({} if settings.environment is None else {"environment": dict(sorted(settings.environment.items()))}),
    }


def _retention(retention: Retention) -> dict[str, int]:
    return {key: value for key, value in asdict(retention).items() if value is not None}


def _pin(pin: Pin) -> dict[str, Any]:
    return {"number": pin.number, **({} if pin.written is None else {"written": pin.written})}


def _column(column: ColumnDeclaration) -> dict[str, Any]:
    optional = {"default": column.default, "lateness": column.lateness, "comment": column.comment}
    return {
        "name": column.name,
        "type": column.type,
        "nullable": column.nullable,
        **{key: value for key, value in optional.items() if value is not None},
    }


def _table(table: TableDeclaration) -> dict[str, Any]:
    return {
        "name": table.name,
        "columns": [_column(column) for column in table.columns],
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
        **({"functions": dict(view.functions)} if view.functions else {}),
    }


def _function(function: FunctionDeclaration) -> dict[str, Any]:
    match function.body:
        case SqlBody():
            body: dict[str, Any] = {"language": "sql", "expression": function.body.expression}
        case PythonBody():
            body = {
                "language": "python",
                "module": function.body.module,
                "sources": dict(sorted(function.body.sources.items())),
                "requirements": list(function.body.requirements),
                "python": function.body.python,
                **({"gives_null_on_error": True} if function.body.gives_null_on_error else {}),
            }
        case _:
            assert_never(function.body)
    return {
        "name": function.name,
        "parameters": [asdict(parameter) for parameter in function.parameters],
        "returns": function.returns,
        "body": body,
        "deterministic": function.deterministic,
        "sql": function.sql,
        **({} if function.returns_nullable else {"returns_nullable": False}),
        **({"description": function.description} if function.description else {}),
        **({"functions": dict(function.functions)} if function.functions else {}),
    }


def _foreign(relation: ForeignRelation) -> dict[str, Any]:
    return {
        "pipeline": relation.pipeline,
        "name": relation.name,
        "kind": relation.kind,
        "columns": [list(column) for column in relation.columns],
        "meaning": relation.meaning,
        "record": relation.record,
        **({"names_are_data": True} if relation.names_are_data else {}),
        **({"version": relation.version} if relation.version is not None else {}),
        **({"is_own": True} if relation.is_own else {}),
    }


def _read_foreign(definition: Mapping[str, Any]) -> ForeignRelation:
    columns = tuple((name, kind) for name, kind in definition["columns"])
    return ForeignRelation(**{**definition, "columns": columns})


def _read_function(definition: Mapping[str, Any]) -> FunctionDeclaration:
    body = definition["body"]
    return FunctionDeclaration(
        **{
            **definition,
            "parameters": tuple(ParameterDeclaration(**parameter) for parameter in definition["parameters"]),
            "body": SqlBody(body["expression"]) if body["language"] == "sql" else _read_python(body),
            "functions": _read_calls(definition),
        }
    )


def _read_python(body: Mapping[str, Any]) -> PythonBody:
    given = {name: value for name, value in body.items() if name != "language"}
    return PythonBody(**{**given, "requirements": tuple(body["requirements"])})


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
        **{
            **definition,
            "kind": ViewKind(definition["kind"]),
            "column_names": tuple(definition["column_names"]),
            "functions": _read_calls(definition),
        }
    )


def _read_calls(definition: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(definition.get("functions", {}).items()))
