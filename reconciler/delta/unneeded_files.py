"""What of a table's folder nothing needs any more: found here, from Delta's log, without a JVM, on a local disk and on S3
alike (`objects`). Removing it is Delta's own business (`Engine.vacuum`); here the log is kept, and cleaned up, as far back
as it must reach.

Rules:
- Needed are the files of the versions that stay: those from one version on, with whatever their commits added, and single
  ones before it.
- What the log names, or named, and nothing needs, can go. So can a folder that was staged below the table once it was
  published and none of its files is needed.
- What no commit ever named may be of a commit to come: of a writer at work, of a build beside it. It goes when it is older
  than the caller says. Only files of data, and what is staged, are looked at; all else is left alone.
- A log is cleaned up behind a checkpoint of Delta's, and never past the first version that stays. Delta does it, by the time
  of each commit: that is why a table says how long (`delta.logRetentionDuration`). No writer does it by itself
  (`tables.KEEPS_ITS_LOG`). The time of a commit is that of its file, on S3 when the store took it.
"""

import os
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import unquote

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import json_lines
from reconciler.base.errors import RegistryError
from reconciler.delta.objects import StoredObject, read_objects, stored_objects
from reconciler.delta.opening import is_local, local_path, open_table
from reconciler.delta.tables import KEEPS_ITS_LOG
from reconciler.delta.writing import writing

if TYPE_CHECKING:
    from deltalake import DeltaTable

_LOG = "_delta_log"
_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint\..*parquet|(\d{20})\.checkpoint\.parquet")
_STAGED = re.compile(r"v-[0-9a-f]{20}")
_LOG_DURATION: Final = "delta.logRetentionDuration"
_PART: Final = 200
T = TypeVar("T")
_LEAST_HOURS: Final = 8 * 24
"""Delta wants a log to reach back further than the files that it names stay, which is a week."""


@dataclass(frozen=True, slots=True)
class UnneededFile:
    """A file below a table's folder, as a path relative to it, and its size."""

    path: str
    bytes: int


def readable_versions(location: str, versions: Collection[int]) -> frozenset[int]:
    """Those of the versions that the log reaches back to."""
    return _readable(_log(location), versions)


def _readable(log: Mapping[str, StoredObject], versions: Collection[int]) -> frozenset[int]:
    commits, checkpoints = _numbers(log)
    first = min([*checkpoints, *([0] if 0 in commits else [])], default=None)
    newest = max(commits | checkpoints, default=-1)
    return frozenset(v for v in versions if first is not None and first <= v <= newest)


def unhindered() -> None:
    """Between two small parts of the work of whoever need not wait."""


def unneeded_files(
    location: str,
    since: int,
    versions: Collection[int],
    orphans_before: float,
    kept_folders: Collection[str] = (),
    pause: Callable[[], None] = unhindered,
) -> tuple[UnneededFile, ...]:
    """The files that neither the versions from `since` on nor `versions` need, sorted. `orphans_before`: what no commit
    named goes if it was last written before that time (seconds). `kept_folders` are staging folders that stay. `pause` is
    called between small parts of the work, and may wait, or raise to end it.

    Raises RegistryError when the log can't be read."""
    table = open_table(location)
    if table is None:
        return ()
    # Before the log: what is committed in between is in the log, and what comes later is not in this list.
    listed = [one for one in _slowly(stored_objects(location), pause) if _may_be_data(one.path)]
    log = _log(location)
    if not _readable(log, {since}):
        raise RegistryError("G602", f"the log of {location} does not reach back to version {since}")
    commits, checkpoints = _numbers(log)
    needed = set[str]()
    for version in _readable(log, {since, *versions}):
        needed |= _files_of(_opened(location, version))
    first = min([*checkpoints, *([0] if 0 in commits else [])], default=table.version())
    named = _files_of(_opened(location, first))
    for version, added in _slowly(_added(location, sorted(commits)), pause):
        named |= added
        if version > since:
            needed |= added
    in_use = {_folder(path) for path in needed} | set(kept_folders)
    published = {_folder(path) for path in named} - in_use
    found = []
    for one in listed:
        folder, is_old = _folder(one.path), one.written < orphans_before
        if one.path in needed or folder in kept_folders:
            continue
        # A folder goes as a whole, but for files that the table named by themselves.
        goes = folder in published or (folder not in in_use and is_old) if folder else False
        if one.path in named or goes or (not folder and is_old):
            found.append(UnneededFile(one.path, one.bytes))
    return tuple(sorted(found, key=lambda one: one.path))


def _slowly(found: Iterable[T], pause: Callable[[], None]) -> Iterator[T]:
    for number, one in enumerate(found):
        if number % _PART == 0:
            pause()
        yield one


