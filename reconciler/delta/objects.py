"""What is stored below a location, on a local disk and on S3 alike: told, read, written and removed, without an engine.

Rules:
- Objects are named by their paths relative to the location. Folders are none: neither those of a disk, nor what Hadoop marks
  one by on S3, which is an object of no bytes.
- Nothing there is an empty answer. What can't be told or read is an error (RegistryError, G602), never nothing.
- Who removes what is gone already has removed it. Folders that are left empty stay.
- What is removed while it is told may be left out; what was there before and stays is told. S3 promises that, too.
- Where S3 is, and who asks, stands in the variables of the environment that deltalake reads.

Which locations there are: those that a warehouse may have (`can_be_listed`).
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NoReturn

from reconciler.base.dataclass import dataclass
from reconciler.base.errors import RegistryError
from reconciler.delta.opening import first_line, is_local, is_on_s3, local_path

if TYPE_CHECKING:
    from obstore.store import S3Store

_AT_ONCE: Final = 16
_PAGE: Final = 1000


@dataclass(frozen=True, slots=True)
class StoredObject:
    """A file or an object: its path, its size, and when it was last written (seconds)."""

    path: str
    bytes: int
    written: float


def can_be_listed(location: str) -> bool:
    """Whether what lies below a location can be told here."""
    return is_local(location) or is_on_s3(location)


def stored_objects(location: str, below: str = "") -> Iterator[StoredObject]:
    """All that lies below a location, or in the folder `below` of it; paths are relative to the location."""
    return _files(local_path(location), below) if is_local(location) else _listed(location, below)


def read_objects(location: str, paths: Sequence[str]) -> Iterator[bytes]:
    """The contents of each, in their order."""
    if is_local(location):
        yield from (_file(location, path) for path in paths)
        return
    store = _store(location)

    def read(path: str) -> bytes:
        import obstore

        try:
            return bytes(obstore.get(store, path).bytes())
        except Exception as error:
            _unreadable(f"{location}/{path}", error)

    from concurrent.futures import ThreadPoolExecutor

    # Not all are asked for at once: they may be many, and large.
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        for first in range(0, len(paths), _AT_ONCE):
            yield from threads.map(read, paths[first : first + _AT_ONCE])


def put_object(location: str, path: str, data: bytes) -> None:
    """Write an object; one of that path is replaced. Raises OSError, or on S3 RegistryError (G607)."""
    if is_local(location):
        target = os.path.join(local_path(location), path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as file:
            file.write(data)
        return
    import obstore

    try:
        obstore.put(_store(location), path, data)
    except Exception as error:
        raise _unwritable(f"{location}/{path}", error) from error


def put_new_object(location: str, path: str, data: bytes) -> bool:
    """Write an object on S3 where none stands; False where one does. Raises RegistryError (G607), after which it may be
    there or not."""
    import obstore
    from obstore.exceptions import AlreadyExistsError

    try:
        obstore.put(_store(location), path, data, mode="create")
    except AlreadyExistsError:
        return False
    except Exception as error:
        raise _unwritable(f"{location}/{path}", error) from error
    return True


def remove_objects(location: str, paths: Sequence[str]) -> None:
    """Remove these. Raises RegistryError (G620) when the place doesn't let go of one."""
    try:
        if is_local(location):
            for path in paths:
                with suppress(FileNotFoundError, NotADirectoryError):
                    os.unlink(os.path.join(local_path(location), path))
        elif paths:
            import obstore

            obstore.delete(_store(location), list(paths))
    except Exception as error:
        raise RegistryError("G620", f"the files at {location} can't be deleted: {first_line(error)}") from error


def _files(root: str, below: str) -> Iterator[StoredObject]:
    def refuse(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError | NotADirectoryError):
            _unreadable(root, error)

    for folder, _, names in os.walk(os.path.join(root, below) if below else root, onerror=refuse):
        inside = os.path.relpath(folder, root).replace(os.sep, "/")
        for name in names:
            try:
                found = os.stat(os.path.join(folder, name))
            except FileNotFoundError:
                continue  # somebody removes it now
            yield StoredObject(name if inside == "." else f"{inside}/{name}", found.st_size, found.st_mtime)


def _file(location: str, path: str) -> bytes:
    try:
        with open(os.path.join(local_path(location), path), "rb") as file:
            return file.read()
    except OSError as error:
        _unreadable(f"{location}/{path}", error)


def _listed(location: str, below: str) -> Iterator[StoredObject]:
    import obstore

    try:
        for page in obstore.list(_store(location), prefix=below or None, chunk_size=_PAGE):
            for found in page:
                if found["size"] > 0:
                    yield StoredObject(found["path"], found["size"], found["last_modified"].timestamp())
    except Exception as error:
        _unreadable(location, error)


def _store(location: str) -> "S3Store":
    from obstore.store import S3Store

    try:
        return S3Store.from_url(location)
    except Exception as error:
        _unreadable(location, error)


def _unwritable(place: str, error: Exception) -> RegistryError:
    return RegistryError("G607", f"{place} can't be written: {first_line(error)}")


def _unreadable(place: str, error: Exception) -> NoReturn:
    """obstore raises several unrelated classes for a store out of reach, a missing bucket, a missing object; all of them
    mean that the truth is unknown."""
    raise RegistryError("G602", f"the files at {place} can't be read: {first_line(error)}") from error
