"""Where tests keep tables, as somebody else sees it: what lies there is told, put, taken and aged by other means than the
product's."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


class Lake(Protocol):
    """A place for tables. Paths are relative to the table's location."""

    def location(self, name: str) -> str: ...

    def paths(self, location: str) -> set[str]: ...

    def put(self, location: str, path: str, text: str) -> None: ...

    def take(self, location: str, path: str) -> None: ...

    def age(self, location: str, path: str, moment: float) -> None: ...


@dataclass(frozen=True, slots=True)
class LocalLake:
    """A folder of this machine."""

    root: Path

    def location(self, name: str) -> str:
        return str(self.root / name)

    def paths(self, location: str) -> set[str]:
        return {path.relative_to(location).as_posix() for path in Path(location).rglob("*") if path.is_file()}

    def put(self, location: str, path: str, text: str) -> None:
        Path(location, path).parent.mkdir(parents=True, exist_ok=True)
        Path(location, path).write_text(text)

    def take(self, location: str, path: str) -> None:
        Path(location, path).unlink()

    def age(self, location: str, path: str, moment: float) -> None:
        os.utime(Path(location, path), (moment, moment))
