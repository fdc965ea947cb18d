"""Rows told apart by their values alone: equal ones are copies of one row, and where there is no key a table is a multiset.

Which values are equal says `comparable`. Where copies of a row have to go from a Delta table, one MERGE deletes all of them
and inserts those that stay, since it can't delete some of several equal rows.
"""

from collections.abc import Iterable

from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from reconciler.base.names import quoted
from reconciler.engine.spark.comparable import comparable, equal, is_comparable
from reconciler.engine.spark.locations import spark_location
from reconciler.engine.spark.writes import DELETES

COPIES = "reconcile copies"
"""A frame's column: how many copies of a row come or, where it is negative, go. A row stands there once."""

HELD = "reconcile held"
"""A frame's column: how many copies of a row the table has."""

_HERE = "reconcile here"
_KEY = "reconcile key "


def distinct(rows: DataFrame, names: Iterable[str], *figures: Column) -> DataFrame:
    """Each distinct row once (its columns are `names`), with what is aggregated over its copies."""
    fields = rows.select(*map(quoted, names)).schema.fields
    keys, values = [], []
    for index, part in enumerate(fields):
        column = f.col(quoted(part.name))
        if is_comparable(part.dataType):
            keys.append(column)
        else:
            keys.append(comparable(column, part.dataType).alias(f"{_KEY}{index}"))
            values.append(f.first(column).alias(part.name))
    aggregated = [*values, *figures]
    found = rows.groupBy(*keys).agg(*aggregated) if aggregated else rows.select(*keys).distinct()
    first = [part.name for part in fields]
    others = [name for name in found.columns if name not in first and not name.startswith(_KEY)]
    return found.select(*map(quoted, [*first, *others]))


def counted(rows: DataFrame, copies: int) -> DataFrame:
    """Rows that may be equal, each as so many COPIES."""
    return rows.withColumn(COPIES, f.lit(copies).cast("bigint"))


def net(before: DataFrame, after: DataFrame) -> DataFrame:
    """The distinct rows of which one side has more, with how many COPIES come or go. Columns are matched by position."""
    both = counted(after, 1).unionAll(counted(before.toDF(*after.columns), -1))
    copies = f.col(quoted(COPIES))
    return distinct(both, after.columns, f.sum(copies).alias(COPIES)).where(copies != 0)


def repeated(rows: DataFrame) -> DataFrame:
    """Each row as often as its COPIES say, whether they come or go; COPIES is 1 or -1."""
    once = f.expr(f"explode(array_repeat(CAST(sign({quoted(COPIES)}) AS INT), CAST(abs({quoted(COPIES)}) AS INT)))")
    names = [f.col(quoted(name)) for name in rows.columns if name != COPIES]
    return rows.select(*names, once.alias(COPIES))


def coming(rows: DataFrame) -> DataFrame:
    """The rows that come, each as often as its COPIES say, without COPIES."""
    return repeated(rows.where(f.col(quoted(COPIES)) > 0)).drop(COPIES)


def with_held(session: SparkSession, rows: DataFrame, names: Iterable[str], location: str) -> DataFrame:
    """Distinct rows (their columns are `names`; others are handed on) with how many copies the Delta table has: HELD."""
    columns = list(names)
    fields = rows.select(*map(quoted, columns)).schema.fields
    stored = session.read.format("delta").load(spark_location(location))
    table = stored.selectExpr(*map(quoted, columns), f"true AS {quoted(_HERE)}")
    found = rows.alias("s").join(table.alias("t"), equal("s", "t", fields), "left")
    others = [f.first(quoted(name)).alias(name) for name in rows.columns if name not in columns]
    return distinct(found.select("s.*", f"t.{quoted(_HERE)}"), columns, *others, f.count(quoted(_HERE)).alias(HELD))


def merge(session: SparkSession, changed: DataFrame, going: DataFrame, location: str) -> None:
    """One commit to a Delta table. `changed`: distinct rows with COPIES, as their last column; `going`: those of them that
    go, with HELD besides. Of a row that has fewer copies than go none stays."""
    names = [name for name in changed.columns if name != COPIES]
    copies, held = quoted(COPIES), quoted(HELD)
    staying = going.selectExpr(*map(quoted, names), f"{held} + {copies} AS {copies}")
    gone = changed.where(f.col(copies) < 0).drop(COPIES).withColumn(DELETES, f.lit(True))
    new = coming(changed.unionAll(staying)).withColumn(DELETES, f.lit(False))
    fields = changed.select(*map(quoted, names)).schema.fields
    deletes = f"s.{quoted(DELETES)}"
    merging = _table(session, location).merge(gone.unionAll(new).alias("s"), f.col(deletes) & equal("t", "s", fields))
    values: dict[str, str | Column] = {quoted(name): f"s.{quoted(name)}" for name in names}
    merging.whenMatchedDelete().whenNotMatchedInsert(f"NOT {deletes}", values).execute()


def delete(session: SparkSession, rows: DataFrame, location: str) -> None:
    """One commit to a Delta table: all rows go that are equal to one of these in all of their columns."""
    names = rows.columns
    once = distinct(rows, names)
    _table(session, location).merge(once.alias("s"), equal("t", "s", once.schema.fields)).whenMatchedDelete().execute()


def _table(session: SparkSession, location: str) -> DeltaTable:
    return DeltaTable.forPath(session, spark_location(location)).alias("t")
