"""The cache of compiled objects on disk: one SQLite file a version of the code, in a folder of the user's.

Rules:
- The folder is `$RECONCILE_CACHE` (`off`: no cache), else `reconciler` in `$XDG_CACHE_HOME` or `~/.cache`. It never lies in
  the repository: what a pull request brings can't plant a value. Values are JSON texts; nothing of them is executed.
- A file's name says which code made its values: the version of Python, of sqlglot, and the sources of reconciler as they
  are. So an upgrade, or an edit, begins a new file; old ones go when one is begun.
- It is safe to delete at any time, and safe under concurrent runs: whatever goes wrong with the file (locked, damaged,
  not writable, full) is an absent value, and a damaged file is removed. Values carry a checksum.
- What is remembered is written when `flush` is called, in one transaction.
- Threads of a process share a cache: a run in one, plans in others. One at a time asks it.
"""

import functools
import os
import sys
import threading
import zlib
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from reconciler.base.cache import Cache, MemoryCache

if TYPE_CHECKING:
    import sqlite3

_OFF = "off"
_MAXIMUM_BYTES = 1 << 30
_WAIT_SECONDS = 2.0
# SQLite takes so many parameters everywhere.
_AT_ONCE = 500
# Decides for a new file alone. A value of a kilobyte, as most are, stands on pages of its own where pages are SQLite's usual
# 4 KiB: reading then takes three to five times as long, and writing twice, into a file of twice the size.
_PAGE = 16_384
_SOURCES = (".py", ".json", ".txt")


class StoredCache:
    """A cache in one SQLite file. Opened when it is first asked."""

    def __init__(self, file: Path, maximum_bytes: int = _MAXIMUM_BYTES) -> None:
        self._file = file
        self._maximum_bytes = maximum_bytes
        self._connection: sqlite3.Connection | None = None
        self._new: dict[str, str] = {}
        self._known: dict[str, str] = {}
        self._absent: set[str] = set()
        self._alone = threading.RLock()

    def prepare(self, keys: Iterable[str]) -> None:
        """Read these values together. A read by itself locks the file, and looks whether it was changed."""
        with self._alone:
            unknown = [key for key in dict.fromkeys(keys) if key not in self._known]
            for first in range(0, len(unknown), _AT_ONCE):
                self._read(unknown[first : first + _AT_ONCE])
            self._absent.update(key for key in unknown if key not in self._known)

    def recall(self, key: str) -> str | None:
        if key in self._known:
            # Applied and desired ask for mostly the same.
            return self._known[key]
        with self._alone:
            if key in self._absent:
                # Just looked for. Another process may bring it until somebody asks again.
                self._absent.discard(key)
                return None
            self._read([key])
            return self._known.get(key)

    def _read(self, keys: list[str]) -> None:
        if self._connection is None and not self._open():
            return
        assert self._connection is not None
        asked = f"SELECT key, value, checksum FROM objects WHERE key IN ({', '.join('?' * len(keys))})"
        try:
            rows = self._connection.execute(asked, keys).fetchall()
        except Exception as error:
            self._fail(error)
            return
        for key, value, checksum in rows:
            # What is no text was not written by us: SQLite keeps anything in any column.
            if isinstance(value, str) and _checksum(value) == checksum:
                self._known[key] = value

    def remember(self, key: str, value: str) -> None:
        with self._alone:
            self._new[key] = value
            self._known[key] = value

    def flush(self) -> None:
        """Write what was remembered."""
        if not self._new:
            return
        with self._alone:
            self._flush()

    def _flush(self) -> None:
        rows = [(key, value, _checksum(value)) for key, value in self._new.items()]
        self._new = {}
        try:
            self._begin_anew_if_too_large()
            if self._connection is None and not self._create():
                return
            assert self._connection is not None
            with self._connection:
                self._connection.executemany("INSERT OR REPLACE INTO objects VALUES (?, ?, ?)", rows)
        except Exception as error:
            self._fail(error)

    def close(self) -> None:
        """Write what was remembered, and let go of the file."""
        self.flush()
        with self._alone:
            self._disconnect()

    def _open(self) -> bool:
        if not self._file.is_file():
            return False
        return self._connect()

    def _create(self) -> bool:
        self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not self._file.is_file():
            for old in self._file.parent.glob("objects-*.sqlite*"):
                old.unlink(missing_ok=True)
        return self._connect()

    def _begin_anew_if_too_large(self) -> None:
        if not self._file.is_file() or self._file.stat().st_size <= self._maximum_bytes:
            return
        self._disconnect()
        self._file.unlink(missing_ok=True)

    def _connect(self) -> bool:
        import sqlite3

        try:
            connection = sqlite3.connect(self._file, timeout=_WAIT_SECONDS, check_same_thread=False)
            connection.execute(f"PRAGMA page_size = {_PAGE}")
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute(
                "CREATE TABLE IF NOT EXISTS objects (key TEXT PRIMARY KEY, value TEXT, checksum INTEGER) WITHOUT ROWID"
            )
        except Exception as error:
            self._fail(error)
            return False
        self._connection = connection
        return True

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _fail(self, error: Exception) -> None:
        """Go on without the file; a damaged one is removed, so that the next run begins anew."""
        import sqlite3

        self._disconnect()
        # The others are of a locked file, or of a mistake of ours: neither says anything of what is in it.
        others = (sqlite3.OperationalError, sqlite3.ProgrammingError)
        if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, others):
            self._file.unlink(missing_ok=True)
        self._file = Path(os.devnull) / "none"


