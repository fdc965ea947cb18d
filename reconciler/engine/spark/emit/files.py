"""`file_output`: a view's changes as files, one folder an emission: `<path>/<serial>-<id>/part-…`.

- `serial` has 20 digits and only rises, so folders sort in the order of emissions; `id` is of the connector, so that one
  that was made anew never meets what another has left there.
- A folder is complete when its `_SUCCESS` is there, which holds what was counted and the emission's id as JSON. A repeat
  leaves a complete folder as it is, and writes an incomplete one anew: exactly once. A complete one of another emission, or
  anything of a later one of the same connector, is X756.
- A driver that was taken over while it wrote may go on beside whoever writes the same emission now. So each has a folder of
  its own, and one act decides whose counts; the other one's goes.
- On a local folder that act is the renaming of a hidden folder (`.<serial>-<id>-<writer>`), so a reader sees complete ones
  only.
- Elsewhere renaming may be many acts, and two would mix. There the folder bears its writer's letters
  (`<serial>-<id>-<writer>`), and a file beside it, put where none stands, says which one counts (`.<serial>-<id>-taken`).
  Only that one gets its `_SUCCESS`, from whoever comes by. The file stays, so that who comes late finds it. Where somebody
  removed it, a `_SUCCESS` says the same, and the next emission puts the file again.
- Where a later emission of the same connector stands, nothing of an earlier one comes any more: it may have been emptied
  away, or dropped by a seek.
- A try that fails takes away what it wrote, unless the file that says that it counts may still come. What else was left, by
  a process that was killed, goes with the next emission.
- Emptying the sink removes the folders of earlier emissions just before the new one is complete.
- JSON: `insert_delete` (the default), `debezium` or `raw`, one object a line. CSV, Parquet and raw JSON can't say that a row
  went: such rows are dropped and counted. Nothing that changed is no folder.
"""

import errno
import hashlib
import json
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, DataFrameWriter, SparkSession

from reconciler.base.digest import JsonObject, canonical_json
from reconciler.base.errors import AnotherEmission, EngineError
from reconciler.connectors.catalogue import sink_can_delete
from reconciler.engine.protocol import Emission, Emitted
from reconciler.engine.repeats import ID, another_emission, is_of
from reconciler.engine.secrets import resolved
from reconciler.engine.sink_places import require_outside_of_warehouses
from reconciler.engine.spark.copies import coming
from reconciler.engine.spark.emit.changes import Changes, changes, computed
from reconciler.engine.spark.emit.lines import lines
from reconciler.engine.spark.emit.messages import require_texts_for_both, require_writable, texts
from reconciler.engine.spark.emit.sinks import require_no_registry_around, sink_session
from reconciler.engine.spark.failures import translated
from reconciler.engine.spark.locations import Sessions, hadoop_path, local_path, spark_location

_MARKER = "_SUCCESS"
_TAKEN = "-taken"
_S3 = "s3a"
_PUT_WHOLE = (_S3, "gs")
_CONDITIONAL = "fs.option.create.conditional.overwrite"
_TEXT = ".txt"
_FOLDER = re.compile(r"(?P<serial>\d{20})-(?P<letters>[0-9a-f]{8})(-(?P<writer>[0-9a-f]{8}))?")
_HIDDEN = re.compile(rf"\.{_FOLDER.pattern}")
_LATER = re.compile(rf"{_FOLDER.pattern}|\.(?P<of_serial>\d{{20}})-(?P<of_letters>[0-9a-f]{{8}}){_TAKEN}")
_NO_MARKER = "mapreduce.fileoutputcommitter.marksuccessfuljobs"
_MEDDLED = re.compile(r"does not exist|No such file|FileNotFound|NoSuchFile|AlreadyExists|already exists")
_REFUSED = re.compile(r"Status Code: (4\d\d|501)\b")
_COUNTS = ("inserted", "deleted", "dropped")
_HINT = "if something else writes to that folder, or removes from it, keep it away: the folder is for this output alone"


