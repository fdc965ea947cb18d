"""`delta_table_input`, mode `snapshot`: all rows of another Delta table at one version, once.

The version is the configured `version`, or the last at the configured `timestamp`, or the newest when it is first asked;
from then on it is pinned in the range, so that a repeat reads the same rows. Rows have no order.
"""

from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from reconciler.digest import JsonObject
from reconciler.engine.protocol import Available, Ingestion
from reconciler.engine.spark.commits import latest_version
from reconciler.engine.spark.conform import by_name
from reconciler.engine.spark.ingest.incoming import Incoming
from reconciler.engine.spark.ingest.storage import sessions_with, storage_options
from reconciler.engine.spark.locations import Sessions, delta_reference, folder, spark_location
from reconciler.errors import EngineError


def discover(sessions: Sessions, settings: JsonObject, position: JsonObject | None) -> Available | None:
    """The snapshot, as long as it was not read."""
    if position is not None:
        return None
    config = settings["transport"]["config"]
    uri, mode = str(config["uri"]), str(config.get("mode", "snapshot"))
    if mode != "snapshot":
        raise EngineError("X716", f"mode {mode!r} of delta_table_input is not supported: only snapshot is")
    sessions = sessions_with(sessions, storage_options(config, uri))
    latest = latest_version(folder(uri, sessions))
    if latest is None:
        raise EngineError("X710", f"there is no Delta table at {uri}")
    version = _pinned(sessions, config, uri, latest)
    return Available({"uri": uri, "version": version}, {"version": version, "complete": True}, end_of_input=True)


def read(session: SparkSession, ingestion: Ingestion, settings: JsonObject) -> Incoming:
    """The rows of the pinned version."""
    config, uri = settings["transport"]["config"], str(ingestion.range["uri"])
    reader = session.read.format("delta").option("versionAsOf", str(ingestion.range["version"]))
    rows = reader.options(**storage_options(config, uri)).load(spark_location(uri))
    return Incoming(rows, by_name(rows))


def _pinned(sessions: Sessions, config: JsonObject, uri: str, latest: int) -> int:
    if config.get("version") is not None:
        version = int(config["version"])
        if version > latest:
            raise EngineError("X710", f"the Delta table at {uri} has no version {version}; its newest is {latest}")
        return version
    timestamp: Any = config.get("timestamp")
    if timestamp is None:
        return latest
    history = sessions().newSession().sql(f"DESCRIBE HISTORY {delta_reference(uri)}")
    found = history.where(f.col("timestamp") <= f.lit(str(timestamp)).cast("timestamp")).agg(f.max("version")).first()
    if found is None or found[0] is None:
        raise EngineError("X710", f"the Delta table at {uri} has no version as old as {timestamp}")
    return int(found[0])
