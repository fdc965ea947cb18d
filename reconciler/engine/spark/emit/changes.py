"""The net difference of two versions of a view, as multisets: each row with how many copies came, or (negative) went.

One aggregation over the rows of both versions, those of the older one counted as -1. Rows are equal as Spark groups them:
NULLs are equal, so are NaNs and both zeros; maps are compared by their entries, in any order. Where there is no older
version, all rows came and nothing is compared. Where the versions differ in their columns, all rows of the older one go,
under its columns, and all of the newer one come.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import ArrayType, DataType, MapType, StructType, VariantType

from reconciler.engine.protocol import Emission, StoredSource
from reconciler.engine.spark.locations import quoted, spark_location
from reconciler.names import fold

COPIES = "reconcile copies"
"""The frames' last column: a number that is not 0."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What changed. `frames` are to be written in order; there are two where the versions differ in their columns: what went
    and what came. `only_inserts`: nothing can have gone."""

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
        return Changes(after, (_counted(after, 1),), only_inserts=True)
    before = _stored(session, emission.before)
    if shape(before.schema) != shape(after.schema):
        return Changes(after, (_counted(before, -1), _counted(after, 1)), only_inserts=False)
    return Changes(after, (_net(before, after),), only_inserts=False)


@contextmanager
def computed(session: SparkSession, emission: Emission) -> Iterator[tuple[Changes, int, int]]:
    """What changed, with the rows that came and those that went; an aggregation is computed once, and kept meanwhile."""
    found = changes(session, emission)
    if found.only_inserts:
        yield found, int(found.after.count()), 0
        return
    if found.columns_differ:
        yield found, int(found.after.count()), int(found.frames[0].count())
        return
    net = found.frames[0].persist(StorageLevel.MEMORY_AND_DISK)
    try:
        copies, zero = f.col(quoted(COPIES)), f.lit(0).cast("bigint")
        row = net.agg(f.sum(f.greatest(copies, zero)), f.sum(f.greatest(-copies, zero))).collect()[0]
        yield replace(found, frames=(net,)), int(row[0] or 0), int(row[1] or 0)
    finally:
        net.unpersist()


def shape(schema: StructType) -> list[tuple[str, str]]:
    """The columns of a frame as far as rows depend on them: names without letter case, and types, in order."""
    return [(fold(part.name), part.dataType.simpleString()) for part in schema.fields]


def repeated(frame: DataFrame) -> DataFrame:
    """Each row as often as its copies say, whether they come or go; COPIES is 1 or -1."""
    once = f.expr(f"explode(array_repeat(CAST(sign({quoted(COPIES)}) AS INT), CAST(abs({quoted(COPIES)}) AS INT)))")
    names = [f.col(quoted(name)) for name in frame.columns if name != COPIES]
    return frame.select(*names, once.alias(COPIES))


def comparable(value: str, kind: DataType, depth: int = 0) -> str:
    """An expression that is equal for equal values, and that Spark can group and compare: maps become sorted entries."""
    if not _needs_more(kind):
        return value
    name = f"v{depth}"
    match kind:
        case VariantType():
            return f"to_json({value})"
        case MapType():
            key = comparable(f"{name}.key", kind.keyType, depth + 1)
            part = comparable(f"{name}.value", kind.valueType, depth + 1)
            return f"array_sort(transform(map_entries({value}), {name} -> struct({key} AS k, {part} AS v)))"
        case ArrayType():
            return f"transform({value}, {name} -> {comparable(name, kind.elementType, depth + 1)})"
        case StructType():
            parts = ", ".join(
                f"{comparable(f'{value}.{quoted(part.name)}', part.dataType, depth)} AS {quoted(part.name)}"
                for part in kind.fields
            )
            return f"CASE WHEN {value} IS NOT NULL THEN struct({parts}) END"
        case _:
            return value


def _needs_more(kind: DataType) -> bool:
    match kind:
        case MapType() | VariantType():
            return True
        case ArrayType():
            return _needs_more(kind.elementType)
        case StructType():
            return any(_needs_more(part.dataType) for part in kind.fields)
        case _:
            return False


def _stored(session: SparkSession, source: StoredSource) -> DataFrame:
    return session.read.format("delta").option("versionAsOf", str(source.version)).load(spark_location(source.location))


def _counted(rows: DataFrame, copies: int) -> DataFrame:
    return rows.withColumn(COPIES, f.lit(copies).cast("bigint"))


def _net(before: DataFrame, after: DataFrame) -> DataFrame:
    names = after.columns
    both = _counted(after, 1).unionAll(_counted(before.toDF(*names), -1))
    copies = f.sum(quoted(COPIES)).alias(COPIES)
    awkward = {part.name for part in after.schema.fields if _needs_more(part.dataType)}
    if not awkward:
        return both.groupBy(*map(quoted, names)).agg(copies).where(f.col(quoted(COPIES)) != 0)
    keys, values = [], []
    for index, part in enumerate(after.schema.fields):
        keys.append(f.expr(comparable(quoted(part.name), part.dataType)).alias(f"reconcile key {index}"))
        values.append(f.first(quoted(part.name)).alias(part.name))
    return both.groupBy(*keys).agg(*values, copies).where(f.col(quoted(COPIES)) != 0).select(*map(quoted, [*names, COPIES]))
