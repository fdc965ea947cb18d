"""The tables of the recording engine: in memory, or where another writer keeps them."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Protocol

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject
from reconciler.base.errors import EngineError
from reconciler.engine.protocol import ColumnType, Transaction

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Contents:
    """A table at one version."""

    columns: tuple[ColumnType, ...]
    rows: tuple[Row, ...]


class Writer(Protocol):
    """Where tables are kept: in memory, or as real Delta tables that other readers can open."""

    def latest(self, location: str) -> int | None:
        """The newest version of the table there, or None when there is none."""
        ...

    def read(self, location: str, version: int) -> Contents:
        """A table's contents at a version."""
        ...

    def version_with(self, location: str, transaction: Transaction) -> int | None:
        """The version that carries the transaction, or None."""
        ...

    def written(self, location: str, application: str) -> Mapping[int, JsonObject]:
        """The numbers of an application's transactions that the table has, with what their commits say of themselves."""
        ...

    def write(
        self, location: str, contents: Contents, transaction: Transaction | None, said: JsonObject | None = None
    ) -> int:
        """Make these the table's whole contents (created if there is none) in one commit, which says that of itself; returns
        its version."""
        ...

    def vacuum(self, location: str, files: Sequence[str]) -> None:
        """Delete these files of a table, where tables have files, but for those that its newest version names."""
        ...

    def remove(self, location: str) -> None:
        """Delete everything at and below a location."""
        ...


@dataclass(slots=True)
class MemoryWriter:
    """Tables in memory: every version of each, with the transaction that wrote it, and what that says of itself."""

    tables: dict[str, list[tuple[Contents, Transaction | None, JsonObject]]] = field(default_factory=dict)

    def latest(self, location: str) -> int | None:
        return len(self.tables[location]) - 1 if location in self.tables else None

    def read(self, location: str, version: int) -> Contents:
        versions = self.tables.get(location, [])
        if version >= len(versions):
            raise EngineError("X730", f"the table at {location} has no version {version}")
        return versions[version][0]

    def version_with(self, location: str, transaction: Transaction) -> int | None:
        found = [version for version, (_, mark, _) in enumerate(self.tables.get(location, [])) if mark == transaction]
        return found[-1] if found else None

    def written(self, location: str, application: str) -> Mapping[int, JsonObject]:
        marks = [(mark, said) for _, mark, said in self.tables.get(location, [])]
        return {mark.version: said for mark, said in marks if mark is not None and mark.application == application}

    def write(
        self, location: str, contents: Contents, transaction: Transaction | None, said: JsonObject | None = None
    ) -> int:
        versions = self.tables.setdefault(location, [])
        versions.append((contents, transaction, said or {}))
        return len(versions) - 1

    def vacuum(self, location: str, files: Sequence[str]) -> None:
        """There are no files."""

    def remove(self, location: str) -> None:
        for known in list(self.tables):
            if known == location or known.startswith(f"{location}/"):
                del self.tables[known]