def emit(sessions: Sessions, emission: Emission) -> Emitted:
    """Write the folder of an emission, unless it is complete."""
    settings = resolved(emission.settings)
    config = settings["transport"]["config"]
    path = str(config["path"]).rstrip("/")
    name = _name(emission)
    of = f"connector {emission.connector}"
    with translated(of, of_connector=True):
        session = sink_session(sessions, config, path)
        require_no_registry_around(session, emission, path)
        place = (_Local if local_path(path) is not None else _Store)(session, path, emission)
        done = place.done(name)
        if done is not None:
            return replace(done.emitted, reused=True)
        place.require_nothing_later(name)
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
                        place.call_by_format(own, str(format_["name"]))
                    require_outside_of_warehouses(emission, path)
                    others = place.reveal(own, name, _Kept(emitted, emission.id))
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
            error.hint = _HINT
        raise


def _name(emission: Emission) -> str:
    identity = hashlib.sha256(emission.transaction.application.encode()).hexdigest()[:8]
    return f"{emission.transaction.version:020d}-{identity}"


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


@dataclass(frozen=True, slots=True)
class _Kept:
    """What is kept of an emission that is complete, or about to be: what was counted, and its id; empty where an earlier
    version kept none."""

    emitted: Emitted
    id: str

    @staticmethod
    def read(said: JsonObject) -> "_Kept":
        inserted, deleted, dropped = (said.get(key, 0) for key in _COUNTS)
        return _Kept(Emitted(inserted, deleted, dropped=dropped), str(said.get(ID, "")))

    def told(self) -> JsonObject:
        """As it is written."""
        made = self.emitted
        counts: JsonObject = {"inserted": made.inserted, "deleted": made.deleted, "dropped": made.dropped}
        return {**counts, ID: self.id} if self.id else counts


@dataclass(frozen=True, slots=True)
class _Settled:
    """Which folder of an emission counts, with what is kept of it."""

    folder: str
    kept: _Kept


