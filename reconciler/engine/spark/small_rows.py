"""Few rows brought to Spark and back as Arrow (SmallRows.java): as files of this machine's, on which Spark's driver runs,
too. py4j would take them in a call as well, but where an answer is longer than some kilobytes it waits for 40 ms.
"""

import json
import os
import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession

from reconciler.base.digest import JsonObject
from reconciler.delta.arrow_rows import arrow_schema
from reconciler.engine.spark.session import has_class

if TYPE_CHECKING:
    import pyarrow as pa

_CLASS = "reconciler.SmallRows"


def can_bring_rows(session: SparkSession) -> bool:
    """Whether Spark has the class for it: under `spark-submit`, jars are others' business."""
    return has_class(session.sparkContext._gateway, _CLASS)


def frame_of(session: SparkSession, schema: JsonObject, rows: "pa.Table") -> DataFrame:
    """Rows, in the columns of a schema of Delta, as a frame of one partition."""
    import pyarrow as pa

    with _file() as name:
        with pa.OSFile(name, "wb") as file, pa.ipc.new_stream(file, rows.schema) as stream:
            stream.write_table(rows.combine_chunks())
        return DataFrame(_java(session).frame(session._jsparkSession, name, json.dumps(schema)), session)


def collected(frame: DataFrame, schema: JsonObject, most_rows: int, most_bytes: int) -> "pa.Table | None":
    """The rows of a frame, whose schema as Delta has it is this one. None where they are more than `most_rows`, or larger
    than `most_bytes` as Spark holds them: then not all of it was computed, and little of it was kept."""
    import pyarrow as pa

    columns = arrow_schema(schema)
    with _file() as name:
        if not _java(frame.sparkSession).collect(frame._jdf, name, most_rows, most_bytes):
            return None
        with open(name, "rb") as file:
            text = file.read()
    batches = []
    start = 0
    while start < len(text):
        (length,) = struct.unpack_from(">i", text, start)
        start += 4 + length
        batches.append(pa.ipc.read_record_batch(pa.py_buffer(text[start - length : start]), columns))
    return pa.Table.from_batches(batches, columns)


@contextmanager
def _file() -> Iterator[str]:
    """The name of a file that only this user may read, while it is needed."""
    handle, name = tempfile.mkstemp(prefix="reconcile-")
    os.close(handle)
    try:
        yield name
    finally:
        os.unlink(name)


def _java(session: SparkSession) -> Any:
    jvm: Any = session._jvm
    return jvm.reconciler.SmallRows
