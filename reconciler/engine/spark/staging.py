"""Rows written to a staging folder: a Delta table of one commit, which is published afterwards, without Spark.

A staging folder is complete exactly when its Delta log has version 0; anything else found there is what a killed build left,
and goes. Nobody reads it by that name again, so Spark need not remember it.
"""

from typing import Any

from pyspark.sql import DataFrame, SparkSession

from reconciler.base.errors import EngineError
from reconciler.engine.protocol import Built
from reconciler.engine.spark.commit_log import built_from, read_commit
from reconciler.engine.spark.locations import Sessions, folder, spark_location


def staged_before(sessions: Sessions, staging: str) -> Built | None:
    """What a complete staging folder holds."""
    done = read_commit(folder(staging, sessions), 0)
    return None if done is None else built_from(done, reused=True)


def write_staged(session: SparkSession, staging: str, rows: DataFrame, what: str) -> Built:
    """Write rows to a staging folder that is not complete."""
    place = folder(staging, lambda: session)
    place.remove()
    rows.write.format("delta").mode("errorifexists").save(spark_location(staging))
    _forget(session, staging)
    written = read_commit(place, 0)
    if written is None:
        raise EngineError("X700", f"{what}: Spark reported success, but {staging} holds no Delta table")
    return built_from(written, reused=False)


def _forget(session: SparkSession, location: str) -> None:
    # Delta would keep the state of each of them for an hour, and a live pipeline stages every view at every step.
    jvm: Any = session._jvm
    path = jvm.org.apache.hadoop.fs.Path(spark_location(location))
    jvm.org.apache.spark.sql.delta.DeltaLog.invalidateCache(session._jsparkSession, path)