def open_cache() -> "StoredCache | MemoryCache":
    """The user's cache, or one that lives as long as the process where it is switched off or no folder can be told: what is
    applied and what is desired are mostly the same queries, and each is analysed once."""
    folder = _folder()
    return MemoryCache() if folder is None else StoredCache(folder / f"objects-{code_version()}.sqlite")


def flush(cache: Cache) -> None:
    """Write what a cache remembered, if it is kept anywhere."""
    if isinstance(cache, StoredCache):
        cache.flush()


def _folder() -> Path | None:
    chosen = os.environ.get("RECONCILE_CACHE")
    if chosen:
        return None if chosen == _OFF else Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    if base:
        return Path(base) / "reconciler"
    home = os.environ.get("HOME") or os.environ.get("LOCALAPPDATA")
    return Path(home) / ".cache" / "reconciler" if home else None


@functools.cache
def code_version() -> str:
    """A digest of everything that takes part in making values. A process has one for as long as it lives: its values are
    made by the code that it has loaded, whatever is installed meanwhile."""
    package = Path(__file__).resolve().parent.parent
    parts = [sys.version, *_sources(str(package)), *_sources(str(package.parent / "schemas")), _sqlglot()]
    return sha256("\n".join(parts).encode()).hexdigest()[:24]


def _sources(folder: str) -> list[str]:
    """Name, size and time of change of the sources below a folder: as telling as their contents, and a fraction of the
    cost."""
    found: list[str] = []
    if not os.path.isdir(folder):
        return found
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.is_dir(follow_symlinks=False):
            if entry.name not in ("__pycache__", "spark", "cli", "testing"):
                found += _sources(entry.path)
        elif entry.name.endswith(_SOURCES):
            status = entry.stat()
            found.append(f"{entry.path} {status.st_size} {status.st_mtime_ns}")
    return found


def _sqlglot() -> str:
    """Where sqlglot is found and since when: its name would have to be imported to ask its version."""
    for folder in sys.path:
        path = os.path.join(folder or ".", "sqlglot", "__init__.py")
        if os.path.isfile(path):
            return f"{path} {os.stat(path).st_mtime_ns}"
    return ""


def _checksum(value: str) -> int:
    return zlib.crc32(value.encode("utf-8", "surrogatepass"))
