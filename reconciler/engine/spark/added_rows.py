"""The rows that were added to a table between two of its versions, as a frame: of a relation whose rows are only added.

They are read from the files that the table got (`delta.added_files`). Where these are not surely told, or Spark takes their
paths for patterns, they are what the table has at the later version beyond what it had at the earlier one.
"""

from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from reconciler.delta.added_files import AddedFiles, added_files
from reconciler.engine.sources import StoredSource
from reconciler.engine.spark.locations import is_plain_file, is_plain_place, spark_location


def added_frame(session: SparkSession, source: StoredSource, ranges: tuple[tuple[int, int], ...]) -> DataFrame:
    """The rows that a stored source got in these ranges of versions, in the columns that it has at its version."""
    is_readable = is_plain_place(source.location)
    added = added_files(source.location, source.version, ranges) if is_readable else None
    if added is None or not all(is_plain_file(file.path) for file in added.files):
        parts = [frame_at(session, source, after).exceptAll(frame_at(session, source, before)) for before, after in ranges]
        return reduce(DataFrame.unionByName, parts) if parts else frame_at(session, source, source.version).limit(0)
    return frame_of_files(session, source, added)


def frame_of_files(session: SparkSession, source: StoredSource, added: AddedFiles) -> DataFrame:
    """The rows of files of a table, in the columns that are told with them."""
    schema = StructType.fromJson(dict(added.table.schema))
    if not added.files:
        return session.createDataFrame([], schema)
    place = spark_location(source.location.rstrip("/"))
    return session.read.schema(schema).parquet(*(f"{place}/{file.path}" for file in added.files))


def frame_at(session: SparkSession, source: StoredSource, version: int) -> DataFrame:
    """The rows of a version."""
    return session.read.format("delta").option("versionAsOf", str(version)).load(spark_location(source.location))
