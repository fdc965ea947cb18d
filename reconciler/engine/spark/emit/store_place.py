"""A folder elsewhere that `file_output` writes to. Renaming a folder may be many acts there, and two would mix; what can be
done in one act is to put a file where none stands.

- The folder of an emission bears its writer's letters (`<serial>-<id>-<writer>`), and a file beside it, put where none
  stands, says which one counts (`.<serial>-<id>-taken`). Only that one gets its `_SUCCESS`, from whoever comes by.
- The file stays, so that who comes late finds it. Where somebody removed it, a `_SUCCESS` says the same, and the next
  emission puts the file again.
"""

import re
import uuid
from collections.abc import Collection
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import canonical_json
from reconciler.base.errors import EngineError
from reconciler.engine.file_place import FOLDER, HINT, MARKER, TAKEN, FilePlace, Kept, earlier_of
from reconciler.engine.protocol import Check, Emission
from reconciler.engine.spark.locations import hadoop_path, names_in, spark_location

_S3 = "s3a"
_PUT_WHOLE = (_S3, "gs")
_CONDITIONAL = "fs.option.create.conditional.overwrite"
_REFUSED = re.compile(r"Status Code: (4\d\d|501)\b")


@dataclass(frozen=True, slots=True)
class _Settled:
    """Which folder of an emission counts, with what is kept of it."""

    folder: str
    kept: Kept


class StorePlace(FilePlace):
    """A folder elsewhere. See the module."""

    def __init__(self, session: SparkSession, path: str, emission: Emission, check: Check) -> None:
        self._session = session
        self._files, self._root = hadoop_path(session, path)
        super().__init__(path, emission, check)

    def done(self, name: str) -> Kept | None:
        """What is kept of an emission that is settled; None where it is to be written."""
        settled = self._settled(name, self.found)
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

    def reveal(self, own: str, name: str, kept: Kept) -> Kept | None:
        """Have what was written count. Where somebody was before, that stays, and what is kept of it is returned. Raises
        AnotherEmission where that is no repeat."""
        names = self._names()
        settled = self._settled(name, names)
        if settled is None:
            # A later emission may have emptied away what a successor wrote of this one: what was written here is over.
            self.require_nothing_later(name, names)
            if not self._files.exists(self._at(own)):
                message = f"connector {self._emission.connector}: {self._path}/{own} was written and no longer exists"
                raise EngineError("X700", message, HINT)
            self._check()
            self._may_count = True
            try:
                self._settle_on(name, own, kept)
            except (Py4JJavaError, EngineError) as error:
                # What was to be renamed is gone by now; what is put at once may have arrived though no answer came.
                self._may_count = self._puts_whole() and not _REFUSED.search(str(error))
                raise
            settled = self._said(name)
        if settled is None:
            raise EngineError("X700", f"{self._path}/.{name}{TAKEN} was written and no longer exists", HINT)
        if settled.folder != own:
            self._delete(own)
            self.require_a_repeat(name, settled.kept)
            self._complete(name, settled)
            return settled.kept
        self._complete(name, settled)
        self._drop_left_behind(name, names)
        return None

    def _names(self) -> list[str]:
        return names_in(self._session, self._files, self._root)

    def _text(self, name: str) -> str | None:
        path = self._at(name)
        if not self._files.exists(path):
            return None
        stream = self._files.open(path)
        try:
            return str(self._jvm().org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def _delete(self, name: str) -> None:
        self._files.delete(self._at(name), True)

    def _at(self, name: str) -> Any:
        return self._jvm().org.apache.hadoop.fs.Path(spark_location(f"{self._path}/{name}"))

    def _jvm(self) -> Any:
        return self._session._jvm

    def _settled(self, name: str, names: Collection[str]) -> _Settled | None:
        """What is settled of an emission; None where it is open which folder counts. `names` are what is there."""
        said = self._said(name)
        if said is None:
            # Somebody may have removed the file that says so. Only what counts is complete.
            written = [one for one in sorted(names) if one.startswith(f"{name}-") and FOLDER.fullmatch(one)]
            said = next((_Settled(one, kept) for one, kept in self._complete_ones(written).items()), None)
        return said

    def _complete_ones(self, folders: list[str]) -> dict[str, Kept]:
        """What is kept of those folders that are complete."""
        return {folder: kept for folder in folders if (kept := self.marker(folder)) is not None}

    def _said(self, name: str) -> _Settled | None:
        """What the file says that is put when an emission is settled; None where there is none."""
        taken = f".{name}{TAKEN}"
        text = self._text(taken)
        if text is None:
            return None
        said = self._read(taken, text)
        if not isinstance(said.get("folder"), str):
            raise self._unreadable(taken)
        return _Settled(said["folder"], Kept.read(said))

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
        self._check()
        text = canonical_json(settled.kept.told())
        path = self._at(f"{folder}/{MARKER}")
        if self._puts_whole():
            self._put(self._files.create(path, True), text)
            return
        # An empty one: it was not read as complete.
        self._files.delete(path, False)
        self._put_by_renaming(name, path, text)

    def _has_folder_after(self, name: str) -> bool:
        """Whether a later emission wrote here, of whatever output."""
        found = (FOLDER.fullmatch(one) for one in self._names())
        return any(one is not None and one["serial"] > name[:20] for one in found)

    def _gone(self, name: str, folder: str) -> EngineError:
        """Whether anybody has read it nobody can tell."""
        taken = f".{name}{TAKEN}"
        message = f"connector {self._emission.connector}: {self._path}/{folder} was recorded and no longer exists"
        return EngineError("X700", message, f"to have it written again, delete {taken}; its readers then get its rows again")

    def _settle_on(self, name: str, folder: str, kept: Kept) -> None:
        """Put the file that says which folder of an emission counts, or leave the one that stands there."""
        path, text = self._at(f".{name}{TAKEN}"), canonical_json({**kept.told(), "folder": folder})
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
                raise EngineError("X700", f"{path.toString()} could not be moved to its place", HINT)
        finally:
            self._files.delete(own, False)

    def _drop_left_behind(self, name: str, names: Collection[str]) -> None:
        """Folders of the connector's earlier emissions that were never settled on. Of most emissions there is one folder."""
        # Files that a process was about to put when it died. An earlier version wrote its folders under such names, too.
        self._drop_hidden(name, names)
        folders: dict[str, list[str]] = {}
        for folder, found in earlier_of(FOLDER, name, names):
            if found["writer"] is not None:
                folders.setdefault(f"{found['serial']}-{found['letters']}", []).append(folder)
        taken = {one for one in names if one.endswith(TAKEN)}
        for earlier, written in folders.items():
            if f".{earlier}{TAKEN}" in taken and len(written) == 1:
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
                    self._delete(folder)
