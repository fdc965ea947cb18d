"""`http_input`: requests read as JSON files (see `engine.http_ranges` for positions and ranges)."""

from typing import Final

from pyspark.sql import SparkSession

from reconciler.base.digest import JsonObject
from reconciler.engine.http_ranges import as_files, unread
from reconciler.engine.protocol import Available, Ingestion
from reconciler.engine.spark.ingest import files
from reconciler.engine.spark.ingest.incoming import Incoming
from reconciler.engine.spark.locations import Sessions

_MANY_SMALL_FILES: Final = {
    # Else Spark looks for each file in a task of its own, and reads 32 in one: thousands take it half a minute.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
    "spark.sql.files.openCostInBytes": "65536",
}


def discover(sessions: Sessions, settings: JsonObject, position: JsonObject | None) -> Available | None:
    """The requests that were not read."""
    return unread(settings, position)


def read(session: SparkSession, ingestion: Ingestion, settings: JsonObject) -> Incoming:
    """The rows of the range's requests."""
    for name, value in _MANY_SMALL_FILES.items():
        session.conf.set(name, value)
    return files.read(session, *as_files(ingestion, settings))
