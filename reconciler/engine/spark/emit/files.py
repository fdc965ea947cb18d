"""`file_output`: a view's changes as files, one folder an emission: `<path>/<serial>-<id>/part-…`.

- `serial` has 20 digits and only rises, so folders sort in the order of emissions; `id` is of the connector, so that one
  that was made anew never meets what another has left there.
- A folder is complete when its `_SUCCESS` is there, which holds what was counted as JSON. A repeat leaves a complete folder
  as it is, and writes an incomplete one anew: exactly once.
- It is written under a hidden name (`.<serial>-<id>`) and renamed. Where renaming is one act (local folders), a reader sees
  complete folders only; on object stores it has to look for `_SUCCESS`, which comes last.
- Emptying the sink removes the folders of earlier emissions just before the new one appears.
- JSON: `insert_delete` (the default), `debezium` or `raw`, one object a line. CSV, Parquet and raw JSON can't say that a row
  went: such rows are dropped and counted. Nothing that changed is no folder.
"""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, DataFrameWriter, SparkSession

from reconciler.connectors.catalogue import sink_can_delete
from reconciler.digest import JsonObject, canonical_json
from reconciler.engine.protocol import Emission, Emitted
from reconciler.engine.secrets import resolved
from reconciler.engine.sink_places import require_outside_of_warehouses
from reconciler.engine.spark.copies import coming
from reconciler.engine.spark.emit.changes import Changes, computed
from reconciler.engine.spark.emit.messages import texts
from reconciler.engine.spark.emit.sinks import require_no_registry_around, sink_session
from reconciler.engine.spark.failures import translated
from reconciler.engine.spark.locations import Sessions, hadoop_path, local_path, spark_location
from reconciler.errors import EngineError

_MARKER = "_SUCCESS"
_TEXT = ".txt"
_FOLDER = re.compile(r"\d{20}-[0-9a-f]{8}")
_CSV_OPTIONS = {"delimiter": "sep", "null_value": "nullValue"}


def emit(sessions: Sessions, emission: Emission) -> Emitted:
    """Write the folder of an emission, unless it is complete."""
    settings = resolved(emission.settings)
    config = settings["transport"]["config"]
    path = str(config["path"]).rstrip("/")
    name = _name(emission)
    with translated(f"connector {emission.connector}", of_connector=True):
        session = sink_session(sessions, config, path)
        require_no_registry_around(session, emission, path)
        place = _Place(session, path)
        done = place.marker(name)
        if done is not None:
            return Emitted(**{**done, "reused": True})
        with computed(session, emission) as (found, came, went):
            format_ = settings.get("format") or {}
            deletes = sink_can_delete(settings)
            emitted = Emitted(came, went if deletes else 0, dropped=0 if deletes else went)
            if emitted.inserted or emitted.deleted or emission.replaces:
                require_outside_of_warehouses(emission, path)
                _writer(emission, found, format_).save(spark_location(f"{path}/.{name}"))
                if format_.get("name") == "json":
                    place.call_json(name)
                require_outside_of_warehouses(emission, path)
                counts = {"inserted": emitted.inserted, "deleted": emitted.deleted, "dropped": emitted.dropped}
                place.reveal(name, counts, replaces=emission.replaces)
            return emitted


def _name(emission: Emission) -> str:
    identity = hashlib.sha256(emission.transaction.application.encode()).hexdigest()[:8]
    return f"{emission.transaction.version:020d}-{identity}"


def _writer(emission: Emission, found: Changes, format_: JsonObject) -> DataFrameWriter:
    form: dict[str, Any] = dict(format_.get("config") or {})
    match format_.get("name"):
        case "json":
            update_format = str(form.get("update_format", "insert_delete"))
            rows = [texts(frame, form, update_format).select("value") for frame in found.frames]
            writer = _union(rows).write.format("text")
        case "csv":
            writer = _came(found).write.format("csv").option("header", str(form.get("header", True)).lower())
            for name, option in _CSV_OPTIONS.items():
                if name in form:
                    writer = writer.option(option, str(form[name]))
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


class _Place:
    """The folder that a connector writes to."""

    def __init__(self, session: SparkSession, path: str) -> None:
        self._session = session
        self._path = path
        self._is_local = local_path(path) is not None
        self._files, self._root = hadoop_path(session, path)

    def marker(self, name: str) -> JsonObject | None:
        """What the marker of a folder says; None where it is not complete."""
        path = self._at(f"{name}/{_MARKER}")
        if not self._files.exists(path):
            return None
        stream = self._files.open(path)
        try:
            text = str(self._jvm().org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()
        found = json.loads(text or "{}")
        return {key: int(found.get(key, 0)) for key in ("inserted", "deleted", "dropped")}

    def call_json(self, name: str) -> None:
        """Spark writes lines as text and calls the files so: give them the name of what they hold."""
        for status in self._files.listStatus(self._at(f".{name}")):
            file = str(status.getPath().getName())
            if file.startswith("part-") and file.endswith(_TEXT):
                told = self._at(f".{name}/{file.removesuffix(_TEXT)}.json")
                if not self._files.rename(status.getPath(), told):
                    raise EngineError("X700", f"{self._path}/.{name}/{file} could not be renamed")

    def reveal(self, name: str, counts: JsonObject, *, replaces: bool) -> None:
        """Give a written folder its name, and its marker as early as readers can't be misled by it."""
        hidden, shown = self._at(f".{name}"), self._at(name)
        self._files.delete(self._at(f".{name}/{_MARKER}"), False)
        if self._is_local:
            self._mark(f".{name}", counts)
        if replaces:
            for status in self._files.listStatus(self._root):
                if _FOLDER.fullmatch(str(status.getPath().getName())):
                    self._files.delete(status.getPath(), True)
        self._files.delete(shown, True)
        if not self._files.rename(hidden, shown):
            raise EngineError("X700", f"{self._path}/.{name} could not be renamed to {name}")
        if not self._is_local:
            self._mark(name, counts)

    def _mark(self, name: str, counts: JsonObject) -> None:
        text = canonical_json(counts)
        local = local_path(self._path)
        if local is not None:
            Path(local, name, _MARKER).write_text(text, "utf-8")
            return
        stream = self._files.create(self._at(f"{name}/{_MARKER}"), True)
        try:
            stream.write(bytearray(text.encode()))
        finally:
            stream.close()

    def _at(self, name: str) -> Any:
        return self._jvm().org.apache.hadoop.fs.Path(spark_location(f"{self._path}/{name}"))

    def _jvm(self) -> Any:
        return self._session._jvm
