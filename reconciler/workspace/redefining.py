"""Programs in which objects are defined otherwise: by definitions that the registry has, under their names of today.

What pins (`pinned_objects`) and rollbacks (`held_objects`, `rolling_back`) have in common. An object is named by its key,
`kind:folded name` (`snapshot.objects`); a definition is in the form in which a snapshot stores it.
"""

from collections.abc import Mapping
from dataclasses import replace

from reconciler.base.declarations import PythonBody
from reconciler.base.digest import JsonObject, canonical_json
from reconciler.base.errors import ReconcileError
from reconciler.base.names import fold, is_version, without_version
from reconciler.project.manifest.functions import PYTHON
from reconciler.project.program.compile import Compiled
from reconciler.project.program.model import Program
from reconciler.project.snapshot.codec import decode_manifest, encode_definition, encode_program
from reconciler.project.snapshot.functions import closures
from reconciler.project.snapshot.objects import object_keys, same_definition, versioned_objects
from reconciler.versions.looking import ObjectVersion
from reconciler.workspace.compiling import compile_manifest
from reconciler.workspace.visits import Visit

_SAYS_NOTHING = ("name", "sql", "description", "functions")


def with_definitions(visit: Visit, program: Program, definitions: Mapping[str, JsonObject | None]) -> Compiled:
    """The program with these definitions; None: without that object, and without connectors of it. What it did not have
    yet has the name in its definition. Recorded versions of functions are called where they do something else than those of
    today, and only then. Raises ReconcileError (A591) for one that can't be run here."""
    rows = _called_only(_redefined(program, definitions))
    compiled = _compiled(visit, program, rows)
    same = _same_as_today(compiled.program)
    if same:
        compiled = _compiled(visit, program, _called_only(_calling_today(rows, same)))
    _require_runnable(compiled.program)
    return compiled


def _redefined(program: Program, definitions: Mapping[str, JsonObject | None]) -> list[JsonObject]:
    rows, waiting = [], dict(definitions)
    for row in encode_program(program):
        key = f"{row['kind']}:{row['name']}"
        if key not in waiting:
            rows.append(row)
        elif (wanted := waiting.pop(key)) is not None:
            rows.append({**row, "definition": {**wanted, "name": row["definition"]["name"]}})
    for key, wanted in sorted(waiting.items()):
        kind, _, name = key.partition(":")
        rows += [{"kind": kind, "name": name, "definition": wanted}] if wanted is not None else []
    relations = {row["name"] for row in rows if row["kind"] in ("table", "view")}
    return [row for row in rows if row["kind"] != "connector" or fold(row["definition"]["relation"]) in relations]


def _compiled(visit: Visit, program: Program, rows: list[JsonObject]) -> Compiled:
    # What only says how a program came to be is not stored.
    return compile_manifest(visit.apart(program.name), replace(decode_manifest(rows), moves=program.moves))


def _called_only(rows: list[JsonObject]) -> list[JsonObject]:
    """Without recorded versions of functions that nothing calls any more."""
    functions = {row["name"]: row for row in rows if row["kind"] == "function"}
    called: set[str] = set()
    waiting = [row for row in rows if not is_version(row["name"]) or row["kind"] == "view"]
    while waiting:
        for key in waiting.pop()["definition"].get("functions", {}).values():
            if key not in called and key in functions:
                called.add(key)
                waiting.append(functions[key])
    return [row for row in rows if row["kind"] != "function" or not is_version(row["name"]) or row["name"] in called]


def _same_as_today(program: Program) -> frozenset[str]:
    """The recorded versions of functions (keys) that do what the functions of their names do today."""
    recorded = [key for key in program.functions if is_version(key) and without_version(key) in program.functions]
    today = [without_version(key) for key in recorded]
    known = closures(program.functions, [*recorded, *today], program.spelling)
    return frozenset(key for key in recorded if known[key] == known[without_version(key)])


def _calling_today(rows: list[JsonObject], same: frozenset[str]) -> list[JsonObject]:
    found: list[JsonObject] = []
    for row in rows:
        calls = row["definition"].get("functions", {})
        kept = {name: key for name, key in calls.items() if key not in same}
        definition = {part: value for part, value in row["definition"].items() if part != "functions"}
        found.append({**row, "definition": {**definition, "functions": kept} if kept else definition})
    return found


def _require_runnable(program: Program) -> None:
    for key, function in program.functions.items():
        body = function.declaration.body
        if is_version(key) and isinstance(body, PythonBody) and body.python != PYTHON:
            message = f"function {program.name}.{function.name} was recorded with Python {body.python}, and this is {PYTHON}"
            hint = "run reconciler on that version of Python, or remove the pin, rollback or `maintain` that needs it"
            raise ReconcileError("A591", message, hint)


def stored_definition(program: Program, key: str) -> JsonObject | None:
    """An object's definition as the registry stores it; None where the program has no such object."""
    try:
        return encode_definition(program, key)
    except KeyError:
        return None


def defines(visit: Visit, program: Program, key: str, definition: JsonObject | None) -> bool:
    """Whether the program means the same by an object as by this definition of it, whatever the functions are that it
    calls; None: it has no such object."""
    if definition is None or key not in object_keys(program):
        return definition is None and key not in object_keys(program)
    if _meaning(stored_definition(program, key) or {}) == _meaning(definition):
        return True
    return same_definition(program, with_definitions(visit, program, {key: definition}).program, key)


def _meaning(definition: JsonObject) -> str:
    return canonical_json({name: part for name, part in definition.items() if name not in _SAYS_NOTHING})


def other_meaning(program: Program, key: str, version: ObjectVersion) -> str | None:
    """What else the definition of a version means in a program, in words; None where it means what it did. A definition may:
    `*` of another table, or under other settings."""
    today = versioned_objects(program, frozenset({key}))[key]
    sought = {*today.sought_as, today.written_as}
    if "functions" not in version.content:
        # It was recorded before versions covered functions; those of then were put in their place.
        sought |= {*today.alone_as, today.written_alone_as}
    if not version.known_as or not sought.isdisjoint(version.known_as):
        return None
    view = program.views.get(key.partition(":")[2]) if key.startswith("view:") else None
    then = [str(one["name"]) for one in version.content.get("columns", [])]
    now = list(view.column_names) if view is not None else then
    return f"columns ({', '.join(now)}) instead of ({', '.join(then)})" if now != then else "another meaning"
