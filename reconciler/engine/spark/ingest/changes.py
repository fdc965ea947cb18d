"""What a transport read, into its table: fitted, rejected records counted on the way, changes applied in order.

- Where a record may not be lost (`dead_letters` given), rows and rejects are computed in one pass: the count is observed
  while good rows are written, and only if it is not 0 `rejects` makes a second pass. Where there are no dead letters, the
  first record that does not fit stops the write.
- Rows that can be read alone (`Incoming.proven`) are written first, in a commit of their own (`in_parts`); then only the
  others are left.
- Without a key, inserts are appended; deletes are `multisets`' work. With a key, of each key the last change counts,
  compared with the table as it was: a delete is unmatched when the table has no row of its key. Updates of columns are put
  together with it (`updates`).
- A table that is append-only rejects deletes, updates of columns, and both rows of an update.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as f

from reconciler.base.names import quoted
from reconciler.engine.protocol import Ingestion, TableTarget, Transaction, Written
from reconciler.engine.spark import multisets, updates, writes
from reconciler.engine.spark.commit_log import search
from reconciler.engine.spark.conform import REASON, Other, Rules, checked
from reconciler.engine.spark.failures import raised
from reconciler.engine.spark.ingest import rejects
from reconciler.engine.spark.ingest.incoming import ORIGIN, PROVEN, RECORD, UNKNOWN, Incoming, Proven
from reconciler.engine.spark.locations import folder, literal, spark_location
from reconciler.engine.spark.observations import observed
from reconciler.engine.spark.updates import sets_of
from reconciler.engine.spark.writes import DELETES, SETS

_COUNTED = "reconcile counted"
_MOST_FIELD_SETS = 100
_TRACKED = 1000
"""So many sets of unknown fields that rows of one range have are told, the most frequent ones; as long as there are no
more than three quarters of what is tracked, their counts are exact."""
_LARGEST_COMPILED = 8000
"""Java compiles no method of more bytecode than this, and interprets it for good. Spark's own limit is higher."""


def fitting(ingestion: Ingestion, incoming: Incoming) -> DataFrame:
    """The rows as the table has them, with REASON, ORIGIN, RECORD, and ORDER and DELETES where there are such."""
    target, deletes = ingestion.target, incoming.deletes
    first = ingestion.first_on_time
    rules = Rules(
        target.columns,
        target.defaults,
        incoming.null_is_absent,
        target.primary_key,
        deletes,
        first,
        incoming.updates,
        incoming.sets,
    )
    problem = incoming.problem
    if target.append_only and deletes is not None:
        removes = " OR ".join(one for one in (deletes, incoming.has_other, incoming.updates) if one is not None)
        refused = literal(f"X722: rows of the append-only table {target.name} can't be deleted")
        problem = f"coalesce({problem or 'NULL'}, CASE WHEN {removes} THEN {refused} END)"
    kept = [quoted(name) for name in incoming.kept]
    if deletes is not None:
        kept.append(f"coalesce({deletes}, false) AS {quoted(DELETES)}")
    if incoming.updates is not None:
        kept.append(f"{sets_of(incoming.updates, incoming.sets)} AS {quoted(SETS)}")
    kept.append(f"{incoming.origin or 'CAST(NULL AS STRING)'} AS {quoted(ORIGIN)}")
    kept.append(f"{incoming.record or _as_json(incoming)} AS {quoted(RECORD)}")
    if incoming.unknown is not None:
        kept.append(f"{incoming.unknown} AS {quoted(UNKNOWN)}")
    other = Other(incoming.other, incoming.has_other or "false") if incoming.other is not None else None
    return checked(incoming.rows, rules, incoming.given, kept, problem, other)


def write_proven(session: SparkSession, ingestion: Ingestion, proven: Proven, transaction: Transaction) -> Written:
    """Write those of the rows that fit, in a commit of their own."""
    session.conf.set("spark.sql.codegen.hugeMethodLimit", str(_LARGEST_COMPILED))
    rules = Rules(ingestion.target.columns, ingestion.target.defaults, null_is_absent=True)
    # Spark moves no condition across a column that counts, so it does not compute values a second time to ask it of them.
    counted = f"monotonically_increasing_id() AS {quoted(_COUNTED)}"
    fitted = checked(proven.rows, rules, proven.given, (counted,))
    rows = fitted.where(f"{quoted(REASON)} IS NULL AND {quoted(_COUNTED)} >= 0").drop(REASON, _COUNTED)
    return writes.write(session, ingestion.target, rows, transaction, ingestion.commit)