class _Place:
    """The folder that a connector writes to, for one emission."""

    def __init__(self, session: SparkSession, path: str, emission: Emission) -> None:
        self._session = session
        self._path = path
        self._emission = emission
        self._may_count = False
        self._files, self._root = hadoop_path(session, path)

    def marker(self, folder: str) -> _Kept | None:
        """What the marker of a folder says; None where it is not complete."""
        text = self._text(f"{folder}/{_MARKER}")
        # An earlier version that was killed while it wrote one left it empty.
        return _Kept.read(self._read(f"{folder}/{_MARKER}", text)) if text else None

    def _read(self, name: str, text: str) -> JsonObject:
        """What a file of ours says. Raises EngineError where it says nothing that can be read."""
        try:
            found = json.loads(text)
        except ValueError:
            found = None
        if not isinstance(found, dict) or not all(isinstance(found.get(key, 0), int) for key in _COUNTS):
            raise self._unreadable(name)
        return found

    def _unreadable(self, name: str) -> EngineError:
        message = f"connector {self._emission.connector}: {self._path}/{name} can't be read: it says nothing of an emission"
        return EngineError(
            "X700", message, "who wrote it was stopped half-way: remove it; what is not complete is written anew"
        )

    @contextmanager
    def kept_only_if_it_may_count(self, own: str) -> Iterator[None]:
        """While an emission is written to `own`: what a failure leaves there goes, unless it may still come to count."""
        try:
            yield
        except Exception:
            if not self._may_count:
                # What failed is what is to be told.
                with suppress(Exception):
                    self._files.delete(self._at(own), True)
            raise

    def require_nothing_later(self, name: str) -> None:
        """Raises AnotherEmission where the connector has written an emission already that comes after this one."""
        if self._emission.id and self._last(name) > self._emission.transaction.version:
            raise self._another(name)

    def require_a_repeat(self, name: str, kept: _Kept) -> None:
        """Raises AnotherEmission unless what is kept under the emission's number is of this one."""
        if not is_of(self._emission, kept.id):
            raise self._another(name)

    def _another(self, name: str) -> AnotherEmission:
        return another_emission(self._emission, self._path, self._last(name))

    def _last(self, name: str) -> int:
        """The last number of the connector's emissions that anything here is of; this one's where there is no later."""
        own = _FOLDER.fullmatch(name)
        assert own is not None
        last = int(own["serial"])
        for one in self._names():
            found = _LATER.fullmatch(one)
            if found is not None and own["letters"] in (found["letters"], found["of_letters"]):
                last = max(last, int(found["serial"] or found["of_serial"]))
        return last

    def call_by_format(self, folder: str, name: str) -> None:
        """Spark writes lines as text and calls the files so: give them the name of what they hold."""
        for status in self._files.listStatus(self._at(folder)):
            file = str(status.getPath().getName())
            if file.startswith("part-") and file.endswith(_TEXT):
                told = self._at(f"{folder}/{file.removesuffix(_TEXT)}.{name}")
                if not self._files.rename(status.getPath(), told):
                    raise EngineError("X700", f"{self._path}/{folder}/{file} could not be renamed", _HINT)

    def _empty_before(self, name: str, kept: str = "") -> None:
        """Remove the folders of earlier emissions, and of other connectors. Later ones of this one are another's work."""
        own = _FOLDER.fullmatch(name)
        assert own is not None
        for folder in self._names():
            found = _FOLDER.fullmatch(folder)
            is_later = found is not None and found["letters"] == own["letters"] and found["serial"] > own["serial"]
            if found is not None and folder != kept and not is_later:
                self._files.delete(self._at(folder), True)

    def _drop_hidden(self, name: str, names: list[str]) -> None:
        """Hidden folders of the connector's earlier emissions: who still writes one finds its emission complete."""
        for folder, _ in _earlier(_HIDDEN, name, names):
            self._files.delete(self._at(folder), True)

    def _names(self) -> list[str]:
        if not self._files.exists(self._root):
            return []
        return [str(status.getPath().getName()) for status in self._files.listStatus(self._root)]

    def _text(self, name: str) -> str | None:
        path = self._at(name)
        if not self._files.exists(path):
            return None
        stream = self._files.open(path)
        try:
            return str(self._jvm().org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def _at(self, name: str) -> Any:
        return self._jvm().org.apache.hadoop.fs.Path(spark_location(f"{self._path}/{name}"))

    def _jvm(self) -> Any:
        return self._session._jvm


class _Local(_Place):
    """One on a disk: renaming a folder is one act, and fails where a folder stands that holds anything."""

    def done(self, name: str) -> _Kept | None:
        """What is kept of an emission that is complete; None where it is to be written."""
        kept = self.marker(name)
        if kept is not None:
            self.require_a_repeat(name, kept)
        return kept

    def own_folder(self, name: str) -> str:
        """Where to write an emission, until it is known that it counts."""
        return f".{name}-{uuid.uuid4().hex[:8]}"

    def reveal(self, own: str, name: str, kept: _Kept) -> _Kept | None:
        """Have what was written count. Where somebody was before, that stays, and what is kept of it is returned. Raises
        AnotherEmission where that is no repeat."""
        folder = local_path(self._path)
        assert folder is not None
        others = self.marker(name)
        if others is None:
            # A later emission may have emptied away what a successor wrote of this one: what was written here is over.
            self.require_nothing_later(name)
            with self._told_by_the_disk(folder / own):
                (folder / own / _MARKER).write_text(canonical_json(kept.told()), "utf-8")
            if self._emission.replaces:
                self._empty_before(name, name)
            if not self._is_renamed(folder / own, folder / name):
                others = self.marker(name)
                if others is None:
                    # What a version left that renamed in many acts.
                    self._files.delete(self._at(name), True)
                    if not self._is_renamed(folder / own, folder / name):
                        raise EngineError("X700", f"{self._path}/{own} could not be renamed to {name}", _HINT)
        if others is not None:
            self._files.delete(self._at(own), True)
            self.require_a_repeat(name, others)
            return others
        self._drop_hidden(name, self._names())
        return None

    def _is_renamed(self, folder: Path, to: Path) -> bool:
        """Whether it could be; if not, another folder stands there that holds something."""
        with self._told_by_the_disk(to):
            try:
                folder.rename(to)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise
                return False
        return True

    @contextmanager
    def _told_by_the_disk(self, path: Path) -> Iterator[None]:
        """What the system refuses is this output's failure alone: the others go on."""
        try:
            yield
        except OSError as error:
            # As Hadoop's file systems tell it of a store.
            code = "X709" if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) else "X700"
            hint = _HINT if error.errno == errno.ENOENT else None
            message = f"connector {self._emission.connector}: {path}: {error.strerror}"
            raise EngineError(code, message, hint) from error


