"""The rows of an ad-hoc SELECT, brought here from Spark.

Spark by itself keeps all rows of a result in the driver's memory until the last one is there, and a large result takes the
memory of everybody who uses this Spark. So a result of which it is not known that it has few rows goes to files
(AnswerFiles.java), where the driver runs the tasks itself. A small one is read at once, a large one whenever somebody wants
its rows. On a cluster, Spark's own limit holds: `spark.driver.maxResultSize`.

A result may take an eighth of what is free where temporary files are. What is larger is refused (X737). Files of a process
that was killed are removed by a later one (`base.own_folders`).
"""

import io
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Final, TypeAlias

from pyspark import serializers
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from reconciler.base.errors import EngineError
from reconciler.base.own_folders import OwnFolder
from reconciler.engine.spark.session import has_class

_CLASS: Final = "reconciler.AnswerFiles"
_FEW_ROWS: Final = 1_000
_SMALL_BYTES: Final = 8 << 20
_SHARE_OF_FREE: Final = 8

Values: TypeAlias = tuple[Any, ...]
"""A row, in the order of the columns."""
Convert: TypeAlias = Callable[[Sequence[Any]], Values]


def rows_of(frame: DataFrame, convert: Convert, *, by_files: bool, share: int = _SHARE_OF_FREE) -> Sequence[Values]:
    """The rows of a frame, each as `convert` makes it of Spark's. `by_files`: whether Spark can write files
    (`can_write_files`); these may take one part in `share` of what is free for temporary files. Raises EngineError (X700,
    X737), and what Spark raises."""
    if not by_files or has_few_rows(frame):
        return list(_converted(lambda: frame.collect(), convert))
    jvm: Any = frame.sparkSession._jvm
    try:
        with OwnFolder("answer") as folder:
            most = shutil.disk_usage(folder.path).free // share
            if not jvm.reconciler.AnswerFiles.write(frame._jdf.javaToPython(), folder.path, most):
                raise _refused(
                    f"is larger than {most / 1_000_000_000:,.1f} GB, an eighth of what is free for temporary files"
                )
            stored = StoredRows(sorted(Path(folder.path).iterdir()), convert)
            # A list would ask these for their length first, and so go through them twice.
            return stored if stored.size > _SMALL_BYTES else list(iter(stored))
    except OSError as error:
        raise _refused(f"can't be kept in temporary files: {error.strerror}") from error


def can_write_files(session: SparkSession) -> bool:
    """Whether the driver runs the tasks, and has the class for it: under `spark-submit`, jars are others' business."""
    jsc: Any = session.sparkContext._jsc
    return bool(jsc.sc().isLocal()) and has_class(session.sparkContext._gateway, _CLASS)


def has_few_rows(frame: DataFrame) -> bool:
    """Whether the plan says so: a LIMIT, one group, rows that are written in the query. Spark takes such rows with less
    work, and mostly without a job for each partition."""
    plan: Any = frame._jdf.queryExecution().optimizedPlan()
    most = plan.maxRows()
    return bool(most.isDefined()) and most.get() <= _FEW_ROWS


def _refused(why: str) -> EngineError:
    return EngineError("X737", f"the result {why}", "ask for fewer rows or columns, or have an output connector write them")


class StoredRows(Sequence[Values]):
    """Rows that lie in a file, and are read from its beginning by whoever goes through them. The file has no name: it goes
    with the last reference to these rows, and with this process. `files` are put together, and removed."""

    def __init__(self, files: Sequence[Path], convert: Convert) -> None:
        self._convert = convert
        self._count: int | None = None
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="reconcile-answer-")  # noqa: SIM115 (open as long as the rows)
        for path in files:
            with path.open("rb") as file:
                shutil.copyfileobj(file, self._file, 1 << 20)
            path.unlink()
        self._file.flush()
        self.size = self._file.tell()

    def __iter__(self) -> Iterator[Values]:
        file = io.BufferedReader(_FromTheBeginning(self._file.fileno()), 1 << 20)
        pickled: Any = serializers
        batches = pickled.BatchedSerializer(pickled.CPickleSerializer())
        return _converted(lambda: batches.load_stream(file), self._convert)

    def __len__(self) -> int:
        if self._count is None:
            self._count = sum(1 for _ in self)
        return self._count

    def __getitem__(self, index: Any) -> Any:
        return list(iter(self))[index]


class _FromTheBeginning(io.RawIOBase):
    """An open file, read from its beginning, whoever else reads it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._position = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        read = os.preadv(self._descriptor, [buffer], self._position)
        self._position += read
        return read


def _converted(rows: Callable[[], Iterable[Any]], convert: Convert) -> Iterator[Values]:
    try:
        for row in rows():
            yield convert(row)
    except PySparkException:
        # PySparkValueError is a ValueError, too.
        raise
    except (OverflowError, ValueError) as error:
        # Spark knows years of six digits, and Python those from 1 to 9999.
        message = f"a date or a time in the rows can't be shown: {error}"
        raise EngineError("X700", message, "convert it to text in the query, as in CAST(column AS STRING)") from error
