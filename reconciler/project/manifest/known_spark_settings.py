"""What is known of Spark's settings, by family: which can't change a result, and which a pipeline's files may set.

Two questions, and both lists are of what is known; whatever is on neither is unknown, and unknown means that it matters:

- Neutral: no row of any result depends on it. Its change recomputes nothing. Every other setting is meaning, names that
  Spark does not know included.
- Harmless: its value names no code, file, folder, host or command, so that whoever writes a pipeline's files may set it. All
  others would let a pull request choose what a driver loads or where it sends what it knows: they are the environment's.

Names are compared as Spark compares them, letter by letter. A name that ends in `*` stands for all that begin so.
"""

from collections.abc import Iterator
from typing import Final

from reconciler.base.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Family:
    """Settings of one kind, and why they are on the list."""

    why: str
    names: tuple[str, ...]

    def has(self, name: str) -> bool:
        """Whether a setting belongs to it."""
        return any(name.startswith(one[:-1]) if one.endswith("*") else name == one for one in self.names)


NEUTRAL: Final = (
    Family(
        "they say into how many tasks work is cut; which rows there are does not depend on it",
        (
            "spark.default.parallelism",
            "spark.sql.adaptive.advisoryPartitionSizeInBytes",
            "spark.sql.adaptive.coalescePartitions.*",
            "spark.sql.adaptive.enabled",
            "spark.sql.adaptive.forceOptimizeSkewedJoin",
            "spark.sql.adaptive.localShuffleReader.enabled",
            "spark.sql.adaptive.nonEmptyPartitionRatioForBroadcastJoin",
            "spark.sql.adaptive.optimizeSkewsInRebalancePartitions.enabled",
            "spark.sql.adaptive.rebalancePartitionsSmallPartitionFactor",
            "spark.sql.adaptive.skewJoin.*",
            "spark.sql.files.maxPartitionBytes",
            "spark.sql.files.maxPartitionNum",
            "spark.sql.files.minPartitionNum",
            "spark.sql.files.openCostInBytes",
            "spark.sql.leafNodeDefaultParallelism",
            "spark.sql.shuffle.partitions",
            "spark.sql.sources.parallelPartitionDiscovery.*",
            "spark.databricks.delta.snapshotPartitions",
        ),
    ),
    Family(
        "they choose among ways to join and to sort that give the same rows",
        (
            "spark.sql.adaptive.autoBroadcastJoinThreshold",
            "spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold",
            "spark.sql.autoBroadcastJoinThreshold",
            "spark.sql.exchange.reuse",
            "spark.sql.execution.reuseSubquery",
            "spark.sql.join.preferSortMergeJoin",
            "spark.sql.maxBroadcastTableSize",
            "spark.sql.optimizer.dynamicPartitionPruning.*",
            "spark.sql.optimizer.runtime.bloomFilter.*",
            "spark.sql.shuffledHashJoinFactor",
            "spark.sql.sort.enableRadixSort",
        ),
    ),
    Family(
        "they say how much is held in memory before it goes to disk, and in what portions",
        (
            "spark.kryoserializer.buffer",
            "spark.kryoserializer.buffer.max",
            "spark.memory.fraction",
            "spark.memory.offHeap.enabled",
            "spark.memory.offHeap.size",
            "spark.memory.storageFraction",
            "spark.sql.cartesianProductExec.buffer.*",
            "spark.sql.inMemoryColumnarStorage.batchSize",
            "spark.sql.inMemoryColumnarStorage.compressed",
            "spark.sql.orc.columnarReaderBatchSize",
            "spark.sql.orc.columnarWriterBatchSize",
            "spark.sql.parquet.columnarReaderBatchSize",
            "spark.sql.sessionWindow.buffer.*",
            "spark.sql.sortMergeJoinExec.buffer.*",
            "spark.sql.windowExec.buffer.*",
        ),
    ),
    Family(
        "they say how tasks hand rows to each other; the rows are the same",
        (
            "spark.broadcast.blockSize",
            "spark.broadcast.checksum",
            "spark.broadcast.compress",
            "spark.rdd.compress",
            "spark.reducer.maxBlocksInFlightPerAddress",
            "spark.reducer.maxReqsInFlight",
            "spark.reducer.maxSizeInFlight",
            "spark.shuffle.compress",
            "spark.shuffle.file.buffer",
            "spark.shuffle.io.maxRetries",
            "spark.shuffle.io.retryWait",
            "spark.shuffle.sort.bypassMergeThreshold",
            "spark.shuffle.spill.*",
        ),
    ),
    Family(
        "they say how large a part of a query is compiled at once, and how many compiled ones are kept",
        (
            "spark.sql.codegen.cache.maxEntries",
            "spark.sql.codegen.comments",
            "spark.sql.codegen.hugeMethodLimit",
            "spark.sql.codegen.logging.maxLines",
            "spark.sql.codegen.maxFields",
            "spark.sql.codegen.methodSplitThreshold",
        ),
    ),
    Family(
        "they say how long Spark waits and how often it tries again; what fails for good has no result",
        (
            "spark.excludeOnFailure.*",
            "spark.executor.heartbeatInterval",
            "spark.locality.wait",
            "spark.locality.wait.*",
            "spark.network.timeout",
            "spark.rpc.askTimeout",
            "spark.rpc.lookupTimeout",
            "spark.scheduler.maxRegisteredResourcesWaitingTime",
            "spark.scheduler.minRegisteredResourcesRatio",
            "spark.scheduler.mode",
            "spark.speculation",
            "spark.speculation.*",
            "spark.sql.broadcastTimeout",
            "spark.stage.maxAttempts",
            "spark.stage.maxConsecutiveAttempts",
            "spark.task.maxFailures",
        ),
    ),
    Family(
        "they say what Spark tells of its work",
        (
            "spark.log.level",
            "spark.sql.adaptive.logLevel",
            "spark.sql.codegen.logLevel",
            "spark.sql.debug.maxToStringFields",
            "spark.sql.event.truncate.length",
            "spark.sql.maxMetadataStringLength",
            "spark.sql.maxPlanStringLength",
            "spark.sql.planChangeLog.level",
            "spark.sql.ui.explainMode",
            "spark.sql.ui.retainedExecutions",
            "spark.ui.dagGraph.retainedRootRDDs",
            "spark.ui.retainedDeadExecutors",
            "spark.ui.retainedJobs",
            "spark.ui.retainedStages",
            "spark.ui.retainedTasks",
            "spark.ui.showConsoleProgress",
        ),
    ),
)
"""Neutral and harmless."""

