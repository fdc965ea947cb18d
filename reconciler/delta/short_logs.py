"""What the log of a table on a disk says, at a price that does not grow with the log.

deltalake lists the whole log of a table on a disk whenever it opens it, and looks at each of its files. A table that gets a
commit a second has 600,000 of them after a week. So deltalake is shown a short log: a folder of this process with the
newest checkpoint, and links to the entries after it.

Rules:
- The newest checkpoint is the one that the table names (`_last_checkpoint`). The entries after it are found by their names,
  one after the other: commits have no gaps. Where anything is not as it mostly is (nothing is named, a checkpoint in parts,
  very many entries, an earlier version, no room for the folder), the table is opened as any other, whose answer counts.
- Each look sees what stands then: each file of the short log is compared with the file that it stands for.
- What is opened tells of the log, and of nothing else: no rows are read by it, and nothing is written.
- What a killed process leaves, a later one removes (`base.own_folders`).
- The checkpoint there does not name replaced files, for which no reader asks: they are all that grows in it.
"""

import json
import os
import shutil
import threading
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from reconciler.base.own_folders import OwnFolder
from reconciler.delta.opening import is_local, local_path, open_table

if TYPE_CHECKING:
    from deltalake import DeltaTable

_HINT: Final = "_last_checkpoint"
_MOST_ENTRIES: Final = 1000
_BEGINS_ANEW: Final = 10
"""After so many entries a later checkpoint is taken, where there is one."""

_LARGE: Final = 1 << 17
"""From so many bytes on a checkpoint is worth being written without the names of replaced files."""

_BYTES_A_COMMIT: Final = 50_000
"""So much of a checkpoint is worth one entry less to be read."""

_LATEST_CHECKPOINT: Final = 500
"""After so many commits there is another one, however large it is."""

_PURPOSE: Final = "log"
_LOGS_KEPT: Final = 64
_VERSIONS_KEPT: Final = 4


def open_log(location: str, version: int | None = None) -> "DeltaTable | None":
    """The table at a location, at a version (default: the newest), for what its log says. None where there is none. Raises
    RegistryError (G602) when something is there that can't be read."""
    found = _shortly(location, version) if is_local(location) else None
    return open_table(location, version) if found is None else found


