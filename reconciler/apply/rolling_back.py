"""Rollback: an earlier version of an object, or of a whole pipeline, becomes active until the files change.

- A rollback is a plan as any other, from what is applied to the same with other versions in it. The files are not read;
  their pending changes stay pending. Somebody approves it with `reconcile approve` (a lock is for plans from the files). An
  apply carries it out by the same journal, also beside a live run.
- The applied snapshot then lists the objects that are held back (`held_objects`), and plans from the files leave those
  alone.
- If a rollback leads to what the files said when they were applied last, the object is no longer held back. `end` does the
  same for every object.
- A view that is pinned in pipeline.yaml is changed in the file (A543).
- A table is rolled back only if the usual rules for a change of a table keep its rows (A544).
- A version is refused if a relation that it reads was renamed, and another one has that name now (A541).
- A rollback that awaits approval is recorded in the audit, so that `reconcile approve DIGEST` finds it.
"""

import json
from dataclasses import asdict, replace

from reconciler.apply.applying import ApplyResult, apply_pipeline
from reconciler.apply.planning import Planned, planned_between
from reconciler.apply.wanted import Desired, Wanted
from reconciler.base.declarations import Held
from reconciler.base.diagnostics import errors_among
from reconciler.base.digest import JsonObject, canonical_json
from reconciler.base.errors import ApprovalRequired, NotFound, ReconcileError
from reconciler.base.json_objects import from_json
from reconciler.base.moments import this_moment
from reconciler.base.names import fold
from reconciler.diff.compare import compare
from reconciler.diff.model import Fate
from reconciler.environment.commits import who_is_at_work
from reconciler.environment.session import Session
from reconciler.environment.target import Target
from reconciler.plan.model import Plan
from reconciler.project.program.model import Program
from reconciler.project.snapshot.model import Snapshot, take_snapshot
from reconciler.project.snapshot.objects import object_keys, pins_of, same_meaning
from reconciler.registry.protocol import History
from reconciler.state.applied import AppliedState, read_applied
from reconciler.versions.looking import ObjectVersion, find_in_head, read_version
from reconciler.versions.names_since import NamesSince
from reconciler.versions.rollbacks import Rollback, active_number, would_lose
from reconciler.workspace.desired import begin_visit
from reconciler.workspace.maintained import with_maintained_versions
from reconciler.workspace.recorded_functions import calls_recorded, with_applied_functions, with_recorded_functions
from reconciler.workspace.redefining import defines, other_meaning, stored_definition, with_definitions

_PROPOSED = "rollback proposed"


def plan_rollback(target: Target, rollback: Rollback) -> Planned:
    """The plan that carries a rollback out, with what it was made from. Raises ReconcileError (A541, A543, A544)."""
    applied = read_applied(target, rollback.pipeline)
    return planned_between(target, rollback.pipeline, applied, rolled_back(target, applied, rollback), rollback.words)


def roll_back(target: Target, rollback: Rollback, session: Session, only: str = "") -> ApplyResult:
    """Carry a rollback out, as an apply of its plan; `only` if that has this digest. Raises as `plan_rollback` does, as
    `apply_pipeline`, and ReconcileError (A504) where it is another plan."""

    def desired(applied: AppliedState) -> Desired:
        # A rollback comes from no commit: the files in force are those that were.
        stored = applied.head.value.applied if applied.head is not None else None
        return Desired(rolled_back(target, applied, rollback), lambda: stored.commit if stored is not None else "")

    wanted = Wanted(desired, rollback.words, only=only)
    try:
        return apply_pipeline(target, rollback.pipeline, session, wanted)
    except ApprovalRequired:
        _propose(target, rollback, plan_rollback(target, rollback).plan)
        raise


