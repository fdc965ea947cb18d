"""What outputs to storage share: a session that reaches the sink, whatever the warehouse is reached with. No sink lies
within a warehouse."""

import re

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from reconciler.base.digest import JsonObject
from reconciler.delta.warehouse_places import places_of_registries
from reconciler.engine.protocol import Emission
from reconciler.engine.sink_places import require_outside_of_warehouses, within
from reconciler.engine.spark.ingest.storage import storage_options
from reconciler.engine.spark.locations import Sessions, hadoop_path, local_path, scheme_and_authority, spark_location
from reconciler.engine.spark.views import isolated

_S3 = "fs.s3a."
_DENIED = re.compile(r"AccessDenied|AccessControlException|\b403\b")


def sink_session(sessions: Sessions, config: JsonObject, location: str) -> SparkSession:
    """A session of its own whose file systems have a connector's options. Those of S3 hold for the sink's bucket alone."""
    session = isolated(sessions, {})
    scheme, authority = scheme_and_authority(spark_location(location))
    for name, value in storage_options(config, location).items():
        if name.startswith(_S3) and scheme == "s3a" and not name.endswith(".disable.cache"):
            session.conf.set(f"{_S3}bucket.{authority}.{name.removeprefix(_S3)}", value)
        else:
            session.conf.set(name, value)
    return session


def require_no_registry_around(session: SparkSession, emission: Emission, location: str) -> None:
    """`require_outside_of_warehouses`, with what only the connector's options can tell of a store."""
    require_outside_of_warehouses(emission, location)
    if local_path(location) is not None:
        return
    for folder, mark in places_of_registries(location):
        if _exists(session, mark):
            raise within(emission, folder)


def _exists(session: SparkSession, location: str) -> bool:
    files, path = hadoop_path(session, location)
    try:
        return bool(files.exists(path))
    except Py4JJavaError as error:
        # Credentials for one folder of a bucket may not let anybody look at what lies beside it.
        if not _DENIED.search(str(error.java_exception)):
            raise
        return False
