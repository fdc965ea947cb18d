"""Delta's VACUUM, over exactly the files that it is given.

An inventory says what may be removed, and Delta removes of it what the newest version of the table does not name. So no
time decides here, and nothing else of the folder is touched. Nothing is written to the table's log: what was removed is
recorded by whoever asks.
"""

from pyspark.sql.types import BooleanType, LongType, StringType, StructField, StructType

from reconciler.engine.protocol import Vacuum
from reconciler.engine.spark.failures import translated
from reconciler.engine.spark.locations import Sessions, delta_reference, hadoop_path
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


def vacuum(sessions: Sessions, wanted: Vacuum) -> None:
    """Remove the files; see the module."""
    session = isolated(sessions, {})
    if not wanted.files:
        return
    for name, text in _SETTINGS.items():
        session.conf.set(name, text)
    with translated(f"vacuum of {wanted.location}"):
        files, path = hadoop_path(session, wanted.location)
        # As Delta spells it: nothing is escaped, and the scheme has one slash.
        base = str(files.makeQualified(path).toString())
        rows = [(f"{base}/{one}", 0, False, 0) for one in wanted.files]
        session.createDataFrame(rows, _COLUMNS).createOrReplaceTempView(_INVENTORY)
        inventory = f"SELECT path, length, isDir, modificationTime FROM {_INVENTORY}"
        session.sql(f"VACUUM {delta_reference(wanted.location)} USING INVENTORY ({inventory}) RETAIN 0 HOURS").collect()
