"""Writing to Delta tables: why a write failed. Either somebody else committed first, or the system refused.

Rules:
- A conflict is what the table shows, not what an exception is called: deltalake raises one class for a commit that came
  second, a full disk, a file system that may only be read and a store out of reach. Where the table stands where the write
  began, nobody wrote it meanwhile; then the message is what the system said.
- On a disk, room is asked for before deltalake is: in the middle of a write it meets a full disk with a panic of its own.
  Between the two the room can still go; then the answer comes from deltalake, and is the same.
- What deltalake panics over is an error like any other to whoever called it, and not the end of the process.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final, NoReturn

from reconciler.base.errors import ReconcileError, RegistryConflict, RegistryError
from reconciler.delta.opening import first_line, is_local, local_path, open_table

ROOM: Final = 65_536
"""What a commit takes, with a checkpoint of its log now and then; more than the data of most."""
_ROOM_HINT: Final = "free space, or let this process write there; then run the command again: nothing was lost"
_PANIC: Final = "PanicException"


@contextmanager
def writing(
    location: str, expected: int | None, *, conflict: str | None = "G605", refused: str = "G607", data: int = 0
) -> Iterator[None]:
    """One write on the table at `location`, which stands at version `expected` (None: there is none yet).

    Raises RegistryConflict with the code `conflict` where somebody else wrote it meanwhile (None: writes of others are none
    of this one's business), else RegistryError with the code `refused` and what the system said. `data` is about how many
    bytes are written besides a commit.
    """
    from deltalake.exceptions import DeltaError

    try:
        require_room(location, ROOM + data)
        yield
    except ReconcileError:
        raise
    except (DeltaError, OSError) as error:
        _refuse(location, expected, error, conflict, refused)
    except BaseException as error:
        if type(error).__name__ != _PANIC:
            raise
        _refuse(location, expected, error, conflict, refused)


def require_room(location: str, size: int) -> None:
    """Raise OSError, as the system does, where so many bytes can't be written; on an object store nothing is asked."""
    if not is_local(location):
        return
    folder = local_path(location)
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder) or "."
    import tempfile

    # A file without a name: whoever dies here leaves nothing.
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        left = memoryview(bytes(size))
        while left:
            left = left[file.write(left) :]


def _refuse(location: str, expected: int | None, error: BaseException, conflict: str | None, refused: str) -> NoReturn:
    found = expected
    # Where that can't be told either, what the write met says more.
    with suppress(RegistryError, OSError):
        table = open_table(location)
        found = None if table is None else table.version()
    if conflict is not None and found != expected:
        raise RegistryConflict(conflict, f"another process wrote {location} meanwhile") from error
    raise refused_by_the_system(location, error, refused) from error


def refused_by_the_system(location: str, error: BaseException, code: str = "G607") -> RegistryError:
    """What the system said, as the error of a write there."""
    message = f"{location} can't be written: {first_line(error)}"
    return RegistryError(code, message, _ROOM_HINT if is_local(location) else None)
