"""Versions of objects: which number each has after a change, and the histories that tell what they are.

- Each table, view and function that is new, or means something else now (`diff.objects`), gets the next number, or the one
  that it had when it last meant this: a definition that was a version before is that version again.
- Numbers are settled when an apply opens its journal, under the lease: the head knows the last one of each object, also of
  those that are gone, and its next compare-and-set takes the new ones along. So no number is given twice, and none is left
  out: an apply that takes itself back leaves the head's numbers as they were.
- A version that is staged (`staging`) has its number before it is active: the head's commit that stages takes it along, and
  the history is told after that, again by whoever comes next. It keeps the number, whatever becomes of it.
- The histories are written before the head's commit that switches, under its step's number: a repeat writes nothing again.
  So a row alone proves nothing: one beyond the published step is none, nor is one of an apply or a restore that was taken
  back.
- Going back to an own checkpoint makes active what was active then, under the names of then; the histories know it.
- Of a view, the types of its columns count, too, and they are known once it was computed: where they are others than those
  of the version that it would have, it has another (`with_types`). That is settled with the commit that switches.
- A table or view that is renamed, and a column of a table, stays what it is: `names_since` tells what has a name by that.
- A version knows which versions of functions it calls. One that was recorded before versions said so calls those that were
  active when it was active last (`calls`).
- What was applied before there were versions is version 0 of what the next apply finds. A head that lost its numbers to an
  older version of reconciler, which does not write them, gets them from the histories.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field, replace

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject, canonical_json
from reconciler.base.names import fold
from reconciler.base.version import __version__
from reconciler.diff.model import Diff
from reconciler.diff.moves import resolve_moves
from reconciler.diff.objects import ObjectChanges, changed_objects
from reconciler.project.program.model import Program
from reconciler.project.snapshot.model import Snapshot
from reconciler.project.snapshot.objects import VersionedObject, object_key, object_keys, versioned_objects
from reconciler.registry.model import Approval, Head, ObjectVersions
from reconciler.registry.placements import Placement
from reconciler.registry.protocol import History, Registry
from reconciler.state.histories import FORMERLY, known_versions, versions_at
from reconciler.versions.column_types import inputs_of
from reconciler.versions.names_since import new_id, renamed_columns
from reconciler.versions.recorded import Likeness, recorded_versions


@dataclass(frozen=True, slots=True)
class Switch:
    """What brings other versions: an apply or a restore, at its step. `author` wrote the commit. `placements` know the
    types of views' columns."""

    step: int
    at: str
    by: str
    commit: str
    approval: Approval
    plan_digest: str
    apply_id: str
    author: str = ""
    placements: Mapping[str, Placement] = field(default_factory=dict)


def versions_after(
    registry: Registry, head: Head, applied: Program | None, desired: Snapshot | None, diff: Diff
) -> dict[str, ObjectVersions]:
    """The versions of all objects, those that are gone as well, once `desired` is applied."""
    changes = changed_objects(applied, desired.program if desired is not None else None, diff)
    known = _renamed(known_versions(registry, head), changes)
    for key in object_keys(desired.program) if desired is not None else ():
        # Its name is free again.
        if key not in known and f"{FORMERLY}:{key}" in known:
            known[key] = known.pop(f"{FORMERLY}:{key}")
    after = {key: replace(one, active=None) if key in changes.gone else one for key, one in known.items()}
    wanted = set(changes.redefined)
    if desired is not None:
        wanted |= {key for key in object_keys(desired.program) if key not in known or known[key].active is None}
    objects = versioned_objects(desired.program, frozenset(wanted)) if desired is not None else {}
    before = recorded_versions(registry, head, {known[key].id for key in wanted if key in known})
    ids = {one.id for one in known.values()}
    numbers: dict[str, int] = {}
    for key, found in objects.items():
        if key not in known:
            after[key] = ObjectVersions(new_id(key, ids), 0, 0)
            continue
        assert desired is not None
        same = Likeness(registry, head, desired.program, found, known[key].id)
        number = max((one.number for one in before.get(known[key].id, ()) if same.holds(one)), default=None)
        numbers[key] = known[key].last + 1 if number is None else number
    active = {key: changes.renamed.get(key, key) for key, number in numbers.items() if number == known[key].active}
    for key in _differing(active, objects, applied):
        numbers[key] = known[key].last + 1
    for key, number in numbers.items():
        after[key] = replace(known[key], active=number, last=max(number, known[key].last))
    if applied is not None and desired is not None and desired.program.moves:
        for name, columns in resolve_moves(applied, desired.program).renames.columns.items():
            key, declared = object_key("table", name), [fold(one.name) for one in desired.program.tables[name].columns]
            after[key] = replace(after[key], columns=renamed_columns(after[key].columns, columns, declared))
    return dict(sorted(after.items()))


