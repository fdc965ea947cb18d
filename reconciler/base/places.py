"""Where the parts of a JSON-like value stand in the files of the repository.

A value is addressed by its path: keys and list indices from the root. Whoever checks a value asks `Places` for the
location to report, and need not know whether the value came from YAML, from JSON inside SQL, or from nowhere.
"""

from typing import Protocol, TypeAlias

from reconciler.base.dataclass import dataclass
from reconciler.base.diagnostics import Location

Path: TypeAlias = "tuple[str | int, ...]"


class Places(Protocol):
    """Answers with the nearest known location; None only when nothing is known at all."""

    def of_key(self, path: Path) -> Location | None:
        """Where the key stands under which `path` is found (the entry itself for list entries)."""
        ...

    def of_value(self, path: Path) -> Location | None:
        """Where the value at `path` begins."""
        ...


@dataclass(frozen=True, slots=True)
class OnePlace:
    """All parts of a value reported at one location: what is known of a value whose inside has no positions."""

    location: Location | None

    def of_key(self, path: Path) -> Location | None:
        return self.location

    def of_value(self, path: Path) -> Location | None:
        return self.location


@dataclass(frozen=True, slots=True)
class Below:
    """The places of a part of a value: paths are relative to `prefix`."""

    places: Places
    prefix: Path

    def of_key(self, path: Path) -> Location | None:
        return self.places.of_key((*self.prefix, *path))

    def of_value(self, path: Path) -> Location | None:
        return self.places.of_value((*self.prefix, *path))
