"""Programs in which objects are defined otherwise: by definitions that the registry has, under their names of today.

What pins (`pinned_views`) and rollbacks (`held_objects`, `rolling_back`) have in common. An object is named by its key,
`kind:folded name` (`snapshot.objects`); a definition is in the form in which a snapshot stores it.
"""

from collections.abc import Mapping
from dataclasses import replace

from reconciler.digest import JsonObject, canonical_json
from reconciler.names import fold
from reconciler.program.compile import Compiled
from reconciler.program.model import Program
from reconciler.reconcile.compiling import compile_manifest
from reconciler.reconcile.target import Target
from reconciler.reconcile.versions.looking import ObjectVersion
from reconciler.snapshot.codec import decode_manifest, encode_program
from reconciler.snapshot.objects import object_keys, same_meaning, versioned_objects

_SAYS_NOTHING = ("name", "sql", "description")


def with_definitions(target: Target, program: Program, definitions: Mapping[str, JsonObject | None]) -> Compiled:
    """The program with these definitions; None: without that object, and without connectors of it. What it did not have
    yet has the name in its definition."""
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
    there = [row for row in rows if row["kind"] != "connector" or fold(row["definition"]["relation"]) in relations]
    # What only says how a program came to be is not stored.
    return compile_manifest(target, replace(decode_manifest(there), moves=program.moves))


def stored_definition(program: Program, key: str) -> JsonObject | None:
    """An object's definition as the registry stores it; None where the program has no such object."""
    for row in encode_program(program):
        if f"{row['kind']}:{row['name']}" == key:
            return dict(row["definition"])
    return None


def defines(target: Target, program: Program, key: str, definition: JsonObject | None) -> bool:
    """Whether the program means the same by an object as by this definition of it; None: it has no such object."""
    if definition is None or key not in object_keys(program):
        return definition is None and key not in object_keys(program)
    if _meaning(stored_definition(program, key) or {}) == _meaning(definition):
        return True
    return same_meaning(program, with_definitions(target, program, {key: definition}).program, key)


def _meaning(definition: JsonObject) -> str:
    return canonical_json({name: part for name, part in definition.items() if name not in _SAYS_NOTHING})


def other_meaning(program: Program, key: str, version: ObjectVersion) -> str | None:
    """What else the definition of a version means in a program, in words; None where it means what it did. A definition may:
    `*` of another table, or under other settings."""
    today = versioned_objects(program, frozenset({key}))[key]
    if not version.known_as or not {*today.sought_as, today.written_as}.isdisjoint(version.known_as):
        return None
    view = program.views.get(key.partition(":")[2]) if key.startswith("view:") else None
    then = [str(one["name"]) for one in version.content.get("columns", [])]
    now = list(view.column_names) if view is not None else then
    return f"columns ({', '.join(now)}) instead of ({', '.join(then)})" if now != then else "another meaning"
