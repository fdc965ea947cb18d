"""The rows of an ad-hoc SELECT, brought here from Spark.

Spark by itself keeps all rows of a result in the driver's memory until the last one is there, and a large result takes the
memory of everybody who uses this Spark. So a result of which it is not known that it has few rows goes to files
(AnswerFiles.java), where the driver runs the tasks itself. A small one is read at once, a large one whenever somebody wants
its rows. On a cluster, Spark's own limit holds: `spark.driver.maxResultSize`.

A result may take an eighth of what is free where temporary files are. What is larger is refused (X737).
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
from pyspark.sql import DataFrame

from reconciler.base.errors import EngineError
from reconciler.engine.spark.session import has_class

_CLASS: Final = "reconciler.AnswerFiles"
_FEW_ROWS: Final = 1_000
_SMALL_BYTES: Final = 8 << 20
_SHARE_OF_FREE: Final = 8

Values: TypeAlias = tuple[Any, ...]
"""A row, in the order of the columns."""
Convert: TypeAlias = Callable[[Sequence[Any]], Values]


def rows_of(frame: DataFrame, convert: Convert, share: int = _SHARE_OF_FREE) -> Sequence[Values]:
    """The rows of a frame, each as `convert` makes it of Spark's. They may take one part in `share` of what is free for
    temporary files. Raises EngineError (X700, X737), and what Spark raises."""
    if _has_few_rows(frame) or not _can_write_files(frame):
        return list(_converted(lambda: frame.collect(), convert))
    jvm: Any = frame.sparkSession._jvm
    with tempfile.TemporaryDirectory(prefix="reconcile-answer-") as folder:
        most = shutil.disk_usage(folder).free // share
        if not jvm.reconciler.AnswerFiles.write(frame._jdf.javaToPython(), folder, most):
            free = "an eighth of what is free for temporary files"
            hint = "ask for fewer rows or columns, or have an output connector write them"
            raise EngineError("X737", f"the result is larger than {most / 1_000_000_000:,.1f} GB, {free}", hint)
        files = sorted(Path(folder).iterdir())
        stored = StoredRows(files, convert)
        # A list would ask these for their length first, and so go through them twice.
        return stored if stored.size > _SMALL_BYTES else list(iter(stored))


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


def _has_few_rows(frame: DataFrame) -> bool:
    """Whether the plan says so: a LIMIT, one group, rows that are written in the query. Spark takes such rows with less
    work, and mostly without a job for each partition."""
    plan: Any = frame._jdf.queryExecution().optimizedPlan()
    most = plan.maxRows()
    return bool(most.isDefined()) and most.get() <= _FEW_ROWS


def _can_write_files(frame: DataFrame) -> bool:
    """Whether the driver runs the tasks, and has the class for it: under `spark-submit`, jars are others' business."""
    context = frame.sparkSession.sparkContext
    jsc: Any = context._jsc
    return bool(jsc.sc().isLocal()) and has_class(context._gateway, _CLASS)
