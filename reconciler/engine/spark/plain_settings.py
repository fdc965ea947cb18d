"""Which settings surely leave it open how rows come to Spark and how they are written: a list of what is known to.

All others may mean something for readers or writers of tables (calendars of Parquet, hints of Delta, extensions of Spark),
and where one of them is set Spark reads and writes by itself.
"""

from collections.abc import Mapping
from typing import Final

from pyspark.sql import SparkSession

from reconciler.engine.spark.starting_settings import LOG_STORES, TYPES_FRAMEWORK
from reconciler.project.manifest.known_spark_settings import is_neutral

_DECIDING: Final = ("spark.sql.", "spark.databricks.", "spark.delta.", "spark.hadoop.")
"""How the names of settings begin that have a say in queries and tables; all others are of the process."""

_OF_QUERIES: Final = frozenset(
    {
        "spark.sql.ansi.enabled",
        "spark.sql.codegen.factoryMode",
        "spark.sql.codegen.wholeStage",
        "spark.sql.groupByAliases",
        "spark.sql.groupByOrdinal",
        "spark.sql.mapKeyDedupPolicy",
        "spark.sql.orderByOrdinal",
        "spark.sql.session.timeZone",
        "spark.sql.timestampType",
    }
)
_OF_PROCESSES: Final = frozenset(
    {
        "spark.databricks.delta.delta.log.cacheRetentionMinutes",
        "spark.databricks.delta.delta.log.cacheSize",
        "spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration",
        "spark.sql.artifact.isolation.enabled",
        "spark.sql.broadcastExchange.maxThreadThreshold",
        "spark.sql.resultQueryStage.maxThreadThreshold",
        "spark.sql.shuffleExchange.maxThreadThreshold",
        "spark.sql.warehouse.dir",
    }
)
_STARTED_WITH: Final = {
    **LOG_STORES,
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    TYPES_FRAMEWORK: "false",
    "spark.sql.variant.writeShredding.enabled": "false",
}
_FILE_SYSTEMS: Final = "spark.hadoop.fs."


def are_plain(settings: Mapping[str, str]) -> bool:
    """Whether the settings of a query are."""
    return all(_is_of_queries(name) for name in settings)


def is_plain_session(session: SparkSession) -> bool:
    """Whether what Spark was started with is."""
    return is_plain_start(dict(session.sparkContext.getConf().getAll()))


def is_plain_start(settings: Mapping[str, str]) -> bool:
    """Whether all settings of a context are."""
    return all(
        not name.startswith(_DECIDING)
        or _is_of_queries(name)
        or name in _OF_PROCESSES
        or name.startswith(_FILE_SYSTEMS)
        or _STARTED_WITH.get(name) == text
        for name, text in settings.items()
    )


def _is_of_queries(name: str) -> bool:
    return name in _OF_QUERIES or (is_neutral(name) and not name.startswith("spark.hadoop"))
