"""Objects that are pinned: `version: v2` in pipeline.yaml makes that version of a table, view or function active, whatever
it was before.

- The rest of the definition has to be the active one or the pinned one (the seed's `FeatureViewPinConflict`): a pin and a
  change in one go would leave unsaid which of the two is meant. Then the plan stops, and says what differs. What the files
  said beside a pin that was applied is kept with it, so that they may go on to say it; so is what they said when an object
  was rolled back, which a pin ends.
- The desired program has the pinned definition, as it was written then; so the plan says what becomes of the object, and
  applying the same file again is no change.
- A pinned definition has to fit what there is now: one that reads a column that was dropped is an error, and so is one that
  reads a column, table or view whose name something else has now (`names_since`).
- It goes on calling the functions that were recorded with it (`recorded_functions`); what they are now plays no part in
  whether the files define it as it is.
- A table is pinned only where its rows outlive that, by the rules of any change of a table (A592).
"""

import difflib
from collections.abc import Mapping
from dataclasses import replace

from reconciler.base.declarations import Pin
from reconciler.base.diagnostics import errors_among
from reconciler.base.digest import JsonObject
from reconciler.base.errors import NotFound, ReconcileError
from reconciler.base.names import fold
from reconciler.diff.compare import compare
from reconciler.diff.model import Fate
from reconciler.environment.target import Target
from reconciler.project.program.compile import Compiled
from reconciler.project.program.model import Program
from reconciler.project.program.moves import former_name
from reconciler.project.snapshot.model import take_snapshot
from reconciler.project.snapshot.objects import object_keys, pins_of, same_definition, same_meaning
from reconciler.registry.model import Head
from reconciler.sql.shown_definitions import without_connectors
from reconciler.state.applied import read_snapshot
from reconciler.versions.looking import ObjectVersion, find_in_head, read_version
from reconciler.versions.names_since import NamesSince
from reconciler.workspace.recorded_functions import with_recorded_functions
from reconciler.workspace.redefining import defines, other_meaning, stored_definition, with_definitions
from reconciler.workspace.visits import Visit


def with_pinned_objects(visit: Visit, program: Program) -> Program:
    """The program with the definitions that its pins name. Raises NotFound (A522), ReconcileError (A525, A526, A592)."""
    pins = pins_of(program)
    if not pins:
        return program
    target = visit.target
    stored = target.registry.head(program.name)
    head = stored.value if stored is not None else None
    versions = pinned_versions(target, program, head)
    definitions: dict[str, JsonObject | None] = {}
    for key, one in versions.items():
        definitions |= with_recorded_functions(target, one, key, one.definition)
    pinned = _required(with_definitions(visit, program, definitions), versions)
    applied = None
    if head is not None and head.applied is not None and head.applied.record is not None:
        applied = read_snapshot(target, program.name, head.applied.record).program
    found = {}
    names = NamesSince(target, head, applied, pinned) if head is not None else None
    for key, version in versions.items():
        _require_the_same(pinned, key, version, names)
        if same_definition(program, pinned, key):
            found[key] = Pin(pins[key].number)
        elif _is_known(visit, program, applied, key):
            found[key] = Pin(pins[key].number, stored_definition(program, key))
        else:
            raise _conflict(program, applied, key, version)
    if applied is not None:
        _require_rows_to_stay(applied, pinned, versions)
    settings = replace(
        pinned.settings,
        pins={key.partition(":")[2]: pin for key, pin in found.items() if not key.startswith("function:")},
        function_pins={key.partition(":")[2]: pin for key, pin in found.items() if key.startswith("function:")},
    )
    return replace(pinned, settings=settings)


def pinned_versions(target: Target, program: Program, head: Head | None) -> dict[str, ObjectVersion]:
    """The versions that a program's pins name, by key. Raises NotFound (A522)."""
    return {key: _pinned(target, program, head, key, pin.number) for key, pin in pins_of(program).items()}


