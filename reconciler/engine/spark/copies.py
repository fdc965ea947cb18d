"""Rows told apart by their values alone: equal ones are copies of one row, and where there is no key a table is a multiset.

Rows are equal as Spark groups them: NULLs are equal, so are NaNs and both zeros; maps are compared by their entries, in any
order. Where copies of a row have to go from a Delta table, one MERGE deletes all of them and inserts those that stay, since
it can't delete some of several equal rows.
"""

from collections.abc import Iterable

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType, VariantType

from reconciler.engine.spark.locations import delta_reference, quoted, spark_location
from reconciler.engine.spark.writes import DELETES

COPIES = "reconcile copies"
"""A frame's column: how many copies of a row come or, where it is negative, go. A row stands there once."""

HELD = "reconcile held"
"""A frame's column: how many copies of a row the table has."""

_HERE = "reconcile here"
_KEY = "reconcile key "
_CHANGED = "reconcile_changed"


def distinct(rows: DataFrame, names: Iterable[str], *figures: Column) -> DataFrame:
    """Each distinct row once (its columns are `names`), with what is aggregated over its copies."""
    fields = rows.select(*map(quoted, names)).schema.fields
    keys, values = [], []
    for index, part in enumerate(fields):
        column = quoted(part.name)
        if _needs_more(part.dataType):
            keys.append(f.expr(_comparable(column, part.dataType)).alias(f"{_KEY}{index}"))
            values.append(f.first(column).alias(part.name))
        else:
            keys.append(f.col(column))
    found = rows.groupBy(*keys).agg(*values, *figures)
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
    found = rows.alias("s").join(table.alias("t"), f.expr(_equal("s", "t", fields)), "left")
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
    gone.unionAll(new).createOrReplaceTempView(_CHANGED)
    deletes, same = f"s.{quoted(DELETES)}", _equal("t", "s", changed.select(*map(quoted, names)).schema.fields)
    columns, values = ", ".join(map(quoted, names)), ", ".join(f"s.{quoted(name)}" for name in names)
    session.sql(
        f"MERGE INTO {delta_reference(location)} AS t USING {_CHANGED} AS s ON {deletes} AND {same} "
        f"WHEN MATCHED THEN DELETE WHEN NOT MATCHED AND NOT {deletes} THEN INSERT ({columns}) VALUES ({values})"
    )


def _comparable(value: str, kind: DataType, depth: int = 0) -> str:
    """An expression that is equal for equal values, and that Spark can group and compare: maps become sorted entries."""
    if not _needs_more(kind):
        return value
    name = f"v{depth}"
    match kind:
        case VariantType():
            return f"to_json({value})"
        case MapType():
            key = _comparable(f"{name}.key", kind.keyType, depth + 1)
            part = _comparable(f"{name}.value", kind.valueType, depth + 1)
            return f"array_sort(transform(map_entries({value}), {name} -> struct({key} AS k, {part} AS v)))"
        case ArrayType():
            return f"transform({value}, {name} -> {_comparable(name, kind.elementType, depth + 1)})"
        case StructType():
            parts = ", ".join(
                f"{_comparable(f'{value}.{quoted(part.name)}', part.dataType, depth)} AS {quoted(part.name)}"
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


def _equal(one: str, other: str, fields: Iterable[StructField]) -> str:
    """A condition: the rows of these two aliases are copies of one row."""
    return " AND ".join(
        f"{_comparable(f'{one}.{quoted(part.name)}', part.dataType)} <=> "
        f"{_comparable(f'{other}.{quoted(part.name)}', part.dataType)}"
        for part in fields
    )
