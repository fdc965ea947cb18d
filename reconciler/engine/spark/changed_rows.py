"""What changed in a table between two of its versions, as a frame: each row that it has no more, and each that it has since,
with what became of it (`CHANGE_COLUMN`). Rows that are written again as they were have not changed.

Only the files are read that differ between the versions (`delta.added_files`). Where these are not surely told, or Spark
takes their paths for patterns, both versions are compared as a whole.
"""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from reconciler.delta.added_files import changed_files
from reconciler.engine.protocol import CHANGE_COLUMN, StoredSource
from reconciler.engine.spark.added_rows import frame_at, frame_of_files
from reconciler.engine.spark.locations import is_plain_file, is_plain_place


def changed_frame(session: SparkSession, source: StoredSource, ranges: tuple[tuple[int, int], ...]) -> DataFrame:
    """The rows that differ between the first and the last of these versions, in the columns of the table."""
    if not ranges:
        none = frame_at(session, source, source.version).limit(0)
        return none.withColumn(CHANGE_COLUMN, f.lit("insert"))
    before, after = _both(session, source, ranges[0][0], ranges[-1][1])
    came = after.exceptAll(before).withColumn(CHANGE_COLUMN, f.lit("insert"))
    return came.unionByName(before.exceptAll(after).withColumn(CHANGE_COLUMN, f.lit("delete")))


def _both(session: SparkSession, source: StoredSource, before: int, after: int) -> tuple[DataFrame, DataFrame]:
    """Rows of the earlier and the later version, among them all that differ."""
    is_readable = is_plain_place(source.location)
    changed = changed_files(source.location, before, after) if is_readable else None
    if changed is None or not all(is_plain_file(one.path) for one in (*changed.earlier.files, *changed.later.files)):
        return frame_at(session, source, before), frame_at(session, source, after)
    return frame_of_files(session, source, changed.earlier), frame_of_files(session, source, changed.later)
