"""Which Spark settings are meaning: all but those that are known to be neutral."""

import pytest

from reconciler.project.manifest.known_spark_settings import NEUTRAL, NEUTRAL_OF_THE_ENVIRONMENT, is_harmless, is_neutral
from reconciler.project.program.settings import is_of_a_call, is_of_queries_only, meaning_settings


def test_settings_that_change_results_are_kept_and_the_others_not() -> None:
    assert meaning_settings(
        {
            "spark.sql.session.timeZone": " Europe/Berlin ",
            "spark.sql.ansi.enabled": "FALSE",
            "spark.sql.legacy.timeParserPolicy": "LEGACY",
            "spark.sql.shuffle.partitions": "8",
            "spark.executor.memory": "4g",
        }
    ) == {
        "spark.sql.ansi.enabled": "false",
        "spark.sql.legacy.timeParserPolicy": "legacy",
        "spark.sql.session.timeZone": "Europe/Berlin",
    }


def test_they_are_sorted() -> None:
    settings = {"spark.sql.timestampType": "x", "spark.sql.ansi.enabled": "false", "spark.sql.caseSensitive": "true"}
    assert list(meaning_settings(settings)) == sorted(settings)


@pytest.mark.parametrize(
    "name",
    [
        "spark.sql.lateralColumnAlias.enableImplicitResolution",
        "spark.sql.preserveCharVarcharTypeInfo",
        "spark.sql.stableDerivedColumnAlias.enabled",
        "spark.sql.files.ignoreCorruptFiles",
        "spark.sql.files.ignoreMissingFiles",
        "spark.sql.parquet.datetimeRebaseModeInRead",
        "spark.sql.parquet.int96RebaseModeInWrite",
        "spark.sql.parquet.binaryAsString",
        "spark.sql.execution.pythonUDF.arrow.enabled",
        "spark.sql.execution.pandas.convertToArrowArraySafely",
        "spark.sql.optimizer.excludedRules",
        "spark.sql.ANSI.enabled",
        "spark.sql.ansi.enabld",
        "spark.nobody.knows.it",
        "spark.jars",
        "spark.hadoop.fs.s3a.endpoint",
    ],
)
def test_what_is_not_known_to_be_neutral_is_meaning(name: str) -> None:
    assert meaning_settings({name: "True"}) == {name: "true"}


@pytest.mark.parametrize(
    "settings",
    [
        {"spark.sql.ansi.enabled": "true"},
        {"spark.sql.ansi.enabled": " TRUE "},
        {"spark.sql.session.timeZone": "UTC"},
    ],
)
def test_what_holds_without_being_said_is_no_setting(settings: dict[str, str]) -> None:
    assert meaning_settings(settings) == {}


def test_a_column_s_name_keeps_its_letter_case() -> None:
    name = "spark.sql.columnNameOfCorruptRecord"
    assert meaning_settings({name: "_Bad"}) != meaning_settings({name: "_bad"})


def test_every_family_says_why() -> None:
    for family in (*NEUTRAL, *NEUTRAL_OF_THE_ENVIRONMENT):
        assert family.why.startswith("they ")
        assert all(is_neutral(name.removesuffix("*")) for name in family.names)


@pytest.mark.parametrize(
    "name",
    [
        "spark.extraListeners",
        "spark.sql.queryExecutionListeners",
        "spark.sql.streaming.streamingQueryListeners",
        "spark.plugins",
        "spark.serializer",
        "spark.closure.serializer",
        "spark.kryo.registrator",
        "spark.kryo.classesToRegister",
        "spark.shuffle.manager",
        "spark.shuffle.sort.io.plugin.class",
        "spark.io.compression.codec",
        "spark.pyspark.python",
        "spark.pyspark.driver.python",
        "spark.python.worker.module",
        "spark.python.daemon.module",
        "spark.sql.execution.pyspark.python",
        "spark.executorEnv.PYTHONPATH",
        "spark.yarn.appMasterEnv.PYTHONPATH",
        "spark.kubernetes.container.image",
        "spark.kubernetes.driver.podTemplateFile",
        "spark.files",
        "spark.archives",
        "spark.jars",
        "spark.jars.packages",
        "spark.jars.repositories",
        "spark.jars.ivySettings",
        "spark.submit.pyFiles",
        "spark.driver.extraClassPath",
        "spark.executor.extraJavaOptions",
        "spark.driver.defaultJavaOptions",
        "spark.sql.extensions",
        "spark.sql.extensions.test.loadFromCp",
        "spark.sql.cache.serializer",
        "spark.sql.catalog.mine",
        "spark.sql.catalogImplementation",
        "spark.sql.defaultCatalog",
        "spark.sql.hive.metastore.jars",
        "spark.sql.warehouse.dir",
        "spark.sql.sources.commitProtocolClass",
        "spark.sql.sources.outputCommitterClass",
        "spark.sql.sources.default",
        "spark.sql.parquet.output.committer.class",
        "spark.sql.adaptive.customCostEvaluatorClass",
        "spark.sql.streaming.stateStore.providerClass",
        "spark.sql.streaming.checkpointLocation",
        "spark.sql.extendedExplainProviders",
        "spark.sql.maven.additionalRemoteRepositories",
        "spark.sql.artifact.copyFromLocalToFs.allowDestLocal",
        "spark.sql.udt.allowedDynamicUDTClasses",
        "spark.sql.runSQLOnFiles",
        "spark.sql.variable.substitute",
        "spark.sql.caseSensitive",
        "spark.databricks.delta.retentionDurationCheck.enabled",
        "spark.databricks.delta.write.txnAppId",
        "spark.delta.logStore.class",
        "spark.delta.logStore.s3a.impl",
        "spark.hadoop.fs.s3a.impl",
        "spark.hadoop.fs.s3a.endpoint",
        "spark.hadoop.fs.s3a.proxy.host",
        "spark.hadoop.fs.s3a.aws.credentials.provider",
        "spark.hadoop.hadoop.security.credential.provider.path",
        "spark.metrics.conf",
        "spark.metrics.conf.*.sink.csv.class",
        "spark.ui.filters",
        "spark.ui.enabled",
        "spark.eventLog.dir",
        "spark.local.dir",
        "spark.master",
        "spark.submit.deployMode",
        "spark.security.credentials.hive.enabled",
        "spark.resources.discoveryPlugin",
        "spark.scheduler.allocation.file",
        "spark.redaction.regex",
        "spark.nobody.knows.it",
        "spark.sql.nobodyKnowsIt",
    ],
)
def test_what_may_load_code_or_names_places_is_not_the_pipeline_s(name: str) -> None:
    assert not is_harmless(name)


def test_an_environment_s_settings_come_with_calls_where_they_are_of_queries() -> None:
    assert is_of_a_call("spark.sql.session.timeZone")
    assert is_of_queries_only("spark.sql.session.timeZone")
    assert is_of_a_call("spark.sql.files.ignoreCorruptFiles")
    assert not is_of_queries_only("spark.sql.files.ignoreCorruptFiles")
    assert not is_of_a_call("spark.sql.extensions")
    assert not is_of_a_call("spark.sql.shuffle.partitions")
    assert not is_of_a_call("spark.jars")
