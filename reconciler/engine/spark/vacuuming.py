"""Delta's VACUUM, over exactly the files that it is given.

An inventory says what may be removed, and Delta removes of it what the newest version of the table does not name. So no
time decides here, and nothing else of the folder is touched. Nothing is written to the table's log: what was removed is
recorded by whoever asks.

On an object store a folder is a mark, an object of its own that stays when all in the folder went. So those in which these
files stood are removed, too, as far as nothing is in them. On a disk the caller does that, who needs no JVM for it.
"""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import PurePosixPath
from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.sql.types import BooleanType, LongType, StringType, StructField, StructType

from reconciler.engine.protocol import Vacuum
from reconciler.engine.spark.failures import translated
from reconciler.engine.spark.locations import Sessions, delta_reference, hadoop_path, local_path
from reconciler.engine.spark.views import isolated

_INVENTORY = "reconcile_inventory"
_COLUMNS = StructType(
    [
        StructField("path", StringType()),
        StructField("length", LongType()),
        StructField("isDir", BooleanType()),
        StructField("modificationTime", LongType()),
    ]
)
_SETTINGS = {
    # The inventory decides; a time would only be in its way.
    "spark.databricks.delta.retentionDurationCheck.enabled": "false",
    "spark.databricks.delta.vacuum.logging.enabled": "false",
    "spark.sql.adaptive.enabled": "false",
}
_AT_ONCE: Final = 16
_OF_A_LOG: Final = "_staged_commits"
"""A folder that Delta makes in each log, and has no use for here."""


def vacuum(sessions: Sessions, wanted: Vacuum) -> None:
    """Remove the files; see the module."""
    session = isolated(sessions, {})
    if not wanted.files:
        return
    for name, text in _SETTINGS.items():
        session.conf.set(name, text)
    is_local = local_path(wanted.location) is not None
    # Else Delta asks a store for one file after the other.
    session.conf.set("spark.databricks.delta.vacuum.parallelDelete.enabled", "false" if is_local else "true")
    with translated(f"vacuum of {wanted.location}"):
        files, path = hadoop_path(session, wanted.location)
        # As Delta spells it: nothing is escaped, and the scheme has one slash.
        base = str(files.makeQualified(path).toString())
        rows = [(f"{base}/{one}", 0, False, 0) for one in wanted.files]
        session.createDataFrame(rows, _COLUMNS).createOrReplaceTempView(_INVENTORY)
        inventory = f"SELECT path, length, isDir, modificationTime FROM {_INVENTORY}"
        session.sql(f"VACUUM {delta_reference(wanted.location)} USING INVENTORY ({inventory}) RETAIN 0 HOURS").collect()
        if not is_local:
            _remove_empty(files, path, wanted.files)


def _remove_empty(files: Any, place: Any, paths: Iterable[str]) -> None:
    """Remove the folders of these paths below a place, the innermost first; what has something in it stays."""

    def remove(folder: PurePosixPath) -> None:
        try:
            files.delete(place.suffix(f"/{folder}"), False)
        except Py4JJavaError:
            return  # something is in it, or the store is away: an empty folder does no harm

    found = {folder for path in paths for folder in PurePosixPath(path).parents if folder.name}
    found |= {folder / _OF_A_LOG for folder in found if folder.name == "_delta_log"}
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        for _, folders in groupby(sorted(found, key=_depth), key=_depth):
            list(threads.map(remove, sorted(folders)))


def _depth(folder: PurePosixPath) -> int:
    return -len(folder.parts)
