"""Inserts and deletes for a table without a key: a multiset, in which a delete takes one row that is equal in all columns.

Changes are netted in reading order for each distinct row. With n copies in the table, a sum S of the
batch's changes and m their smallest running sum (0 at most), u = max(0, -(n + m)) deletes found nothing, n + S + u copies
stay. So rows whose running sum never falls below 0 need no look at the table: S copies are added. For the others the table's
copies are counted; where some have to go, it is merged into (`copies`). Where no row has to go, the commit is an append.
"""

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as f

from reconciler.base.digest import JsonObject
from reconciler.base.names import quoted
from reconciler.engine.protocol import TableTarget, Transaction, Written
from reconciler.engine.spark.comparable import comparables
from reconciler.engine.spark.copies import COPIES, HELD, coming, distinct, merge, with_held
from reconciler.engine.spark.writes import DELETES, ORDER, append, committed

_STEP, _SUM, _NET, _LOWEST = "reconcile step", "reconcile sum", "reconcile net", "reconcile lowest"


def write(
    session: SparkSession, target: TableTarget, rows: DataFrame, transaction: Transaction, commit: JsonObject
) -> Written:
    """Apply changes: rows that fit the table, with DELETES and, unless order does not matter, ORDER."""
    names = [column.name for column in target.columns]
    netted = _netted(rows, names).persist()
    try:
        looked_for, added = _counts(netted, f"count_if({quoted(_LOWEST)} < 0)", f"sum({quoted(_NET)})")
        if not looked_for:
            new = coming(netted.selectExpr(*map(quoted, names), f"{quoted(_NET)} AS {quoted(COPIES)}"))
            written = committed(session, target, transaction, commit, lambda: append(target, new))
            return Written(written.version, added)
        return _compared(session, target, netted, transaction, commit)
    finally:
        netted.unpersist()


def _compared(
    session: SparkSession, target: TableTarget, netted: DataFrame, transaction: Transaction, commit: JsonObject
) -> Written:
    names = [column.name for column in target.columns]
    found = _with_copies(session, netted, target, names).persist()
    try:
        gone, came, unmatched = _counts(
            found,
            f"sum(greatest(-{quoted(COPIES)}, 0))",
            f"sum(greatest({quoted(COPIES)}, 0))",
            f"sum({quoted(COPIES)} - {quoted(_NET)})",
        )
        changed = found.select(*map(quoted, [*names, COPIES]))
        if gone:
            going = found.where(f"{quoted(COPIES)} < 0")
            written = committed(
                session, target, transaction, commit, lambda: merge(session, changed, going, target.location)
            )
        else:
            written = committed(session, target, transaction, commit, lambda: append(target, coming(changed)))
        return Written(written.version, gone + came, unmatched=unmatched)
    finally:
        found.unpersist()


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
    same = Window.partitionBy(*comparables(rows, names)).orderBy(quoted(ORDER))
    running = same.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    summed = rows.selectExpr(*by, step, quoted(ORDER)).withColumn(_SUM, f.sum(quoted(_STEP)).over(running))
    lowest = f.least(f.min(quoted(_SUM)), f.lit(0)).alias(_LOWEST)
    return distinct(summed, names, f.sum(quoted(_STEP)).alias(_NET), lowest)


def _with_copies(session: SparkSession, netted: DataFrame, target: TableTarget, names: list[str]) -> DataFrame:
    """The same with HELD, counted where it matters, and with COPIES: how many more there will be."""
    looked_for = with_held(session, netted.where(f"{quoted(_LOWEST)} < 0"), names, target.location)
    others = netted.where(f"{quoted(_LOWEST)} = 0").withColumn(HELD, f.lit(0).cast("bigint"))
    unmatched = f"if({quoted(_LOWEST)} < 0, greatest(0, -({quoted(HELD)} + {quoted(_LOWEST)})), 0)"
    return looked_for.unionAll(others).selectExpr("*", f"{quoted(_NET)} + {unmatched} AS {quoted(COPIES)}")
