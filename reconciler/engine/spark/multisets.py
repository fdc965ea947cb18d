"""Deletes from a table without a key: a multiset, in which a delete takes one row that is equal in all columns.

Changes are netted in reading order for each distinct row (NULLs are equal). With n copies in the table, a sum S of the
batch's changes and m their smallest running sum (0 at most), u = max(0, -(n + m)) deletes found nothing, n + S + u copies
stay. So rows whose running sum never falls below 0 need no look at the table: S copies are added. For the others the table's
copies are counted; where some have to go, a MERGE deletes them all and inserts as many as stay. Where no row has to go, the
commit is an append.
"""

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as f

from reconciler.digest import JsonObject
from reconciler.engine.protocol import TableTarget, Transaction, Written
from reconciler.engine.spark.locations import delta_reference, quoted, spark_location
from reconciler.engine.spark.writes import DELETES, ORDER, append, committed
from reconciler.errors import EngineError

_STEP, _SUM, _NET, _LOWEST = "reconcile step", "reconcile sum", "reconcile net", "reconcile lowest"
_HERE, _COPIES, _ADDED = "reconcile here", "reconcile copies", "reconcile added"
_CHANGED = "reconcile_changed"


def require_comparable(target: TableTarget) -> None:
    """Raise EngineError (X716) for a table whose rows can't be compared."""
    for column in target.columns:
        if "map<" in column.type.lower().replace(" ", ""):
            raise EngineError(
                "X716",
                f"table {target.name} has no key and a MAP column ({column.name}): no row can be found by its values",
                "give the table a primary key",
            )


def write(
    session: SparkSession, target: TableTarget, rows: DataFrame, transaction: Transaction, commit: JsonObject
) -> Written:
    """Apply changes: rows that fit the table, with DELETES and, unless order does not matter, ORDER."""
    names = [column.name for column in target.columns]
    netted = _netted(rows, names).persist()
    try:
        looked_for, added = _counts(netted, f"count_if({quoted(_LOWEST)} < 0)", f"sum({quoted(_NET)})")
        if not looked_for:
            new = _repeated(netted, names, _NET)
            written = committed(session, target, transaction, commit, lambda: append(target, new))
            return Written(written.version, added)
        return _compared(session, target, netted, transaction, commit)
    finally:
        netted.unpersist()


def _compared(
    session: SparkSession, target: TableTarget, netted: DataFrame, transaction: Transaction, commit: JsonObject
) -> Written:
    names = [column.name for column in target.columns]
    changed = _with_copies(session, netted, target, names).persist()
    try:
        gone, came, unmatched = _counts(
            changed,
            f"sum(greatest(-{quoted(_ADDED)}, 0))",
            f"sum(greatest({quoted(_ADDED)}, 0))",
            f"sum({quoted(_ADDED)} - {quoted(_NET)})",
        )
        if gone:
            written = committed(session, target, transaction, commit, lambda: _merge(session, target, changed, names))
        else:
            new = _repeated(changed, names, _ADDED)
            written = committed(session, target, transaction, commit, lambda: append(target, new))
        return Written(written.version, gone + came, unmatched=unmatched)
    finally:
        changed.unpersist()


def _counts(frame: DataFrame, *expressions: str) -> tuple[int, ...]:
    found = frame.selectExpr(*expressions).first()
    return tuple(int(value or 0) for value in found or ())


def _netted(rows: DataFrame, names: list[str]) -> DataFrame:
    """Each distinct row with the sum of its changes, and their smallest running sum."""
    by = [quoted(name) for name in names]
    step = f"CASE WHEN {quoted(DELETES)} THEN -1L ELSE 1L END AS {quoted(_STEP)}"
    if ORDER not in rows.columns:
        # Deletes first: a set of changes that was made by comparing says nothing of order.
        order = f"NOT {quoted(DELETES)} AS {quoted(ORDER)}"
        rows = rows.selectExpr(*by, quoted(DELETES), order)
    running = Window.partitionBy(*by).orderBy(quoted(ORDER)).rowsBetween(Window.unboundedPreceding, Window.currentRow)
    summed = rows.selectExpr(*by, step, quoted(ORDER)).withColumn(_SUM, f.sum(quoted(_STEP)).over(running))
    return summed.groupBy(*by).agg(f.sum(quoted(_STEP)).alias(_NET), f.least(f.min(quoted(_SUM)), f.lit(0)).alias(_LOWEST))


def _with_copies(session: SparkSession, netted: DataFrame, target: TableTarget, names: list[str]) -> DataFrame:
    """The same with the copies that the table has, counted where they matter, and how many more there will be (ADDED)."""
    stored = session.read.format("delta").load(spark_location(target.location))
    table = stored.selectExpr(*map(quoted, names), f"true AS {quoted(_HERE)}").alias("t")
    same = " AND ".join(f"s.{quoted(name)} <=> t.{quoted(name)}" for name in names)
    joined = netted.alias("s").join(table, f.expr(f"s.{quoted(_LOWEST)} < 0 AND {same}"), "left")
    by = [f.col(f"s.{quoted(name)}") for name in (*names, _NET, _LOWEST)]
    counted = joined.groupBy(*by).agg(f.count(f.col(quoted(_HERE))).alias(_COPIES))
    unmatched = f"if({quoted(_LOWEST)} < 0, greatest(0, -({quoted(_COPIES)} + {quoted(_LOWEST)})), 0)"
    return counted.selectExpr("*", f"{quoted(_NET)} + {unmatched} AS {quoted(_ADDED)}")


def _merge(session: SparkSession, target: TableTarget, changed: DataFrame, names: list[str]) -> None:
    """Rows of which copies go are taken out, all of them, by one row that says so; those that stay are put in again."""
    goes = changed.where(f"{quoted(_ADDED)} < 0")
    stays = goes.withColumn(_ADDED, f.expr(f"{quoted(_COPIES)} + {quoted(_ADDED)}"))
    new = _repeated(changed, names, _ADDED).unionAll(_repeated(stays, names, _ADDED))
    rows = goes.selectExpr(*map(quoted, names), f"true AS {quoted(DELETES)}")
    rows = rows.unionAll(new.selectExpr("*", f"false AS {quoted(DELETES)}"))
    rows.createOrReplaceTempView(_CHANGED)
    on = " AND ".join([f"s.{quoted(DELETES)}", *(f"t.{quoted(name)} <=> s.{quoted(name)}" for name in names)])
    columns, values = ", ".join(map(quoted, names)), ", ".join(f"s.{quoted(name)}" for name in names)
    session.sql(
        f"MERGE INTO {delta_reference(target.location)} AS t USING {_CHANGED} AS s ON {on} WHEN MATCHED THEN DELETE "
        f"WHEN NOT MATCHED AND NOT s.{quoted(DELETES)} THEN INSERT ({columns}) VALUES ({values})"
    )


def _repeated(rows: DataFrame, names: list[str], times: str) -> DataFrame:
    """Each row as often as the column says."""
    wanted = rows.where(f"{quoted(times)} > 0")
    copied = wanted.selectExpr(*map(quoted, names), f"explode(array_repeat(true, CAST({quoted(times)} AS INT)))")
    return copied.select(*map(quoted, names))