def record_versions(
    registry: Registry, head: Head, after: Mapping[str, ObjectVersions], desired: Snapshot | None, switch: Switch
) -> None:
    """Tell of what changed; call it before the head with these versions is written."""
    known = known_versions(registry, head)
    before = {one.id: one for one in known.values()}
    names = {one.id: key for key, one in known.items() if one.active is not None}
    changed = {
        key: one
        for key, one in after.items()
        if one.id not in before
        or before[one.id].active != one.active
        # It has another name from now on.
        or (one.active is not None and names[one.id] != key)
    }
    last = {key: before[one.id].last if one.id in before else -1 for key, one in changed.items()}
    new = {key for key, one in changed.items() if one.active is not None and one.active > last[key]}
    objects = versioned_objects(desired.program, frozenset(new)) if desired is not None else {}
    same = _told_of(switch)
    functions = {key: one.active for key, one in after.items() if key.startswith("function:")}
    inputs = inputs_of(desired.program, objects, switch.placements) if desired is not None else {}
    rows = [
        _version_row(one, after[key].id, after[key].active, switch, functions, inputs.get(key))
        for key, one in objects.items()
    ]
    activations = [
        {
            **same,
            "object": one.id,
            "number": "" if one.active is None else str(one.active),
            "name": (key if one.active is not None else names[one.id]).partition(":")[2],
        }
        for key, one in changed.items()
    ]
    renames = [
        {
            "object": one.id,
            "name": key.partition(":")[2],
            "columns": canonical_json(one.columns),
            "at": switch.at,
            "step": str(switch.step),
            "apply_id": switch.apply_id,
        }
        for key, one in after.items()
        if one.id in before and (one.columns != before[one.id].columns or (key in changed and names.get(one.id, key) != key))
    ]
    if rows:
        registry.append(History.VERSIONS, head.pipeline, rows, switch.step)
    if renames:
        registry.append(History.RENAMES, head.pipeline, renames, switch.step)
    if activations:
        registry.append(History.ACTIVATIONS, head.pipeline, activations, switch.step)


def versions_beside(
    registry: Registry, head: Head, after: Mapping[str, ObjectVersions], keys: Iterable[str]
) -> dict[str, ObjectVersions]:
    """The versions of all objects while those that some (`keys`) are to have are given, and not active yet."""
    active = {one.id: one.active for one in known_versions(registry, head).values()}
    there = set(keys) | {key for key, one in after.items() if one.id in active}
    return {key: replace(one, active=active.get(one.id)) for key, one in sorted(after.items()) if key in there}


def active_versions(registry: Registry, head: Head) -> dict[str, int | None]:
    """The number of the active version of each object that versions are known of."""
    return {key: one.active for key, one in known_versions(registry, head).items()}


def record_minted_versions(
    registry: Registry, head: Head, numbers: Mapping[str, int], desired: Snapshot, told: Switch, staged: Mapping[str, int]
) -> None:
    """Tell of versions that were given numbers and are not active yet; call it once the head has these. A repeat with the
    same `apply_id` writes nothing again. `staged` are the numbers of all that is to be active with them."""
    objects = versioned_objects(desired.program, frozenset(numbers))
    active = {key: one.active for key, one in head.versions.items() if key.startswith("function:")}
    functions = {**active, **{key: number for key, number in staged.items() if key.startswith("function:")}}
    inputs = inputs_of(desired.program, objects, told.placements)
    rows = [
        _version_row(one, head.versions[key].id, numbers[key], told, functions, inputs.get(key))
        for key, one in objects.items()
    ]
    if rows:
        registry.record(History.VERSIONS, head.pipeline, rows, f"staged:{told.apply_id}")


