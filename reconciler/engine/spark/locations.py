"""Folders and files by path or URI: what can be done without Spark is, the rest goes through Hadoop's file systems.

A location without scheme, or with `file:`, is local, whatever Hadoop's default file system is. Local locations never start
a JVM; that keeps "nothing new", "already done" and removing cheap.
"""

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Protocol

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from reconciler.base.dataclass import dataclass
from reconciler.base.errors import EngineError
from reconciler.base.names import quoted
from reconciler.delta.opening import path_of

Sessions = Callable[[], SparkSession]

_LOG = "_delta_log"
_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?://([^/]*))?")


_PLAIN_PLACE: Final = re.compile(r"(?:s3a?://[a-z0-9.-]+)?(?:/[A-Za-z0-9_.-]+)+/?")
_PLAIN_FILE: Final = re.compile(r"(?:[A-Za-z0-9_-]+/)*[A-Za-z0-9][A-Za-z0-9_.-]*\.parquet")


def is_plain_place(location: str) -> bool:
    """Whether a folder on a disk or on S3 has a path that Spark takes as it is. It takes others for patterns, or for
    hidden."""
    return _PLAIN_PLACE.fullmatch(location) is not None


def is_plain_file(path: str) -> bool:
    """The same of a file below a folder."""
    return _PLAIN_FILE.fullmatch(path) is not None


def local_path(location: str) -> Path | None:
    """The path of a local location, or None when it lies elsewhere."""
    return path_of(location)


def spark_location(location: str) -> str:
    """The location as Spark is to be given it: local ones say so, since Hadoop's default may be another file system, and S3
    has another name there."""
    path = local_path(location)
    if path is not None:
        return f"file://{path}"
    return f"s3a://{location.removeprefix('s3://')}" if location.startswith("s3://") else location


def scheme_and_authority(uri: str) -> tuple[str, str]:
    """The scheme in lower case and the authority (a bucket, a machine) of a URI as Hadoop reads it; empty where it has none.
    Nothing is refused here: whoever opens it says what is wrong with it."""
    found = _URI.match(uri)
    return (found[1].lower(), found[2] or "") if found is not None else ("", "")


def delta_reference(location: str) -> str:
    """The Delta table at a location, as it is named in SQL."""
    return f"delta.{quoted(spark_location(location))}"


def literal(text: str) -> str:
    """A text as a string literal of Spark SQL."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


class Folder(Protocol):
    """What is needed of one folder."""

    def read_text(self, name: str) -> str | None:
        """The text of a file below the folder; None when there is none."""
        ...

    def names(self, below: str) -> list[str]:
        """The names of what is in a sub-folder, sorted; none when it does not exist."""
        ...

    def remove(self) -> None:
        """Delete the folder and all below it; nothing there is no error."""
        ...


@dataclass(frozen=True, slots=True)
class LocalFolder:
    """A folder of this machine."""

    path: Path

    def read_text(self, name: str) -> str | None:
        try:
            return (self.path / name).read_text("utf-8")
        except FileNotFoundError:
            return None

    def names(self, below: str) -> list[str]:
        try:
            return sorted(os.listdir(self.path / below))
        except FileNotFoundError:
            return []

    def remove(self) -> None:
        if self.path.is_dir() and not self.path.is_symlink():
            # The log goes first: killed half-way, this leaves rubbish, never a table that names files that are gone.
            shutil.rmtree(self.path / _LOG, ignore_errors=True)
            shutil.rmtree(self.path)
        else:
            self.path.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class HadoopFolder:
    """A folder of any file system that Hadoop knows."""

    session: SparkSession
    location: str

    def read_text(self, name: str) -> str | None:
        files, path = self._open(name)
        if not files.exists(path):
            return None
        stream = files.open(path)
        try:
            read: Any = self._jvm().org.apache.commons.io.IOUtils.toString(stream, "UTF-8")
        finally:
            stream.close()
        return str(read)

    def names(self, below: str) -> list[str]:
        return sorted(names_in(self.session, *self._open(below)))

    def remove(self) -> None:
        for name in (_LOG, ""):
            files, path = self._open(name)
            files.delete(path, True)

    def _jvm(self) -> Any:
        return self.session._jvm

    def _open(self, name: str) -> tuple[Any, Any]:
        return hadoop_path(self.session, f"{self.location.rstrip('/')}/{name}" if name else self.location)


def folder(location: str, sessions: Sessions) -> Folder:
    """The folder at a location; `sessions` is asked for Spark only when it is not local."""
    path = local_path(location)
    return LocalFolder(path) if path is not None else HadoopFolder(sessions(), location)


def names_in(session: SparkSession, files: Any, path: Any) -> list[str]:
    """The names of what is in a folder of one of Hadoop's file systems; none where there is no folder. All come in one call:
    logs and sinks have many entries, and a call into Java takes longer than a store needs for one."""
    found = files.listStatus(path) if files.exists(path) else ()
    if not len(found):
        return []
    java: Any = session._jvm
    gateway: Any = session.sparkContext._gateway
    # py4j takes no array of a subclass, as S3's is.
    statuses = gateway.new_array(java.org.apache.hadoop.fs.FileStatus, len(found))
    java.java.lang.System.arraycopy(found, 0, statuses, 0, len(found))
    paths = java.org.apache.hadoop.fs.FileUtil.stat2Paths(statuses)
    joined = str(java.scala.collection.immutable.ArraySeq.unsafeWrapArray(paths).mkString("\0"))
    return [one.rpartition("/")[2] for one in joined.split("\0")]


def hadoop_path(session: SparkSession, location: str) -> tuple[Any, Any]:
    """Hadoop's file system and path for a location. Raises EngineError (U807) for S3 where nothing serves it: all else can
    be reached, so it is the failure of whoever wants this location."""
    jvm: Any = session._jvm
    path = jvm.org.apache.hadoop.fs.Path(spark_location(location))
    try:
        return path.getFileSystem(session._jsparkSession.sessionState().newHadoopConf()), path
    except Py4JJavaError as error:
        if "S3AFileSystem not found" not in str(error):
            raise
        raise EngineError("U807", f"Spark has no jars for S3, where {location} is", "run: reconcile setup --s3") from None
