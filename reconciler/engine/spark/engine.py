"""SparkEngine: the engine of `protocol` on Spark and Delta.

Spark is started by the first call that needs it: what can be answered from the file system (a staging folder that is
complete, a table that has the transaction already, a folder without new files, removing) starts no JVM. A Spark whose
process ended fails the call that notices it; the next call starts another.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock

from pyspark.sql import SparkSession

from reconciler.base.digest import JsonObject
from reconciler.base.errors import EngineError
from reconciler.engine.by_size import EngineBySize
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
from reconciler.engine.spark import emit, ingest, statements, tables, vacuuming, views
from reconciler.engine.spark.failures import jvm_watched
from reconciler.engine.spark.ingest import kafka_values
from reconciler.engine.spark.ingest.in_parts import Mixed
from reconciler.engine.spark.locations import Sessions, folder
from reconciler.engine.spark.pinned_files import PinnedViews
from reconciler.engine.spark.selection import Selections
from reconciler.engine.spark.session import interrupt, start, stop
from reconciler.engine.spark.small_views import SmallViews


class SparkEngine:
    """See the module. `sessions` gives the process's Spark session, starting it if need be."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._session: SparkSession | None = None
        self._closed = False
        self._starting = Lock()
        self._mixed = Mixed()
        self._selections = Selections()
        self._small_views = SmallViews()
        self._pinned_views = PinnedViews(self._small_views.few_of)

    def build_view(self, build: ViewBuild) -> Built:
        with self._watched():
            built = self._small_views.build(self._spark, build)
            if built is None:
                built = self._pinned_views.build(self._spark, build) or views.build(self._spark, build)
                self._small_views.saw(build, built)
            return built

    def build_table(self, build: TableBuild) -> Built:
        with self._watched():
            return tables.build_table(self._spark, build)

    def discover(self, connector: str, settings: JsonObject, position: JsonObject | None) -> Available | None:
        with self._watched():
            return ingest.discover(self._spark, connector, settings, position)

    def ingest(self, ingestion: Ingestion) -> Written:
        with self._watched():
            return ingest.ingest(self._spark, ingestion, self._mixed)

    def fetch(self, range_: JsonObject, config: JsonObject, most_bytes: int) -> Sequence[bytes | None] | None:
        """The values of the records of a small range of a topic, without a job of Spark (`engine.fetching`)."""
        with self._watched():
            return kafka_values.values_of(self._spark()._jvm, range_, config, most_bytes)

    def execute(self, statement: Statement) -> Written:
        with self._watched():
            return statements.execute(self._spark, statement)

    def emit(self, emission: Emission, check: Check = unchecked) -> Emitted:
        with self._watched():
            return emit.emit(self._spark, emission, check)

    def select(self, selection: Selection) -> Rows:
        with self._watched():
            return self._selections.select(self._spark, selection)

    def compact(self, compaction: Compaction) -> int | None:
        # What it would cost is more than what it saves: `by_size` does it where it is cheap.
        return None

    def may_change_rows(self, location: str) -> bool:
        return False

    def change_rows(self, changes: RowChanges) -> int | None:
        # As for `compact`: a MERGE looks through all files, at about the cost of computing the view.
        return None

    def vacuum(self, vacuum: Vacuum) -> None:
        with self._watched():
            vacuuming.vacuum(self._spark, vacuum)

    def remove(self, location: str) -> None:
        with self._watched():
            folder(location, self._spark).remove()

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """A call. Where Spark's process ended, the call fails; the next one starts another."""
        try:
            with jvm_watched():
                yield
        except EngineError as error:
            if error.code == "X707" and self._session is not None:
                stop(self._session)
                self._session = None
            raise

    def interrupt(self) -> None:
        self._selections.interrupted()
        if self._session is not None:
            with self._watched():
                interrupt(self._session)

    def close(self) -> None:
        self._closed = True
        if self._session is not None:
            stop(self._session)
            self._session = None

    def _spark(self) -> SparkSession:
        if self._closed:
            raise EngineError("X701", "the engine is closed")
        # A prune beside a run may ask when a step does.
        with self._starting:
            if self._session is None:
                self._session = self._sessions()
            return self._session


def spark_engine(
    settings: Mapping[str, str] | Callable[[], Mapping[str, str]] | None = None,
    needs_s3: bool = False,
    lives_long: bool = False,
) -> Engine:
    """An engine whose Spark starts with these settings (`spark.master` …) when it is first needed; a function that gives
    them is asked then, and when there is something small to do without it."""

    def given() -> Mapping[str, str]:
        return (settings() if callable(settings) else settings) or {}

    spark = SparkEngine(lambda: start(given(), needs_s3, lives_long))
    return EngineBySize(spark, given, spark.fetch)
