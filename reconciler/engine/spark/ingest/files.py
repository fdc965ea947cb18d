"""`file_input`: every file of a path (see `listing`) read once, in the order of their paths.

- A range names files with size and time of change; just those are read, and only if they are still the same.
- A position is all files read so far: `{"base": "/in/", "files": {"a.json": [120, 1767225600000]}}`, paths below `base`.
- A file that changed after it was read is an error that names it: reading it again would double its rows, passing over it
  would lose some. A file that is gone is none of our business any more.
- A path that names one file ends with it; a folder or pattern may grow.
"""

from collections.abc import Iterable

from pyspark.sql import SparkSession

from reconciler.digest import JsonObject
from reconciler.engine.protocol import Available, Ingestion
from reconciler.engine.spark.ingest import formats
from reconciler.engine.spark.ingest.incoming import Incoming
from reconciler.engine.spark.ingest.listing import File, file_at, listing
from reconciler.engine.spark.locations import Sessions
from reconciler.errors import EngineError


def discover(sessions: Sessions, settings: JsonObject, position: JsonObject | None) -> Available | None:
    """The files that were not read."""
    path = str(settings["transport"]["config"]["path"])
    found = listing(path, sessions)
    read_before = _read_before(position)
    new = []
    for file in found.files:
        known = read_before.get(file.path)
        if known is None:
            new.append(file)
        elif known != file:
            raise _changed(file)
    if not new:
        return None
    after = sorted([*read_before.values(), *new])
    files = [{"path": file.path, "size": file.size, "modified": file.modified} for file in new]
    return Available({"files": files}, _position(after), end_of_input=found.is_single)


def read(session: SparkSession, ingestion: Ingestion, settings: JsonObject) -> Incoming:
    """The rows of the range's files."""
    wanted = [File(str(one["path"]), int(one["size"]), int(one["modified"])) for one in ingestion.range["files"]]
    _check_unchanged(session, wanted)
    return formats.read(session, [file.path for file in wanted], settings.get("format") or {}, ingestion.target.columns)


def _check_unchanged(session: SparkSession, wanted: Iterable[File]) -> None:
    for file in wanted:
        if file_at(file.path, lambda: session) != file:
            raise _changed(file)


def _changed(file: File) -> EngineError:
    return EngineError(
        "X711",
        f"the file {file.path} changed after it was read",
        "give new rows a new file; to read everything anew, reset the connector by giving it another name",
    )


def _read_before(position: JsonObject | None) -> dict[str, File]:
    if position is None:
        return {}
    base = str(position["base"])
    return {base + name: File(base + name, int(size), int(modified)) for name, (size, modified) in position["files"].items()}


def _position(files: list[File]) -> JsonObject:
    # Paths are sorted, so what the first and the last share all of them share.
    first, last = files[0].path, files[-1].path
    shared = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    base = first[: first.rfind("/", 0, shared) + 1]
    return {"base": base, "files": {file.path[len(base) :]: [file.size, file.modified] for file in files}}