def _require_the_same(pinned: Program, key: str, version: ObjectVersion, names: NamesSince | None) -> None:
    name = f"{version.found.pipeline}.{pinned.written_name(key)}@v{version.summary.number}"
    what = other_meaning(pinned, key, version)
    if what is not None:
        raise ReconcileError(
            "A526",
            f"{name} can't be active: its definition has {what} in the current program",
            "redefine it in the files; if it is a view, name its columns",
        )
    other = names.misread(version) if names is not None else None
    if other is not None:
        verb = "has" if key.startswith("table:") else "reads"
        message = f"{name} can't be active: it {verb} {other}"
        raise ReconcileError("A526", message, "redefine it in the files, or rename the relations back (`moved`)")


def _require_rows_to_stay(applied: Program, pinned: Program, versions: Mapping[str, ObjectVersion]) -> None:
    tables = {
        key.partition(":")[2]: version
        for key, version in versions.items()
        if key.startswith("table:") and not same_meaning(pinned, applied, key, _former_key(pinned, key))
    }
    if not tables:
        return
    for change in compare(take_snapshot(applied), take_snapshot(pinned)).relations:
        if fold(change.name) in tables and change.fate is Fate.CLEARED:
            name = f"{pinned.name}.{change.name}@v{tables[fold(change.name)].summary.number}"
            raise ReconcileError(
                "A592",
                f"{name} can't be active: changing back to it deletes the table's rows",
                "`evolution: evolve` may keep the rows; or write this definition in the files: the plan shows what it costs",
            )


def _is_known(visit: Visit, program: Program, applied: Program | None, key: str) -> bool:
    """Whether the files define an object as it is active, or as they did when the pin in force was applied."""
    if applied is None:
        return False
    former = _former_key(program, key) if key not in object_keys(applied) else key
    if same_definition(program, applied, key, former):
        return True
    pin, held = pins_of(applied).get(former), applied.settings.held.get(former)
    written = [one.written for one in (pin, held) if one is not None and one.written is not None]
    return any(defines(visit, program, key, one) for one in written)


def _former_key(program: Program, key: str) -> str:
    """The key that an object had before what `moved` says."""
    kind, _, name = key.partition(":")
    return key if kind == "function" else f"{kind}:{former_name(program, name)}"


def _pinned(target: Target, program: Program, head: Head | None, key: str, number: int) -> ObjectVersion:
    former = key if head is None or key in head.versions else _former_key(program, key)
    if head is None or former not in head.versions:
        name = f"{program.name}.{program.written_name(key)}"
        raise NotFound("A522", f"{name} is pinned at v{number}, but no version of it was ever applied")
    kind, _, known = former.partition(":")
    return read_version(target, find_in_head(head, known, kind), f"v{number}")


def _required(compiled: Compiled, versions: Mapping[str, ObjectVersion]) -> Program:
    errors = errors_among(compiled.diagnostics)
    if not errors:
        return compiled.program
    names = ", ".join(f"{one.summary.name}@v{one.summary.number}" for one in versions.values())
    message = f"{names} can't be active in the current program: {errors[0].code}: {errors[0].message}"
    raise ReconcileError("A526", message, errors[0].hint)


def _conflict(program: Program, applied: Program | None, key: str, version: ObjectVersion) -> ReconcileError:
    name, number = program.written_name(key), version.summary.number
    there = stored_definition(applied, key) if applied is not None else None
    lines = difflib.unified_diff(
        _text(there or version.definition),
        _text(stored_definition(program, key) or {}),
        f"{name} as applied" if there is not None else f"{name}@v{number}",
        f"{name} in the files",
        lineterm="",
    )
    return ReconcileError(
        "A525",
        f"{program.name}.{name} is pinned at v{number}, but its definition in the files is neither that of "
        f"v{number} nor the active one:\n" + "\n".join(f"  {line}" for line in lines),
        f"remove the pin to apply the files, or revert the change to keep v{number}",
    )


def _text(definition: JsonObject) -> list[str]:
    """A definition as its author wrote it, with the files of a function in Python."""
    lines = without_connectors(str(definition.get("sql", ""))).strip().splitlines()
    for path, text in sorted(definition.get("body", {}).get("sources", {}).items()):
        lines += [f"-- udf/{path}", *str(text).rstrip().splitlines()]
    return lines