CREDENTIALS: Final = (
    "spark.authenticate.secret",
    "spark.hadoop.fs.s3a.access.key",
    "spark.hadoop.fs.s3a.secret.key",
    "spark.hadoop.fs.s3a.session.token",
)
"""Their values are never recorded nor shown."""

NEUTRAL_OF_THE_ENVIRONMENT: Final = (
    Family(
        "they say where work is done, and with how many processes of what size",
        (
            "spark.app.name",
            "spark.cores.max",
            "spark.driver.cores",
            "spark.driver.maxResultSize",
            "spark.driver.memory",
            "spark.driver.memoryOverhead",
            "spark.driver.memoryOverheadFactor",
            "spark.dynamicAllocation.*",
            "spark.executor.cores",
            "spark.executor.instances",
            "spark.executor.memory",
            "spark.executor.memoryOverhead",
            "spark.executor.memoryOverheadFactor",
            "spark.executor.pyspark.memory",
            "spark.kubernetes.namespace",
            "spark.master",
            "spark.submit.deployMode",
            "spark.task.cpus",
            "spark.yarn.queue",
        ),
    ),
    Family(
        "they say by which addresses the processes find each other, and how what they send is kept from others",
        (
            "spark.authenticate",
            "spark.blockManager.port",
            "spark.driver.bindAddress",
            "spark.driver.blockManager.port",
            "spark.driver.host",
            "spark.driver.port",
            "spark.io.encryption.enabled",
            "spark.network.crypto.enabled",
            "spark.port.maxRetries",
        ),
    ),
    Family(
        "they say where Spark shows and writes what it did, and where it puts what does not fit into memory",
        (
            "spark.eventLog.compress",
            "spark.eventLog.dir",
            "spark.eventLog.enabled",
            "spark.eventLog.rolling.*",
            "spark.local.dir",
            "spark.ui.enabled",
            "spark.ui.killEnabled",
            "spark.ui.port",
        ),
    ),
    Family("they say who asks a store or a service, not what it holds", CREDENTIALS),
    Family(
        "they say how much is asked of a store at once, and how often again",
        (
            "spark.hadoop.fs.s3a.attempts.maximum",
            "spark.hadoop.fs.s3a.block.size",
            "spark.hadoop.fs.s3a.connection.maximum",
            "spark.hadoop.fs.s3a.connection.timeout",
            "spark.hadoop.fs.s3a.fast.upload.*",
            "spark.hadoop.fs.s3a.multipart.*",
            "spark.hadoop.fs.s3a.retry.*",
            "spark.hadoop.fs.s3a.threads.max",
        ),
    ),
)
"""Neutral, but for the environment to say: they name hosts, folders, files or who one is."""

