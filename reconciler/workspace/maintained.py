"""Versions that are kept up to date beside the active one: `versions: {v0: {maintain: true}}` of a view in pipeline.yaml.

- Such a version is a view of its own in the desired program, named `revenue@v0`, with the definition that was recorded. So
  it is planned, approved, bootstrapped, brought up to date by every step, read and removed as any view is, and agrees with
  all others at any step. It has a table of its own, at one permanent path (`folders`), which outside readers may read.
- It stays whichever version is active: whoever reads it need not know. While that version is active itself, both have the
  same rows, and both are computed.
- It is named by its number. A rename (`moved`) takes it along.
- Its definition has to mean in today's program what it meant (A527), as for a pin: it reads the relations as they are now,
  and those that had their names then (`names_since`).
- It is no object that has versions itself (`snapshot.objects.object_keys`).

Whatever else changes which version is active (pins, rollbacks) comes before: nothing of it matters here.
"""

from dataclasses import replace

from reconciler.base.declarations import Move, ViewKind
from reconciler.base.diagnostics import errors_among
from reconciler.base.digest import JsonObject
from reconciler.base.errors import NotFound, ReconcileError
from reconciler.base.names import fold, is_version
from reconciler.environment.target import Target
from reconciler.project.program.model import Program
from reconciler.project.program.moves import former_name
from reconciler.project.snapshot.objects import object_key
from reconciler.registry.model import Head
from reconciler.state.applied import read_snapshot
from reconciler.versions.looking import ObjectVersion, find_in_head, read_version
from reconciler.versions.names_since import NamesSince
from reconciler.workspace.recorded_functions import with_recorded_functions
from reconciler.workspace.redefining import other_meaning, with_definitions
from reconciler.workspace.visits import Visit


def maintained_name(view: str, number: int) -> str:
    """The name of the view that keeps a version up to date."""
    return f"{view}@v{number}"


def with_maintained_versions(visit: Visit, program: Program) -> Program:
    """The program with the versions that its settings want kept up to date, and with no others. Raises NotFound (A522),
    ReconcileError (A527)."""
    there = {object_key("view", name) for name in program.views if is_version(name)}
    wanted = {view: numbers for view, numbers in program.settings.maintained.items() if view in program.views}
    if not there and not wanted:
        return program
    target = visit.target
    stored = target.registry.head(program.name)
    head = stored.value if stored is not None else None
    definitions: dict[str, JsonObject | None] = dict.fromkeys(sorted(there))
    versions: dict[str, ObjectVersion] = {}
    for view, numbers in sorted(wanted.items()):
        for number in numbers:
            name = maintained_name(program.views[view].name, number)
            version = _recorded(target, program, head, view, number)
            versions[object_key("view", name)] = version
            key = object_key("view", name)
            definitions |= with_recorded_functions(target, version, key, {**version.definition, "name": name})
    compiled = with_definitions(visit, program, definitions)
    errors = errors_among(compiled.diagnostics)
    if errors:
        raise _misfit(program, versions, f"{errors[0].code}: {errors[0].message}", errors[0].hint)
    for key, version in versions.items():
        what = other_meaning(compiled.program, key, version)
        if what is not None:
            raise _misfit(program, {key: version}, f"its definition has {what} in that program")
    if head is not None and versions:
        names = NamesSince(target, head, _applied(target, head, program), compiled.program)
        for key, version in versions.items():
            other = names.misread(version)
            if other is not None:
                raise _misfit(program, {key: version}, f"it reads {other}")
    return replace(compiled.program, moves=(*program.moves, *_moves(program, wanted, head)))


def _applied(target: Target, head: Head, program: Program) -> Program | None:
    """What is applied, where it matters for what the program renames."""
    if not program.moves or head.applied is None or head.applied.record is None:
        return None
    return read_snapshot(target, program.name, head.applied.record).program


def _recorded(target: Target, program: Program, head: Head | None, view: str, number: int) -> ObjectVersion:
    name = f"{program.name}.{program.views[view].name}"
    former = former_name(program, view) if head is None or object_key("view", view) not in head.versions else view
    if head is None or object_key("view", former) not in head.versions:
        message = f"`maintain` names {name}@v{number}, but no version of {name} was ever applied"
        raise NotFound("A522", message, "remove `maintain`: a view that was never applied has no earlier version")
    version = read_version(target, find_in_head(head, former, "view"), f"v{number}")
    if version.content.get("kind") == ViewKind.LOCAL.value:
        raise ReconcileError("A527", f"{name}@v{number} can't be kept up to date: it is a version of a LOCAL view")
    return version


def _moves(program: Program, wanted: dict[str, tuple[int, ...]], head: Head | None) -> list[Move]:
    """What the moves of views mean for their versions that are kept up to date already."""
    there = head.published.relations if head is not None and head.published is not None else {}
    return [
        Move(before, maintained_name(program.views[fold(move.target)].name, number))
        for move in program.moves
        for number in wanted.get(fold(move.target), ())
        if fold(before := maintained_name(move.source, number)) in there
    ]


def _misfit(program: Program, versions: dict[str, ObjectVersion], why: str, hint: str | None = None) -> ReconcileError:
    names = ", ".join(f"{program.name}.{key.partition(':')[2]}" for key in versions)
    return ReconcileError(
        "A527",
        f"{names} can't be kept up to date in the current program: {why}",
        f"{f'{hint}; or ' if hint else ''}remove `maintain` to keep its rows as they are",
    )