class _Store(_Place):
    """One elsewhere: what can be done in one act is to put a file where none stands."""

    def done(self, name: str) -> _Kept | None:
        """What is kept of an emission that is settled; None where it is to be written."""
        settled = self._settled(name)
        # Or a folder of a version that gave all writers one.
        kept = self.marker(name) if settled is None else settled.kept
        if kept is not None:
            self.require_a_repeat(name, kept)
        if settled is not None:
            self._complete(name, settled)
        return kept

    def own_folder(self, name: str) -> str:
        """Where to write an emission; a reader does not look at it before it is known that it counts."""
        return f"{name}-{uuid.uuid4().hex[:8]}"

    def reveal(self, own: str, name: str, kept: _Kept) -> _Kept | None:
        """Have what was written count. Where somebody was before, that stays, and what is kept of it is returned. Raises
        AnotherEmission where that is no repeat."""
        settled = self._settled(name)
        if settled is None:
            # A later emission may have emptied away what a successor wrote of this one: what was written here is over.
            self.require_nothing_later(name)
            if not self._files.exists(self._at(own)):
                message = f"connector {self._emission.connector}: {self._path}/{own} was written and does not exist any more"
                raise EngineError("X700", message, _HINT)
            self._may_count = True
            try:
                self._settle_on(name, own, kept)
            except (Py4JJavaError, EngineError) as error:
                # What was to be renamed is gone by now; what is put at once may have arrived though no answer came.
                self._may_count = self._puts_whole() and not _REFUSED.search(str(error))
                raise
            settled = self._settled(name)
        if settled is None:
            raise EngineError("X700", f"{self._path}/.{name}{_TAKEN} was written and does not exist", _HINT)
        if settled.folder != own:
            self._files.delete(self._at(own), True)
            self.require_a_repeat(name, settled.kept)
            self._complete(name, settled)
            return settled.kept
        self._complete(name, settled)
        self._drop_left_behind(name)
        return None

    def _settled(self, name: str) -> _Settled | None:
        """What is settled of an emission; None where it is open which folder counts."""
        said = self._said(name)
        if said is None:
            # Somebody may have removed the file that says so. Only what counts is complete.
            written = [one for one in self._names() if one.startswith(f"{name}-") and _FOLDER.fullmatch(one)]
            said = next((_Settled(one, kept) for one, kept in self._complete_ones(written).items()), None)
        return said

    def _complete_ones(self, folders: list[str]) -> dict[str, _Kept]:
        """What is kept of those folders that are complete."""
        return {folder: kept for folder in folders if (kept := self.marker(folder)) is not None}

    def _said(self, name: str) -> _Settled | None:
        """What the file says that is put when an emission is settled; None where there is none."""
        taken = f".{name}{_TAKEN}"
        text = self._text(taken)
        if text is None:
            return None
        said = self._read(taken, text)
        if not isinstance(said.get("folder"), str):
            raise self._unreadable(taken)
        return _Settled(said["folder"], _Kept.read(said))

    def _complete(self, name: str, settled: _Settled) -> None:
        folder = settled.folder
        if self.marker(folder) is not None:
            return
        if not self._files.exists(self._at(folder)):
            if not self._has_folder_after(name):
                raise self._gone(name, folder)
            # A later emission that emptied the sink took it, maybe one of an output that was made anew: its folders stay.
            return
        if self._emission.replaces:
            self._empty_before(name, folder)
        text = canonical_json(settled.kept.told())
        path = self._at(f"{folder}/{_MARKER}")
        if self._puts_whole():
            self._put(self._files.create(path, True), text)
            return
        # An empty one: it was not read as complete.
        self._files.delete(path, False)
        self._put_by_renaming(name, path, text)

    def _has_folder_after(self, name: str) -> bool:
        """Whether a later emission wrote here, of whatever output."""
        found = (_FOLDER.fullmatch(one) for one in self._names())
        return any(one is not None and one["serial"] > name[:20] for one in found)

    def _gone(self, name: str, folder: str) -> EngineError:
        """Whether anybody has read it nobody can tell."""
        taken = f".{name}{_TAKEN}"
        message = f"connector {self._emission.connector}: {self._path}/{folder} was settled on and does not exist any more"
        return EngineError("X700", message, f"to have it written anew, remove {taken}; who has read it gets it again then")

    def _settle_on(self, name: str, folder: str, kept: _Kept) -> None:
        """Put the file that says which folder of an emission counts, or leave the one that stands there."""
        path, text = self._at(f".{name}{_TAKEN}"), canonical_json({**kept.told(), "folder": folder})
        try:
            if not self._puts_whole():
                self._put_by_renaming(name, path, text)
            elif path.toUri().getScheme() == _S3:
                # To create a file is two acts there, looking and putting, unless `If-None-Match` is asked for.
                self._put(self._files.createFile(path).recursive().must(_CONDITIONAL, True).build(), text)
            else:
                self._put(self._files.create(path, False), text)
        except Py4JJavaError:
            # One was there, or the answer was lost: what stands there says whose it is.
            if not self._files.exists(path):
                raise

    def _puts_whole(self) -> bool:
        """Whether a file is there only once it was closed. Elsewhere it is there, and empty, from its beginning."""
        return self._root.toUri().getScheme() in _PUT_WHOLE

    def _put(self, stream: Any, text: str) -> None:
        stream.write(bytearray(text.encode()))
        # This puts it: what could not be written is not closed.
        stream.close()

    def _put_by_renaming(self, name: str, path: Any, text: str) -> None:
        """Put a whole file where none stands, or leave the one that does. It is written under a hidden name, which goes with
        the next emission if this process dies."""
        own = self._at(f".{name}-{uuid.uuid4().hex[:8]}")
        try:
            stream = self._files.create(own, False)
            try:
                stream.write(bytearray(text.encode()))
            finally:
                stream.close()
            # Stores and HDFS refuse to rename over a file; a disk that is mounted in another one's place does not.
            if not self._files.exists(path) and not self._files.rename(own, path) and not self._files.exists(path):
                raise EngineError("X700", f"{path.toString()} could not be put in its place", _HINT)
        finally:
            self._files.delete(own, False)

    def _drop_left_behind(self, name: str) -> None:
        """Folders of the connector's earlier emissions that were never settled on. Of most emissions there is one folder."""
        names = self._names()
        # Files that a process was about to put when it died. An earlier version wrote its folders under such names, too.
        self._drop_hidden(name, names)
        folders: dict[str, list[str]] = {}
        for folder, found in _earlier(_FOLDER, name, names):
            if found["writer"] is not None:
                folders.setdefault(f"{found['serial']}-{found['letters']}", []).append(folder)
        taken = {one for one in names if one.endswith(_TAKEN)}
        for earlier, written in folders.items():
            if f".{earlier}{_TAKEN}" in taken and len(written) == 1:
                continue
            try:
                settled, complete = self._said(earlier), self._complete_ones(written)
            except EngineError:
                # Nobody can tell which one counts: they stay, and this emission is written whatever became of that one.
                continue
            if settled is None:
                # For who comes late, and so that nobody looks again.
                for folder, kept in complete.items():
                    self._settle_on(earlier, folder, kept)
            for folder in written:
                if folder not in complete and (settled is None or folder != settled.folder):
                    self._files.delete(self._at(folder), True)


def _earlier(pattern: re.Pattern[str], name: str, names: list[str]) -> Iterator[tuple[str, re.Match[str]]]:
    """Those among the names that are folders of earlier emissions of the same connector."""
    own = _FOLDER.fullmatch(name)
    assert own is not None
    for folder in names:
        found = pattern.fullmatch(folder)
        if found is not None and found["letters"] == own["letters"] and found["serial"] < own["serial"]:
            yield folder, found
