"""`file_output`: a view's changes as files, one folder an emission: `<path>/<serial>-<id>/part-…`.

- `serial` has 20 digits and only rises, so folders sort in the order of emissions; `id` is of the connector, so that one
  that was made anew never meets what another has left there.
- A folder is complete when its `_SUCCESS` is there, which holds what was counted as JSON. A repeat leaves a complete folder
  as it is, and writes an incomplete one anew: exactly once.
- It is written under a hidden name of its writer's own (`.<serial>-<id>-<writer>`) and renamed: a driver that was taken over
  while it wrote may go on, and Spark would take its files along with those of whoever writes the same emission now. Who
  comes to rename and finds a complete folder leaves that as it is. Hidden folders that somebody left go with the next one.
- Where renaming is one act (local folders), a reader sees complete folders only; on object stores it has to look for
  `_SUCCESS`, which comes last.
- Emptying the sink removes the folders of earlier emissions just before the new one appears.
- JSON: `insert_delete` (the default), `debezium` or `raw`, one object a line. CSV, Parquet and raw JSON can't say that a row
  went: such rows are dropped and counted. Nothing that changed is no folder.
"""

import hashlib
import json
import re
import uuid
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
_HIDDEN = re.compile(r"\.(?P<serial>\d{20})-(?P<letters>[0-9a-f]{8})(-[0-9a-f]{8})?")
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
                hidden = f".{name}-{uuid.uuid4().hex[:8]}"
                _writer(emission, found, format_).save(spark_location(f"{path}/{hidden}"))
                if format_.get("name") == "json":
                    place.call_json(hidden)
                require_outside_of_warehouses(emission, path)
                counts = {"inserted": emitted.inserted, "deleted": emitted.deleted, "dropped": emitted.dropped}
                others = place.reveal(hidden, name, counts, replaces=emission.replaces)
                if others is not None:
                    return Emitted(**{**others, "reused": True})
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

    def call_json(self, hidden: str) -> None:
        """Spark writes lines as text and calls the files so: give them the name of what they hold."""
        for status in self._files.listStatus(self._at(hidden)):
            file = str(status.getPath().getName())
            if file.startswith("part-") and file.endswith(_TEXT):
                told = self._at(f"{hidden}/{file.removesuffix(_TEXT)}.json")
                if not self._files.rename(status.getPath(), told):
                    raise EngineError("X700", f"{self._path}/{hidden}/{file} could not be renamed")

    def reveal(self, hidden: str, name: str, counts: JsonObject, *, replaces: bool) -> JsonObject | None:
        """Give a written folder its name, and its marker as early as readers can't be misled by it. Where somebody else has
        completed the folder meanwhile, that stays, and what its marker says is returned."""
        others = self.marker(name)
        if others is not None:
            self._files.delete(self._at(hidden), True)
            return others
        shown = self._at(name)
        self._files.delete(self._at(f"{hidden}/{_MARKER}"), False)
        if self._is_local:
            self._mark(hidden, counts)
        if replaces:
            for status in self._files.listStatus(self._root):
                if _FOLDER.fullmatch(str(status.getPath().getName())):
                    self._files.delete(status.getPath(), True)
        self._files.delete(shown, True)
        if not self._files.rename(self._at(hidden), shown):
            raise EngineError("X700", f"{self._path}/{hidden} could not be renamed to {name}")
        if not self._is_local:
            self._mark(name, counts)
        self._drop_left_behind(name)
        return None

    def _drop_left_behind(self, name: str) -> None:
        """Hidden folders of the connector's earlier emissions: who still writes one finds its emission complete."""
        serial, _, letters = name.partition("-")
        for status in self._files.listStatus(self._root):
            found = _HIDDEN.fullmatch(str(status.getPath().getName()))
            if found is not None and found["letters"] == letters and found["serial"] < serial:
                self._files.delete(status.getPath(), True)

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
