"""Versions as the histories tell of them, and whether one is what an object means in a program.

A version says which versions of functions it calls (`content["functions"]`). One that was recorded before versions did so
calls those that were active when it was active last.
"""

import json
from typing import Final

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject
from reconciler.base.names import is_version, without_version
from reconciler.base.version import __version__
from reconciler.project.program.model import Program
from reconciler.project.snapshot.functions import called_closely
from reconciler.project.snapshot.objects import VersionedObject, object_key, versioned_objects
from reconciler.registry.model import Head, ObjectVersions
from reconciler.registry.protocol import History, Registry
from reconciler.state.histories import known_versions, published_rows, versions_at

_FEW: Final = 20
"""So many objects are looked up one by one; more of them in one go through the whole history."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A version as recorded: `known_as` by what its meaning is known again, `content` as in the history."""

    number: int
    known_as: frozenset[str]
    content: JsonObject


@dataclass(frozen=True, slots=True)
class Likeness:
    """Whether recorded versions of an object mean what it means in a program."""

    registry: Registry
    head: Head
    program: Program
    found: VersionedObject
    object_id: str

    def holds(self, recorded: Recorded) -> bool:
        """Also where another version of reconciler, which may have told meanings otherwise, recorded it as written."""
        found = self.found
        if not recorded.known_as.isdisjoint({*found.sought_as, found.written_as}):
            return True
        if not found.calls or "functions" in recorded.content:
            return False
        if recorded.known_as.isdisjoint({*found.alone_as, found.written_alone_as}):
            return False
        return self._calls_the_same(recorded.number)

    def _calls_the_same(self, number: int) -> bool:
        """Of a version that does not say which functions it calls: whether those of then are those of now."""
        calls = called_closely(self.program.functions, self.found.calls)
        keys = {call: object_key("function", without_version(call)) for call in calls}
        now = versioned_objects(self.program, frozenset(keys[call] for call in calls if not is_version(call)))
        then = functions_active_with(self.registry, self.head, self.object_id, number)
        for call, key in keys.items():
            if key not in then:
                return False
            if is_version(call):
                if f"@v{then[key].active}" != call[len(without_version(call)) :]:
                    return False
                continue
            recorded = recorded_versions(self.registry, self.head, {then[key].id}).get(then[key].id, ())
            one = next((one for one in recorded if one.number == then[key].active), None)
            if one is None or one.known_as.isdisjoint({*now[key].alone_as, *now[key].sought_as}):
                return False
        return True


def functions_active_with(registry: Registry, head: Head, object_id: str, number: int) -> dict[str, ObjectVersions]:
    """The functions as they were when a version of an object was active last, by their keys."""
    rows = published_rows(registry, head, History.ACTIVATIONS, ("number", "step"), object=object_id)
    spans = [index for index, row in enumerate(rows) if row["number"] == str(number)]
    if not spans:
        return {}
    if spans[-1] + 1 == len(rows):
        versions = known_versions(registry, head)
    else:
        versions = versions_at(registry, head, int(rows[spans[-1] + 1]["step"]) - 1)
    return {key: one for key, one in versions.items() if key.startswith("function:") and one.active is not None}


def recorded_versions(registry: Registry, head: Head, ids: set[str]) -> dict[str, list[Recorded]]:
    """By object, its versions."""
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
    found: dict[str, list[Recorded]] = {}
    for row in rows:
        if row["object"] in ids:
            content = json.loads(row["content"])
            known_as = content.pop("known_as", [])
            texts = [one for one in known_as if row["reconciler"] != __version__ or not one.startswith("written:")]
            found.setdefault(row["object"], []).append(Recorded(int(row["number"]), frozenset(texts), content))
    return found