def last_checkpoint_pays_until(location: str) -> int:
    """The version up to which a table on a disk needs no checkpoint after its last one, by the size of that; 0 where none is
    known."""
    log = _log_of(location) if is_local(location) else ""
    base = _named_checkpoint(log) if log else None
    if base is None:
        return 0
    return base + min(os.stat(os.path.join(log, _checkpoint(base))).st_size // _BYTES_A_COMMIT, _LATEST_CHECKPOINT)


def put_checkpoint(location: str, version: int) -> bool:
    """Make the checkpoint of the newest version of a table on a disk. False where that is to be done as for any other."""
    if not is_local(location):
        return False
    from deltalake import DeltaTable

    log = _log_of(location)
    base = _named_checkpoint(log)
    if base is None or base >= version:
        return False
    with OwnFolder(_PURPOSE) as folder:
        short = os.path.join(folder.path, "_delta_log")
        os.makedirs(short)
        names = [_checkpoint(base), *(_entry(one) for one in range(base + 1, version + 1))]
        if len(names) > _MOST_ENTRIES or not all(os.path.exists(os.path.join(log, name)) for name in names):
            return False
        for name in names:
            os.symlink(os.path.join(log, name), os.path.join(short, name))
        _name_checkpoint(short, base)
        table = DeltaTable(folder.path)
        if table.version() != version:
            return False
        table.create_checkpoint()
        if not os.path.exists(os.path.join(short, _checkpoint(version))):
            return False
        for name in (_checkpoint(version), _HINT):
            _copied(os.path.join(short, name), os.path.join(log, name))
    return True


class _ShortLog:
    """A short log as it was last seen. `seen` are the files that its checkpoint and its entries stand for, in order."""

    def __init__(self, log: str, base: int) -> None:
        self._log = log
        self._folder = OwnFolder(_PURPOSE)
        self._short = os.path.join(self._folder.path, "_delta_log")
        self._base = base
        self._opened: dict[int, DeltaTable] = {}
        os.makedirs(self._short)
        source = os.path.join(log, _checkpoint(base))
        self._seen = [_file(source)]
        _put_without_replaced_files(source, os.path.join(self._short, _checkpoint(base)))
        _name_checkpoint(self._short, base)

    def stands(self) -> bool:
        """Whether all its files are still those that they stand for, and no later checkpoint is to be taken."""
        names = [_checkpoint(self._base), *(_entry(self._base + place) for place in range(1, len(self._seen)))]
        if [_file(os.path.join(self._log, name)) for name in names] != self._seen:
            return False
        return len(self._seen) <= _BEGINS_ANEW or _named_checkpoint(self._log) == self._base

    def go_on(self) -> bool:
        """Take the entries that came since. False where they are too many, or the newest version has none."""
        while len(self._seen) <= _MOST_ENTRIES:
            name = _entry(self._base + len(self._seen))
            found = _file(os.path.join(self._log, name))
            if found is None:
                break
            os.symlink(os.path.join(self._log, name), os.path.join(self._short, name))
            self._seen.append(found)
        newest = self._base + len(self._seen) - 1
        # Entries are cleaned up from the first on: where that of the newest version is gone, there are others after it.
        return len(self._seen) <= _MOST_ENTRIES and os.path.exists(os.path.join(self._log, _entry(newest)))

    def at(self, version: int | None) -> "DeltaTable | None":
        """The table at a version; None for one that the short log does not have."""
        from deltalake import DeltaTable

        newest = self._base + len(self._seen) - 1
        wanted = newest if version is None else version
        if not self._base <= wanted <= newest:
            return None
        if wanted not in self._opened:
            table = DeltaTable(self._folder.path, version=wanted)
            if table.version() != wanted:
                return None
            # It reads from the folder later on, too.
            weakref.finalize(table, _let_go, self._folder).atexit = False
            self._opened[wanted] = table
            for old in sorted(self._opened)[:-_VERSIONS_KEPT]:
                if old != wanted:
                    del self._opened[old]
        return self._opened[wanted]


_ONE_AT_A_TIME: Final = threading.Lock()
_LOGS: Final[dict[str, _ShortLog]] = {}


def _shortly(location: str, version: int | None) -> "DeltaTable | None":
    from deltalake.exceptions import DeltaError

    log = _log_of(location)
    # Whatever is met here, the ordinary way meets it again and says so.
    with suppress(OSError, ValueError, KeyError, TypeError, NotImplementedError, DeltaError), _ONE_AT_A_TIME:
        known = _LOGS.pop(log, None)
        if known is None or not known.stands():
            base = _named_checkpoint(log)
            known = None if base is None else _ShortLog(log, base)
        if known is None or not known.go_on():
            return None
        table = known.at(version)
        _LOGS[log] = known
        for old in list(_LOGS)[:-_LOGS_KEPT]:
            del _LOGS[old]
        return table
    return None


def _put_without_replaced_files(source: str, target: str) -> None:
    """The checkpoint at another place; a large one without what it says of replaced files."""
    if os.stat(source).st_size < _LARGE:
        os.symlink(source, target)
        return
    import pyarrow.compute as pc
    from pyarrow import parquet

    with parquet.ParquetFile(source) as file:
        kept = file.read(columns=[name for name in file.schema_arrow.names if name != "remove"])
    says = None
    for column in kept.columns:
        said = pc.is_valid(column)
        says = said if says is None else pc.or_(says, said)
    parquet.write_table(kept if says is None else kept.filter(says), target)


def _named_checkpoint(log: str) -> int | None:
    """The version of the checkpoint that the log names as its last; None where it is not one file, or not there."""
    try:
        with open(os.path.join(log, _HINT), "rb") as file:
            said = json.load(file)
    except (OSError, ValueError):
        return None
    if not isinstance(said, dict) or not isinstance(said.get("version"), int) or "parts" in said or "v2Checkpoint" in said:
        return None
    version = int(said["version"])
    return version if os.path.exists(os.path.join(log, _checkpoint(version))) else None


def _name_checkpoint(log: str, version: int) -> None:
    with open(os.path.join(log, _HINT), "w", encoding="utf-8") as file:
        json.dump({"version": version, "size": 1}, file)


def _copied(source: str, target: str) -> None:
    """Put a file at its place at once, as a whole."""
    folder, name = os.path.split(target)
    beside = os.path.join(folder, f".{name}.{uuid4()}.tmp")
    try:
        shutil.copyfile(source, beside)
        os.replace(beside, target)
    finally:
        with suppress(OSError):
            os.unlink(beside)


def _log_of(location: str) -> str:
    return os.path.join(os.path.abspath(local_path(location)), "_delta_log")


def _entry(version: int) -> str:
    return f"{version:020d}.json"


def _checkpoint(version: int) -> str:
    return f"{version:020d}.checkpoint.parquet"


def _file(path: str) -> tuple[int, ...] | None:
    """Which file stands there; None: none does."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _let_go(_: OwnFolder) -> None:
    """Nothing refers to the folder from here any more."""
