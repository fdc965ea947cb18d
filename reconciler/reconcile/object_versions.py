"""Versions of objects: which number each has after a change, and the histories that tell what they are.

- Each table, view and function that is new, or means something else now (`diff.objects`), gets the next number, or the one
  that it had when it last meant this: a definition that was a version before is that version again.
- Numbers are settled when an apply opens its journal, under the lease: the head knows the last one of each object, also of
  those that are gone, and its next compare-and-set takes the new ones along. So no number is given twice, and none is left
  out but by an apply that took itself back.
- The histories are written before the head's commit that switches, under its step's number: a repeat writes nothing again.
  So a row alone proves nothing: one beyond the published step is none.
- What was applied before there were versions is version 0 of what the next apply finds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from reconciler import __version__
from reconciler.diff.model import Diff
from reconciler.diff.objects import ObjectChanges, changed_objects
from reconciler.digest import JsonObject, canonical_json
from reconciler.names import fold
from reconciler.program.model import Program
from reconciler.registry.model import Approval, Head, ObjectVersions, Placement
from reconciler.registry.protocol import History, Registry
from reconciler.snapshot.model import Snapshot
from reconciler.snapshot.objects import VersionedObject, object_keys, versioned_objects

_FEW: Final = 20
"""So many objects are looked up one by one; more of them in one go through the whole history."""


@dataclass(frozen=True, slots=True)
class Switch:
    """What brings other versions: an apply or a restore, at its step. `placements` know the types of views' columns."""

    step: int
    at: str
    by: str
    commit: str
    approval: Approval
    plan_digest: str
    apply_id: str
    placements: Mapping[str, Placement] = field(default_factory=dict)


def versions_after(
    registry: Registry, head: Head, applied: Program | None, desired: Snapshot | None, diff: Diff
) -> dict[str, ObjectVersions]:
    """The versions of all objects, those that are gone as well, once `desired` is applied."""
    changes = changed_objects(applied, desired.program if desired is not None else None, diff)
    known = _renamed(head.versions, changes)
    after = {key: replace(one, active=None) if key in changes.gone else one for key, one in known.items()}
    wanted = set(changes.redefined)
    if desired is not None:
        wanted |= {key for key in object_keys(desired.program) if key not in known or known[key].active is None}
    objects = versioned_objects(desired, frozenset(wanted)) if desired is not None else {}
    before = _fingerprints(registry, head, {known[key].id for key in wanted if key in known})
    ids = {one.id for one in known.values()}
    for key, found in objects.items():
        if key not in known:
            after[key] = ObjectVersions(_new_id(key, ids), 0, 0)
            continue
        number = _returned(before.get(known[key].id, {}), found)
        if number is None:
            number = known[key].last + 1
        after[key] = ObjectVersions(known[key].id, number, max(number, known[key].last))
    return dict(sorted(after.items()))


def record_versions(
    registry: Registry, head: Head, after: Mapping[str, ObjectVersions], desired: Snapshot | None, switch: Switch
) -> None:
    """Tell of what changed; call it before the head with these versions is written."""
    before = {one.id: one for one in head.versions.values()}
    changed = {key: one for key, one in after.items() if one.id not in before or before[one.id].active != one.active}
    last = {key: before[one.id].last if one.id in before else -1 for key, one in changed.items()}
    new = {key for key, one in changed.items() if one.active is not None and one.active > last[key]}
    objects = versioned_objects(desired, frozenset(new)) if desired is not None else {}
    same = {"at": switch.at, "step": str(switch.step), "by": switch.by, "commit": switch.commit, "apply_id": switch.apply_id}
    rows = [
        {
            **same,
            "object": after[key].id,
            "number": str(after[key].active),
            "name": one.name,
            "approval": switch.approval.kind,
            "approved_by": switch.approval.by,
            "plan_digest": switch.plan_digest,
            "reconciler": __version__,
            "fingerprint": one.fingerprint,
            "definition": canonical_json(one.definition),
            "content": canonical_json(_with_types(one, switch.placements)),
        }
        for key, one in objects.items()
    ]
    activations = [
        {**same, "object": one.id, "number": "" if one.active is None else str(one.active), "name": key.partition(":")[2]}
        for key, one in changed.items()
    ]
    if rows:
        registry.append(History.VERSIONS, head.pipeline, rows, switch.step)
    if activations:
        registry.append(History.ACTIVATIONS, head.pipeline, activations, switch.step)


def _with_types(found: VersionedObject, placements: Mapping[str, Placement]) -> JsonObject:
    placement = placements.get(fold(found.name)) if found.kind == "view" else None
    if placement is None or not placement.columns:
        return found.content
    return {**found.content, "columns": [{"name": one.name, "type": one.type} for one in placement.columns]}


def is_published(head: Head, row: Mapping[str, str]) -> bool:
    """Whether a row of these histories tells of a switch that took place."""
    return int(row["step"]) <= (head.published.step if head.published is not None else head.last_step)


def _renamed(versions: Mapping[str, ObjectVersions], changes: ObjectChanges) -> dict[str, ObjectVersions]:
    """The versions under the names that objects have from now on. What had such a name long ago is known by its id."""
    moved = {old: new for new, old in changes.renamed.items()}
    found: dict[str, ObjectVersions] = {}
    for key, one in versions.items():
        if key in moved:
            found[moved[key]] = one
        elif key in changes.renamed:
            found[f"formerly:{one.id}"] = one
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
    for sought in (found.fingerprint, canonical_json(found.definition)):
        if sought in known:
            return int(known[sought])
    return None


def _fingerprints(registry: Registry, head: Head, ids: set[str]) -> dict[str, dict[str, str]]:
    """By object: what its versions mean (and how they were written, see `_returned`) → their numbers."""
    columns = ("object", "number", "step", "reconciler", "fingerprint", "definition")
    if len(ids) <= _FEW:
        rows = [
            row
            for one in sorted(ids)
            for row in registry.last_rows(History.VERSIONS, head.pipeline, columns, "number", None, object=one)
        ]
    else:
        rows = [*registry.last_rows(History.VERSIONS, head.pipeline, columns, "number", None)]
    found: dict[str, dict[str, str]] = {}
    for row in rows:
        if row["object"] in ids and is_published(head, row):
            texts = [row["fingerprint"], *([row["definition"]] if row["reconciler"] != __version__ else [])]
            found.setdefault(row["object"], {}).update(dict.fromkeys(texts, row["number"]))
    return found
