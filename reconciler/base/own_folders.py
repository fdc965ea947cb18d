"""Folders of a process's own, where temporary files are.

- Such a folder goes when nothing refers to it any more, or when whoever made it says so.
- A process that is killed, or ends without a word, leaves its folders: the next one that makes any removes them
  (`remove_left_folders`).
"""

import os
import re
import shutil
import tempfile
import time
import weakref
from contextlib import suppress
from functools import cache
from typing import Final

_NAME: Final = re.compile(r"reconcile-(?:log|answer)-(\d+)-(\d+)-.+")
_LEFT_SECONDS: Final = 3600


class OwnFolder:
    """A folder at `path`; its name says what it is for: `log` or `answer`."""

    def __init__(self, purpose: str) -> None:
        _remove_left_once(os.getpid())
        self.path = tempfile.mkdtemp(prefix=f"reconcile-{purpose}-{_processes_here()}-{os.getpid()}-")
        self._removal = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

    def __enter__(self) -> "OwnFolder":
        return self

    def __exit__(self, *_: object) -> None:
        self._removal()


def remove_left_folders(folder: str, now: float) -> None:
    """Remove the folders of processes that have ended. A folder stays where this can't be told, since its process has its
    number in another namespace, and for its first hour in any case."""
    for name in os.listdir(folder):
        found = _NAME.fullmatch(name)
        if found is None or int(found[1]) != _processes_here() or _lives(int(found[2])):
            continue
        path = os.path.join(folder, name)
        with suppress(OSError):
            if now - os.stat(path).st_mtime > _LEFT_SECONDS:
                shutil.rmtree(path, ignore_errors=True)


@cache
def _remove_left_once(process: int) -> None:
    """Once in each process. One that was forked is another."""
    with suppress(OSError):
        remove_left_folders(tempfile.gettempdir(), time.time())


@cache
def _processes_here() -> int:
    """The number of the namespace in which this process has its number; 0 where the system has none."""
    try:
        return os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        return 0


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
