"""A disk of its own, so small that a test can fill it: memory, mounted as a file system. Needs to be allowed to mount."""

import errno
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

_BLOCK = 4096


@dataclass(frozen=True, slots=True)
class SmallDisk:
    """The disk mounted at `root`."""

    root: Path

    def fill(self, leave: int = 0) -> None:
        """Take all room but about so many bytes."""
        filler = self.root / ".filler"
        with filler.open("ab", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(_BLOCK))
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
            file.truncate(max(0, file.tell() - leave))

    def make_room(self) -> None:
        """Give the room back."""
        (self.root / ".filler").unlink()

    def forbid_writing(self) -> None:
        """Let it be read only from now on."""
        subprocess.run(["mount", "-o", "remount,ro", str(self.root)], check=True)

    def allow_writing(self) -> None:
        """Let it be written to again."""
        subprocess.run(["mount", "-o", "remount,rw", str(self.root)], check=True)


@contextmanager
def small_disk(place: Path, size: str = "2m") -> Iterator[SmallDisk]:
    """Such a disk at `place`, for the body. Skips the test where it can't be had."""
    place.mkdir(parents=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
    try:
        mounted = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("there is no `mount` here")
    if mounted.returncode != 0:
        pytest.skip(f"a file system can't be mounted here: {mounted.stderr.strip()}")
    try:
        yield SmallDisk(place)
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)
