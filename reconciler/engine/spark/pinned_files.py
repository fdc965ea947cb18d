"""Tables read by lists of their files, as Delta's log names them for a version, in place of Delta's reader: it replays the
log of each version that it has not seen, by jobs of Spark, and that takes longer than to read a table of this size.

Both read the same files by the same reader of Parquet, under the same columns. It is left to Delta's reader (None) wherever
that is not sure, or where the log helps to pass over files:

- The table is one of `delta.arrow_rows`, on a disk, of few files (`MOST_FILES`) and bytes (`MOST_BYTES`): so much is read as
  soon as it is passed over. Folders and files have plain names: Spark takes others for patterns, or for hidden.
- The view is one of `plain_views`, and what becomes of failures is said there.
- A table without rows has no files, and is no rows of this process's (`small_rows`): Delta's reader replays its log, too.
- Of a relation of which some rows are needed, only the files are read that may have these.
- A file that is gone is an error, and never the loss of its rows: Spark looks for each when the table is named, refuses
  where one is missing, and its list is held against ours.

What Spark remembers of lists of files it would not let go, and a list is needed once: so it is told to remember none.

Sources with few rows, among them what changed in a large table, may be given by who holds them (`Few`). Spark knows their
size then, and joins them without moving the rows of the others.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from reconciler.base.errors import Declared
from reconciler.delta.arrow_rows import StoredFile, arrow_schema, plain_table
from reconciler.delta.arrow_writes import all_nullable
from reconciler.delta.key_ranges import files_between
from reconciler.delta.opening import is_local
from reconciler.engine.protocol import Built, ViewBuild
from reconciler.engine.sources import LogSource, StoredSource
from reconciler.engine.spark.failures import translated
from reconciler.engine.spark.functions import failed_calls
from reconciler.engine.spark.held_rows import Held
from reconciler.engine.spark.locations import Sessions, is_plain_file, is_plain_place, spark_location
from reconciler.engine.spark.plain_settings import is_plain_session
from reconciler.engine.spark.plain_views import AskedOnce, is_determined, is_plain, left_to_spark
from reconciler.engine.spark.small_rows import can_bring_rows, frame_of
from reconciler.engine.spark.staging import staged_before, write_staged
from reconciler.engine.spark.views import isolated, log_frame, needed_of, register, result_of, stored_frame

MOST_FILES: Final = 200
MOST_BYTES: Final = 128 << 20
SETTINGS: Final = {
    "spark.sql.hive.filesourcePartitionFileCacheSize": "0",
    "spark.sql.sources.parallelPartitionDiscovery.threshold": str(10 * MOST_FILES),
}
"""Of a session that reads so. Files are looked for by the driver: a job for it would take as long as what is saved."""


Few: TypeAlias = Callable[[StoredSource | LogSource], Held | None]
"""The rows of a source that has few; None of any other."""


def none_held(source: StoredSource | LogSource) -> Held | None:
    """Nobody holds any."""
    return None


class PinnedFrames:
    """Gives stored sources as frames, as `views.stored_frame` does; `has_any`: one of them was read by its files, or by the
    rows that somebody holds."""

    def __init__(self, few: Few = none_held) -> None:
        self.has_any = False
        self._few = few

    def __call__(self, session: SparkSession, source: StoredSource | LogSource) -> DataFrame:
        held = self._few(source)
        if held is not None:
            self.has_any = True
            return frame_of(session, held.schema, held.rows)
        if isinstance(source, LogSource):
            return log_frame(session, source, self)
        frame = _by_files(session, source)
        if frame is None:
            return stored_frame(session, source)
        self.has_any = True
        return frame


class PinnedViews:
    """Views that are computed over lists of files, and written by Spark."""

    def __init__(self, few_of: Callable[[ViewBuild], Few] = lambda wanted: none_held) -> None:
        self._is_plain = AskedOnce(is_plain_session)
        self._can_bring = AskedOnce(can_bring_rows)
        self._few_of = few_of

    def build(self, sessions: Sessions, wanted: ViewBuild) -> Built | None:
        """Compute a view into its staging folder, unless that is complete. None: it is for Delta's reader."""
        done = staged_before(sessions, wanted.staging)
        if done is not None:
            return done
        if not is_plain(wanted) or not self._is_plain(sessions()):
            return None
        session = isolated(sessions, {**wanted.settings, **SETTINGS})
        frames = PinnedFrames(self._few_of(wanted) if self._can_bring(session) else none_held)
        try:
            with left_to_spark(lambda: True):
                register(session, wanted.sources, wanted.functions, wanted.staging, frames)
                if not frames.has_any:
                    return None
                with translated(wanted.shown, Declared("view", wanted.view)):
                    frame = result_of(session, wanted)
                    if not is_determined(frame, wanted):
                        return None
                    built = write_staged(session, wanted.staging, frame.hint("rebalance"), wanted.shown)
                return replace(built, failed_calls=failed_calls(session, wanted.staging))
            return None
        finally:
            # What an attempt has counted is not told with the next one.
            failed_calls(session, wanted.staging)


def _by_files(session: SparkSession, source: StoredSource) -> DataFrame | None:
    if source.ranges is not None or not is_local(source.location) or not is_plain_place(source.location):
        return None
    table = plain_table(source.location, source.version)
    files = files_between(table, source.needed) if table is not None else ()
    if table is None or not _are_few(files):
        return None
    if not files:
        schema = all_nullable(table.schema)
        return frame_of(session, schema, arrow_schema(schema).empty_table()) if can_bring_rows(session) else None
    place = spark_location(source.location.rstrip("/"))
    paths = [f"{place}/{file.path}" for file in files]
    with translated(f"reading {source.name}"):
        frame = session.read.schema(StructType.fromJson(dict(table.schema))).parquet(*paths)
        return needed_of(frame, source) if len(frame.inputFiles()) == len(paths) else None


def _are_few(files: Sequence[StoredFile]) -> bool:
    size = sum(file.bytes for file in files)
    return len(files) <= MOST_FILES and size <= MOST_BYTES and all(is_plain_file(file.path) for file in files)
