"""The net difference of two versions of a view, as multisets: each row with how many copies came, or (negative) went.

One aggregation over the rows of both versions, those of the older one counted as -1; `copies` says which rows are equal.
Where there is no older version, all rows came and nothing is compared. Where the versions differ in their columns, all rows
of the older one go, under its columns, and all of the newer one come.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import StructType

from reconciler.base.dataclass import dataclass
from reconciler.base.names import fold, quoted
from reconciler.engine.protocol import Emission
from reconciler.engine.sources import StoredSource
from reconciler.engine.spark.copies import COPIES, counted, net
from reconciler.engine.spark.locations import spark_location


@dataclass(frozen=True, slots=True)
class Changes:
    """What changed. `frames`, whose last column is COPIES, never 0, are to be written in order; there are two where the
    versions differ in their columns: what went and what came. `only_inserts`: nothing can have gone."""

    after: DataFrame
    frames: tuple[DataFrame, ...]
    only_inserts: bool

    @property
    def columns_differ(self) -> bool:
        return len(self.frames) > 1


def changes(session: SparkSession, emission: Emission) -> Changes:
    """What changed, not yet computed."""
    after = _stored(session, emission.after)
    if emission.before is None:
        return Changes(after, (counted(after, 1),), only_inserts=True)
    before = _stored(session, emission.before)
    if shape(before.schema) != shape(after.schema):
        return Changes(after, (counted(before, -1), counted(after, 1)), only_inserts=False)
    return Changes(after, (net(before, after),), only_inserts=False)


@contextmanager
def computed(found: Changes) -> Iterator[tuple[Changes, int, int]]:
    """What changed, with the rows that came and those that went; an aggregation is computed once, and kept meanwhile."""
    if found.only_inserts:
        yield found, int(found.after.count()), 0
        return
    if found.columns_differ:
        yield found, int(found.after.count()), int(found.frames[0].count())
        return
    compared = found.frames[0].persist(StorageLevel.MEMORY_AND_DISK)
    try:
        copies, zero = f.col(quoted(COPIES)), f.lit(0).cast("bigint")
        row = compared.agg(f.sum(f.greatest(copies, zero)), f.sum(f.greatest(-copies, zero))).collect()[0]
        yield replace(found, frames=(compared,)), int(row[0] or 0), int(row[1] or 0)
    finally:
        compared.unpersist()


def shape(schema: StructType) -> list[tuple[str, str]]:
    """The columns of a frame as far as rows depend on them: names without letter case, and types, in order."""
    return [(fold(part.name), part.dataType.simpleString()) for part in schema.fields]


def _stored(session: SparkSession, source: StoredSource) -> DataFrame:
    return session.read.format("delta").option("versionAsOf", str(source.version)).load(spark_location(source.location))
