"""Ad-hoc INSERT and DELETE on one table.

`INSERT INTO [TABLE] t [(columns)] query` (a query may be VALUES): the query runs over the sources, its columns are matched
by position and cast to the table's as `conform` says; columns that the list leaves out get their defaults. Into a table
with a key it is an upsert: rows replace those of equal key. `DELETE FROM t [[AS] alias] [WHERE condition]`: a condition
with a subquery, which Delta's DELETE does not take, becomes a merge on the rows it selects.
"""

from dataclasses import replace
from functools import partial

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as f

from reconciler.base.errors import EngineError
from reconciler.base.names import fold, quoted
from reconciler.engine.protocol import Statement, TableTarget, Written
from reconciler.engine.spark import copies, writes
from reconciler.engine.spark.conform import Given, Rules, conformed, is_late
from reconciler.engine.spark.failures import translated
from reconciler.engine.spark.locations import Sessions, delta_reference, spark_location
from reconciler.engine.spark.observations import observed
from reconciler.engine.spark.views import isolated, register
from reconciler.engine.statement import Delete, Insert, read_statement

_AS_SPARK_READS_BY_ITSELF = {
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.legacy.exponentLiteralAsDecimal.enabled": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
}
"""How SQL is read that is not the author's: types of columns, defaults, messages."""


def execute(sessions: Sessions, statement: Statement) -> Written:
    """Run an INSERT or DELETE, once."""
    parsed = read_statement(statement.sql)
    if fold(parsed.table) != fold(statement.target.name):
        raise EngineError("X720", f"the statement writes to {parsed.table}, not to {statement.target.name}")
    done = writes.already_written(sessions, statement.target, statement.transaction)
    if done is not None:
        return done
    session = isolated(sessions, statement.settings)
    register(session, statement.sources, statement.functions)
    if isinstance(parsed, Insert):
        with translated(f"insert into {statement.target.name}"):
            late, seen = _is_late(statement), Observation()
            rows = _inserted(session, parsed, statement.target)
            on_time = (
                rows if late is None else rows.observe(seen, f.count_if(f.expr(late)).alias("late")).where(f"NOT {late}")
            )
            written = writes.write(session, statement.target, on_time, statement.transaction, statement.commit)
            return written if late is None else replace(written, late=sum(observed(seen).values()))
    with translated(f"delete from {statement.target.name}"):
        act = partial(_delete, session, parsed, statement.target)
        return writes.committed(session, statement.target, statement.transaction, statement.commit, act)


def _is_late(statement: Statement) -> str | None:
    """Whether a row is late: a condition; None where none can be."""
    first = statement.first_on_time
    late = [
        is_late(quoted(column.name), column, first[fold(column.name)])
        for column in statement.target.columns
        if fold(column.name) in first
    ]
    return f"coalesce({' OR '.join(late)}, false)" if late else None


def _inserted(session: SparkSession, insert: Insert, target: TableTarget) -> DataFrame:
    known = {fold(column.name) for column in target.columns}
    for name in insert.columns:
        if fold(name) not in known:
            raise EngineError("X720", f"table {target.name} has no column {name}")
    named = [fold(name) for name in insert.columns] or [fold(column.name) for column in target.columns]
    if len(set(named)) != len(named):
        raise EngineError("X720", "the INSERT names a column twice")
    frame = session.sql(insert.query)
    # What is analysed means what it meant. What is added from here on is ours.
    for name, text in _AS_SPARK_READS_BY_ITSELF.items():
        session.conf.set(name, text)
    if len(frame.columns) != len(named):
        raise EngineError("X720", f"the INSERT has {len(frame.columns)} value(s) per row for {len(named)} column(s)")
    # By position: the query's own names may repeat or be expressions.
    plain = frame.toDF(*(f"value {index}" for index in range(len(named))))
    given = {
        name: Given(quoted(part.name), part.dataType.simpleString() == "string")
        for name, part in zip(named, plain.schema.fields, strict=True)
    }
    ordered = plain.withColumn(writes.ORDER, f.monotonically_increasing_id())
    return conformed(ordered, Rules(target.columns, target.defaults), given, kept=(writes.ORDER,))


def _delete(session: SparkSession, delete: Delete, target: TableTarget) -> None:
    if delete.condition is not None and delete.has_subquery:
        # Rows that are equal are chosen alike, so one copy of each chosen row finds all of them.
        by = target.primary_key or tuple(column.name for column in target.columns)
        stored = session.read.format("delta").load(spark_location(target.location)).alias(delete.alias)
        copies.delete(session, stored.where(delete.condition).select(*map(quoted, by)), target.location)
        return
    where = "" if delete.condition is None else f" WHERE {delete.condition}"
    session.sql(f"DELETE FROM {delta_reference(target.location)} AS {quoted(delete.alias)}{where}")
