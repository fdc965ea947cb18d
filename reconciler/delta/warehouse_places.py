"""Whether a place lies within a warehouse of reconciler: what stands there, tables and who approved what, is written by
reconciler alone.

Rules:
- A place on a disk is where the system would write: links are followed, `..` is read both as the system reads it and as Java
  does, in front of links and behind them. So are the links that stand in the folder itself and in its Delta log.
- Within a warehouse is what lies in one that is named, or below any folder that holds a registry, whoever's that is. Folders
  are known by what the disk says they are, so letter case and mounts make no other place of one.
- A place on S3 is its bucket and key (`manifest.warehouses`), and lies within a warehouse that is named. Whether a folder
  above it holds a registry is for whoever has the connector's credentials to ask (`places_of_registries`).
- What is called as a registry is, and can't be looked into, counts as one. Where not even the name can be told, nobody can
  write below it either.

Not seen: a folder below a warehouse that is mounted elsewhere by itself, and a bucket that is mounted as a folder.
"""

import os
import posixpath
import stat
from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import unquote

from reconciler.base.dataclass import dataclass
from reconciler.connectors.registry_folder import REGISTRY_FOLDER
from reconciler.delta.opening import is_local, local_path, path_of
from reconciler.project.manifest.warehouses import canonical_warehouse, is_meant_for_s3

_LOG: Final = "_delta_log"
REGISTRY_MARK: Final = ("pipelines", _LOG)
"""What exists in the registry's folder if it is one: the log of the table of pipelines, by the parts of its path."""


def warehouse_around(location: str, warehouses: Iterable[str] = ()) -> str | None:
    """The warehouse that a place lies in (an absolute path or URI); None where it is known to lie in none."""
    if is_meant_for_s3(location):
        place = canonical_warehouse(location)
        return next((one for one in warehouses if place is not None and _is_below(place, one)), None)
    paths = local_readings(location)
    named = [_named(one) for one in warehouses if is_local(one)]
    seen: set[str] = set()
    for place in (place for path in paths for place in _places(path)):
        for folder in upwards(place):
            if folder in seen:
                break
            seen.add(folder)
            identity = folder_identity(folder)
            for one in named:
                if one.is_at(folder, identity):
                    return one.written
            if holds_registry(folder):
                return folder
    return None


def places_of_registries(location: str) -> tuple[tuple[str, str], ...]:
    """For a URI: the folders that may be a warehouse around it, each with what exists if it is one."""
    readings = [location]
    if is_meant_for_s3(location):
        readings.append(canonical_warehouse(location) or location)
    folders = dict.fromkeys(folder for reading in readings for folder in _folders_of(reading))
    return tuple((folder, "/".join((folder, REGISTRY_FOLDER, *REGISTRY_MARK))) for folder in folders)


def _folders_of(uri: str) -> Iterator[str]:
    """The folder of a URI and all above it."""
    scheme, _, rest = uri.partition("://")
    root, _, key = rest.partition("/")
    parts = [part for part in posixpath.normpath(f"/{key}").split("/") if part]
    for length in range(len(parts), -1, -1):
        yield "/".join([f"{scheme}://{root}", *parts[:length]])


@dataclass(frozen=True, slots=True)
class _Named:
    """A warehouse on a disk: as it is written, without links, and what the disk knows it by."""

    written: str
    path: str
    identity: tuple[int, int] | None

    def is_at(self, folder: str, identity: tuple[int, int] | None) -> bool:
        if self.identity is None:
            # It is not made yet, and the disk may take no notice of letter case.
            return folder.casefold() == self.path.casefold()
        return folder == self.path or identity == self.identity


def _named(warehouse: str) -> _Named:
    path = local_path(warehouse)
    return _Named(warehouse, os.path.realpath(path), folder_identity(path))


def _is_below(place: str, warehouse: str) -> bool:
    around = canonical_warehouse(warehouse) if is_meant_for_s3(warehouse) else None
    return around is not None and f"{place}/".startswith(f"{around}/")


def local_readings(location: str) -> list[str]:
    """The paths of this machine that a location may mean; none where it lies elsewhere."""
    path = path_of(location)
    if path is None:
        return []
    # Of what is no absolute path, Hadoop takes the first part for the name of a machine, and leaves it out.
    return [str(path)] if path.is_absolute() else [str(path), f"/{str(path).partition('/')[2]}"]


def real_readings(path: str) -> list[str]:
    """The paths without links that a path may mean: `..` behind a link is read as the system does, and as Java does."""
    found = (os.path.realpath(one) for one in (path, os.path.normpath(path)) if "\0" not in one)
    return list(dict.fromkeys(found))


def _places(path: str) -> Iterator[str]:
    """Each place that a path may mean, and each that a link in it leads to, without links."""
    for text in dict.fromkeys((path, unquote(path))):
        for place in real_readings(text):
            yield place
            for folder in (place, os.path.join(place, _LOG)):
                for link in _links(folder):
                    yield os.path.realpath(link)


def _links(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as found:
            return sorted(entry.path for entry in found if entry.is_symlink())
    except OSError:
        return []


def is_same_folder(one: str, other: str) -> bool:
    """Whether two paths without links are one folder; where one is not made yet, the disk may take no notice of letter
    case."""
    return _Named(other, other, folder_identity(other)).is_at(one, folder_identity(one))


def upwards(place: str) -> Iterator[str]:
    """A folder and all above it."""
    while True:
        yield place
        above = os.path.dirname(place)
        if above == place:
            return
        place = above


def folder_identity(folder: str) -> tuple[int, int] | None:
    """What the disk knows a folder by; None where there is none."""
    try:
        found = os.stat(folder)
    except OSError:
        return None
    return (found.st_dev, found.st_ino)


def holds_registry(folder: str) -> bool:
    """Whether a folder has a registry in it: documents and histories of pipelines are Delta tables below it."""
    registry = os.path.join(folder, REGISTRY_FOLDER)
    try:
        if not stat.S_ISDIR(os.stat(registry).st_mode):
            return False
    except OSError:
        return False
    try:
        return any(_has_log(one) or any(map(_has_log, _entries(one))) for one in _entries(registry))
    except OSError:
        return True


def _has_log(folder: str) -> bool:
    return os.path.isdir(os.path.join(folder, _LOG))


def _entries(folder: str) -> Iterator[str]:
    with os.scandir(folder) as found:
        for entry in found:
            if entry.is_dir():
                yield entry.path
