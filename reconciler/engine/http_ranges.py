"""`http_input`: the requests of a folder, each read once, in the order of their numbers (`http_requests` stores them).

- A position is `{"next": N}`: all requests with numbers below N were read. A range is
  `{"from": a, "before": b, "requests": n, "bytes": m}`: the requests with numbers from a on and below b, so many of so many
  bytes. Where a range is read, and other requests stand there, that is an error: nothing removes or changes them before
  they were read.
- Numbers may be missing: their files were removed after they were read. What is below the position is none of our business.
- A folder that does not exist has no requests. What can't be looked at is an error.
- A step takes the first `max_batch_size` requests, and no more than 64 MB, but one at least. Of a transaction
  (`http_transactions`) it takes all, or none while that is open.
- A request's rows came when its file was written. Later numbers came later, so the first one has waited longest.

Requests are read as files of `file_input` are whose format is JSON with `update_format: insert_delete`. Where a table with a
key gets updates of single columns, it is `WITH_UPDATES`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from reconciler.base.digest import JsonObject
from reconciler.base.errors import EngineError
from reconciler.base.moments import moment_of_milliseconds
from reconciler.engine.files import File, can_not_be_read, local_file
from reconciler.engine.http_requests import numbers, place_of
from reconciler.engine.http_transactions import read_transaction
from reconciler.engine.protocol import Available, Ingestion

MOST_REQUESTS: Final = 5_000
"""Of one step, unless its connector says otherwise."""
_MOST_BYTES: Final = 64_000_000
WITH_UPDATES: Final = "insert_delete_update"
"""The format that also has {"update": …}: no connector names it. Of such lines the changes of a key are put together."""
_UPDATE: Final = b'"update"'


def unread(settings: JsonObject, position: JsonObject | None) -> Available | None:
    """The requests beyond a position. Raises EngineError (X710)."""
    folder = _folder(settings)
    start = 1 if position is None else int(position["next"])
    held, together = _transaction(folder)
    most = settings.get("max_batch_size", MOST_REQUESTS)
    new = [number for number in _numbers(folder) if start <= number and (held is None or number < held)]
    taken: list[tuple[int, File]] = []
    total = 0
    for number, file in _files(folder, new):
        total += file.size
        if taken and number >= together and (total > _MOST_BYTES or len(taken) >= most):
            break
        taken.append((number, file))
    if not taken:
        return None
    before, files = taken[-1][0] + 1, [file for _, file in taken]
    since = moment_of_milliseconds(min(file.modified for file in files))
    return Available(
        {"from": start, "before": before, **_counted(files)},
        {"next": before},
        end_of_input=False,
        backlog={"requests": len(new)},
        since=since,
        waiting_since=since,
    )


def as_files(ingestion: Ingestion, settings: JsonObject) -> tuple[Ingestion, JsonObject]:
    """The range and the settings of a `file_input` that reads a range of requests. Raises EngineError (X710, X711)."""
    folder, range_ = _folder(settings), ingestion.range
    start, before = int(range_["from"]), int(range_["before"])
    files = [file for _, file in _files(folder, [one for one in _numbers(folder) if start <= one < before])]
    found, known = _counted(files), {name: range_[name] for name in ("requests", "bytes")}
    if found != known:
        raise EngineError(
            "X711",
            f"requests {start} to {before - 1} in {folder} changed before they were read: there were "
            f"{_words(known)}, and there are {_words(found)}",
            "only reconciler may remove or change files of this folder; the connector goes on with those that are there",
        )
    listed = [{"path": file.path, "size": file.size, "modified": file.modified} for file in files]
    transport: dict[str, Any] = {"name": "file_input", "config": {"path": str(folder)}}
    has_updates = bool(ingestion.target.primary_key) and any(map(_may_have_updates, files))
    config = {"update_format": WITH_UPDATES if has_updates else "insert_delete", "array": False}
    format_ = {"name": "json", "config": config}
    return replace(ingestion, range={"files": listed}), {**settings, "transport": transport, "format": format_}


def _may_have_updates(file: File) -> bool:
    """What has none is read for less work. What has just a column of that name is read right, too."""
    try:
        return _UPDATE in Path(file.path).read_bytes()
    except OSError as error:
        raise can_not_be_read(error) from error


def _folder(settings: JsonObject) -> Path:
    return Path(settings["transport"]["config"]["path"])


def _transaction(folder: Path) -> tuple[int | None, int]:
    """The first number that a transaction holds, if one does; and below which number a step takes all that there is."""
    try:
        found = read_transaction(folder.parent)
    except OSError as error:
        raise can_not_be_read(error) from error
    if found is None:
        return None, 0
    return found.held.get(folder.name), found.whole.get(folder.name, (0, 0))[1]


def _numbers(folder: Path) -> list[int]:
    try:
        return numbers(folder)
    except OSError as error:
        raise can_not_be_read(error) from error


def _files(folder: Path, found: Sequence[int]) -> Iterator[tuple[int, File]]:
    for number in found:
        file = local_file(place_of(folder, number))
        if file is not None:
            yield number, file


def _counted(files: Sequence[File]) -> dict[str, int]:
    return {"requests": len(files), "bytes": sum(file.size for file in files)}


def _words(counted: JsonObject) -> str:
    return f"{counted['requests']} with {counted['bytes']} bytes"
