"""The settings with which Spark starts: the defaults here, and what is given over them.

- local masters: everything binds to 127.0.0.1, the jars stand on the driver's class path with the class-data archive, and
  Java starts with flags for small work (`SMALL_WORK_JAVA_OPTIONS`), or for long work when the process is to live long
  (`lives_long`). A `spark.driver.extraJavaOptions` of your own replaces them (and the archive with them).
- other masters: the jars go to driver and executors by `spark.jars`; network and Java flags are the cluster's.
- whatever the master, S3 is reached as the environment's AWS_* variables say (see `s3`).
- what commits to Delta tables, on a disk and on S3, is ours, unless the settings name another. With neither nothing starts,
  since Delta's own ways may lose commits.

Credentials are no part of the command line of Spark's process (`settings_of_start`).
"""

import os
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path

from reconciler.engine.resources import is_local
from reconciler.engine.spark.installation import LONG_WORK_JAVA_OPTIONS, SMALL_WORK_JAVA_OPTIONS, Installation
from reconciler.engine.spark.java import Java
from reconciler.engine.spark.s3 import hadoop_settings
from reconciler.project.manifest.spark_values import is_plain, may_be_credential

EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
_CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_EXTENSIONS = "spark.sql.extensions"
MASTER = "spark.master"
_PAGE = "spark.ui.enabled"
TYPES_FRAMEWORK = "spark.sql.types.framework.enabled"
DEFAULT_MASTER = "local[*]"
_MOST_SMALL_PARTITIONS = 8
LOCAL_LOG_STORE_SETTING = "spark.delta.logStore.file.impl"
S3_LOG_STORE_SETTING = "spark.delta.logStore.s3a.impl"
LOG_STORES = {
    LOCAL_LOG_STORE_SETTING: "reconciler.LocalConditionalLogStore",
    S3_LOG_STORE_SETTING: "reconciler.S3ConditionalLogStore",
}
"""By setting, what commits to Delta tables on a disk and on S3."""

# Names what commits everywhere. Delta refuses to work where it and another are there.
ONE_LOG_STORE = "spark.delta.logStore.class"
JARS_OF_OTHERS = frozenset({"spark.jars", "spark.jars.packages", "spark.driver.extraClassPath"})
# Spark remembers its last jobs and queries for its web page, even when that is off; a run makes them without end.
_WITHOUT_PAGE = {
    _PAGE: "false",
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.ui.retainedTasks": "200",
    "spark.sql.ui.retainedExecutions": "10",
    "spark.sql.ui.explainMode": "simple",
}
# What a JVM that runs already can't be told any more.
_OF_THE_JVM = frozenset({"spark.driver.memory", "spark.driver.extraClassPath", _JAVA_OPTIONS, "spark.jars"})
_IN_UTC = {"spark.sql.session.timeZone": "UTC"}
_FETCHED = ("spark.jars", "spark.files", "spark.archives", "spark.submit.pyFiles", "spark.jars.repositories")
_FOR_CONTEXTS = ("spark.hadoop.", "spark.ssl.", "spark.executorEnv.", "spark.executor.")
"""Settings that Spark's process has no use for before there is a context."""


def session_settings(
    settings: Mapping[str, str], place: Installation, java: Java, lives_long: bool = False
) -> dict[str, str]:
    """The whole configuration of a session: the defaults, then `settings` over them."""
    given = {name: text for name, text in settings.items() if name.startswith("spark.")}
    master = given.get(MASTER, DEFAULT_MASTER)
    defaults = _defaults(master, given)
    if is_local(master):
        defaults |= _local_defaults(given, place, java, lives_long)
    chosen = defaults | given | _IN_UTC
    chosen[_EXTENSIONS] = _joined(",", EXTENSION, given.get(_EXTENSIONS))
    # What serves S3 is no part of the class-data archive, so its jars stand on no class path that has to agree with one.
    jars = place.jars_for_s3
    chosen |= log_stores(given, LOG_STORES if jars else [LOCAL_LOG_STORE_SETTING])
    if is_local(master):
        chosen["spark.driver.extraClassPath"] = _joined(
            os.pathsep, place.class_path, given.get("spark.driver.extraClassPath")
        )
    else:
        jars = (*place.jars, *jars)
    if jars:
        chosen["spark.jars"] = _joined(",", ",".join(map(str, jars)), given.get("spark.jars"))
    chosen[_JAVA_OPTIONS] = f"{_quiet_logging()} {chosen.get(_JAVA_OPTIONS, '')}".strip()
    return chosen


