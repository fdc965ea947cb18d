"""Opening Delta tables by location, and nothing read into the answer.

Rules: "there is no table" is an answer (None); a table that can't be read is an error (RegistryError), never an absence.
A half-created table (data files, no commit) is no table: Delta's log decides.
"""

import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from reconciler.base.errors import RegistryError

if TYPE_CHECKING:
    from deltalake import DeltaTable


NOTHING_DAMAGED: Final = "nothing is known to be damaged"
"""How the hint begins of what may be read in a moment."""
_FILE: Final = re.compile(r"\Afile:(/*)", re.IGNORECASE)
_OF_A_BACKTRACE: Final = re.compile(r"\s*\d+: ")
_DECORATION: Final = re.compile("\x1b\\[[0-9;]*m|↳")


def join_location(base: str, *parts: str) -> str:
    """`base/part/part`, for local paths and URIs alike."""
    return "/".join([base.rstrip("/"), *parts])


def is_local(location: str) -> bool:
    """Whether a location is a path of this machine's file system."""
    return "://" not in location or location.startswith("file://")


def is_on_s3(location: str) -> bool:
    """Whether a location is on S3, or what speaks its protocol."""
    return location.startswith(("s3://", "s3a://"))


def local_path(location: str) -> str:
    """The path of a local location."""
    return location.removeprefix("file://")


def path_of(location: str) -> Path | None:
    """The path of a location of this machine as the engine and its connectors have it, or None when it lies elsewhere. Local
    is `file:` in any spelling that `urlsplit` knows, and whatever names no scheme that could be one."""
    try:
        scheme = urlsplit(location).scheme
    except ValueError:
        # An address with a broken part; whoever opens it says so.
        return None
    if scheme == "file":
        # `urlsplit` passes over blanks in front; a path has them.
        return Path("/" + _FILE.sub("", location, count=1).lstrip("/"))
    # One letter is a drive, not a scheme.
    return Path(location) if len(scheme) < 2 else None


def is_relative(location: str) -> bool:
    """Whether a connector's location is a path below some folder, not one of its own."""
    return not (location.startswith("/") or location[:6].lower() == "file:/" or _is_uri(location))


def _is_uri(location: str) -> bool:
    """What has the sign and no scheme (`a_b://c`) is a path for whoever reads or writes it."""
    return "://" in location and (path_of(location) is None or urlsplit(location).scheme == "file")


def with_plain_scheme(location: str) -> str:
    """A location whose `file:/`, in whichever spelling, is one that every reader and writer knows."""
    found = _FILE.match(location)
    if found is None or not found[1]:
        return location
    return f"file:{found[1] if len(found[1]) > 1 else '///'}{location[found.end() :]}"


def open_table(location: str, version: int | None = None) -> "DeltaTable | None":
    """The Delta table at a location, at a version (default: the newest), or None when there is none.

    Raises RegistryError (G602) when something is there that can't be read.
    """
    from deltalake import DeltaTable
    from deltalake.exceptions import TableNotFoundError

    if is_local(location) and not _is_folder(os.path.join(local_path(location), "_delta_log")):
        return None
    try:
        return DeltaTable(location, version=version)
    except TableNotFoundError:
        return None
    except Exception as error:
        # deltalake raises several unrelated classes for a damaged log, a store out of reach, a missing bucket; all of them
        # mean that the truth is unknown.
        if is_local(location) and not _holds_commit(location):
            return None
        message = f"the Delta table at {location} can't be read: {first_line(error)}"
        raise RegistryError("G602", message, store_hint(location, error)) from error


def store_hint(location: str, error: BaseException) -> str | None:
    """What to do where a store did not answer as it should, by which nothing is known to be damaged; None for anything
    else. deltalake raises OSError for what a store or the way to it refuses."""
    if is_local(location) or not isinstance(error, OSError) or isinstance(error, FileNotFoundError):
        return None
    store = "/".join(location.split("/")[:3])
    named = " (AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL, …)" if is_on_s3(location) else ""
    return (
        f"{NOTHING_DAMAGED}: make sure that {store} exists and can be reached from here, and that the "
        f"credentials in the environment{named} may list and read it"
    )


def first_line(error: BaseException) -> str:
    """An error's own words, on one line, without the backtrace and the colours that a native library may add."""
    words: list[str] = []
    for line in str(error).strip().splitlines():
        if _OF_A_BACKTRACE.match(line):
            break
        words.append(_DECORATION.sub("", line).strip())
        # A message that goes on below says so by its arrows.
        if words[0] and "↳" not in str(error):
            break
    return " ".join(words) or type(error).__name__


def _is_folder(path: str) -> bool:
    """Whether there is such a folder. Raises RegistryError (G602) where that can't be told: who may not look has seen no
    absence."""
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise RegistryError("G602", f"{path} can't be read: {error.strerror}") from error


def _holds_commit(location: str) -> bool:
    try:
        return has_commit(location)
    except OSError:
        # It is there, and why it can't be read is known already.
        return True


def has_commit(location: str) -> bool:
    """Whether a local folder's Delta log holds any commit or checkpoint."""
    log = os.path.join(local_path(location), "_delta_log")
    try:
        return any(name.endswith((".json", ".parquet")) for name in os.listdir(log))
    except FileNotFoundError:
        return False


def is_vacant(location: str) -> bool:
    """Whether nothing is stored at a location that a new table would overwrite (folders of staged builds don't count)."""
    if open_table(location) is not None:
        return False
    if not is_local(location) or not os.path.isdir(local_path(location)):
        return True
    return not has_commit(location) and not any(name.endswith(".parquet") for name in os.listdir(local_path(location)))
