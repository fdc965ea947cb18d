"""`file_output`: a view's changes as files, one folder an emission: `<path>/<serial>-<id>/part-…`.

- `serial` has 20 digits and only rises, so folders sort in the order of emissions; `id` is of the connector, so that one
  that was made anew never meets what another has left there.
- How a folder comes to count, once: `file_place`, and by where it lies `local_place` and `store_place`.
- JSON: `insert_delete` (the default), `debezium` or `raw`, one object a line. CSV, Parquet and raw JSON can't say that a row
  went: such rows are dropped and counted. Nothing that changed is no folder.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame, DataFrameWriter, SparkSession

from reconciler.base.digest import JsonObject
from reconciler.base.errors import EngineError
from reconciler.connectors.catalogue import sink_can_delete
from reconciler.engine.file_place import HINT, Kept, folder_name
from reconciler.engine.local_place import LocalPlace
from reconciler.engine.protocol import Check, Emission, Emitted
from reconciler.engine.secrets import resolved
from reconciler.engine.sink_places import require_outside_of_warehouses
from reconciler.engine.spark.copies import coming
from reconciler.engine.spark.emit.changes import Changes, changes, computed
from reconciler.engine.spark.emit.lines import lines
from reconciler.engine.spark.emit.messages import require_texts_for_both, require_writable, texts
from reconciler.engine.spark.emit.storage_sinks import require_no_registry_around, sink_session
from reconciler.engine.spark.emit.store_place import StorePlace
from reconciler.engine.spark.failures import translated
from reconciler.engine.spark.locations import Sessions, hadoop_path, local_path, spark_location

_TEXT = ".txt"
_NO_MARKER = "mapreduce.fileoutputcommitter.marksuccessfuljobs"
_MEDDLED = re.compile(r"does not exist|No such file|FileNotFound|NoSuchFile|AlreadyExists|already exists")


def emit(sessions: Sessions, emission: Emission, check: Check) -> Emitted:
    """Write the folder of an emission, unless it is complete."""
    settings = resolved(emission.settings)
    config = settings["transport"]["config"]
    path = str(config["path"]).rstrip("/")
    name = folder_name(emission)
    of = f"connector {emission.connector}"
    with translated(of, of_connector=True):
        session = sink_session(sessions, config, path)
        require_no_registry_around(session, emission, path)
        is_local = local_path(path) is not None
        place: LocalPlace | StorePlace = (
            LocalPlace(path, emission, check) if is_local else StorePlace(session, path, emission, check)
        )
        done = place.done(name)
        if done is not None:
            return replace(done.emitted, reused=True)
        place.require_nothing_later(name, place.found)
        format_ = settings.get("format") or {}
        changed = changes(session, emission)
        _require_form(emission, changed, format_)
        with computed(changed) as (found, came, went):
            deletes = sink_can_delete(settings)
            emitted = Emitted(came, went if deletes else 0, dropped=0 if deletes else went)
            if emitted.inserted or emitted.deleted or emission.replaces:
                require_outside_of_warehouses(emission, path)
                own = place.own_folder(name)
                # Spark's own marker would say that a folder is complete before it is settled whether it counts.
                writer = _writer(emission, found, format_).option(_NO_MARKER, "false")
                with told_of_others(path), translated(of, of_connector=True), place.kept_only_if_it_may_count(own):
                    writer.save(spark_location(f"{path}/{own}"))
                    if format_.get("name") in ("json", "csv"):
                        _call_by_format(session, f"{path}/{own}", str(format_["name"]))
                    require_outside_of_warehouses(emission, path)
                    others = place.reveal(own, name, Kept(emitted, emission.id))
                if others is not None:
                    return replace(others.emitted, reused=True)
            return emitted


@contextmanager
def told_of_others(path: str) -> Iterator[None]:
    """While an output is written to `path`: a failure that looks like somebody else's hand in there says what to do about
    it."""
    place = spark_location(path).removeprefix("file://")
    try:
        yield
    except EngineError as error:
        if error.code == "X700" and error.hint is None and place in error.message and _MEDDLED.search(error.message):
            error.hint = HINT
        raise


def _call_by_format(session: SparkSession, folder: str, name: str) -> None:
    """Spark writes lines as text and calls the files so: give them the name of what they hold."""
    files, path = hadoop_path(session, folder)
    for status in files.listStatus(path):
        file = str(status.getPath().getName())
        if file.startswith("part-") and file.endswith(_TEXT):
            _, told = hadoop_path(session, f"{folder}/{file.removesuffix(_TEXT)}.{name}")
            if not files.rename(status.getPath(), told):
                raise EngineError("X700", f"{folder}/{file} could not be renamed", HINT)


def _require_form(emission: Emission, found: Changes, format_: JsonObject) -> None:
    """Raises EngineError (X716) where the format has no form for a column, before anything is computed."""
    of = f"connector {emission.connector}"
    match format_.get("name"):
        case "json":
            require_texts_for_both(found, of, _update_format(format_), "write parquet")
        case "csv":
            require_writable(found.after.schema, of, "CSV", "write parquet", is_flat=True)


def _update_format(format_: JsonObject) -> str:
    return str((format_.get("config") or {}).get("update_format", "insert_delete"))


def _writer(emission: Emission, found: Changes, format_: JsonObject) -> DataFrameWriter:
    form: dict[str, Any] = dict(format_.get("config") or {})
    match format_.get("name"):
        case "json":
            rows = [texts(frame, form, _update_format(format_)).select("value") for frame in found.frames]
            writer = _union(rows).write.format("text")
        case "csv":
            # A header comes before the first row of a partition: that is one file, whatever Spark was told.
            writer = lines(_came(found), form).write.format("text").option("maxRecordsPerFile", 0)
        case "parquet":
            writer = _came(found).write.format("parquet")
        case name:
            raise EngineError("X716", f"connector {emission.connector}: the engine writes no files in format {name!r}")
    return writer.mode("overwrite")


def _came(found: Changes) -> DataFrame:
    if found.only_inserts or found.columns_differ:
        return found.after
    return coming(found.frames[-1])


def _union(frames: list[DataFrame]) -> DataFrame:
    first, *more = frames
    for frame in more:
        first = first.unionAll(frame)
    return first