def files_of_version(location: str, version: int) -> frozenset[str]:
    """The files of a version; none where the log does not reach back to it."""
    return frozenset(_files_of(_opened(location, version))) if readable_versions(location, {version}) else frozenset()


def wants_care(location: str, first: int) -> bool:
    """Whether a table does not keep its log yet, or has one that could go before version `first`."""
    table = open_table(location)
    if table is None:
        return False
    known = table.metadata().configuration
    return (
        any(known.get(name) != value for name, value in KEEPS_ITS_LOG.items()) or _hours_since(location, first) is not None
    )


def remove_empty_folders(location: str, paths: Collection[str]) -> None:
    """Remove the staging folders of these files, as far as nothing is in them any more. Where there are no folders, the
    engine has removed what stands for them."""
    if not is_local(location):
        return
    for top in {_folder(path) for path in paths} - {""}:
        for folder, _, _ in os.walk(os.path.join(local_path(location), top), topdown=False):
            # What has something in it stays.
            with suppress(OSError):
                os.rmdir(folder)


def log_settings(location: str, first: int) -> dict[str, str]:
    """What a table has yet to say so that it keeps its log, and for how long: such that `clean_log` does not go past version
    `first`. The whole log is listed."""
    table = open_table(location)
    if table is None:
        return {}
    wanted = dict(KEEPS_ITS_LOG)
    hours = _hours_since(location, first)
    if hours is not None:
        wanted[_LOG_DURATION] = f"interval {hours} hours"
    known = table.metadata().configuration
    return {name: value for name, value in wanted.items() if known.get(name) != value}


def keep_log(location: str, first: int) -> None:
    """Have a table keep its log, and say how long (`log_settings`). Raises as `put_settings` does."""
    put_settings(location, log_settings(location, first))


def put_settings(location: str, wanted: Mapping[str, str]) -> None:
    """Have a table say this, in one commit; none where there is nothing to say. Raises RegistryConflict when somebody writes
    it meanwhile."""
    from deltalake import CommitProperties

    table = open_table(location) if wanted else None
    if table is None:
        return
    with writing(location, table.version()):
        table.alter.set_table_properties(dict(wanted), commit_properties=CommitProperties(max_commit_retries=0))


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
    log = _log(location)
    commits, checkpoints = _numbers(log)
    begin = max((version for version in checkpoints if version <= first), default=0)
    before = [version for version in commits | checkpoints if version < begin]
    if not before:
        return None
    # Files may have been copied, and bear times in another order than that of their versions.
    written = {version: log[_commit(version)].written for version in commits}
    times = [moment for version, moment in written.items() if version >= begin]
    hours = max(_LEAST_HOURS, int((time.time() - min(times, default=0.0)) / 3600) + 2)
    oldest = min((moment for version, moment in written.items() if version in before), default=0.0)
    return hours if oldest < time.time() - hours * 3600 else None


def _log(location: str) -> dict[str, StoredObject]:
    """The files of the log by their names."""
    return {one.path.removeprefix(f"{_LOG}/"): one for one in stored_objects(location, _LOG)}


def _numbers(names: Collection[str]) -> tuple[set[int], set[int]]:
    """The versions that have a commit, and those that have a checkpoint, by the names of the log's files."""
    commits = {int(found[1]) for found in map(_COMMIT.fullmatch, names) if found}
    checkpoints = {int(found[1] or found[2]) for found in map(_CHECKPOINT.fullmatch, names) if found}
    return commits, checkpoints


def _commit(version: int) -> str:
    return f"{version:020d}.json"


def _opened(location: str, version: int) -> "DeltaTable":
    table = open_table(location, version)
    if table is None:
        raise RegistryError("G602", f"the table at {location} no longer exists")
    return table


def _files_of(table: "DeltaTable") -> set[str]:
    actions = table.get_add_actions(flatten=True)
    return {unquote(path) for path in actions["path"].to_pylist()} if actions.num_rows > 0 else set()


def _added(location: str, versions: Sequence[int]) -> Iterator[tuple[int, set[str]]]:
    """Of each version, the files that its commit added."""
    contents = read_objects(location, [f"{_LOG}/{_commit(version)}" for version in versions])
    for version, text in zip(versions, contents, strict=True):
        try:
            actions = list(json_lines(text.decode("utf-8")))
        except ValueError as error:
            raise RegistryError("G602", f"version {version} of the log of {location} can't be read: {error}") from error
        yield version, {unquote(action["add"]["path"]) for action in actions if "add" in action}


def _may_be_data(path: str) -> bool:
    first, _, rest = path.partition("/")
    return bool(_STAGED.fullmatch(first)) if rest else path.endswith(".parquet")


def _folder(path: str) -> str:
    """The staging folder of a file; empty for one of the table's own."""
    first, _, rest = path.partition("/")
    return first if rest else ""
