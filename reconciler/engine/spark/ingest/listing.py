"""Which files a path stands for: a file, a folder with all below it, or a pattern (`*`, `?`, `[…]`).

Names that start with `_` or `.` are hidden, as in Spark: they are marks and half-written files of others. Local paths are
listed without a JVM.
"""

import glob
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from reconciler.engine.spark.locations import Sessions, each, hadoop_path, local_path
from reconciler.errors import EngineError

_PATTERN = frozenset("*?[")


@dataclass(frozen=True, slots=True, order=True)
class File:
    """A file: its path, its size in bytes and when it was last modified, in milliseconds since 1970."""

    path: str
    size: int
    modified: int


@dataclass(frozen=True, slots=True)
class Listing:
    """The files, sorted by path. `is_single` when the path names one file, which then is all there will ever be."""

    files: tuple[File, ...]
    is_single: bool


def listing(path: str, sessions: Sessions) -> Listing:
    """The files that a path stands for now. Raises EngineError (X710) when a path without pattern does not exist."""
    local = local_path(path)
    return _local(path, local) if local is not None else _remote(path, sessions)


def file_at(path: str, sessions: Sessions) -> File | None:
    """The file at exactly this path (no pattern), or None when there is none."""
    local = local_path(path)
    if local is not None:
        return _file(local) if local.is_file() else None
    files, place = hadoop_path(sessions(), path)
    return _remote_file(files.getFileStatus(place)) if files.exists(place) else None


def _local(path: str, local: Path) -> Listing:
    if _PATTERN & set(path) and not local.exists():
        found = sorted(glob.glob(str(local), recursive=True))
        return Listing(tuple(sorted(_file(Path(one)) for name in found for one in _walk(Path(name)))), False)
    if not local.exists():
        raise EngineError("X710", f"there is no file or folder {path}")
    if local.is_file():
        return Listing((_file(local),), True)
    return Listing(tuple(sorted(_file(one) for one in _walk(local))), False)


def _walk(place: Path) -> Iterator[Path]:
    if place.is_file():
        if not _is_hidden(place.name):
            yield place
        return
    for above, folders, names in os.walk(place):
        folders[:] = [name for name in folders if not _is_hidden(name)]
        yield from (Path(above) / name for name in names if not _is_hidden(name))


def _file(path: Path) -> File:
    status = path.stat()
    return File(str(path), status.st_size, status.st_mtime_ns // 1_000_000)


def _remote(path: str, sessions: Sessions) -> Listing:
    files, root = hadoop_path(sessions(), path)
    if not _PATTERN & set(path):
        if not files.exists(root):
            raise EngineError("X710", f"there is no file or folder {path}")
        if files.getFileStatus(root).isFile():
            return Listing((_remote_file(files.getFileStatus(root)),), True)
        return Listing(tuple(sorted(_remote_walk(files, root))), False)
    matches = files.globStatus(root)
    found = [one for match in (matches or []) for one in _remote_walk(files, match.getPath())]
    return Listing(tuple(sorted(set(found))), False)


def _remote_walk(files: Any, root: Any) -> Iterator[File]:
    start = str(root.toUri().getPath())
    for status in each(_JavaIterator(files.listFiles(root, True))):
        below = PurePosixPath(str(status.getPath().toUri().getPath())).relative_to(start)
        if not any(_is_hidden(part) for part in below.parts or (status.getPath().getName(),)):
            yield _remote_file(status)


class _JavaIterator:
    """Hadoop's remote iterator by the names of Java's."""

    def __init__(self, remote: Any) -> None:
        self.hasNext, self.next = remote.hasNext, remote.next


def _remote_file(status: Any) -> File:
    return File(str(status.getPath().toString()), int(status.getLen()), int(status.getModificationTime()))


def _is_hidden(name: str) -> bool:
    return name.startswith(("_", "."))
