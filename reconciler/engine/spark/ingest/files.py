"""`file_input`: every file of a path read once, in the order of their paths (see `engine.files` for positions).

A range names files with size and time of change; just those are read, and only if they are still the same.
"""

from pyspark.sql import SparkSession

from reconciler.digest import JsonObject
from reconciler.engine.files import changed, files_of, unread
from reconciler.engine.protocol import Available, Ingestion
from reconciler.engine.spark.ingest import formats
from reconciler.engine.spark.ingest.incoming import Incoming
from reconciler.engine.spark.ingest.listing import file_at, listing
from reconciler.engine.spark.locations import Sessions


def discover(sessions: Sessions, settings: JsonObject, position: JsonObject | None) -> Available | None:
    """The files that were not read."""
    return unread(listing(str(settings["transport"]["config"]["path"]), sessions), position)


def read(session: SparkSession, ingestion: Ingestion, settings: JsonObject) -> Incoming:
    """The rows of the range's files."""
    wanted = files_of(ingestion.range)
    for file in wanted:
        if file_at(file.path, lambda: session) != file:
            raise changed(file)
    return formats.read(session, [file.path for file in wanted], settings.get("format") or {}, ingestion.target.columns)
