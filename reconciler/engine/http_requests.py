"""Requests that came over HTTP, each a file of a folder: how they are stored, what stands there, how they are removed.

- A request's file is called by a number of 20 digits: `00000000000000000042.jsonl`. Its contents never change. Numbers
  begin with 1, and only rise: what has a higher number came later.
- `store` has the contents on the disk under another name first; then it links them to the next number, and has the folder on
  the disk as well. So a file with a number is always whole, and what was acknowledged outlasts a crash of the machine.
- Numbers are given under a lock of the file `.last`, to threads and processes alike. The file has the last number, so that
  nobody lists a long folder for each request. It may be behind: a process dies before it writes the file, or the machine
  before the disk has it. Then the number after it is taken, and the folder is listed. For between the number in the file and
  the highest one no request is missing: whoever leaves numbers out, or removes requests, has the file on the disk first.
- A request whose number is below the position of the input is never read. So no number is given twice, though requests were
  removed; and where the folder was lost, `least` keeps numbers above the position.
- Names that begin with `.` are those of `.last` and of requests on their way. What a process left on the way that died is
  removed after an hour. Anything else in the folder is ignored: nobody was told that it will be read, while an error would
  hold up requests whose senders were.
"""

import fcntl
import os
import re
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from reconciler.base.boundaries import BEFORE, EFFECTED, INTENDED, Boundary, no_boundary
from reconciler.base.dataclass import dataclass

_NAME: Final = re.compile(r"([0-9]{20})\.jsonl")
_LAST: Final = ".last"
_PART: Final = ".part"
_DIGITS: Final = 20
_LEFT_BEHIND: Final = 3600
"""Seconds after which nobody links what he wrote."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """How many requests were not read yet, and how many bytes they have."""

    requests: int
    bytes: int


def place_of(folder: Path, number: int) -> Path:
    """Where a request stands."""
    return folder / f"{number:0{_DIGITS}d}.jsonl"


def store(folder: Path, content: bytes, least: int = 1, boundary: Boundary = no_boundary) -> int:
    """Store a request's lines for good, and say its number: it is higher than all before it, and at least `least`, which is
    the position of the input. Makes the folder where there is none. Raises OSError; the request may be read even so."""
    _make(folder)
    part = folder / f".{uuid.uuid4().hex}{_PART}"
    try:
        _write(part, content)
        boundary(f"request:{BEFORE}")
        with _numbering(folder) as descriptor:
            number = _linked(folder, part, descriptor, least, boundary)
        boundary(f"request:{EFFECTED}")
        _flush(folder)
    finally:
        part.unlink(missing_ok=True)
    return number


def numbers(folder: Path) -> list[int]:
    """The numbers of the requests that stand in a folder, sorted. None is left out that came before the last of them. A
    folder that does not exist has none. Raises OSError."""
    top = max(_listed(folder), default=0)
    # Whoever lists a folder may miss what comes meanwhile, and see what comes even later. What had come by then, the second
    # list has.
    return sorted(number for number in _listed(folder) if number <= top) if top else []


def next_number(folder: Path) -> int:
    """The least number that the next request can get. Raises OSError."""
    try:
        with (folder / _LAST).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH)
            last = _number(file.read(_DIGITS)) or 0
    except FileNotFoundError:
        last = 0
    return max(last, *_listed(folder), 0) + 1


def waiting(folder: Path, next_: int) -> Waiting:
    """What has this number or a higher one. Raises OSError."""
    sizes = [size for number in numbers(folder) if number >= next_ and (size := _size(place_of(folder, number))) is not None]
    return Waiting(len(sizes), sum(sizes))


def remove_read(folder: Path, next_: int) -> int:
    """Remove the requests below this number, and say how many these were. Raises OSError."""
    read = [number for number in _listed(folder) if number < next_]
    if read:
        with _numbering(folder) as descriptor:
            # On the disk before they are gone: else their numbers could be given again.
            _tell(descriptor, max(_told(descriptor) or 0, next_ - 1, *_listed(folder)))
            os.fsync(descriptor)
    for number in read:
        place_of(folder, number).unlink(missing_ok=True)
    _remove_left_behind(folder)
    return len(read)


def _linked(folder: Path, part: Path, descriptor: int, least: int, boundary: Boundary) -> int:
    last = _told(descriptor)
    if last is None:
        last = max(_listed(folder), default=0)
    if least > last + 1:
        last = least - 1
        _tell(descriptor, last)
        os.fsync(descriptor)
    while True:
        try:
            os.link(part, place_of(folder, last + 1))
            break
        except FileExistsError:
            last = max(last + 1, *_listed(folder))
    boundary(f"request:{INTENDED}")
    _tell(descriptor, last + 1)
    return last + 1


@contextmanager
def _numbering(folder: Path) -> Iterator[int]:
    """While nobody else gives numbers: the file of the last one."""
    descriptor = os.open(folder / _LAST, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        try:
            yield descriptor
        finally:
            # Closing is not enough where another thread has just forked.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
    finally:
        os.close(descriptor)


def _told(descriptor: int) -> int | None:
    """The last number as the file has it; None: nobody wrote it yet."""
    return _number(os.pread(descriptor, _DIGITS, 0))


def _tell(descriptor: int, number: int) -> None:
    # In place, all digits at once: a disk has the one or the other.
    os.pwrite(descriptor, b"%0*d" % (_DIGITS, number), 0)


def _number(text: bytes) -> int | None:
    return int(text) if len(text) == _DIGITS and text.isdigit() else None


def _listed(folder: Path) -> list[int]:
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    return [int(found[1]) for name in names if (found := _NAME.fullmatch(name))]


def _size(place: Path) -> int | None:
    try:
        return place.stat().st_size
    except FileNotFoundError:
        return None


def _make(folder: Path) -> None:
    if folder.is_dir():
        return
    new = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for one in new:
        _flush(one.parent)


def _write(part: Path, content: bytes) -> None:
    with part.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _flush(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove_left_behind(folder: Path) -> None:
    if not folder.is_dir():
        return
    for part in folder.glob(f".*{_PART}"):
        with suppress(FileNotFoundError):
            if part.stat().st_mtime < time.time() - _LEFT_BEHIND:
                part.unlink()
