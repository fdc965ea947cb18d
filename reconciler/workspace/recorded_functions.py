"""Old versions go on calling the functions that were recorded with them, beside today's functions of the same names.

- A version says which versions of functions it calls; one that was recorded before versions said so calls those that were
  active when it was active last (`recorded`). A function with a body in SQL says it of itself likewise.
- In the program such a function is one of its own, named `tax@v0`, and what calls it says so (`functions` of its
  declaration). Nobody else can: `@` is no part of a name. What these are is part of what is applied, so that a run needs no
  history.
- Where it does what today's function of that name does, today's is called (`redefining.with_definitions`): then nothing
  differs from what was applied.
- One that is not to be had is an error (A591), and never today's in its place.

All give definitions by key (`kind:folded name`), as `redefining.with_definitions` takes them.
"""

from collections.abc import Mapping

from reconciler.base.digest import JsonObject
from reconciler.base.errors import NotFound, ReconcileError
from reconciler.base.names import fold, is_version
from reconciler.environment.target import Target
from reconciler.project.program.model import Program
from reconciler.project.snapshot.codec import encode_program
from reconciler.project.snapshot.objects import object_key
from reconciler.registry.model import Head
from reconciler.versions.looking import ObjectVersion, find_in_head, read_version
from reconciler.versions.recorded import functions_active_with


def with_recorded_functions(
    target: Target, version: ObjectVersion, key: str, definition: JsonObject
) -> dict[str, JsonObject | None]:
    """A definition that is a recorded version's, under a key, and the functions that this version calls."""
    found: dict[str, JsonObject | None] = {}
    calls = _collected(target, version, None, found)
    found[key] = {**definition, "functions": calls} if calls else definition
    return found


def with_applied_functions(head: Head, applied: Program, key: str, new_key: str) -> dict[str, JsonObject | None]:
    """The definition of an applied object, under a key, and the functions that it calls as they are applied."""
    stored = {f"{row['kind']}:{row['name']}": row["definition"] for row in encode_program(applied)}
    found: dict[str, JsonObject | None] = {}
    waiting = [(key, new_key)]
    while waiting:
        one, name = waiting.pop()
        kind, _, own = one.partition(":")
        found_here = applied.views.get(own) if kind == "view" else applied.functions.get(own) if kind == "function" else None
        calls = {}
        for call in found_here.calls if found_here is not None else ():
            called = call
            if not is_version(call):
                active = head.versions.get(object_key("function", call))
                if active is None or active.active is None:
                    continue  # as it is in a program of which no versions are known
                called = f"{call}@v{active.active}"
            calls[call.partition("@")[0]] = called
            if object_key("function", called) not in found:
                waiting.append((object_key("function", call), object_key("function", called)))
        definition = {part: value for part, value in stored[one].items() if part != "functions"}
        if kind == "function" and is_version(name):
            definition = {**definition, "name": f"{definition['name'].partition('@')[0]}@{name.partition('@')[2]}"}
        found[name] = {**definition, "functions": calls} if calls else definition
    return found


def calls_recorded(program: Program, key: str) -> bool:
    """Whether an object calls recorded versions of functions, since today's do something else."""
    kind, _, name = key.partition(":")
    found = program.views.get(name) if kind == "view" else program.functions.get(name) if kind == "function" else None
    return found is not None and any(map(is_version, found.calls))


def _collected(
    target: Target,
    version: ObjectVersion,
    then: Mapping[str, int] | None,
    found: dict[str, JsonObject | None],
) -> dict[str, str]:
    """By name as called, the keys of the functions that a version calls; these are added to `found`. `then` are those of the
    time when what calls it was active, where that is all that is known."""
    calls: dict[str, str] = {}
    if "functions" in version.content:
        numbers = {name: int(number) for name, number in version.content["functions"].items()}
    else:
        if then is None:
            then = _active_with(target, version)
        numbers = {name: then[name] for name in version.content.get("calls", ()) if name in then}
    missing = sorted({*version.content.get("calls", ())} - {*numbers})
    if missing:
        raise _not_recorded(version, missing[0])
    for name, number in sorted(numbers.items()):
        called = _function(target, version, name, number)
        key = calls[name] = f"{fold(name)}@v{number}"
        before = found.get(object_key("function", key))
        nested = {} if before is not None and "functions" in called.content else _collected(target, called, then, found)
        if before is not None:
            if "functions" not in called.content and before.get("functions", {}) != nested:
                raise _not_recorded(version, name)
            continue
        definition = {**called.definition, "name": f"{called.definition['name']}@v{number}"}
        found[object_key("function", key)] = {**definition, "functions": nested} if nested else definition
    return calls


def _active_with(target: Target, version: ObjectVersion) -> dict[str, int]:
    versions = functions_active_with(target.registry, version.found.head, version.found.versions.id, version.summary.number)
    return {key.partition(":")[2]: one.active for key, one in versions.items() if one.active is not None}


def _function(target: Target, caller: ObjectVersion, name: str, number: int) -> ObjectVersion:
    try:
        return read_version(target, find_in_head(caller.found.head, name, "function"), f"v{number}")
    except NotFound as error:
        raise _not_recorded(caller, f"{name}@v{number}") from error


def _not_recorded(version: ObjectVersion, name: str) -> ReconcileError:
    found = version.found
    return ReconcileError(
        "A591",
        f"{found.pipeline}.{found.name}@v{version.summary.number} calls {name}, and the registry no longer "
        "knows that version of it",
        "redefine it in the files",
    )
