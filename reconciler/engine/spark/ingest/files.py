"""`file_input`: every file of a path read once, in the order of their paths (see `engine.files` for positions).

A range names files with size and time of change; just those are read, and only if they are still the same.
"""

from pyspark.sql import SparkSession

from reconciler.base.digest import JsonObject
from reconciler.engine.files import changed, files_of, unread
from reconciler.engine.protocol import Available, Ingestion
from reconciler.engine.spark.ingest import formats
from reconciler.engine.spark.ingest.incoming import Incoming
from reconciler.engine.spark.ingest.listing import file_at, listing
from reconciler.engine.spark.ingest.storage import sessions_with, storage_options
from reconciler.engine.spark.locations import Sessions


def discover(sessions: Sessions, settings: JsonObject, position: JsonObject | None) -> Available | None:
    """The files that were not read, `max_batch_size` of them at most: how many records a file holds is not known before."""
    config = settings["transport"]["config"]
    path = str(config["path"])
    found = listing(path, sessions_with(sessions, storage_options(config, path)))
    return unread(found, position, settings.get("max_batch_size"))


def read(session: SparkSession, ingestion: Ingestion, settings: JsonObject) -> Incoming:
    """The rows of the range's files."""
    config = settings["transport"]["config"]
    options = storage_options(config, str(config["path"]))
    looking = sessions_with(lambda: session, options)
    wanted = files_of(ingestion.range)
    for file in wanted:
        if file_at(file.path, looking) != file:
            raise changed(file)
    paths = [file.path for file in wanted]
    return formats.read(session, paths, settings.get("format") or {}, ingestion.target, options)
