"""What of a table's folder nothing needs any more: found here, from Delta's log, without a JVM. Removing it is Delta's own
business (`Engine.vacuum`); here the log is kept, and cleaned up, as far back as it must reach.

Rules:
- Needed are the files of the versions that stay: those from one version on, with whatever their commits added, and single
  ones before it.
- What the log names, or named, and nothing needs, can go. So can a folder that was staged below the table once it was
  published and none of its files is needed.
- What no commit ever named may be of a commit to come: of a writer at work, of a build beside it. It goes when it is older
  than the caller says. Only files of data, and what is staged, are looked at; all else is left alone.
- A log is cleaned up behind a checkpoint of Delta's, and never past the first version that stays. Delta does it, by the time
  of each commit: that is why a table says how long (`delta.logRetentionDuration`). No writer does it by itself
  (`tables.KEEPS_ITS_LOG`).

Tables on an object store are not looked at: what there is can't be listed without an engine.
"""

import json
import os
import re
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from reconciler.delta.opening import is_local, local_path, open_table
from reconciler.delta.tables import KEEPS_ITS_LOG
from reconciler.errors import RegistryConflict, RegistryError

if TYPE_CHECKING:
    from deltalake import DeltaTable

_LOG = "_delta_log"
_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint\..*parquet|(\d{20})\.checkpoint\.parquet")
_STAGED = re.compile(r"v-[0-9a-f]{20}")
_LOG_DURATION: Final = "delta.logRetentionDuration"
_LEAST_HOURS: Final = 8 * 24
"""Delta wants a log to reach back further than the files that it names stay, which is a week."""


@dataclass(frozen=True, slots=True)
class UnneededFile:
    """A file below a table's folder, as a path relative to it, and its size."""

    path: str
    bytes: int


def can_be_listed(location: str) -> bool:
    """Whether what lies in a folder can be told."""
    return is_local(location)


def readable_versions(location: str, versions: Collection[int]) -> frozenset[int]:
    """Those of the versions that the log reaches back to."""
    names = _log_names(location)
    commits, checkpoints = _numbers(names)
    first = min([*checkpoints, *([0] if 0 in commits else [])], default=None)
    newest = max(commits | checkpoints, default=-1)
    return frozenset(v for v in versions if first is not None and first <= v <= newest)


def unneeded_files(
    location: str, since: int, versions: Collection[int], orphans_before: float, kept_folders: Collection[str] = ()
) -> tuple[UnneededFile, ...]:
    """The files that neither the versions from `since` on nor `versions` need, sorted. `orphans_before`: what no commit
    named goes if it was last written before that time (seconds). `kept_folders` are staging folders that stay.

    Raises RegistryError when the log can't be read."""
    table = open_table(location)
    if table is None or not is_local(location):
        return ()
    # Before the log: what is committed in between is in the log, and what comes later is not in this list.
    listed = list(_files(local_path(location)))
    commits, checkpoints = _numbers(_log_names(location))
    needed = set[str]()
    for version in readable_versions(location, {since, *versions}):
        needed |= _files_of(_opened(location, version))
    first = min([*checkpoints, *([0] if 0 in commits else [])], default=table.version())
    named = _files_of(_opened(location, first))
    for version in sorted(commits):
        added = _added(location, version)
        named |= added
        if version > since:
            needed |= added
    if not readable_versions(location, {since}):
        raise RegistryError("G602", f"the log of {location} does not reach back to version {since}")
    in_use = {_folder(path) for path in needed} | set(kept_folders)
    published = {_folder(path) for path in named} - in_use
    found = []
    for path, size, written in listed:
        folder = _folder(path)
        if path in needed or folder in kept_folders:
            continue
        # A folder goes as a whole, but for files that the table named by themselves.
        goes = folder in published or (folder not in in_use and written < orphans_before) if folder else False
        if path in named or goes or (not folder and written < orphans_before):
            found.append(UnneededFile(path, size))
    return tuple(sorted(found, key=lambda one: one.path))


def files_of_version(location: str, version: int) -> frozenset[str]:
    """The files of a version; none where the log does not reach back to it."""
    return frozenset(_files_of(_opened(location, version))) if readable_versions(location, {version}) else frozenset()


def wants_care(location: str, first: int) -> bool:
    """Whether a table does not keep its log yet, or has one that could go before version `first`."""
    table = open_table(location)
    if table is None or not is_local(location):
        return False
    known = table.metadata().configuration
    return (
        any(known.get(name) != value for name, value in KEEPS_ITS_LOG.items()) or _hours_since(location, first) is not None
    )