def submitted_settings(
    settings: Mapping[str, str], told: Mapping[str, str], at_hand: Collection[str] = ()
) -> dict[str, str]:
    """The configuration under `spark-submit`, which was told some on its command line; `at_hand`: the settings of those
    LOG_STORES that are among its jars."""
    given = {name: text for name, text in settings.items() if name.startswith("spark.") and name not in _OF_THE_JVM}
    master = told.get(MASTER) or given.get(MASTER, DEFAULT_MASTER)
    ours = log_stores({**given, **told}, at_hand)
    # Inputs and outputs read and write moments without a zone in UTC, whatever the session was told.
    chosen = {**_defaults(master, {**given, **told}), **ours, **given, **told, **_IN_UTC}
    chosen[_EXTENSIONS] = _joined(",", _joined(",", EXTENSION, given.get(_EXTENSIONS)), told.get(_EXTENSIONS))
    return chosen


def _defaults(master: str, given: Mapping[str, str]) -> dict[str, str]:
    settings: dict[str, str] = {
        MASTER: master,
        "spark.app.name": "reconcile",
        "spark.ui.showConsoleProgress": "false",
        **_IN_UTC,
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.catalog.spark_catalog": _CATALOG,
        # Every call has a session of its own; none adds files or classes, so Spark need not isolate them.
        "spark.sql.artifact.isolation.enabled": "false",
        "spark.databricks.delta.snapshotPartitions": "1" if is_local(master) else "8",
        # Spark would store the parts of VARIANTs as columns of their own, and make one type of the numbers in each: of 1 and
        # 1.5 it makes decimals, and that is what is read.
        "spark.sql.variant.writeShredding.enabled": "false",
        # As it is by default. Not set, Spark asks the process's environment for it with each row that it aggregates without
        # compiled code.
        TYPES_FRAMEWORK: "false",
        # Spark would keep the last 100 compiled queries. A view that follows what changed has some 50: of a few such views
        # each step would compile all again. Each takes some 10 kB, and its text a few times that.
        "spark.sql.codegen.cache.maxEntries": "2000",
        # Spark makes a thread for each piece of work until there are so many; otherwise 1,024. Each keeps values of its own,
        # and a live run fills both pools. A thread may wait for a subquery, which needs threads of the same pools; 16
        # subqueries are computed at once. So there are more threads than a query has stages that wait for a subquery.
        "spark.sql.resultQueryStage.maxThreadThreshold": "128",
        "spark.sql.shuffleExchange.maxThreadThreshold": "256",
        # Delta refuses to read what was replaced a week ago (delta.deletedFileRetentionDuration), be its files there or not.
        # How long that is readable is the pipeline's to say.
        "spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration": "false",
    }
    if given.get(_PAGE) != "true":
        settings |= _WITHOUT_PAGE
    return settings | hadoop_settings(os.environ)


def _local_defaults(given: Mapping[str, str], place: Installation, java: Java, lives_long: bool) -> dict[str, str]:
    partitions = max(2, min(_cores(given.get(MASTER, DEFAULT_MASTER)), _MOST_SMALL_PARTITIONS))
    options = LONG_WORK_JAVA_OPTIONS if lives_long else SMALL_WORK_JAVA_OPTIONS
    archive = place.archive(java)
    if archive.is_file():
        # An archive that does not fit is ignored by Java, which may say so: to the log file.
        options += f' "-XX:SharedArchiveFile={archive}" -Xshare:auto'
    return {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.sql.shuffle.partitions": str(partitions),
        "spark.sql.warehouse.dir": str(Path(tempfile.gettempdir()) / "reconcile-unused-warehouse"),
        _JAVA_OPTIONS: options,
    }


def _cores(master: str) -> int:
    threads = master.removeprefix("local").strip("[]").split(",")[0]
    return int(threads) if threads.isdigit() else (os.cpu_count() or 1)


def _quiet_logging() -> str:
    return f'"-Dlog4j2.configurationFile={(Path(__file__).parent / "log4j2.properties").as_uri()}"'


def _joined(separator: str, ours: str, theirs: str | None) -> str:
    """Two lists one after the other, each part once."""
    return separator.join(dict.fromkeys(part for part in f"{ours}{separator}{theirs or ''}".split(separator) if part))


def log_stores(given: Collection[str], at_hand: Collection[str]) -> dict[str, str]:
    """Of ours that are at hand, those in whose place nothing is named."""
    return {name: LOG_STORES[name] for name in at_hand if not {name, ONE_LOG_STORE} & set(given)}


def settings_of_start(configuration: Mapping[str, str]) -> dict[str, str]:
    """What Spark's process is told on its command line, where whoever is on the machine reads it: all but credentials, and
    what may be one. The context that is made in it gets everything. Where files are fetched from elsewhere before there is a
    context, it takes all that they may need."""
    fetched = ",".join(configuration.get(name, "") for name in _FETCHED).split(",")
    if any("://" in one and not one.strip().startswith(("file:", "local:")) for one in fetched):
        return dict(configuration)
    return {
        name: text
        for name, text in configuration.items()
        if is_plain(name, text) or not (may_be_credential(name) or name.startswith(_FOR_CONTEXTS))
    }