HARMLESS: Final = (
    Family(
        "they say how SQL is read and what its functions and casts give",
        (
            "spark.sql.allowNamedFunctionArguments",
            "spark.sql.analyzer.*",
            "spark.sql.ansi.*",
            "spark.sql.charAsVarchar",
            "spark.sql.chunkBase64String.enabled",
            "spark.sql.collation.*",
            "spark.sql.crossJoin.enabled",
            "spark.sql.cteRecursion*",
            "spark.sql.datetime.*",
            "spark.sql.decimalOperations.*",
            "spark.sql.enforceTypeCoercionBeforeUnionDeduplication.enabled",
            "spark.sql.function.*",
            "spark.sql.functionResolution.*",
            "spark.sql.groupByAliases",
            "spark.sql.groupByOrdinal",
            "spark.sql.icu.*",
            "spark.sql.lateralColumnAlias.*",
            "spark.sql.legacy.*",
            "spark.sql.listagg.*",
            "spark.sql.mapKeyDedupPolicy",
            "spark.sql.mapZipWithUsesJavaCollections",
            "spark.sql.operatorPipeSyntaxEnabled",
            "spark.sql.orderByOrdinal",
            "spark.sql.parser.*",
            "spark.sql.pivotMaxValues",
            "spark.sql.preserveCharVarcharTypeInfo",
            "spark.sql.prioritizeOrdinalResolutionInSort.enabled",
            "spark.sql.readSideCharPadding",
            "spark.sql.retainGroupColumns",
            "spark.sql.runCollationTypeCastsBeforeAliasAssignment.enabled",
            "spark.sql.selfJoinAutoResolveAmbiguity",
            "spark.sql.session.collation.*",
            "spark.sql.session.timeZone",
            "spark.sql.stableDerivedColumnAlias.*",
            "spark.sql.storeAssignmentPolicy",
            "spark.sql.timeType.enabled",
            "spark.sql.timestampType",
            "spark.sql.transposeMaxValues",
            "spark.sql.tvf.*",
            "spark.sql.variant.*",
            "spark.sql.view.*",
        ),
    ),
    Family(
        "they say how values are taken from texts and files, and written",
        (
            "spark.sql.avro.*",
            "spark.sql.binaryOutputStyle",
            "spark.sql.columnNameOfCorruptRecord",
            "spark.sql.csv.*",
            "spark.sql.files.*",
            "spark.sql.json.*",
            "spark.sql.jsonGenerator.*",
            "spark.sql.orc.*",
            "spark.sql.parquet.aggregatePushdown",
            "spark.sql.parquet.binaryAsString",
            "spark.sql.parquet.compression.codec",
            "spark.sql.parquet.datetimeRebaseModeInRead",
            "spark.sql.parquet.datetimeRebaseModeInWrite",
            "spark.sql.parquet.enable*",
            "spark.sql.parquet.fieldId.*",
            "spark.sql.parquet.filterPushdown*",
            "spark.sql.parquet.ignoreVariantAnnotation",
            "spark.sql.parquet.inferTimestampNTZ.enabled",
            "spark.sql.parquet.int96*",
            "spark.sql.parquet.mergeSchema",
            "spark.sql.parquet.outputTimestampType",
            "spark.sql.parquet.pushdown.*",
            "spark.sql.parquet.reader.*",
            "spark.sql.parquet.recordLevelFilter.enabled",
            "spark.sql.parquet.respectSummaryFiles",
            "spark.sql.parquet.variant.*",
            "spark.sql.parquet.writeLegacyFormat",
            "spark.sql.xml.*",
        ),
    ),
    Family(
        "they say how values go to functions in Python and come back",
        (
            "spark.sql.execution.arrow.*",
            "spark.sql.execution.pandas.*",
            "spark.sql.execution.pyspark.binaryAsBytes",
            "spark.sql.execution.python.udf.*",
            "spark.sql.execution.pythonUDF.*",
            "spark.sql.execution.pythonUDTF.*",
        ),
    ),
    Family(
        "they say how a query is rewritten and carried out; nothing vouches for each of them that rows stay the same",
        (
            "spark.sql.adaptive.applyFinalStageShuffleOptimizations",
            "spark.sql.adaptive.fetchShuffleBlocksInBatch",
            "spark.sql.adaptive.forceApply",
            "spark.sql.adaptive.optimizer.excludedRules",
            "spark.sql.alwaysInlineCommonExpr",
            "spark.sql.bucketing.*",
            "spark.sql.cbo.*",
            "spark.sql.codegen.*",
            "spark.sql.constraintPropagation.enabled",
            "spark.sql.execution.broadcastHashJoin.*",
            "spark.sql.execution.rangeExchange.*",
            "spark.sql.execution.removeRedundant*",
            "spark.sql.execution.replaceHashWithSortAgg",
            "spark.sql.execution.sortBeforeRepartition",
            "spark.sql.execution.topKSortFallbackThreshold",
            "spark.sql.execution.useObjectHashAggregateExec",
            "spark.sql.execution.usePartitionEvaluator",
            "spark.sql.limit.*",
            "spark.sql.maxSinglePartitionBytes",
            "spark.sql.objectHashAggregate.*",
            "spark.sql.optimizeNullAwareAntiJoin",
            "spark.sql.optimizer.*",
            "spark.sql.orderingAwareLimitOffset",
            "spark.sql.requireAllClusterKeysFor*",
            "spark.sql.statistics.*",
            "spark.sql.subexpressionElimination.*",
            "spark.sql.unionOutputPartitioning",
            "spark.sql.useCommonExprIdForAlias",
            "spark.sql.window.*",
        ),
    ),
)
"""Harmless, but not known to be neutral."""

