"""Updates of single columns put together with the other changes of their keys, so that each key has one change.

Of a key the changes in reading order come to: the last insert or delete, with what updates after it set; or, where there are
updates alone, one that sets all that they set, each column to the last value. An update behind a delete does nothing.
"""

from collections.abc import Mapping
from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f

from reconciler.base.names import fold, quoted
from reconciler.engine.protocol import TableTarget
from reconciler.engine.spark.locations import literal
from reconciler.engine.spark.writes import CAME_AND_WENT, DELETES, ORDER, SETS

_WHOLE: Final = "reconcile whole"
_WHOLE_SINCE: Final = "reconcile whole since"
_BEFORE: Final = "reconcile before"


def sets_of(updates: str, sets: Mapping[str, str]) -> str:
    """What SETS holds, as an expression: `updates` says whether the row is an update, and `sets`, by folded name, whether
    it sets a column."""
    names = ", ".join(f"if({sets_it}, {literal(name)}, NULL)" for name, sets_it in sets.items())
    return f"CASE WHEN {updates} THEN array_compact(array({names})) END"


def net_of_each_key(rows: DataFrame, target: TableTarget) -> DataFrame:
    """The rows with one change of each key: DELETES, SETS (NULL in what is no update) and CAME_AND_WENT, without ORDER.
    `rows` have DELETES, SETS and ORDER."""
    keys = [quoted(name) for name in target.primary_key]
    newest_first = Window.partitionBy(*keys).orderBy(f.col(quoted(ORDER)).desc())
    up_to_here = newest_first.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    before = newest_first.rowsBetween(1, Window.unboundedFollowing)
    whole = rows.withColumn(_WHOLE, f.col(quoted(SETS)).isNull())
    deleted_before = f.first(f.expr(f"if({quoted(_WHOLE)}, {quoted(DELETES)}, NULL)"), ignorenulls=True).over(before)
    ranked = whole.withColumn(_WHOLE_SINCE, f.sum(f.expr(f"int({quoted(_WHOLE)})")).over(up_to_here))
    ranked = ranked.withColumn(_BEFORE, deleted_before)
    counts = f"{quoted(_WHOLE_SINCE)} = 0 OR ({quoted(_WHOLE_SINCE)} = 1 AND {quoted(_WHOLE)})"
    folded = {fold(name) for name in target.primary_key}
    values = [column.name for column in target.columns if fold(column.name) not in folded]
    came = f"{quoted(DELETES)} AND {quoted(_WHOLE)} AND NOT coalesce({quoted(_BEFORE)}, true)"
    has_whole = f"bool_or({quoted(_WHOLE)})"
    grouped = ranked.where(counts).groupBy(*keys)
    return grouped.agg(
        *(f.expr(f"{_last_value(name)}.value").alias(name) for name in values),
        f.expr(f"coalesce(bool_or({quoted(DELETES)} AND {quoted(_WHOLE)}), false)").alias(DELETES),
        f.expr(f"if({has_whole}, NULL, array_distinct(flatten(collect_list({quoted(SETS)}))))").alias(SETS),
        f.expr(f"coalesce(bool_or({came}), false)").alias(CAME_AND_WENT),
    )


def _last_value(name: str) -> str:
    """In a struct, since the value may be NULL."""
    value = f"named_struct('value', {quoted(name)})"
    sets_it = f"{quoted(_WHOLE)} OR array_contains({quoted(SETS)}, {literal(fold(name))})"
    return f"max_by({value}, {quoted(ORDER)}) FILTER (WHERE {sets_it})"