def rolled_back(target: Target, applied: AppliedState, rollback: Rollback) -> Snapshot:
    """What is applied, with what the rollback brings in it."""
    if applied.snapshot is None or applied.head is None:
        raise NotFound("A506", f"pipeline {rollback.pipeline} is not applied", "run: reconcile apply")
    program, head = applied.snapshot.program, applied.head.value
    visit = begin_visit(target, rollback.pipeline)
    held = dict(program.settings.held)
    definitions: dict[str, JsonObject | None] = {}
    versions: dict[str, ObjectVersion] = {}
    for key, number in rollback.to.items():
        _require_free(program, key)
        _require_as_seen(rollback, key, active_number(head, key))
        written = held[key].written if key in held else stored_definition(program, key)
        held[key], definitions[key] = Held(number, written), None
        if number is not None:
            kind, _, name = key.partition(":")
            versions[key] = read_version(target, find_in_head(head, name, kind), f"v{number}")
            definition = versions[key].definition
            if rollback.whole and "functions" not in versions[key].content:
                # This version was recorded without its functions: the functions of that time are rolled back with it.
                definitions[key] = definition
            else:
                definitions |= with_recorded_functions(target, versions[key], key, definition)
    for key, number in rollback.to.items():
        if number is None and held[key].written is None:
            del held[key]
    for key in rollback.ended:
        if key in held:
            definitions[key] = held.pop(key).written
    # Pinned and held objects go on calling the functions that they call now, even if those are rolled back.
    staying = {*pins_of(program)} | {*held} - {*rollback.to}
    for key in sorted(staying & {*object_keys(program)} - {*definitions}):
        definitions |= with_applied_functions(head, program, key, key)
    compiled = with_definitions(visit, program, definitions)
    errors = errors_among(compiled.diagnostics)
    if errors:
        raise _misfit(rollback, f"{errors[0].code}: {errors[0].message}", errors[0].hint)
    names = NamesSince(target, head, None, compiled.program)
    for key, version in versions.items():
        what = other_meaning(compiled.program, key, version)
        if what is not None:
            raise _misfit(rollback, f"{version.found.name}@v{version.summary.number} has {what} in the current program")
        other = names.misread(version)
        if other is not None:
            verb = "has" if key.startswith("table:") else "reads"
            why = f"{version.found.name}@v{version.summary.number} {verb} {other}"
            raise _misfit(rollback, why, "redefine it in the files, or rename the relations back there (`moved`)")
        differs_in_types = same_meaning(compiled.program, program, key) and active_number(head, key) != held[key].number
        if differs_in_types or calls_recorded(compiled.program, key):
            continue
        if defines(visit, compiled.program, key, held[key].written):
            # This equals what the files said when they were applied last: the object is no longer held back.
            del held[key]
    settings = replace(compiled.program.settings, held=dict(sorted(held.items())))
    found = take_snapshot(with_maintained_versions(visit, replace(compiled.program, settings=settings)))
    _require_rows_to_stay(rollback, applied.snapshot, found)
    return found


def proposed(target: Target, pipeline: str, digest: str) -> Rollback | None:
    """The rollback that awaits approval in this environment under a digest that begins with these digits."""
    for row in reversed(target.registry.history(History.AUDIT, pipeline, event=_PROPOSED)):
        details = json.loads(row["details"])
        if details["environment"] == target.environment.name and details["digest"].removeprefix("sha256:").startswith(
            digest
        ):
            return from_json(Rollback, details["rollback"])
    return None


def _propose(target: Target, rollback: Rollback, plan: Plan) -> None:
    details = {"environment": plan.environment, "digest": plan.digest, "rollback": asdict(rollback)}
    now = this_moment()
    row = {"event": _PROPOSED, "at": now, "by": who_is_at_work(target.root), "details": canonical_json(details)}
    target.registry.record(History.AUDIT, rollback.pipeline, [row], f"rollback:{plan.environment}:{plan.digest}")


def _require_as_seen(rollback: Rollback, key: str, active: int | None) -> None:
    """Accepts a rollback that is done already. Refuses one if another version became active since it was asked for."""
    if active not in (rollback.seen.get(key), rollback.to[key]):
        now = "it no longer exists" if active is None else f"v{active} is active now"
        raise ReconcileError(
            "A547",
            f"{rollback.pipeline}.{key.partition(':')[2]}: {now}, unlike when the rollback was requested",
            "request the rollback again; --plan shows it first",
        )


def _require_free(program: Program, key: str) -> None:
    name = key.partition(":")[2]
    pin = pins_of(program).get(key)
    if pin is not None:
        raise ReconcileError(
            "A543",
            f"{program.name}.{name} is pinned at v{pin.number} in pipeline.yaml, and the pin decides its version",
            "change or remove the pin, and apply",
        )


def _require_rows_to_stay(rollback: Rollback, applied: Snapshot, desired: Snapshot) -> None:
    tables = {key.partition(":")[2] for key in (*rollback.to, *rollback.ended) if key.startswith("table:")}
    if not tables:
        return
    for change in compare(applied, desired).relations:
        if fold(change.name) in tables and change.fate not in (Fate.KEPT, Fate.EXTENDED, Fate.EVOLVED):
            why = "the rollback deletes its rows; `evolution: evolve` may keep them"
            raise would_lose(rollback.pipeline, f"table:{fold(change.name)}", why)


def _misfit(rollback: Rollback, why: str, hint: str | None = None) -> ReconcileError:
    return ReconcileError(
        "A541",
        f"the rollback of {rollback.words} conflicts with the applied program: {why}",
        hint
        or f"roll back its dependencies, too: reconcile rollback --pipeline {rollback.pipeline} --to takes a "
        f"registry version; reconcile history {rollback.pipeline} lists them",
    )
