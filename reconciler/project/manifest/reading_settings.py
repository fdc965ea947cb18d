"""Which settings leave alone how Spark reads a query: how its text is parsed and analysed, what names mean in it, and how
columns without a name are called.

That queries mean the same (`sql.canonicalise`) and what they descend from (`sql.lineage`) is proven for how Spark does this
by itself. So this is a list of what is known to leave it alone, whatever its value; a setting that is not on it and has
another value than Spark gives it by itself may matter (`spark.sql.ansi.doubleQuotedIdentifiers`,
`spark.sql.legacy.setopsPrecedence.enabled`, `spark.sql.stableDerivedColumnAlias.enabled`, and whatever is unknown).

What decides the values of a query and not how it is read is on the list: it is told as a change of settings. Nothing that
is named legacy is.
"""

from collections.abc import Mapping
from typing import Final

from reconciler.project.manifest.known_spark_settings import Family, is_neutral

LEAVING_READING_ALONE: Final = (
    Family(
        "they say what casts, functions and moments give; the code that reads queries goes by them itself",
        (
            "spark.sql.ansi.enabled",
            "spark.sql.datetime.java8API.enabled",
            "spark.sql.mapKeyDedupPolicy",
            "spark.sql.session.timeZone",
        ),
    ),
    Family("they are set by reconciler, whatever is said", ("spark.sql.variable.substitute",)),
    Family(
        "they say how far recursion goes before it fails",
        ("spark.sql.cteRecursionLevelLimit", "spark.sql.cteRecursionRowLimit"),
    ),
    Family(
        "they say how values are taken from texts and files, and written",
        (
            "spark.sql.avro.*",
            "spark.sql.columnNameOfCorruptRecord",
            "spark.sql.csv.*",
            "spark.sql.files.*",
            "spark.sql.json.*",
            "spark.sql.jsonGenerator.*",
            "spark.sql.orc.*",
            "spark.sql.parquet.*",
            "spark.sql.xml.*",
        ),
    ),
    Family(
        "they say how a query that was read is rewritten and carried out",
        (
            "spark.sql.adaptive.*",
            "spark.sql.bucketing.*",
            "spark.sql.cbo.*",
            "spark.sql.codegen.*",
            "spark.sql.constraintPropagation.enabled",
            "spark.sql.exchange.*",
            "spark.sql.execution.*",
            "spark.sql.inMemoryColumnarStorage.*",
            "spark.sql.join.*",
            "spark.sql.limit.*",
            "spark.sql.maxSinglePartitionBytes",
            "spark.sql.objectHashAggregate.*",
            "spark.sql.optimizeNullAwareAntiJoin",
            "spark.sql.optimizer.*",
            "spark.sql.orderingAwareLimitOffset",
            "spark.sql.planner.*",
            "spark.sql.requireAllClusterKeysFor*",
            "spark.sql.shuffle.*",
            "spark.sql.statistics.*",
            "spark.sql.streaming.*",
            "spark.sql.subexpressionElimination.*",
            "spark.sql.unionOutputPartitioning",
            "spark.sql.window.*",
        ),
    ),
    Family(
        "they say what Spark tells of its work",
        ("spark.sql.debug.*", "spark.sql.event.*", "spark.sql.planChangeLog.*", "spark.sql.redaction.*", "spark.sql.ui.*"),
    ),
    Family(
        "they say how Delta keeps tables, and which stores these are in",
        ("spark.databricks.delta.*", "spark.delta.*"),
    ),
    Family(
        "they belong to Spark's core, which knows no queries: processes, memory, networks, files, stores and secrets",
        (
            *("spark.acls.*", "spark.admin.acls*", "spark.app.*", "spark.archives", "spark.authenticate*"),
            *("spark.barrier.*", "spark.blockManager.*", "spark.broadcast.*", "spark.buffer.*"),
            *("spark.checkpoint.*", "spark.cleaner.*", "spark.closure.*", "spark.cores.*"),
            *("spark.decommission.*", "spark.default.*", "spark.deploy.*", "spark.driver.*"),
            *("spark.dynamicAllocation.*", "spark.eventLog.*", "spark.excludeOnFailure.*", "spark.executor.*"),
            *("spark.executorEnv.*", "spark.files", "spark.files.*", "spark.hadoop.*", "spark.history.*"),
            *("spark.io.*", "spark.jars", "spark.jars.*", "spark.kerberos.*", "spark.kryo.*"),
            *("spark.kryoserializer.*", "spark.kubernetes.*", "spark.launcher.*", "spark.local.*"),
            *("spark.locality.*", "spark.log.*", "spark.master", "spark.memory.*", "spark.metrics.*"),
            *("spark.modify.acls*", "spark.network.*", "spark.port.*", "spark.pyspark.*"),
            *("spark.python.daemon.*", "spark.python.profile*", "spark.python.worker.*", "spark.rdd.*"),
            *("spark.reducer.*", "spark.redaction.*", "spark.resources.*", "spark.rpc.*", "spark.scheduler.*"),
            *("spark.security.*", "spark.serializer", "spark.serializer.*", "spark.shuffle.*"),
            *("spark.speculation", "spark.speculation.*", "spark.ssl.*", "spark.stage.*", "spark.storage.*"),
            *("spark.submit.*", "spark.task.*", "spark.ui.*", "spark.unsafe.*", "spark.user.groups.mapping"),
            *("spark.worker.*", "spark.yarn.*"),
        ),
    ),
)
"""Settings that leave reading alone, whatever their value."""

BY_ITSELF: Final[Mapping[str, str]] = {
    "spark.sql.allowNamedFunctionArguments": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.ansi.enforceReservedKeywords": "false",
    "spark.sql.ansi.relationPrecedence": "false",
    "spark.sql.caseSensitive": "false",
    "spark.sql.charAsVarchar": "false",
    "spark.sql.crossJoin.enabled": "true",
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.function.concatBinaryAsString": "false",
    "spark.sql.function.eltOutputAsString": "false",
    "spark.sql.groupByAliases": "true",
    "spark.sql.groupByOrdinal": "true",
    "spark.sql.lateralColumnAlias.enableImplicitResolution": "true",
    "spark.sql.legacy.setopsPrecedence.enabled": "false",
    "spark.sql.operatorPipeSyntaxEnabled": "true",
    "spark.sql.orderByOrdinal": "true",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
    "spark.sql.parser.singleCharacterPipeOperator.enabled": "true",
    "spark.sql.stableDerivedColumnAlias.enabled": "false",
    "spark.sql.timestampType": "timestamp_ltz",
}
"""The values that Spark gives by itself to settings that would matter otherwise, as `program.settings` compares values."""


def leaves_reading_alone(name: str, value: str) -> bool:
    """Whether Spark surely reads queries under this setting as it does by itself. `value` as values are compared."""
    if BY_ITSELF.get(name) == value:
        return True
    if "legacy" in name.lower():
        return False
    return is_neutral(name) or any(family.has(name) for family in LEAVING_READING_ALONE)
