"""The objects of a snapshot that have versions: tables, views and functions, each with what one version of it is.

- `fingerprint` is of the meaning without the name, so that a renamed object is what it was: of a table its columns, key and
  properties; of a view its canonical query, its output columns, its kind and the Spark settings that decide results; of a
  function its parameters, what it returns and its body.
- `definition` is what the registry stores of it: what the author wrote.
- `content` is for looking at and comparing: the canonical query, columns, what is read and called.

What changes of a view because of what it reads (other rows, other types) is no part of it: a version is of a definition.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reconciler.digest import JsonObject, digest_json
from reconciler.names import fold
from reconciler.program.model import Function, Program, Table, View
from reconciler.snapshot.codec import encode_program
from reconciler.snapshot.fingerprint import function_content, table_content, view_content
from reconciler.snapshot.model import Snapshot

KINDS = ("table", "view", "function")


@dataclass(frozen=True, slots=True)
class VersionedObject:
    """See the module. `key` is `kind:folded name`."""

    key: str
    kind: str
    name: str
    fingerprint: str
    definition: JsonObject
    content: JsonObject


def object_key(kind: str, name: str) -> str:
    """How an object is known within its pipeline, for as long as it has that name."""
    return f"{kind}:{fold(name)}"


def object_keys(program: Program) -> tuple[str, ...]:
    """The keys of all objects of a program, sorted."""
    by_kind = zip(KINDS, (program.tables, program.views, program.functions), strict=True)
    return tuple(sorted(f"{kind}:{key}" for kind, objects in by_kind for key in objects))


def versioned_objects(snapshot: Snapshot, keys: frozenset[str]) -> dict[str, VersionedObject]:
    """The objects with these keys."""
    program = snapshot.program
    stored = {f"{one['kind']}:{one['name']}": one["definition"] for one in encode_program(program) if one["kind"] in KINDS}
    found = {}
    for key in sorted(keys):
        kind, _, name = key.partition(":")
        meaning, content = _described(program, kind, name)
        spelled = stored[key]["name"]
        found[key] = VersionedObject(key, kind, spelled, digest_json(meaning), stored[key], content)
    return found


def _described(program: Program, kind: str, key: str) -> tuple[JsonObject, JsonObject]:
    match kind:
        case "table":
            return _table(program.tables[key], program)
        case "view":
            return _view(program.views[key], program)
        case _:
            return _function(program.functions[key], program)


def _table(table: Table, program: Program) -> tuple[JsonObject, JsonObject]:
    meaning = _without_name(table_content(table, program.names_are_data))
    columns = [{"name": one.name, "type": one.type, "nullable": one.nullable} for one in table.columns]
    return meaning, {"columns": columns, "primary_key": list(table.primary_key)}


def _view(view: View, program: Program) -> tuple[JsonObject, JsonObject]:
    spelled = list(view.column_names) if program.names_are_data else [fold(name) for name in view.column_names]
    content = view_content(view, program.settings, program.names_are_data)
    return {**_without_name(content), "columns": spelled}, {
        "canonical": view.canonical,
        "kind": view.kind.value,
        "columns": [{"name": name} for name in view.column_names],
        "reads": {read.relation: list(read.columns) for read in view.reads},
        "calls": list(view.calls),
    }


def _function(function: Function, program: Program) -> tuple[JsonObject, JsonObject]:
    meaning = _without_name(function_content(function, program.names_are_data))
    declaration = function.declaration
    return meaning, {
        "returns": declaration.returns,
        "parameters": [{"name": one.name, "type": one.type} for one in declaration.parameters],
        "calls": list(function.calls),
    }


def _without_name(content: Mapping[str, Any]) -> dict[str, Any]:
    return {part: value for part, value in content.items() if part != "name"}
