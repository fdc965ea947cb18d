"""An engine that has Spark, and does by itself what is small (`engine.arrow`).

Whether a call is small is told before it begins, from what is known without reading rows: Delta's log says how many there
are. What is not surely the same as Spark's is Spark's: what is done here keeps to lists of what is known, and lets
everything else be, before anything is written. So either way gives the same rows, counts and messages; what a call returns
says which it took.

- The settings of Spark are asked, too: where one is set that may have a say in what is written, Spark writes. So it does in
  a process whose settings are told elsewhere: by `spark-submit`, or in a folder that a variable names.
"""

import os
from collections.abc import Callable, Mapping
from typing import Final

from reconciler.base.digest import JsonObject
from reconciler.base.errors import RegistryError
from reconciler.engine.fetching import Fetch, not_fetched
from reconciler.engine.protocol import (
    Available,
    Built,
    Check,
    Compaction,
    Emission,
    Emitted,
    Engine,
    Ingestion,
    RowChanges,
    Rows,
    Selection,
    Statement,
    TableBuild,
    Vacuum,
    ViewBuild,
    Written,
    unchecked,
)
from reconciler.project.manifest.known_spark_settings import is_neutral

Settings = Callable[[], Mapping[str, str]]

_HOW_SPARK_WORKS: Final = (
    "spark.databricks.delta.delta.log.",
    "spark.driver.",
    "spark.executor.",
    "spark.sql.adaptive.",
    "spark.sql.codegen.",
    "spark.sql.session.timeZone",
)
"""Settings that are not neutral for queries, and have no say in what a write of rows writes that are there: these begin so.
The time zone is UTC, whatever is set."""

_CLASSES: Final = ("spark.driver.extraClassPath", "spark.driver.userClassPathFirst")
"""By these a driver may get other classes than those that are known here, as by `spark.jars`. Options of Java set no setting
of Spark: that is refused (`project.manifest.java_options`)."""

_TELL_SETTINGS: Final = ("PYSPARK_GATEWAY_PORT", "SPARK_CONF_DIR", "HADOOP_CONF_DIR")
"""Variables where Spark has settings from that are not known here."""


MANY_FILES: Final = 100
"""So many small files of a table are put together: less often than that a step pays for it, and rarely more than it."""


class EngineBySize:
    """See the module. `spark` does what is not small, and starts with what `settings` gives. `fetch` brings the records of
    a topic here. `many_files` of a table that are small are put together."""

    def __init__(self, spark: Engine, settings: Settings, fetch: Fetch = not_fetched, many_files: int = MANY_FILES) -> None:
        self.spark = spark
        self._settings = settings
        self._fetch = fetch
        self._many_files = many_files
        self._is_plain: bool | None = None
        self._is_closed = False

    def build_view(self, build: ViewBuild) -> Built:
        return self.spark.build_view(build)

    def build_table(self, build: TableBuild) -> Built:
        return self.spark.build_table(build)

    def discover(self, connector: str, settings: JsonObject, position: JsonObject | None) -> Available | None:
        return self.spark.discover(connector, settings, position)

    def ingest(self, ingestion: Ingestion) -> Written:
        if self._may_do_it():
            from reconciler.engine.arrow.ingest import ingest

            done = ingest(ingestion, self._fetch)
            if done is not None:
                return done
        return self.spark.ingest(ingestion)

    def execute(self, statement: Statement) -> Written:
        return self.spark.execute(statement)

    def emit(self, emission: Emission, check: Check = unchecked) -> Emitted:
        if self._may_do_it():
            from reconciler.engine.arrow.emit import emit

            done = emit(emission, check)
            if done is not None:
                return done
        return self.spark.emit(emission, check)

    def select(self, selection: Selection) -> Rows:
        return self.spark.select(selection)

    def compact(self, compaction: Compaction) -> int | None:
        if compaction.small_files < self._many_files or not self._may_do_it():
            return None
        from reconciler.delta.compaction import compact

        try:
            return compact(compaction.location, compaction.version, compaction.transaction, compaction.commit)
        except RegistryError:
            # Housekeeping: whoever took over is met by what comes next, and the next step tries again.
            return None

    def may_change_rows(self, location: str) -> bool:
        if not self._may_do_it():
            return False
        from reconciler.engine.arrow.row_changes import may_change_rows

        return may_change_rows(location)

    def change_rows(self, changes: RowChanges) -> int | None:
        if not self._may_do_it():
            return None
        from reconciler.engine.arrow.row_changes import change_rows

        return change_rows(changes)

    def vacuum(self, vacuum: Vacuum) -> None:
        self.spark.vacuum(vacuum)

    def remove(self, location: str) -> None:
        self.spark.remove(location)

    def interrupt(self) -> None:
        self.spark.interrupt()

    def close(self) -> None:
        self._is_closed = True
        self.spark.close()

    def _may_do_it(self) -> bool:
        """Whether nothing is set that may have a say."""
        if self._is_closed or any(os.environ.get(name) for name in _TELL_SETTINGS):
            return False
        if self._is_plain is None:
            # Asked once, as Spark asks when it starts: they are read from the registry.
            self._is_plain = all(map(_has_no_say, self._settings()))
        return self._is_plain


def _has_no_say(name: str) -> bool:
    """Whether what is written is the same, whatever is set by that name."""
    return is_neutral(name) or (name.startswith(_HOW_SPARK_WORKS) and name not in _CLASSES)