DECIDING_WHAT_IS_READ: Final = Family(
    "they decide which files and records are read, and which values are taken from them",
    (
        "spark.files.ignore*",
        "spark.sql.avro.*",
        "spark.sql.columnNameOfCorruptRecord",
        "spark.sql.csv.*",
        "spark.sql.files.ignore*",
        "spark.sql.json.*",
        "spark.sql.legacy.avro.*",
        "spark.sql.legacy.csv.*",
        "spark.sql.legacy.json.*",
        "spark.sql.legacy.parquet.*",
        "spark.sql.legacy.timeParserPolicy",
        "spark.sql.orc.*",
        "spark.sql.parquet.*",
        "spark.sql.xml.*",
    ),
)

_REASONS_AGAINST: Final = (
    (("spark.app.name",), "reconciler names its sessions"),
    (("spark.cores.max",), "set runtime.workers instead, the number of parallel tasks"),
    (("spark.sql.caseSensitive",), "names are case-insensitive here"),
    (("spark.sql.variable.substitute",), "reconciler substitutes nothing in queries"),
    (
        ("spark.sql.warehouse.dir", "spark.sql.catalog*", "spark.sql.defaultCatalog"),
        "reconciler chooses where tables are kept",
    ),
    (
        ("spark.driver.memory", "spark.executor.memory", "spark.executor.instances"),
        "set runtime.memory, runtime.driver_memory and runtime.workers instead",
    ),
)


def is_neutral(name: str) -> bool:
    """Whether no result can depend on the setting."""
    return _is_in(NEUTRAL, name) or _is_in(NEUTRAL_OF_THE_ENVIRONMENT, name)


def is_harmless(name: str) -> bool:
    """Whether a pipeline's files may set it."""
    return _is_in(NEUTRAL, name) or _is_in(HARMLESS, name)


def reason_against(name: str) -> str:
    """Why a pipeline's files may not set what is not harmless."""
    for names, reason in _REASONS_AGAINST:
        if Family("", names).has(name):
            return reason
    known = next((one for one in _exact_names() if one.lower() == name.lower()), None)
    if known is not None:
        return f"did you mean {known!r}? Names of Spark settings are case-sensitive"
    return (
        "a pipeline may set only settings that name no code, file, host or command; set others for the environment: "
        "environments.<name>.spark in reconcile.yaml"
    )


def _is_in(families: tuple[Family, ...], name: str) -> bool:
    return any(family.has(name) for family in families)


def _exact_names() -> Iterator[str]:
    for family in (*NEUTRAL, *HARMLESS):
        yield from (name for name in family.names if not name.endswith("*"))
