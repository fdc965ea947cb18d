"""What outputs to storage share: a session that reaches the sink, whatever the warehouse is reached with."""

from urllib.parse import urlsplit

from pyspark.sql import SparkSession

from reconciler.digest import JsonObject
from reconciler.engine.spark.ingest.storage import storage_options
from reconciler.engine.spark.locations import Sessions, spark_location
from reconciler.engine.spark.views import isolated

_S3 = "fs.s3a."


def sink_session(sessions: Sessions, config: JsonObject, location: str) -> SparkSession:
    """A session of its own whose file systems have a connector's options. Those of S3 hold for the sink's bucket alone."""
    session = isolated(sessions, {})
    parts = urlsplit(spark_location(location))
    for name, value in storage_options(config, location).items():
        if name.startswith(_S3) and parts.scheme == "s3a" and not name.endswith(".disable.cache"):
            session.conf.set(f"{_S3}bucket.{parts.netloc}.{name.removeprefix(_S3)}", value)
        else:
            session.conf.set(name, value)
    return session