def remove_empty_folders(location: str, paths: Collection[str]) -> None:
    """Remove the folders of these files, as far as nothing is in them any more."""
    if not is_local(location):
        return
    folders = {os.path.dirname(path) for path in paths} | {_folder(path) for path in paths}
    for folder in sorted((one for one in folders if one), key=len, reverse=True):
        try:
            os.rmdir(os.path.join(local_path(location), folder))
        except OSError:
            continue


def keep_log(location: str, first: int) -> None:
    """Have a table keep its log, and say how long: such that `clean_log` does not go past version `first`. One commit, only
    where that says something new. Raises RegistryConflict when somebody writes the table meanwhile."""
    from deltalake import CommitProperties
    from deltalake.exceptions import DeltaError

    table = open_table(location)
    if table is None:
        return
    known = table.metadata().configuration
    wanted = dict(KEEPS_ITS_LOG)
    hours = _hours_since(location, first)
    if hours is not None:
        wanted[_LOG_DURATION] = f"interval {hours} hours"
    if all(known.get(name) == value for name, value in wanted.items()):
        return
    try:
        table.alter.set_table_properties(wanted, commit_properties=CommitProperties(max_commit_retries=0))
    except DeltaError as error:
        raise RegistryConflict("G605", f"the table at {location} was written by somebody else meanwhile") from error


def clean_log(location: str, first: int) -> None:
    """Remove what of the log is not needed to read version `first` and those after it, if the table says how long it is kept
    (`keep_log`)."""
    from deltalake.exceptions import DeltaError

    table = open_table(location)
    if table is None or _LOG_DURATION not in table.metadata().configuration or _hours_since(location, first) is None:
        return
    try:
        table.cleanup_metadata()
    except (DeltaError, OSError):
        # Housekeeping: the next prune tries again.
        return


def _hours_since(location: str, first: int) -> int | None:
    """For how many hours the log has to be kept to read from version `first` on; None when nothing before it could go."""
    commits, checkpoints = _numbers(_log_names(location))
    begin = max((version for version in checkpoints if version <= first), default=0)
    before = [version for version in commits | checkpoints if version < begin]
    if not before:
        return None
    # Files may have been copied, and bear times in another order than that of their versions.
    times = [os.path.getmtime(_commit_path(location, version)) for version in commits if version >= begin]
    hours = max(_LEAST_HOURS, int((time.time() - min(times, default=0.0)) / 3600) + 2)
    oldest = min(os.path.getmtime(_commit_path(location, v)) for v in before if v in commits) if commits & set(before) else 0
    return hours if oldest < time.time() - hours * 3600 else None


def _log_names(location: str) -> list[str]:
    return os.listdir(os.path.join(local_path(location), _LOG))


def _numbers(names: Collection[str]) -> tuple[set[int], set[int]]:
    """The versions that have a commit, and those that have a checkpoint, by the names of the log's files."""
    commits = {int(found[1]) for found in map(_COMMIT.fullmatch, names) if found}
    checkpoints = {int(found[1] or found[2]) for found in map(_CHECKPOINT.fullmatch, names) if found}
    return commits, checkpoints


def _commit_path(location: str, version: int) -> str:
    return os.path.join(local_path(location), _LOG, f"{version:020d}.json")


def _opened(location: str, version: int) -> "DeltaTable":
    table = open_table(location, version)
    if table is None:
        raise RegistryError("G602", f"there is no table at {location} any more")
    return table


def _files_of(table: "DeltaTable") -> set[str]:
    actions = table.get_add_actions(flatten=True)
    return {unquote(path) for path in actions["path"].to_pylist()} if actions.num_rows > 0 else set()


def _added(location: str, version: int) -> set[str]:
    try:
        with open(_commit_path(location, version), encoding="utf-8") as file:
            actions: list[dict[str, Any]] = [json.loads(line) for line in file if line.strip()]
    except (OSError, ValueError) as error:
        raise RegistryError("G602", f"version {version} of the log of {location} can't be read: {error}") from error
    return {unquote(action["add"]["path"]) for action in actions if "add" in action}


def _files(root: str) -> Iterator[tuple[str, int, float]]:
    """Files that may be data: path, size, time of writing."""
    for folder, folders, names in os.walk(root):
        if folder == root:
            folders[:] = [name for name in folders if _STAGED.fullmatch(name)]
        for name in names:
            path = os.path.join(folder, name)
            if folder == root and not name.endswith(".parquet"):
                continue
            try:
                found = os.stat(path)
            except FileNotFoundError:
                continue  # somebody removes it now
            yield os.path.relpath(path, root), found.st_size, found.st_mtime


def _folder(path: str) -> str:
    """The staging folder of a file; empty for one of the table's own."""
    first, _, rest = path.partition("/")
    return first if rest else ""
