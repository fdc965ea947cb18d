"""What was pruned: the record of it, as whoever reads what is past asks it.

The record is written before anything is removed, and the head is replaced in between (`pruning`). So:

- Whoever means to read something past asks here first, and not the files: they may be going.
- Whoever has read the head, asked here, and then replaces that very head (a restore, an apply) has the files for good: a
  prune that is recorded later finds its own replacement of the head refused, and removes nothing.
- A row proves only that files may be gone. Of a prune that died before it removed them, the next one does.

A row tells of steps up to its own `step` only. What came back later, a version or a table in a folder of the same name, it
does not mean.
"""

import json
from collections.abc import Iterable, Mapping

from reconciler.base.dataclass import dataclass
from reconciler.base.errors import EngineError, ReconcileError
from reconciler.delta.opening import join_location
from reconciler.registry.protocol import History, Registry

VERSION, FOLDER = "version", "folder"
_COLUMNS = ("at", "by", "step", "object", "number", "location", "since", "versions", "retention")


@dataclass(frozen=True, slots=True)
class Left:
    """What can be read of a folder: every Delta version from `since` on, and `versions` before it, sorted."""

    since: int
    versions: tuple[int, ...] = ()

    def has(self, version: int) -> bool:
        """Whether that version can be read."""
        return version >= self.since or version in self.versions


@dataclass(frozen=True, slots=True)
class Pruned:
    """A row of the record: when and by whom, of which steps at the latest, and the retention that asked for it, in words."""

    at: str
    by: str
    step: int
    retention: str

    @property
    def words(self) -> str:
        """For a message: when, and why."""
        return f"on {self.at[:10]} (retention: {self.retention})"


def pruned_versions(registry: Registry, pipeline: str, object_id: str) -> dict[int, Pruned]:
    """The versions of an object that were pruned: number → the last time. One that was active again since has rows again:
    compare `step`."""
    rows = _rows(registry, pipeline, what=VERSION, object=object_id)
    return {int(row["number"]): _pruned(row) for row in rows}


def pruned_place(registry: Registry, pipeline: str, step: int, location: str, version: int) -> Pruned | None:
    """Whether a folder at a Delta version, as it stood at a step, may be gone."""
    for row in _rows(registry, pipeline, what=FOLDER, location=location):
        if int(row["step"]) >= step and not left_of(row).has(version):
            return _pruned(row)
    return None


def require_kept(registry: Registry, pipeline: str, warehouse: str, step: int, location: str, version: int) -> None:
    """Raises EngineError (X736) for a folder (absolute) at a Delta version of a past step that was pruned."""
    prefix = join_location(warehouse, "")
    found = pruned_place(registry, pipeline, step, location.removeprefix(prefix), version)
    if found is not None:
        raise EngineError("X736", f"the rows that it held then were pruned {found.words}")


def require_version_kept(registry: Registry, pipeline: str, object_id: str, number: int, step: int, name: str) -> None:
    """Raises ReconcileError (X735) for a version whose rows, as of a step, were pruned."""
    found = pruned_versions(registry, pipeline, object_id).get(number)
    if found is not None and found.step >= step:
        raise ReconcileError(
            "X735",
            f"{name} can't be read: its rows were pruned {found.words}",
            f"its definition is kept; to recompute its rows, pin it: version: v{number}",
        )


def folder_rows(registry: Registry, pipeline: str) -> tuple[Mapping[str, str], ...]:
    """Every row that tells of a folder."""
    return _rows(registry, pipeline, what=FOLDER)


def version_rows(registry: Registry, pipeline: str) -> tuple[Mapping[str, str], ...]:
    """Every row that tells of a version."""
    return _rows(registry, pipeline, what=VERSION)


def left_of(row: Mapping[str, str]) -> Left:
    """What a row says was left of its folder."""
    return Left(int(row["since"]), tuple(json.loads(row["versions"])))


def _rows(registry: Registry, pipeline: str, **equal: str) -> tuple[Mapping[str, str], ...]:
    return registry.last_rows(History.PRUNES, pipeline, _COLUMNS, "step", None, None, **equal)


def _pruned(row: Mapping[str, str]) -> Pruned:
    return Pruned(row["at"], row["by"], int(row["step"]), row["retention"])


def last_pruned(rows: Iterable[Mapping[str, str]]) -> dict[tuple[str, int], int]:
    """The versions (object, number) that rows tell of → of which step at the latest."""
    return {(row["object"], int(row["number"])): int(row["step"]) for row in rows}
