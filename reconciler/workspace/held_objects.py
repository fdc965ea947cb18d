"""Objects that were rolled back (`rolling_back`): what the files say of them waits until they say something else.

- With what is applied is kept, for each such object, which version it has, and its definition as the files had it then.
  Desired is what the files say with these versions in their place, for as long as the files define the object as they did.
  Once they mean something else, or have it no more, the hold ends and the files count; the plan says so (H930).
- A rename (`moved`) takes the hold along. What pipeline.yaml pins has the pinned version: the pin ends the hold.
- A held definition has to fit the files: one that reads what the files have no more is an error (A540), and so is one that
  means something else among them, or reads what they rename while something else gets its name (`names_since`).
- An object that is held as not there takes its connectors with it; what the files say of them waits, too.
"""

from collections.abc import Mapping
from dataclasses import replace

from reconciler.base.declarations import Held
from reconciler.base.diagnostics import errors_among
from reconciler.base.digest import JsonObject
from reconciler.base.errors import ReconcileError
from reconciler.project.program.model import Program
from reconciler.project.program.moves import moved_key
from reconciler.project.snapshot.model import Snapshot
from reconciler.project.snapshot.objects import pins_of, same_meaning
from reconciler.registry.model import Head
from reconciler.state.applied import read_snapshot
from reconciler.versions.looking import find_in_head, read_version
from reconciler.versions.names_since import NamesSince
from reconciler.workspace.pinned_objects import pinned_versions
from reconciler.workspace.recorded_functions import with_applied_functions, with_recorded_functions
from reconciler.workspace.redefining import defines, stored_definition, with_definitions
from reconciler.workspace.visits import Visit


def with_held_objects(visit: Visit, program: Program, applied: Snapshot | None) -> Program:
    """The files' program with what is rolled back in what is applied, which is looked up unless it is given. Raises
    ReconcileError (A540)."""
    stored = visit.target.registry.head(program.name)
    if stored is None or stored.value.applied is None or not (applied is not None or stored.value.held):
        return program
    if applied is None:
        applied = read_snapshot(visit.target, program.name, stored.value.applied.record or "")
    return _with_held(visit, stored.value, program, applied.program)


def _with_held(visit: Visit, head: Head, program: Program, applied: Program) -> Program:
    target = visit.target
    held: dict[str, Held] = {}
    former: dict[str, str] = {}
    pinned = pins_of(program)
    for key, one in applied.settings.held.items():
        today = moved_key(program, key)
        if today not in pinned and defines(visit, program, today, one.written):
            held[today], former[today] = one, key
    if not held:
        return program
    definitions: dict[str, JsonObject | None] = {}
    for key, one in held.items():
        wanted = with_applied_functions(head, applied, former[key], key) if one.number is not None else {key: None}
        definitions |= wanted
    if any(key.startswith("function:") for key in held):
        # What is pinned calls what was recorded with it, whatever functions go back.
        for key, version in pinned_versions(target, program, head).items():
            definitions |= with_recorded_functions(target, version, key, stored_definition(program, key) or {})
    compiled = with_definitions(visit, program, definitions)
    errors = errors_among(compiled.diagnostics)
    if errors:
        raise _misfit(program.name, held, f"{errors[0].code}: {errors[0].message}")
    for key, one in held.items():
        if one.number is not None and not same_meaning(compiled.program, applied, key, former[key]):
            raise _misfit(
                program.name, {key: one}, "it has another meaning with these files: other columns, or other settings"
            )
    names = NamesSince(target, head, applied, compiled.program) if program.moves else None
    for key, one in held.items():
        if one.number is None or names is None:
            continue
        kind, _, name = former[key].partition(":")
        other = names.misread(read_version(target, find_in_head(head, name, kind), f"v{one.number}"))
        if other is not None:
            raise _misfit(program.name, {key: one}, f"it {'has' if kind == 'table' else 'reads'} {other}")
    return replace(compiled.program, settings=replace(compiled.program.settings, held=dict(sorted(held.items()))))


def held_numbers(program: Program) -> dict[str, int | None]:
    """What is rolled back in an applied program, and to which version, as its head says: for whoever need not know more."""
    return {key: one.number for key, one in sorted(program.settings.held.items())}


def _misfit(pipeline: str, held: Mapping[str, Held], why: str) -> ReconcileError:
    names = ", ".join(
        f"{key.partition(':')[2]}{'' if one.number is None else f'@v{one.number}'}" for key, one in held.items()
    )
    (first, *_) = held
    return ReconcileError(
        "A540",
        f"the rollback of {names} of {pipeline} conflicts with the files: {why}",
        f"redefine it in the files; or end the rollback: reconcile rollback --end {pipeline}.{first.partition(':')[2]}",
    )
