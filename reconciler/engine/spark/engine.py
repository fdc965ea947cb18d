"""SparkEngine: the engine of `protocol` on Spark and Delta.

Spark is started by the first call that needs it: what can be answered from the file system (a staging folder that is
complete, a table that has the transaction already, a folder without new files, removing) starts no JVM.
"""

import logging
from collections.abc import Mapping
from contextlib import suppress

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from reconciler.digest import JsonObject
from reconciler.engine.protocol import (
    Available,
    Built,
    Ingestion,
    Rows,
    Selection,
    Statement,
    ViewBuild,
    Written,
)
from reconciler.engine.spark import ingest, selection, statements, views
from reconciler.engine.spark.locations import Sessions, folder
from reconciler.engine.spark.session import start
from reconciler.errors import EngineError

# py4j logs the tracebacks of lost connections itself; what they mean is said by EngineError.
logging.getLogger("py4j").setLevel(logging.CRITICAL)


class SparkEngine:
    """See the module. `sessions` gives the process's Spark session, starting it if need be."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._session: SparkSession | None = None
        self._closed = False

    def build_view(self, build: ViewBuild) -> Built:
        return views.build(self._spark, build)

    def discover(self, connector: str, settings: JsonObject, position: JsonObject | None) -> Available | None:
        return ingest.discover(self._spark, connector, settings, position)

    def ingest(self, ingestion: Ingestion) -> Written:
        return ingest.ingest(self._spark, ingestion)

    def execute(self, statement: Statement) -> Written:
        return statements.execute(self._spark, statement)

    def select(self, selection_: Selection) -> Rows:
        return selection.select(self._spark, selection_)

    def remove(self, location: str) -> None:
        folder(location, self._spark).remove()

    def close(self) -> None:
        self._closed = True
        if self._session is not None:
            # A JVM that is gone needs no stopping, and its absence was reported by the call that found it gone.
            with suppress(Py4JError, ConnectionError, EOFError):
                self._session.stop()
            self._session = None

    def _spark(self) -> SparkSession:
        if self._closed:
            raise EngineError("X701", "the engine is closed")
        if self._session is None:
            self._session = self._sessions()
        return self._session


def spark_engine(settings: Mapping[str, str] | None = None) -> SparkEngine:
    """An engine whose Spark starts with these settings (`spark.master` …) when it is first needed."""
    return SparkEngine(lambda: start(settings))
