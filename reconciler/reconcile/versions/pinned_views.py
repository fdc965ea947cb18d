"""Views that are pinned: `version: v2` in pipeline.yaml makes that version active, whatever it was before.

- The rest of the definition has to be the active one or the pinned one (the seed's `FeatureViewPinConflict`): a pin and a
  change in one go would leave unsaid which of the two is meant. Then the plan stops, and says what differs. What the files
  said beside a pin that was applied is kept with it, so that they may go on to say it; so is what they said when a view was
  rolled back, which a pin ends.
- The desired program has the pinned definition, as it was written then; so the plan says what becomes of the view, and
  applying the same file again is no change.
- A pinned definition has to fit what there is now: one that reads a column that was dropped is an error.
"""

import difflib
from collections.abc import Mapping
from dataclasses import replace

from reconciler.diagnostics import errors_among
from reconciler.digest import JsonObject
from reconciler.errors import NotFound, ReconcileError
from reconciler.manifest.model import Pin
from reconciler.program.compile import Compiled
from reconciler.program.model import Program
from reconciler.program.moves import former_name
from reconciler.reconcile.snapshots import read_snapshot
from reconciler.reconcile.target import Target
from reconciler.reconcile.versions.looking import ObjectVersion, find_in_head, read_version
from reconciler.reconcile.versions.recorded_functions import with_recorded_functions
from reconciler.reconcile.versions.redefining import defines, other_meaning, stored_definition, with_definitions
from reconciler.registry.model import Head
from reconciler.snapshot.objects import object_key, same_definition


def with_pinned_views(target: Target, program: Program) -> Program:
    """The program with the definitions that its pins name. Raises NotFound (A522), ReconcileError (A525, A526)."""
    pins = {view: pin.number for view, pin in program.settings.pins.items() if view in program.views}
    if not pins:
        return program
    stored = target.registry.head(program.name)
    head = stored.value if stored is not None else None
    versions = pinned_versions(target, program, head)
    definitions: dict[str, JsonObject | None] = {}
    for view, one in versions.items():
        definitions |= with_recorded_functions(target, one, object_key("view", view), one.definition)
    pinned = _required(with_definitions(target, program, definitions), versions)
    applied = None
    if head is not None and head.applied is not None and head.applied.record is not None:
        applied = read_snapshot(target, program.name, head.applied.record).program
    found = {}
    for view, version in versions.items():
        key = object_key("view", view)
        _require_the_same(pinned, view, version)
        if same_definition(program, pinned, key):
            found[view] = Pin(pins[view])
        elif _is_known(target, program, applied, view):
            found[view] = Pin(pins[view], stored_definition(program, key))
        else:
            raise _conflict(program, applied, view, version)
    return replace(pinned, settings=replace(pinned.settings, pins=found))


def pinned_versions(target: Target, program: Program, head: Head | None) -> dict[str, ObjectVersion]:
    """The versions that a program's pins name, by view. Raises NotFound (A522)."""
    pins = {view: pin.number for view, pin in program.settings.pins.items() if view in program.views}
    return {view: _pinned(target, program, head, view, number) for view, number in pins.items()}


def _require_the_same(pinned: Program, view: str, version: ObjectVersion) -> None:
    what = other_meaning(pinned, object_key("view", view), version)
    if what is None:
        return
    name = f"{version.found.pipeline}.{pinned.views[view].name}@v{version.summary.number}"
    raise ReconcileError(
        "A526",
        f"{name} can't be active: its definition has {what} in today's program",
        "define the view anew in the files, naming its columns",
    )


def _is_known(target: Target, program: Program, applied: Program | None, view: str) -> bool:
    """Whether the files define a view as it is active, or as they did when the pin in force was applied."""
    if applied is None:
        return False
    former = former_name(program, view) if view not in applied.views else view
    pin, held = applied.settings.pins.get(former), applied.settings.held.get(object_key("view", former))
    if same_definition(program, applied, object_key("view", view), object_key("view", former)):
        return True
    written = [one.written for one in (pin, held) if one is not None and one.written is not None]
    return any(defines(target, program, object_key("view", view), one) for one in written)


def _pinned(target: Target, program: Program, head: Head | None, view: str, number: int) -> ObjectVersion:
    name = program.views[view].name
    former = view if head is None or object_key("view", view) in head.versions else former_name(program, view)
    if head is None or object_key("view", former) not in head.versions:
        raise NotFound("A522", f"{program.name}.{name} is pinned at v{number}, but no version of it was ever applied")
    found = find_in_head(head, former, "view")
    return read_version(target, found, f"v{number}")


def _required(compiled: Compiled, versions: Mapping[str, ObjectVersion]) -> Program:
    errors = errors_among(compiled.diagnostics)
    if not errors:
        return compiled.program
    names = ", ".join(f"{one.summary.name}@v{one.summary.number}" for one in versions.values())
    message = f"{names} can't be active in today's program: {errors[0].code}: {errors[0].message}"
    raise ReconcileError("A526", message, errors[0].hint)


def _conflict(program: Program, applied: Program | None, view: str, version: ObjectVersion) -> ReconcileError:
    name, number = program.views[view].name, version.summary.number
    there = applied.views[view].declaration.sql if applied is not None and view in applied.views else version.sql
    lines = difflib.unified_diff(
        there.strip().splitlines(),
        program.views[view].declaration.sql.strip().splitlines(),
        f"{name} as applied" if applied is not None else f"{name}@v{number}",
        f"{name} in the files",
        lineterm="",
    )
    return ReconcileError(
        "A525",
        f"{program.name}.{name} is pinned at v{number}, and the files define it neither so nor as it is active:\n"
        + "\n".join(f"  {line}" for line in lines),
        f"take the pin away to apply the files, or take the change back to have v{number}",
    )
