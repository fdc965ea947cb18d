"""`delta_table_output`: a Delta table outside the warehouse that holds what the view holds.

- Each emission is one commit, which carries its transaction and its id: a repeat finds it and writes nothing. Another one
  with this number, or a later one of the output, is X756. It is looked for again after writing: Delta passes over a write
  whose number came in meanwhile.
- The table is a multiset: of a row that went k times, k equal copies go, NULLs equal; what the table does not have is passed
  over (`copies`).
- A table that does not exist is made with the view's columns. The view's columns change: the table is overwritten with
  them, and with all that the view holds.
- `mode` is for the first emission of a connector to a table that was there: `append` writes into it if its columns are the
  view's (else X753), `truncate` overwrites it, `error_if_exists` is X752.
- Nothing that changed is no commit.
"""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from reconciler.base.errors import EngineError
from reconciler.base.names import quoted
from reconciler.engine.protocol import Check, Emission, Emitted
from reconciler.engine.repeats import another_emission, is_repeated, what_is_kept
from reconciler.engine.secrets import resolved
from reconciler.engine.sink_places import require_outside_of_warehouses
from reconciler.engine.spark.commit_log import carrying, latest_version
from reconciler.engine.spark.copies import COPIES, coming, merge, with_held
from reconciler.engine.spark.emit.changes import Changes, changes, computed, shape
from reconciler.engine.spark.emit.storage_sinks import require_no_registry_around, sink_session
from reconciler.engine.spark.failures import translated
from reconciler.engine.spark.locations import Sessions, folder, spark_location
from reconciler.engine.spark.transactions import carried, last_version


def emit(sessions: Sessions, emission: Emission, check: Check) -> Emitted:
    """Bring the sink to what the view holds, once."""
    config = resolved(emission.settings)["transport"]["config"]
    location = str(config["uri"])
    with translated(f"connector {emission.connector}", of_connector=True):
        session = sink_session(sessions, config, location)
        require_no_registry_around(session, emission, location)
        exists = latest_version(folder(location, lambda: session)) is not None
        last = last_version(session, location, emission.transaction.application) if exists else -1
        if last >= emission.transaction.version:
            _require_a_repeat(session, emission, location, last)
            return Emitted(0, 0, reused=True)
        is_first = last < 0
        mode = str(config.get("mode", "append")) if is_first and exists else "append"
        if mode == "error_if_exists":
            hint = "give another uri, or mode: append or truncate"
            raise EngineError("X752", f"connector {emission.connector}: there is already a table at {location}", hint)
        with computed(changes(session, emission)) as (found, came, went):
            overwrites = not exists or emission.replaces or mode == "truncate"
            reshapes = not overwrites and _is_to_be_reshaped(session, emission, found, location, is_first)
            require_outside_of_warehouses(emission, location)
            check()
            with carried(session, emission.transaction, {**emission.commit, **what_is_kept(emission)}):
                if reshapes:
                    _put(found.after, location, overwrites=True)
                else:
                    _write(session, found, came, went, location, overwrites=overwrites)
            written = last_version(session, location, emission.transaction.application) if emission.id else -1
            if written >= emission.transaction.version:
                _require_a_repeat(session, emission, location, written)
            return Emitted(came, went)


def _require_a_repeat(session: SparkSession, emission: Emission, location: str, last: int) -> None:
    """Raises AnotherEmission unless what the sink has of this number is this emission, as far as that can be looked up.
    `last` is the last number that the sink has of the output."""
    if not emission.id:
        return
    found = carrying(folder(location, lambda: session), emission.transaction)
    if found is None:
        # With nothing later, its commit is only too long ago to be read.
        if last == emission.transaction.version:
            return
    elif is_repeated(emission, found.said or {}):
        return
    raise another_emission(emission, location, last)


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


def _write(session: SparkSession, found: Changes, came: int, went: int, location: str, *, overwrites: bool) -> None:
    (frame, *more) = found.frames
    if found.only_inserts or more:
        # More than one: the view has other columns now, and the sink, which is new or emptied, gets all that it holds.
        if came or overwrites:
            _put(found.after, location, overwrites=overwrites)
    elif overwrites:
        _put(coming(frame), location, overwrites=True)
    elif went:
        going = frame.where(f.col(quoted(COPIES)) < 0)
        rows = [name for name in frame.columns if name != COPIES]
        merge(session, frame, with_held(session, going, rows, location), location)
    elif came:
        _put(coming(frame), location, overwrites=False)


def _put(rows: DataFrame, location: str, *, overwrites: bool) -> None:
    writer = rows.write.format("delta").mode("overwrite" if overwrites else "append")
    if overwrites:
        writer = writer.option("overwriteSchema", "true")
    writer.save(spark_location(location))
