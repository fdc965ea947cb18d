"""`delta_table_output`: a Delta table outside the warehouse that holds what the view holds.

- Each emission is one commit, which carries its transaction: a repeat finds it and writes nothing.
- The table is a multiset: of a row that went k times, k equal copies go, NULLs equal; what the table does not have is passed
  over. One MERGE deletes all copies of the rows that have fewer now, and inserts those that stay and those that came.
- A table that does not exist is made with the view's columns. The view's columns change: the table is overwritten with
  them, and with all that the view holds.
- `mode` is for the first emission of a connector to a table that was there: `append` writes into it if its columns are the
  view's (else X753), `truncate` overwrites it, `error_if_exists` is X752.
- Nothing that changed is no commit.
"""

from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from reconciler.digest import canonical_json
from reconciler.engine.protocol import Emission, Emitted
from reconciler.engine.secrets import resolved
from reconciler.engine.spark.commits import latest_version
from reconciler.engine.spark.emit.changes import COPIES, Changes, comparable, computed, repeated, shape
from reconciler.engine.spark.emit.sinks import sink_session
from reconciler.engine.spark.failures import translated
from reconciler.engine.spark.locations import Sessions, delta_reference, folder, quoted, spark_location
from reconciler.errors import EngineError

_APPLICATION = "spark.databricks.delta.write.txnAppId"
_VERSION = "spark.databricks.delta.write.txnVersion"
_METADATA = "spark.databricks.delta.commitInfo.userMetadata"
_OPERATION = "reconcile operation"
_CHANGES = "reconcile_changes"


def emit(sessions: Sessions, emission: Emission) -> Emitted:
    """Bring the sink to what the view holds, once."""
    config = resolved(emission.settings)["transport"]["config"]
    location = str(config["uri"])
    with translated(f"connector {emission.connector}"):
        session = sink_session(sessions, config, location)
        exists = latest_version(folder(location, lambda: session)) is not None
        last = _last_serial(session, location, emission.transaction.application) if exists else -1
        if last >= emission.transaction.version:
            return Emitted(0, 0, reused=True)
        is_first = last < 0
        mode = str(config.get("mode", "append")) if is_first and exists else "append"
        if mode == "error_if_exists":
            hint = "give another uri, or mode: append or truncate"
            raise EngineError("X752", f"connector {emission.connector}: there is a table at {location} already", hint)
        _prepare(session, emission)
        with computed(session, emission) as (found, came, went):
            overwrites = not exists or emission.replaces or mode == "truncate"
            if exists and not overwrites:
                overwrites = _is_to_be_reshaped(session, emission, found, location, is_first)
            return _write(session, found, came, went, location, overwrites=overwrites)


def _is_to_be_reshaped(session: SparkSession, emission: Emission, found: Changes, location: str, is_first: bool) -> bool:
    """Whether the sink has other columns than the view. Raises EngineError where these may not be touched."""
    sink = session.read.format("delta").load(spark_location(location)).schema
    if sorted(shape(sink)) == sorted(shape(found.after.schema)) and not found.columns_differ:
        return False
    if not is_first:
        return True
    raise EngineError(
        "X753",
        f"connector {emission.connector}: the table at {location} has other columns ({sink.simpleString()}) than view "
        f"{emission.view} ({found.after.schema.simpleString()})",
        "give another uri, or mode: truncate to overwrite the table",
    )


def _write(session: SparkSession, found: Changes, came: int, went: int, location: str, *, overwrites: bool) -> Emitted:
    (frame, *more) = found.frames
    if found.only_inserts or more:
        # Also where the columns changed: then all rows of the view are written.
        if came or overwrites:
            _put(found.after, location, overwrites=overwrites)
    elif overwrites:
        _put(_copies(frame.where(f.col(quoted(COPIES)) > 0)), location, overwrites=True)
    elif went:
        _merge(session, frame, location)
    elif came:
        _put(_copies(frame), location, overwrites=False)
    return Emitted(came, went)


def _copies(frame: DataFrame) -> DataFrame:
    return repeated(frame).drop(COPIES)


def _put(rows: DataFrame, location: str, *, overwrites: bool) -> None:
    writer = rows.write.format("delta").mode("overwrite" if overwrites else "append")
    if overwrites:
        writer = writer.option("overwriteSchema", "true")
    writer.save(spark_location(location))


def _merge(session: SparkSession, net: DataFrame, location: str) -> None:
    """One commit: rows with fewer copies than before go, all copies of them; those that stay or came are inserted."""
    sink = session.read.format("delta").load(spark_location(location))
    fields = [part for part in net.schema.fields if part.name != COPIES]
    names = [part.name for part in fields]

    def equal(one: str, other: str) -> str:
        return " AND ".join(
            f"{comparable(f'{one}.{quoted(part.name)}', part.dataType)} <=> "
            f"{comparable(f'{other}.{quoted(part.name)}', part.dataType)}"
            for part in fields
        )

    going = net.where(f.col(quoted(COPIES)) < 0)
    # How many copies there are of what goes: what stays of them is inserted again.
    held = going.alias("g").join(sink.alias("s"), f.expr(equal("g", "s")), "inner")
    keys = [f.expr(comparable(f"g.{quoted(part.name)}", part.dataType)).alias(f"key {i}") for i, part in enumerate(fields)]
    values = [f.first(f"g.{quoted(name)}").alias(name) for name in names]
    left = (f.count(f.lit(1)) + f.first(f"g.{quoted(COPIES)}")).alias(COPIES)
    staying = held.groupBy(*keys).agg(*values, left).select(*map(quoted, [*names, COPIES]))
    coming = net.unionAll(staying).where(f.col(quoted(COPIES)) > 0)
    source = (
        going.drop(COPIES).withColumn(_OPERATION, f.lit("d")).unionAll(_copies(coming).withColumn(_OPERATION, f.lit("i")))
    )
    source.createOrReplaceTempView(_CHANGES)
    columns = ", ".join(map(quoted, names))
    given = ", ".join(f"s.{quoted(name)}" for name in names)
    operation = f"s.{quoted(_OPERATION)}"
    session.sql(
        f"MERGE INTO {delta_reference(location)} AS t USING {_CHANGES} AS s ON {operation} = 'd' AND {equal('t', 's')} "
        f"WHEN MATCHED THEN DELETE WHEN NOT MATCHED AND {operation} = 'i' THEN INSERT ({columns}) VALUES ({given})"
    )


def _prepare(session: SparkSession, emission: Emission) -> None:
    """The next commit of the session carries the transaction and says what it was made from."""
    session.conf.set(_APPLICATION, emission.transaction.application)
    session.conf.set(_VERSION, str(emission.transaction.version))
    if emission.commit:
        session.conf.set(_METADATA, canonical_json(emission.commit))


def _last_serial(session: SparkSession, location: str, application: str) -> int:
    """The last transaction that the table has of a connector; -1 when it has none."""
    jvm: Any = session._jvm
    path = jvm.org.apache.hadoop.fs.Path(spark_location(location))
    snapshot = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(session._jsparkSession, path).update(
        False, jvm.scala.Option.empty(), jvm.scala.Option.empty()
    )
    found = snapshot.transactions().get(application)
    return int(found.get()) if found.isDefined() else -1
