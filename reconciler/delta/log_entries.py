"""Entries of a Delta table's log that are made here, action by action: an entry is put where none stands, or not at all.

For commits that deltalake has no call for: to take some files out of a table and to put others in at once.

- On a disk the entry is written whole beside its place, under a name that Delta passes over, and linked, as Spark's commits
  are (`LocalConditionalLogStore`). On S3 it is put on the condition that nothing is there.
- On a disk a place may be free that was taken once: then the entry is taken away again (`_is_behind`).
- The answer to a request that was done may be lost, and its repeat refused. An entry is told from others by its own mark
  (`txnId`), which no other has.
- Every so many commits a checkpoint follows, as the table asks for (every tenth, as Spark makes them, where it does not),
  and entries go that are older than the table keeps. Where that fails, the commit stands, and a later one tries again.
- A checkpoint names each file that was replaced within a week. Where a table on a disk gets a commit a second, and asks for
  nothing, those names would be written again and again: a large checkpoint is followed by the next one later.
"""

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from typing import Final
from uuid import uuid4

from reconciler.base.digest import JsonObject
from reconciler.base.errors import ReconcileError, RegistryError
from reconciler.base.version import __version__
from reconciler.delta.objects import put_new_object, read_objects
from reconciler.delta.opening import is_local, local_path, open_table
from reconciler.delta.short_logs import last_checkpoint_pays_until, put_checkpoint
from reconciler.delta.writing import writing

ENGINE_INFO: Final = f"reconcile/{__version__}"
"""What commits that are made here say of who made them."""

_EVERY: Final = 10
_INTERVAL: Final = "delta.checkpointInterval"
_CLEANS_UP: Final = "delta.enableExpiredLogCleanup"


def put_entry(location: str, version: int, information: JsonObject, actions: Iterable[JsonObject]) -> bool:
    """Make the commit of a version; `information` is what it says of itself (`commitInfo`). False where another stands
    there. Raises RegistryError or what the system refuses where it is not known to stand."""
    mark = str(uuid4())
    told = [{"commitInfo": {**information, "txnId": mark}}, *actions]
    text = "".join(f"{json.dumps(one, separators=(',', ':'), ensure_ascii=False)}\n" for one in told).encode()
    name = f"_delta_log/{version:020d}.json"
    if is_local(location):
        target = os.path.join(local_path(location), name)
        return _linked(target, text) and not _is_behind(target, version)
    try:
        if put_new_object(location, name, text):
            return True
    except RegistryError:
        # The answer may be lost, and the commit made.
        with suppress(RegistryError):
            if _has_mark(location, name, mark):
                return True
        raise
    return _has_mark(location, name, mark)


def after_commit(location: str, version: int, settings: dict[str, str]) -> None:
    """What is due after the commit of a version: a checkpoint, and old entries go. `settings` are the table's."""
    interval = settings.get(_INTERVAL, "")
    if not version or version % (int(interval) if interval.isdecimal() and int(interval) else _EVERY):
        return
    keeps = settings.get(_CLEANS_UP, "true").lower() != "true"
    # The commit stands: a checkpoint that goes while its size is looked at is no failure of it.
    with suppress(OSError):
        if _INTERVAL not in settings and version < last_checkpoint_pays_until(location):
            return
    make_checkpoint(location, version, short=keeps, cleans_up=not keeps)


def make_checkpoint(location: str, version: int, *, short: bool = True, cleans_up: bool = False) -> None:
    """The checkpoint of the newest version, which was just committed: by a short log, where that is possible, and entries go
    that are older than the table keeps, if that is asked for. Where it fails, a later one tries again."""
    # Where a panic of deltalake is an error, too.
    with suppress(ReconcileError), writing(location, version, conflict=None):
        if short and put_checkpoint(location, version):
            return
        table = open_table(location, version)
        if table is not None:
            table.create_checkpoint()
            if cleans_up:
                table.cleanup_metadata()


def _linked(target: str, text: bytes) -> bool:
    """Whether a file with this text stands at the target that stood there not before."""
    if os.path.exists(target):
        return False
    folder, name = os.path.split(target)
    os.makedirs(folder, exist_ok=True)
    source = os.path.join(folder, f".{name}.{uuid4()}.tmp")
    try:
        with open(source, "wb") as file:
            file.write(text)
        try:
            os.link(source, target)
        except OSError as error:
            if os.path.exists(target):
                # Maybe the answer to a repeat of a request that was done.
                return os.path.samefile(source, target)
            raise error
    finally:
        with suppress(OSError):
            os.unlink(source)
    return True


def _is_behind(target: str, version: int) -> bool:
    """Whether an entry that was just linked stands where another one stood once: then it goes again. Old entries are
    removed, and a writer may have slept between its look at the log and this (a machine that was suspended), while others
    went on. The entry before its own is gone then, and there are later versions."""
    folder = os.path.dirname(target)
    if version == 0 or os.path.exists(os.path.join(folder, f"{version - 1:020d}.json")):
        return False
    if not any(name[:20].isdecimal() and int(name[:20]) > version for name in os.listdir(folder)):
        return False
    os.unlink(target)
    return True


def _has_mark(location: str, name: str, mark: str) -> bool:
    (text,) = read_objects(location, [name])
    return mark.encode() in text.partition(b"\n")[0]
