"""What the log of a Delta table says, read as text: which table it is, when a version came, and which files were only added.

Nothing here starts a Spark job, and nothing a JVM where the table is local: whoever asks says how a text of its folder is
read. Log clean-up may have taken what is asked for, or it is malformed; then the answer is None, and whoever asks has to do
without or ask Delta itself.
"""

import json
from typing import Any, Protocol

from reconciler.base.digest import JsonObject, json_lines
from reconciler.base.moments import moment_of_milliseconds

_LOG = "_delta_log"
_MOST_COMMITS = 100


class Texts(Protocol):
    """The folder of a table."""

    def read_text(self, name: str) -> str | None:
        """The text of a file below the folder; None when there is none."""
        ...


def table_id(table: Texts, version: int, since: int = -1, known: str | None = None) -> str | None:
    """The id that Delta gave the table when it was made, as of a version; None where the log does not tell it cheaply.

    `known` is the id as of the version `since`, if that is known: it holds until a commit gives another.
    """
    for checksum in _read(table, f"{_LOG}/{version:020d}.crc") or ():
        found = checksum.get("metadata") or {}
        if "id" in found:
            return str(found["id"])
    for at in range(version, max(since, version - _MOST_COMMITS, -1), -1):
        for action in _actions(table, at) or ():
            if "metaData" in action:
                return str(action["metaData"]["id"])
    return known


def committed_at(table: Texts, version: int) -> str | None:
    """When a version was committed (`base.moments`), as its commit says; None where it is gone, or does not say."""
    try:
        text = table.read_text(f"{_LOG}/{version:020d}.json") or ""
        # What a commit says of itself is one line; of the others there may be very many.
        said = [json.loads(line).get("commitInfo") or {} for line in text.splitlines() if '"commitInfo"' in line]
        times = [one.get("inCommitTimestamp", one.get("timestamp")) for one in said]
    except (AttributeError, ValueError):
        return None
    return next((moment_of_milliseconds(one) for one in times if isinstance(one, int)), None)


def only_added(table: Texts, first: int, last: int) -> list[JsonObject] | None:
    """The actions that added files in the versions after `first` up to `last`, where these did nothing
    else to rows: removed none, and left columns alone. None where they did, or where that can't be told.

    Commits that only rearrange rows (`dataChange` false: OPTIMIZE) change none, so they are passed over.
    """
    if last - first > _MOST_COMMITS:
        return None
    found: list[JsonObject] = []
    for version in range(first + 1, last + 1):
        actions = _actions(table, version)
        if actions is None:
            return None
        for action in actions:
            if "metaData" in action or (action.get("remove") or {}).get("dataChange"):
                return None
            added = action.get("add") or {}
            if added.get("dataChange"):
                if added.get("deletionVector"):
                    return None
                found.append(action)
    return found


def _actions(table: Texts, version: int) -> list[dict[str, Any]] | None:
    return _read(table, f"{_LOG}/{version:020d}.json")


def _read(table: Texts, name: str) -> list[dict[str, Any]] | None:
    try:
        text = table.read_text(name)
        found = None if text is None else list(json_lines(text))
    except ValueError:
        return None
    return found if found is not None and all(isinstance(one, dict) for one in found) else None
