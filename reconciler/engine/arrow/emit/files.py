"""`file_output` in this process: small changes of a view as JSON or CSV, in a folder of this machine's disk
(`engine.spark.emit.files` says what is promised, and does it for all others).

One file an emission, with the lines that Spark would write. How the folder comes to count is the same
(`engine.local_place`). Left to Spark: Parquet; values whose text is not surely known (`texts`); deleted rows of
a view that had other columns; whatever it refuses.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Final
from uuid import uuid4

from reconciler.base.digest import JsonObject
from reconciler.connectors.catalogue import sink_can_delete
from reconciler.engine.arrow.emit.changes import Changes, changes
from reconciler.engine.arrow.emit.places import plain_place
from reconciler.engine.arrow.emit.texts import NotSurelyTold, csv_lines, json_texts
from reconciler.engine.file_place import Kept, folder_name
from reconciler.engine.local_place import LocalPlace
from reconciler.engine.protocol import Check, Emission, Emitted
from reconciler.engine.secrets import resolved
from reconciler.engine.sink_places import require_outside_of_warehouses

_KNOWN: Final = {
    "json": frozenset({"update_format", "array"}),
    "csv": frozenset({"delimiter", "header", "null_value"}),
}
"""By format, the settings by which lines are made here."""


def emit(emission: Emission, check: Check) -> Emitted | None:
    """Write the folder of an emission, unless it is complete; None: nothing is there, and it is for Spark to do."""
    settings = resolved(emission.settings)
    path = plain_place(settings["transport"]["config"], "path", ("path",))
    format_ = settings.get("format") or {}
    if path is None or format_.get("name") not in _KNOWN or not set(format_.get("config") or {}) <= _KNOWN[format_["name"]]:
        return None
    require_outside_of_warehouses(emission, path)
    place, name = LocalPlace(path, emission, check), folder_name(emission)
    done = place.done(name)
    if done is not None:
        return replace(done.emitted, reused=True, without_spark=True)
    place.require_nothing_later(name, place.found)
    changed = changes(emission)
    if changed is None or changed.columns_differ:
        return None
    deletes = sink_can_delete(settings)
    emitted = Emitted(changed.inserted, changed.deleted if deletes else 0, dropped=0 if deletes else changed.deleted)
    if not (emitted.inserted or emitted.deleted or emission.replaces):
        return replace(emitted, without_spark=True)
    try:
        text = "".join(f"{line}\n" for line in _lines(changed, format_)).encode()
    except NotSurelyTold:
        return None
    require_outside_of_warehouses(emission, path)
    own = place.own_folder(name)
    with place.kept_only_if_it_may_count(own):
        os.makedirs(Path(path) / own)
        (Path(path) / own / f"part-00000-{uuid4()}-c000.{format_['name']}").write_bytes(text)
        require_outside_of_warehouses(emission, path)
        others = place.reveal(own, name, Kept(emitted, emission.id))
    if others is not None:
        return replace(others.emitted, reused=True, without_spark=True)
    return replace(emitted, without_spark=True)


def _lines(changed: Changes, format_: JsonObject) -> Iterator[str]:
    config = dict(format_.get("config") or {})
    if format_["name"] == "csv":
        return csv_lines(changed.coming, config)
    comes, goes = _around(str(config.get("update_format", "insert_delete")))
    told = partial(json_texts, is_array=bool(config.get("array", False)))
    coming = told(changed.coming, comes)
    if goes is None:
        return coming
    often = zip(told(changed.going, goes), changed.copies, strict=True)
    return chain(coming, (line for line, copies in often for _ in range(copies)))


def _around(update_format: str) -> tuple[Callable[[str], str], Callable[[str], str] | None]:
    """What stands around a row that comes, and one that goes, if that can be told."""
    match update_format:
        case "raw":
            return (lambda row: row), None
        case "debezium":
            return (
                lambda row: f'{{"payload":{{"op":"c","before":null,"after":{row}}}}}',
                lambda row: f'{{"payload":{{"op":"d","before":{row},"after":null}}}}',
            )
        case "insert_delete":
            return (lambda row: f'{{"insert":{row}}}'), (lambda row: f'{{"delete":{row}}}')
        case _:
            raise NotSurelyTold
