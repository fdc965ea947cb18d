"""What changed in a table between two of its versions, as a frame: each row that it has no more, and each that it has since,
with what became of it (`CHANGE_COLUMN`). Rows that are written again as they were have not changed.

What this process changed is known, and brought to Spark as it is (`delta.known_changes`). Else only the files are read that
differ between the versions (`delta.added_files`). Where these are not surely told, or Spark takes their paths for patterns,
both versions are compared as a whole.

Two zeros with other signs are two values here: a query may tell them apart, though Spark groups them, and so does EXCEPT.
"""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import ArrayType, DataType, DoubleType, FloatType, StructType

from reconciler.base.names import quoted
from reconciler.delta.added_files import changed_files
from reconciler.delta.known_changes import known_changes
from reconciler.engine.sources import CHANGE_COLUMN, StoredSource
from reconciler.engine.spark.added_rows import frame_at, frame_of_files
from reconciler.engine.spark.copies import COPIES, counted, repeated
from reconciler.engine.spark.held_rows import net_changes, with_change
from reconciler.engine.spark.locations import is_plain_file, is_plain_place
from reconciler.engine.spark.small_rows import can_bring_rows, frame_of

_SAME, _TEXT = "reconcile same", "reconcile text"


def changed_frame(session: SparkSession, source: StoredSource, ranges: tuple[tuple[int, int], ...]) -> DataFrame:
    """The rows that differ between the first and the last of these versions, in the columns of the table."""
    if not ranges:
        none = frame_at(session, source, source.version).limit(0)
        return none.withColumn(CHANGE_COLUMN, f.lit("insert"))
    known = known_changes(source.location, ranges)
    if known is not None and can_bring_rows(session):
        return frame_of(session, with_change(known.schema), net_changes(known.went, known.came))
    return difference(*_both(session, source, ranges[0][0], ranges[-1][1]))


def difference(before: DataFrame, after: DataFrame) -> DataFrame:
    """What rows the later frame has more, and which it has less, each with what became of it."""
    floating = [part.name for part in after.schema.fields if _has_floating(part.dataType)]
    if floating:
        return _to_the_sign(before, after, floating)
    came = after.exceptAll(before).withColumn(CHANGE_COLUMN, f.lit("insert"))
    return came.unionByName(before.exceptAll(after).withColumn(CHANGE_COLUMN, f.lit("delete")))


def _to_the_sign(before: DataFrame, after: DataFrame, floating: list[str]) -> DataFrame:
    """The difference where columns hold floating numbers. Their texts have the signs of zeros. Grouping loses these, and MAX
    does not."""
    both = counted(after, 1).unionByName(counted(before, -1))
    keys = [f.col(quoted(name)) for name in after.columns if name not in floating]
    for at, name in enumerate(floating):
        keys += [f.col(quoted(name)).alias(f"{_SAME} {at}"), f.col(quoted(name)).cast("string").alias(f"{_TEXT} {at}")]
    numbers = [f.max(quoted(name)).alias(name) for name in floating]
    netted = both.groupBy(*keys).agg(*numbers, f.sum(quoted(COPIES)).alias(COPIES))
    changed = repeated(netted.select(*map(quoted, after.columns), quoted(COPIES)).where(f"{quoted(COPIES)} <> 0"))
    which = f.when(f.col(quoted(COPIES)) > 0, f.lit("insert")).otherwise(f.lit("delete"))
    return changed.withColumn(CHANGE_COLUMN, which).drop(COPIES)


def _has_floating(kind: DataType) -> bool:
    match kind:
        case FloatType() | DoubleType():
            return True
        case ArrayType():
            return _has_floating(kind.elementType)
        case StructType():
            return any(_has_floating(part.dataType) for part in kind.fields)
        case _:
            return False


def _both(session: SparkSession, source: StoredSource, before: int, after: int) -> tuple[DataFrame, DataFrame]:
    """Rows of the earlier and the later version, among them all that differ."""
    is_readable = is_plain_place(source.location)
    changed = changed_files(source.location, before, after) if is_readable else None
    if changed is None or not all(is_plain_file(one.path) for one in (*changed.earlier.files, *changed.later.files)):
        return frame_at(session, source, before), frame_at(session, source, after)
    return frame_of_files(session, source, changed.earlier), frame_of_files(session, source, changed.later)
