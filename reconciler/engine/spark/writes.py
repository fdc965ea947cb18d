"""Rows into a table, once: an append where the table has no key, else a merge by key.

Every commit carries its transaction (Delta's `txn`), so a repeat finds it and writes nothing. Where several incoming rows
have one key the last in reading order wins, be it an insert or a delete; rows without an order (a snapshot of another Delta
table) are told apart by a hash of their values, so that a repeat picks the same one. Deletes from a table without a key are
`multisets`'.
"""

from collections.abc import Callable
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as f

from reconciler.base.digest import JsonObject
from reconciler.base.errors import EngineError
from reconciler.base.names import fold, quoted
from reconciler.engine.protocol import TableTarget, Transaction, Written
from reconciler.engine.spark.commit_log import latest_version, search
from reconciler.engine.spark.comparable import comparables
from reconciler.engine.spark.locations import Folder, Sessions, delta_reference, folder, literal, spark_location
from reconciler.engine.spark.transactions import carried, last_version

ORDER = "reconcile order"
"""The frame's column that says in which order rows were read; dropped before writing."""

DELETES = "reconcile deletes"
"""The frame's column that is true in rows that delete."""

SETS = "reconcile sets"
"""The frame's column that has, in rows that update others, the folded names of the columns that they set; else NULL."""

CAME_AND_WENT = "reconcile came and went"
"""The frame's column that is true in rows that delete what the same frame inserted just before."""

_RANK = "reconcile rank"
_INCOMING = "reconcile_incoming"


def already_written(sessions: Sessions, target: TableTarget, transaction: Transaction) -> Written | None:
    """What this transaction wrote, when the table has it. Raises EngineError when there is no table."""
    table = folder(target.location, sessions)
    latest = latest_version(table)
    if latest is None:
        raise EngineError("X721", f"table {target.name} has no Delta table at {target.location}")
    found = search(table, transaction)
    if found.commit is not None:
        return Written(found.commit.version, _rows(found.commit.metrics), reused=True)
    if found.saw_all:
        return None
    if last_version(sessions(), target.location, transaction.application) >= transaction.version:
        return Written(latest, 0, reused=True)
    return None


def write(
    session: SparkSession, target: TableTarget, rows: DataFrame, transaction: Transaction, commit: JsonObject
) -> Written:
    """Append or merge rows that fit the table already; `rows` may carry ORDER, and where there is a key DELETES."""
    if target.primary_key:
        return committed(
            session, target, transaction, commit, lambda: merge(session, target, last_of_each_key(rows, target))
        )
    return committed(session, target, transaction, commit, lambda: append(target, rows.drop(ORDER)))


def committed(
    session: SparkSession, target: TableTarget, transaction: Transaction, commit: JsonObject, act: Callable[[], Any]
) -> Written:
    """Do what commits once to the table, with a transaction, and with what the commit says of itself."""
    with carried(session, transaction, commit):
        act()
    table: Folder = folder(target.location, lambda: session)
    found = search(table, transaction).commit
    if found is not None:
        return Written(found.version, _rows(found.metrics))
    # A delete that finds nothing commits nothing.
    version = latest_version(table)
    if version is None:
        raise EngineError("X700", f"table {target.name} has no Delta table at {target.location} after writing")
    return Written(version, 0)


def append(target: TableTarget, rows: DataFrame) -> None:
    """Add rows."""
    rows.write.format("delta").mode("append").save(spark_location(target.location))


def merge(session: SparkSession, target: TableTarget, rows: DataFrame) -> None:
    """Replace, add and (where DELETES is true) delete rows by key, and (where SETS is not NULL) set columns of rows that are
    there; each key stands once in `rows`."""
    rows.createOrReplaceTempView(_INCOMING)
    names = [column.name for column in target.columns]
    keys = {fold(name) for name in target.primary_key}
    on = " AND ".join(f"t.{quoted(name)} = s.{quoted(name)}" for name in target.primary_key)
    has_updates = SETS in rows.columns
    new_values = {name: _set_value(name) if has_updates else f"s.{quoted(name)}" for name in names}
    updates = ", ".join(f"t.{quoted(name)} = {new_values[name]}" for name in names if fold(name) not in keys)
    gone, new = "", ""
    if DELETES in rows.columns:
        gone, new = f"WHEN MATCHED AND s.{quoted(DELETES)} THEN DELETE ", f" AND NOT s.{quoted(DELETES)}"
    if has_updates:
        new += f" AND s.{quoted(SETS)} IS NULL"
    matched = f"WHEN MATCHED THEN UPDATE SET {updates} " if updates else ""
    columns = ", ".join(map(quoted, names))
    values = ", ".join(f"s.{quoted(name)}" for name in names)
    session.sql(
        f"MERGE INTO {delta_reference(target.location)} AS t USING {_INCOMING} AS s ON {on} "
        f"{gone}{matched}WHEN NOT MATCHED{new} THEN INSERT ({columns}) VALUES ({values})"
    )


def _set_value(name: str) -> str:
    sets = f"s.{quoted(SETS)}"
    return f"if({sets} IS NULL OR array_contains({sets}, {literal(fold(name))}), s.{quoted(name)}, t.{quoted(name)})"


def last_of_each_key(rows: DataFrame, target: TableTarget, tells_what_came: bool = False) -> DataFrame:
    """Of each key the last row in reading order; if that is asked for, with CAME_AND_WENT."""
    order: Column = f.col(quoted(ORDER)) if ORDER in rows.columns else hashed(rows)
    window = Window.partitionBy(*(quoted(name) for name in target.primary_key)).orderBy(order.desc())
    ranked = rows.withColumn(_RANK, f.row_number().over(window))
    if tells_what_came:
        before = f.lead(f.col(quoted(DELETES))).over(window)
        ranked = ranked.withColumn(CAME_AND_WENT, f.col(quoted(DELETES)) & f.coalesce(~before, f.lit(False)))
    return ranked.where(f.col(quoted(_RANK)) == 1).drop(_RANK, ORDER)


def hashed(rows: DataFrame) -> Column:
    """A hash of all columns."""
    return f.xxhash64(*comparables(rows, rows.columns))


def _rows(metrics: dict[str, str]) -> int:
    """The rows that a commit is about: those it deleted, took in (merge) or wrote (append)."""
    deleted = int(metrics.get("numTargetRowsDeleted", 0))
    if deleted:
        return deleted
    for name in ("numSourceRows", "numDeletedRows", "numOutputRows"):
        if name in metrics:
            return int(metrics[name])
    return 0
