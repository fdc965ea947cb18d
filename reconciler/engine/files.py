"""Files as an input: what a folder holds that was not read yet. Shared by the engines; touches this machine's files only.

- A file is known by path, size and time of change. Names that start with `_` or `.` are hidden, as in Spark: they are marks
  and half-written files of others.
- A position is all files read so far: `{"base": "/in/", "files": {"a.json": [120, 1767225600000]}}`, paths below `base`.
- A file that changed after it was read is an error that names it: reading it again would double its rows, passing over it
  would lose some. A file that is gone is none of our business any more.
- A file that somebody has the connector go on without is part of the position with a size that none has: it is passed over,
  whatever it holds. One that was read before keeps the time at which it was: its rows stay, and what changes is passed over.
- A file that goes while files are listed, and a link that leads nowhere, are not there. What can't be looked at is an error:
  who may not look has seen no absence.
- A path that names one file ends with it; a folder or pattern may grow.
"""

import glob
import os
import shlex
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject
from reconciler.base.errors import EngineError
from reconciler.base.moments import moment_of_milliseconds
from reconciler.connectors.file_input import is_pattern
from reconciler.engine.protocol import Available

_SKIPPED = -1


@dataclass(frozen=True, slots=True, order=True)
class File:
    """A file: its path, its size in bytes and when it was last modified, in milliseconds since 1970."""

    path: str
    size: int
    modified: int


@dataclass(frozen=True, slots=True)
class Listing:
    """The files that a path stands for, sorted. `is_single` when it names one file, which then is all there will be."""

    files: tuple[File, ...]
    is_single: bool


def is_hidden(name: str) -> bool:
    """Whether a file or folder of this name is passed over."""
    return name.startswith(("_", "."))


def local_listing(path: Path) -> Listing:
    """The files that a local path stands for now. Raises EngineError (X710) when one without pattern does not exist."""
    if is_pattern(str(path)) and not path.exists():
        found = glob.glob(str(path), recursive=True)
        return Listing(tuple(sorted(set(_files(Path(name) for name in found)))), False)
    if not path.exists():
        raise EngineError("X710", f"there is no file or folder {path}")
    if path.is_file():
        single = local_file(path)
        return Listing((single,) if single is not None else (), True)
    return Listing(tuple(sorted(_files([path]))), False)


def local_file(path: Path) -> File | None:
    """The file at exactly this path, or None when there is none. Raises EngineError (X710) for one that can't be looked
    at."""
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise can_not_be_read(error) from error
    if not stat.S_ISREG(status.st_mode):
        return None
    return File(str(path), status.st_size, status.st_mtime_ns // 1_000_000)


def unread(found: Listing, position: JsonObject | None, at_most: int | None = None) -> Available | None:
    """The files beyond a position, the first `at_most` of them. Raises EngineError (X711) for one that changed after it was
    read."""
    read_before = _read_before(position)
    new = []
    for file in found.files:
        known = read_before.get(file.path)
        if known is None:
            new.append(file)
        elif known != file and known.size != _SKIPPED:
            raise changed(file)
    if not new:
        return None
    backlog, waiting_since = {"files": len(new)}, _oldest(new)
    new = new[:at_most]
    after = sorted([*read_before.values(), *new])
    files = [{"path": file.path, "size": file.size, "modified": file.modified} for file in new]
    return Available({"files": files}, _position(after), found.is_single, backlog, _oldest(new), waiting_since)


def without_files(position: JsonObject | None, paths: Sequence[str]) -> JsonObject:
    """The position that passes over these files from now on."""
    known = _read_before(position)
    others = [file for file in known.values() if file.path not in paths]
    skipped = [File(path, _SKIPPED, known[path].modified if path in known else _SKIPPED) for path in dict.fromkeys(paths)]
    return {**(position or {}), **_position(sorted([*others, *skipped]))}


def files_read(position: JsonObject | None) -> tuple[str, ...]:
    """The files that a position has behind it, sorted."""
    return tuple(sorted(_read_before(position)))


def skipped_files(position: JsonObject | None) -> tuple[str, ...]:
    """The files that a position passes over without their having been read, sorted."""
    return tuple(file.path for file in _passed_over(position) if file.modified == _SKIPPED)


def files_read_once(position: JsonObject | None) -> tuple[str, ...]:
    """The files that were read, and are passed over since whatever changes in them, sorted."""
    return tuple(file.path for file in _passed_over(position) if file.modified != _SKIPPED)


def _passed_over(position: JsonObject | None) -> list[File]:
    if position is None or not isinstance(position.get("files"), Mapping):
        return []
    return sorted(file for file in _read_before(position).values() if file.size == _SKIPPED)


def files_of(range_: JsonObject) -> list[File]:
    """The files that a range names."""
    return [File(str(one["path"]), int(one["size"]), int(one["modified"])) for one in range_["files"]]


def changed(file: File) -> EngineError:
    """The error for a file that is not what it was."""
    return EngineError(
        "X711",
        f"the file {file.path} changed after it was read",
        "write new rows to a new file; to ignore the change: reconcile connector skip PIPELINE CONNECTOR --file "
        f"{shlex.quote(file.path)}; to read all of it again, in addition to the rows that were read: reconcile connector "
        "seek PIPELINE CONNECTOR --to earliest",
    )


def _oldest(files: Sequence[File]) -> str | None:
    """When the file that waits longest was last modified, if that is known of all."""
    return moment_of_milliseconds(min(file.modified for file in files))


def _files(places: Iterable[Path]) -> Iterator[File]:
    """The files at these places and below them."""
    for place in places:
        yield from filter(None, map(local_file, _walk(place)))


def _walk(place: Path) -> Iterator[Path]:
    if place.is_file():
        if not is_hidden(place.name):
            yield place
        return

    def refuse(error: OSError) -> None:
        # A folder that went meanwhile holds nothing any more.
        if not isinstance(error, FileNotFoundError):
            raise can_not_be_read(error) from error

    for above, folders, names in os.walk(place, onerror=refuse):
        folders[:] = [name for name in folders if not is_hidden(name)]
        yield from (Path(above) / name for name in names if not is_hidden(name))


def can_not_be_read(error: OSError) -> EngineError:
    """The error for what the system does not let us look at."""
    return EngineError("X710", f"{error.filename} can't be read: {error.strerror}", "fix or delete it")


def _read_before(position: JsonObject | None) -> dict[str, File]:
    if position is None:
        return {}
    base = str(position["base"])
    return {base + name: File(base + name, int(size), int(modified)) for name, (size, modified) in position["files"].items()}


def _position(files: Sequence[File]) -> JsonObject:
    # Paths are sorted, so what the first and the last share all of them share.
    first, last = files[0].path, files[-1].path
    shared = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    base = first[: first.rfind("/", 0, shared) + 1]
    return {"base": base, "files": {file.path[len(base) :]: [file.size, file.modified] for file in files}}