def write_changes(session: SparkSession, ingestion: Ingestion, incoming: Incoming) -> Written:
    """Write the rows, but those that are written alone, and what was rejected."""
    session.conf.set("spark.sql.codegen.hugeMethodLimit", str(_LARGEST_COMPILED))
    target = ingestion.target
    rows = fitting(ingestion, incoming)
    seen = Observation()
    counts = [
        f.count_if(f.expr(rejects.REJECTED)).alias("rejected"),
        f.count_if(f.expr(rejects.LATE)).alias("late"),
    ]
    if incoming.unknown is not None:
        counts.append(f.expr(f"approx_top_k({quoted(UNKNOWN)}, {_MOST_FIELD_SETS}, {_TRACKED})").alias("unknown"))
    if ingestion.dead_letters is None:
        on_time = rows.observe(seen, *counts).where(f"{quoted(REASON)} IS NULL OR {rejects.REJECTED}")
        good = _stopping(on_time, target.primary_key[0] if target.primary_key else target.columns[0].name)
    else:
        good = rows.observe(seen, *counts).where(f.col(quoted(REASON)).isNull())
        if incoming.proven is not None:
            # Behind what is observed: Spark moves no condition across that, and this one is too long to be simplified.
            good = good.where(f"NOT {quoted(PROVEN)}")
    good = good.drop(REASON, ORIGIN, RECORD, PROVEN, UNKNOWN)
    written = _write(session, ingestion, good)
    told = observed(seen)
    unknown, late = _by_field(told.get("unknown") or ()), told.get("late", 0)
    written = replace(written, unknown=unknown, missing=incoming.missing, late=late)
    if ingestion.dead_letters is None:
        return written
    counts_told = rejects.Counts(told["rejected"], late) if "rejected" in told else None
    return replace(written, rejected=rejects.write(session, ingestion, rows, counts_told, incoming.numbered))


def _by_field(found: Iterable[Any]) -> dict[str, int]:
    """In how many rows each unknown field came, of rows counted by the list of theirs."""
    counts: Counter[str] = Counter()
    for one in found:
        for name in json.loads(one["item"]) if one["item"] is not None else ():
            counts[name] += one["count"]
    return dict(sorted(counts.items()))


def _write(session: SparkSession, ingestion: Ingestion, rows: DataFrame) -> Written:
    target, transaction, commit = ingestion.target, ingestion.transaction, ingestion.commit
    if DELETES not in rows.columns:
        return writes.write(session, target, rows, transaction, commit)
    if not target.primary_key:
        return multisets.write(session, target, rows, transaction, commit)
    seen = Observation()
    counts = [
        f.count_if(f.col(quoted(DELETES))).alias("deletes"),
        f.count_if(f.col(quoted(writes.CAME_AND_WENT))).alias("came_and_went"),
    ]
    if SETS in rows.columns:
        every = updates.net_of_each_key(rows, target)
        is_update = f.col(quoted(SETS)).isNotNull()
        counts.append(f.count_if(is_update).alias("updates"))
        counts.append(f.count_if(~is_update & ~f.col(quoted(DELETES))).alias("inserts"))
    else:
        every = writes.last_of_each_key(rows, target, tells_what_came=True)
    last = every.observe(seen, *counts).drop(writes.CAME_AND_WENT)
    written = writes.committed(session, target, transaction, commit, lambda: writes.merge(session, target, last))
    told = observed(seen)
    wanted = told.get("deletes", 0)
    found = search(folder(target.location, lambda: session), transaction).commit
    metrics: Mapping[str, str] = found.metrics if found is not None else {}
    gone = int(metrics.get("numTargetRowsDeleted", 0))
    changed = gone + int(metrics.get("numTargetRowsUpdated", 0)) + int(metrics.get("numTargetRowsInserted", 0))
    unmatched = max(0, wanted - gone)
    lost = 0
    if len(target.primary_key) < len(target.columns):
        # What was updated or inserted is a replaced row, a new one, or an update that found none.
        lost = max(0, told.get("updates", 0) + told.get("inserts", 0) + gone - changed) if told.get("updates") else 0
    if unmatched and told.get("came_and_went", 0):
        unmatched = max(0, unmatched - _never_there(session, target, every, written.version))
    return replace(written, rows=changed, unmatched=unmatched + lost)


def _never_there(session: SparkSession, target: TableTarget, last: DataFrame, version: int) -> int:
    """How many of the rows that came and went in one range the table did not have before: their deletes found a row all the
    same. Only asked where there are such rows and deletes that found none in the table."""
    reader = session.read.format("delta").option("versionAsOf", str(version - 1))
    before = reader.load(spark_location(target.location)).select(*map(quoted, target.primary_key))
    came = last.where(f.col(quoted(writes.CAME_AND_WENT))).select(*map(quoted, target.primary_key))
    return came.join(before, list(target.primary_key), "left_anti").count()


def _stopping(rows: DataFrame, column: str) -> DataFrame:
    """The rows, or the first reason among them as an error."""
    told = raised(f"concat({quoted(REASON)}, coalesce(concat(' in ', {quoted(ORIGIN)}), ''))")
    kind = rows.schema[column].dataType.simpleString()
    guarded = f"CASE WHEN {quoted(REASON)} IS NULL THEN {quoted(column)} ELSE CAST({told} AS {kind}) END"
    return rows.selectExpr(*(f"{guarded} AS {quoted(n)}" if n == column else quoted(n) for n in rows.columns))


def _as_json(incoming: Incoming) -> str:
    hidden = {name for name in incoming.rows.columns if name.startswith("reconcile ")}
    columns = ", ".join(quoted(name) for name in incoming.rows.columns if name not in hidden)
    return f"to_json(struct({columns}))" if columns else "CAST(NULL AS STRING)"
