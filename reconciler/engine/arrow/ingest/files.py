"""Files of this machine as rows, where there is no doubt what they say: JSON and CSV, small ones, with plain names.

A name is plain where Spark takes it for no pattern, no hidden file and no compressed one, and sorts it as we do. The files
must still be what the range says: that is `engine.files`' rule, and Spark tells who broke it.
"""

import re
from pathlib import Path
from typing import Final

from reconciler.base.digest import JsonObject
from reconciler.delta.opening import path_of
from reconciler.engine.arrow.ingest.csv_records import Csv
from reconciler.engine.arrow.ingest.incoming import Incoming, TableRows
from reconciler.engine.arrow.ingest.json_records import changes_of
from reconciler.engine.arrow.ingest.values import NotSure
from reconciler.engine.files import File, files_of, local_file
from reconciler.engine.protocol import Ingestion

MOST_BYTES: Final = 1_000_000
"""Of so many bytes Spark reads, parses and writes no slower."""
MOST_FILES: Final = 200
_PLAIN: Final = re.compile(r"(?:/\.?[A-Za-z0-9][A-Za-z0-9_.=-]*)*/[A-Za-z0-9][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*")
_NOT_COMPRESSED: Final = ("", ".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".txt", ".log")


def read(ingestion: Ingestion, settings: JsonObject, most_files: int = MOST_FILES) -> Incoming:
    """The rows of the range's files. Raises NotSure, also where there are more than `most_files`."""
    if set(settings["transport"]["config"]) != {"path"}:
        raise NotSure("options of a store")
    files = sorted(files_of(ingestion.range), key=lambda file: file.path)
    if len(files) > most_files or sum(file.size for file in files) > MOST_BYTES:
        raise NotSure("a large range")
    format_ = settings.get("format") or {}
    if not set(format_) <= {"name", "config"}:
        raise NotSure(format_)
    config = format_.get("config") or {}
    rows = TableRows(ingestion.target)
    match format_.get("name"):
        case "json":
            known = {"update_format": "raw", **config}
            is_array = bool(known.get("array", False))
            contents = (content for file in files for content in ([_content(file)] if is_array else _lines(file)))
            changes = tuple(changes_of(contents, known, rows))
            return Incoming(
                changes, known["update_format"] != "raw", rows.unknown(), has_pairs=known["update_format"] == "debezium"
            )
        case "csv":
            lines = Csv(config, rows, ingestion.target)
            changes = tuple(change for file in files for change in lines.changes_of(_lines(file)))
            return Incoming(changes, False, rows.unknown(), lines.missing())
        case name:
            raise NotSure(name)


def _lines(file: File) -> list[bytes]:
    # Of bytes: what else Unicode takes for an end of a line may stand within a value.
    return _content(file).splitlines()


def _content(file: File) -> bytes:
    path = path_of(file.path)
    if path is None or _PLAIN.fullmatch(file.path) is None or Path(file.path).suffix.lower() not in _NOT_COMPRESSED:
        raise NotSure(file.path)
    try:
        content = path.read_bytes()
        found = local_file(path)
    except OSError:
        raise NotSure(file.path) from None
    if found != file or len(content) != file.size:
        raise NotSure(file.path)
    return content
