"""Dead letters: the records of a range that could not become rows, appended to the pipeline's table of them (see
`engine.dead_letters`), once: the commit carries the transaction of the ingestion under a name of its own.

They are written after the table's rows, by a second pass over the range that runs only where there are any. More than the
limit is X724; the count is known when the table's commit is made, so whoever asked for the step has to put the table back,
as after every error. Which line of its file a record is, or its number, is found out then, for these alone.

Records that are left out since they are late are among them where that is asked for, and are not counted as rejected.
"""

from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as f

from reconciler.base.dataclass import dataclass
from reconciler.base.errors import EngineError
from reconciler.base.names import quoted
from reconciler.engine.dead_letters import DEAD_LETTER_COLUMNS
from reconciler.engine.protocol import Ingestion
from reconciler.engine.spark.commit_log import search
from reconciler.engine.spark.conform import CODE_OF_LATE, REASON
from reconciler.engine.spark.ingest.incoming import ORIGIN, RECORD, Numbered
from reconciler.engine.spark.locations import Sessions, folder, literal, spark_location
from reconciler.engine.spark.writes import ORDER
from reconciler.engine.stored import dead_letters_of

LATE: Final = f"startswith({quoted(REASON)}, '{CODE_OF_LATE}')"
"""Whether a record is left out since it is late: a condition, NULL of a row that is written."""
REJECTED: Final = f"({quoted(REASON)} != '' AND NOT {LATE})"
"""Whether a record can't become a row: a condition, NULL of a row that is written."""

_FILE: Final = "reconcile file"
_BLOCK: Final = "reconcile block"
_ROW: Final = "reconcile row"
_FIRST: Final = "reconcile first"
_RECORDS: Final = "reconcile records"
_BEFORE: Final = "reconcile before"


@dataclass(frozen=True, slots=True)
class Counts:
    """How many records are left out: those that can't become rows, and those that are late."""

    rejected: int
    late: int


def already_written(sessions: Sessions, ingestion: Ingestion) -> int | None:
    """How many records of this range are among the dead letters; None: that has to be found out."""
    letters = ingestion.dead_letters
    if letters is None:
        return 0
    if letters.keeps_late:
        return None
    commit = search(folder(letters.location, sessions), dead_letters_of(ingestion.transaction)).commit
    return None if commit is None else int(commit.metrics.get("numOutputRows", 0))


def write(
    session: SparkSession,
    ingestion: Ingestion,
    rows: DataFrame,
    counts: Counts | None = None,
    numbered: Numbered | None = None,
) -> int:
    """Write what was rejected among `rows` (with REASON, ORIGIN and RECORD), and say how many. `counts`, where they are
    known, spare counting. Raises EngineError (X724) when they are more than may be."""
    letters = ingestion.dead_letters
    if letters is None:
        return 0
    if counts is None:
        row = rows.agg(f.count_if(f.expr(REJECTED)), f.count_if(f.expr(LATE))).head()
        counts = Counts(row[0], row[1]) if row is not None else Counts(0, 0)
    if not counts.rejected and not (letters.keeps_late and counts.late):
        return 0
    rejected = rows.where(f"{REJECTED} OR {LATE}" if letters.keeps_late else REJECTED)
    if numbered is not None:
        rejected = _with_numbers(_planned_apart(session, rejected), numbered)
    if letters.limit is not None and counts.rejected > letters.limit:
        raise _too_many(rejected.where(REJECTED), counts.rejected, letters.limit)
    texts = {
        "step": f"CAST({letters.step} AS BIGINT)",
        "connector": literal(ingestion.connector),
        "table": literal(ingestion.target.name),
        "position": quoted(ORIGIN),
        "reason": quoted(REASON),
        "record": quoted(RECORD),
    }
    transaction = dead_letters_of(ingestion.transaction)
    (
        rejected.selectExpr(*(f"{texts[column.name]} AS {quoted(column.name)}" for column in DEAD_LETTER_COLUMNS))
        .coalesce(1)
        .write.format("delta")
        .mode("append")
        .option("txnAppId", transaction.application)
        .option("txnVersion", str(transaction.version))
        .save(spark_location(letters.location))
    )
    return counts.rejected


def _planned_apart(session: SparkSession, rows: DataFrame) -> DataFrame:
    """The rows as those of a plan of their own. Spark's optimizer carries what it infers of a join's keys through every
    expression below, and those by which a record of many columns is read are too long: it would not come to an end."""
    java: Any = rows._jdf
    return DataFrame(session._jsparkSession.createDataFrame(java.toJavaRDD(), java.schema()), session)


def _with_numbers(rejected: DataFrame, numbered: Numbered) -> DataFrame:
    """The rejected rows, each with the number of its record in its file: where its block begins, and how far behind that it
    stands. The blocks are found by one look at where records are, not at what they say."""
    at, rank = _unpacked(numbered.records, quoted(ORDER)), Window.partitionBy(_FILE).orderBy(_BLOCK)
    blocks = at.groupBy(_FILE, _BLOCK).agg(f.min(_ROW).alias(_FIRST), f.count(f.lit(1)).alias(_RECORDS))
    before = f.coalesce(f.sum(_RECORDS).over(rank.rowsBetween(Window.unboundedPreceding, -1)), f.lit(0))
    blocks = blocks.withColumn(_BEFORE, before).drop(_RECORDS)
    placed = _unpacked(rejected, numbered.place).join(f.broadcast(blocks), [_FILE, _BLOCK], "left")
    origin, number = quoted(ORIGIN), f"`{_ROW}` - `{_FIRST}` + 1 + `{_BEFORE}`"
    told = f"""concat(left({origin}, length({origin}) - 1), ',"{numbered.called}":', {number}, '}}')"""
    return placed.withColumn(ORIGIN, f.expr(f"coalesce({told}, {origin})"))


def _unpacked(rows: DataFrame, place: str) -> DataFrame:
    return rows.selectExpr(
        *(quoted(name) for name in rows.columns if name in (REASON, ORIGIN, RECORD, ORDER)),
        f"{place}.file AS `{_FILE}`",
        f"{place}.block AS `{_BLOCK}`",
        f"{place}.row AS `{_ROW}`",
    )


def _too_many(rejected: DataFrame, count: int, limit: int) -> EngineError:
    ordered = rejected.orderBy(quoted(ORDER)) if ORDER in rejected.columns else rejected
    first = ordered.select(quoted(ORIGIN), quoted(REASON)).first()
    told = "" if first is None else f"; the first at {first[0]}: {first[1]}"
    return EngineError(
        "X724",
        f"{count} record(s) of one range do not fit table; at most {limit} may be rejected{told}",
        "correct the source or the table; or raise max_rejected of the connector, the number of records that "
        "may go to the dead letters",
    )