def _told_of(switch: Switch) -> dict[str, str]:
    return {
        "at": switch.at,
        "step": str(switch.step),
        "by": switch.by,
        "commit": switch.commit,
        "apply_id": switch.apply_id,
    }


def _version_row(
    found: VersionedObject,
    object_id: str,
    number: int | None,
    switch: Switch,
    functions: Mapping[str, int | None],
    inputs: JsonObject | None,
) -> dict[str, str]:
    content = _with_types(found, switch.placements)
    if found.kind != "table":
        # Also where there are none: what was recorded before versions covered them says nothing.
        content = {**content, "functions": _numbers_called(found, functions)}
    if inputs is not None:
        content = {**content, "inputs": inputs}
    return {
        **_told_of(switch),
        "object": object_id,
        "number": str(number),
        "name": found.name,
        "author": switch.author,
        "approval": switch.approval.kind,
        "approved_by": switch.approval.by,
        "plan_digest": switch.plan_digest,
        "reconciler": __version__,
        "fingerprint": found.fingerprint,
        "definition": canonical_json(found.definition),
        "content": canonical_json(content),
    }


def _numbers_called(found: VersionedObject, functions: Mapping[str, int | None]) -> dict[str, int]:
    """By name as called, the version of each function that an object calls."""
    numbers: dict[str, int] = {}
    for call in found.calls:
        name, _, version = call.partition("@v")
        number = int(version) if version else functions.get(object_key("function", name))
        if number is not None:
            numbers[name] = number
    return numbers


def _with_types(found: VersionedObject, placements: Mapping[str, Placement]) -> JsonObject:
    placement = placements.get(fold(found.name)) if found.kind == "view" else None
    known = [fold(one["name"]) for one in found.content["columns"]] if placement is not None else []
    if placement is None or known not in ([], [fold(one.name) for one in placement.columns]):
        return found.content
    return {**found.content, "columns": [{"name": one.name, "type": one.type} for one in placement.columns]}


def versions_restored(
    registry: Registry, head: Head, applied: Program | None, restored: Snapshot, diff: Diff, step: int | None
) -> dict[str, ObjectVersions]:
    """The versions of all objects once `restored` is in force: what was after an own step (None: it is another's)."""
    then = versions_at(registry, head, step) if step is not None else {}
    known = {one.id: (key, one) for key, one in known_versions(registry, head).items()}
    keys = object_keys(restored.program)
    if any(key not in then or then[key].active is None or then[key].id not in known for key in keys):
        return versions_after(registry, head, applied, restored, diff)
    after = {key: replace(known[then[key].id][1], active=then[key].active, columns=then[key].columns) for key in keys}
    there = {one.id for one in after.values()}
    for name, (key, one) in known.items():
        if name not in there:
            after[key if key not in after else f"{FORMERLY}:{name}"] = replace(one, active=None)
    return dict(sorted(after.items()))


def _differing(
    former: Mapping[str, str], objects: Mapping[str, VersionedObject], applied: Program | None
) -> tuple[str, ...]:
    """Of these objects, those that mean something else than what is applied under their `former` keys, by the same rule
    for both."""
    if applied is None or not former:
        return ()
    before = versioned_objects(applied, frozenset(former.values()).intersection(object_keys(applied)))
    return tuple(
        key for key, was in former.items() if was in before and {*before[was].sought_as}.isdisjoint(objects[key].sought_as)
    )


def _renamed(versions: Mapping[str, ObjectVersions], changes: ObjectChanges) -> dict[str, ObjectVersions]:
    """The versions under the names that objects have from now on. What had such a name long ago is known by its id."""
    moved = {old: new for new, old in changes.renamed.items()}
    found: dict[str, ObjectVersions] = {}
    for key, one in versions.items():
        if key in moved:
            found[moved[key]] = one
        elif key in changes.renamed:
            found[f"{FORMERLY}:{one.id}"] = one
        else:
            found[key] = one
    return found
