"""Which files a path stands for, wherever it lies: local ones without a JVM, others through Hadoop's file systems."""

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from reconciler.base.errors import EngineError
from reconciler.connectors.file_input import is_pattern
from reconciler.engine.files import File, Listing, is_hidden, local_file, local_listing
from reconciler.engine.spark.locations import Sessions, hadoop_path, local_path


def listing(path: str, sessions: Sessions) -> Listing:
    """The files that a path stands for now. Raises EngineError (X710) when a path without pattern does not exist."""
    local = local_path(path)
    return local_listing(local) if local is not None else _remote_listing(path, sessions)


def file_at(path: str, sessions: Sessions) -> File | None:
    """The file at exactly this path (no pattern), or None when there is none."""
    local = local_path(path)
    if local is not None:
        return local_file(local)
    files, place = hadoop_path(sessions(), path)
    return _file(files.getFileStatus(place)) if files.exists(place) else None


def _remote_listing(path: str, sessions: Sessions) -> Listing:
    files, root = hadoop_path(sessions(), path)
    if is_pattern(path):
        found = [one for match in (files.globStatus(root) or []) for one in _walk(files, match.getPath())]
        return Listing(tuple(sorted(set(found))), False)
    if not files.exists(root):
        raise EngineError("X710", f"there is no file or folder {path}")
    status = files.getFileStatus(root)
    if status.isFile():
        return Listing((_file(status),), True)
    return Listing(tuple(sorted(_walk(files, root))), False)


def _walk(files: Any, root: Any) -> Iterator[File]:
    start = str(root.toUri().getPath())
    found = files.listFiles(root, True)
    while found.hasNext():
        status = found.next()
        below = PurePosixPath(str(status.getPath().toUri().getPath())).relative_to(start)
        if not any(is_hidden(part) for part in below.parts or (str(status.getPath().getName()),)):
            yield _file(status)


def _file(status: Any) -> File:
    return File(str(status.getPath().toString()), int(status.getLen()), int(status.getModificationTime()))
