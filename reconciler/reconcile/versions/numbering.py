"""Versions of objects: which number each has after a change, and the histories that tell what they are.

- Each table, view and function that is new, or means something else now (`diff.objects`), gets the next number, or the one
  that it had when it last meant this: a definition that was a version before is that version again.
- Numbers are settled when an apply opens its journal, under the lease: the head knows the last one of each object, also of
  those that are gone, and its next compare-and-set takes the new ones along. So no number is given twice, and none is left
  out: an apply that takes itself back leaves the head's numbers as they were.
- A version that is staged (`staging`) has its number before it is active: the head's commit that stages takes it along, and
  the history is told after that, again by whoever comes next. It keeps the number, whatever becomes of it.
- The histories are written before the head's commit that switches, under its step's number: a repeat writes nothing again.
  So a row alone proves nothing: one beyond the published step is none, nor is one of a restore that was withdrawn.
- Going back to an own checkpoint makes active what was active then, under the names of then; the histories know it.
- What was applied before there were versions is version 0 of what the next apply finds. A head that lost its numbers to an
  older version of reconciler, which does not write them, gets them from the histories.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from reconciler import __version__
from reconciler.diff.model import Diff
from reconciler.diff.objects import ObjectChanges, changed_objects
from reconciler.digest import JsonObject, canonical_json
from reconciler.names import fold
from reconciler.program.model import Program
from reconciler.reconcile.steps import WITHDRAWN
from reconciler.registry.model import Approval, Head, ObjectVersions, Placement
from reconciler.registry.protocol import History, Registry
from reconciler.snapshot.model import Snapshot
from reconciler.snapshot.objects import VersionedObject, object_keys, versioned_objects

_FORMERLY: Final = "formerly"
"""Stands before the id of an object that is gone, and whose name another one has."""

_FEW: Final = 20
"""So many objects are looked up one by one; more of them in one go through the whole history."""


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
    known = _renamed(_known(registry, head), changes)
    for key in object_keys(desired.program) if desired is not None else ():
        # Its name is free again.
        if key not in known and f"{_FORMERLY}:{key}" in known:
            known[key] = known.pop(f"{_FORMERLY}:{key}")
    after = {key: replace(one, active=None) if key in changes.gone else one for key, one in known.items()}
    wanted = set(changes.redefined)
    if desired is not None:
        wanted |= {key for key in object_keys(desired.program) if key not in known or known[key].active is None}
    objects = versioned_objects(desired.program, frozenset(wanted)) if desired is not None else {}
    before = _meanings(registry, head, {known[key].id for key in wanted if key in known})
    ids = {one.id for one in known.values()}
    for key, found in objects.items():
        if key not in known:
            after[key] = ObjectVersions(_new_id(key, ids), 0, 0)
            continue
        number = _returned(before.get(known[key].id, {}), found)
        if number is None or (number == known[key].active and _differs(changes.renamed.get(key, key), found, applied)):
            number = known[key].last + 1
        after[key] = ObjectVersions(known[key].id, number, max(number, known[key].last))
    return dict(sorted(after.items()))


def record_versions(
    registry: Registry, head: Head, after: Mapping[str, ObjectVersions], desired: Snapshot | None, switch: Switch
) -> None:
    """Tell of what changed; call it before the head with these versions is written."""
    known = _known(registry, head)
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
    rows = [_version_row(one, after[key].id, after[key].active, switch) for key, one in objects.items()]
    activations = [
        {
            **same,
            "object": one.id,
            "number": "" if one.active is None else str(one.active),
            "name": (key if one.active is not None else names[one.id]).partition(":")[2],
        }
        for key, one in changed.items()
    ]
    if rows:
        registry.append(History.VERSIONS, head.pipeline, rows, switch.step)
    if activations:
        registry.append(History.ACTIVATIONS, head.pipeline, activations, switch.step)


def versions_beside(
    registry: Registry, head: Head, after: Mapping[str, ObjectVersions], keys: Iterable[str]
) -> dict[str, ObjectVersions]:
    """The versions of all objects while those that some (`keys`) are to have are given, and not active yet."""
    active = {one.id: one.active for one in _known(registry, head).values()}
    there = set(keys) | {key for key, one in after.items() if one.id in active}
    return {key: replace(one, active=active.get(one.id)) for key, one in sorted(after.items()) if key in there}


def active_versions(registry: Registry, head: Head) -> dict[str, int | None]:
    """The number of the active version of each object that versions are known of."""
    return {key: one.active for key, one in _known(registry, head).items()}


def record_minted_versions(
    registry: Registry, head: Head, numbers: Mapping[str, int], desired: Snapshot, told: Switch
) -> None:
    """Tell of versions that were given numbers and are not active yet; call it once the head has these. A repeat with the
    same `apply_id` writes nothing again."""
    objects = versioned_objects(desired.program, frozenset(numbers))
    rows = [_version_row(one, head.versions[key].id, numbers[key], told) for key, one in objects.items()]
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


def _version_row(found: VersionedObject, object_id: str, number: int | None, switch: Switch) -> dict[str, str]:
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
        "content": canonical_json(_with_types(found, switch.placements)),
    }


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
    known = {one.id: (key, one) for key, one in _known(registry, head).items()}
    keys = object_keys(restored.program)
    if any(key not in then or then[key].active is None or then[key].id not in known for key in keys):
        return versions_after(registry, head, applied, restored, diff)
    after = {key: replace(known[then[key].id][1], active=then[key].active) for key in keys}
    there = {one.id for one in after.values()}
    for name, (key, one) in known.items():
        if name not in there:
            after[key if key not in after else f"{_FORMERLY}:{name}"] = replace(one, active=None)
    return dict(sorted(after.items()))


def versions_at(registry: Registry, head: Head, step: int | None) -> dict[str, ObjectVersions]:
    """The versions of all objects as of a published step (None: the last one), as the histories tell them."""

    def rows(history: History, *columns: str) -> list[Mapping[str, str]]:
        found = published_rows(registry, head, history, ("object", "number", "step", *columns))
        return [row for row in found if step is None or int(row["step"]) <= step]

    last: dict[str, int] = {}
    for row in rows(History.VERSIONS):
        last[row["object"]] = max(int(row["number"]), last.get(row["object"], 0))
    active = {row["object"]: row for row in rows(History.ACTIVATIONS, "name") if row["object"] in last}
    found: dict[str, ObjectVersions] = {}
    # What is there takes its name before what was.
    for name, row in sorted(active.items(), key=lambda pair: (not pair[1]["number"], pair[0])):
        key = f"{name.partition(':')[0]}:{row['name']}"
        number = int(row["number"]) if row["number"] else None
        found[key if key not in found else f"{_FORMERLY}:{name}"] = ObjectVersions(name, number, last[name])
    return dict(sorted(found.items()))


def published_rows(
    registry: Registry,
    head: Head,
    history: History,
    columns: Sequence[str],
    by: str = "step",
    limit: int | None = None,
    **equal: str,
) -> tuple[Mapping[str, str], ...]:
    """`Registry.last_rows` of these histories (`step` among the columns), less those that tell of a switch that did not take
    place: of a step that was put back, or is not published."""
    rows = registry.last_rows(history, head.pipeline, columns, by, limit, None, **equal)
    put_back = registry.last_rows(History.STEPS, head.pipeline, ("step",), "step", None, kind=WITHDRAWN)
    withdrawn = {int(row["step"]) for row in put_back}
    last = head.published.step if head.published is not None else head.last_step
    return tuple(row for row in rows if (step := int(row["step"])) <= last and step not in withdrawn)


def _known(registry: Registry, head: Head) -> Mapping[str, ObjectVersions]:
    if head.versions or head.applied is None:
        return head.versions
    return versions_at(registry, head, None)


def _differs(key: str, found: VersionedObject, applied: Program | None) -> bool:
    """Whether an object means something else than what is applied under a key, by the same rule for both."""
    if applied is None or key not in object_keys(applied):
        return False
    (before,) = versioned_objects(applied, frozenset((key,))).values()
    return not {*before.sought_as} & {*found.sought_as}


def _renamed(versions: Mapping[str, ObjectVersions], changes: ObjectChanges) -> dict[str, ObjectVersions]:
    """The versions under the names that objects have from now on. What had such a name long ago is known by its id."""
    moved = {old: new for new, old in changes.renamed.items()}
    found: dict[str, ObjectVersions] = {}
    for key, one in versions.items():
        if key in moved:
            found[moved[key]] = one
        elif key in changes.renamed:
            found[f"{_FORMERLY}:{one.id}"] = one
        else:
            found[key] = one
    return found


def _new_id(key: str, taken: set[str]) -> str:
    number, found = 2, key
    while found in taken:
        found, number = f"{key}/{number}", number + 1
    return found


def _returned(known: Mapping[str, str], found: VersionedObject) -> int | None:
    """The number under which an object had this meaning, or was written like this when another version of reconciler, which
    may have told meanings otherwise, recorded it."""
    return next((int(known[sought]) for sought in (*found.sought_as, found.written_as) if sought in known), None)


def _meanings(registry: Registry, head: Head, ids: set[str]) -> dict[str, dict[str, str]]:
    """By object: what its versions are known as (`snapshot.objects`) → their numbers."""
    if not ids:
        return {}
    columns = ("object", "number", "step", "reconciler", "content")
    if len(ids) <= _FEW:
        rows = [
            row
            for one in sorted(ids)
            for row in published_rows(registry, head, History.VERSIONS, columns, "number", object=one)
        ]
    else:
        rows = [*published_rows(registry, head, History.VERSIONS, columns, "number")]
    found: dict[str, dict[str, str]] = {}
    for row in rows:
        if row["object"] in ids:
            known_as = json.loads(row["content"]).get("known_as", [])
            texts = [one for one in known_as if row["reconciler"] != __version__ or not one.startswith("written:")]
            found.setdefault(row["object"], {}).update(dict.fromkeys(texts, row["number"]))
    return found
