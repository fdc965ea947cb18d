"""Start Spark: one JVM and one session for the process, quiet, with Delta.

`settings` are Spark's own (`spark.…`); what they say wins over the defaults here. `spark.master` chooses where the work is
done (default `local[*]`); the same process drives a cluster unchanged:

- local masters: everything binds to 127.0.0.1, the jars stand on the driver's class path with the class-data archive, and
  Java starts with flags for small work (`SMALL_WORK_JAVA_OPTIONS`), or for long work when the process is to live long
  (`lives_long`). A `spark.driver.extraJavaOptions` of your own replaces them (and the archive with them).
- other masters: the jars go to driver and executors by `spark.jars`; network and Java flags are the cluster's.
- under `spark-submit` (see `reconciler.job`) the JVM is there already, and what it was told on its command line wins over
  `settings`. Jars, memory and Java flags are then its business; that Delta is among the jars is checked.
- beside a server (`reconciler.server`) the Spark that it keeps is used, where it is the one that would be started here
  (`sharing`).
- whatever the master, S3 is reached as the environment's AWS_* variables say (see `s3`).
- what commits to Delta tables, on a disk and on S3, is ours, unless the settings name another. With neither nothing starts,
  since Delta's own ways may lose commits.

Credentials are no part of the command line of Spark's process (`settings_of_start`).

Nothing of the JVM's own output reaches stdout or stderr: it goes to a temporary file without a name, which is read only to
explain why a JVM did not start, or to the file that $RECONCILE_SPARK_LOG names.
"""

import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import IO, Any

from reconciler.base.errors import EngineError, SetUpMissing
from reconciler.engine.resources import is_local
from reconciler.engine.secrets import remember_credentials
from reconciler.engine.spark import sharing
from reconciler.engine.spark.installation import (
    LAUNCHER_JAVA_OPTIONS,
    LONG_WORK_JAVA_OPTIONS,
    SMALL_WORK_JAVA_OPTIONS,
    Installation,
    installation,
    spark_home,
)
from reconciler.engine.spark.java import Java, find_java
from reconciler.engine.spark.s3 import hadoop_settings
from reconciler.project.manifest.spark_values import is_plain, may_be_credential

with warnings.catch_warnings():
    # pyspark warns of versions of packages that this project does not use through it.
    warnings.simplefilter("ignore")
    from py4j.protocol import Py4JJavaError
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    from reconciler.engine.spark.failures import JVM_GONE

# pyspark logs each refused query with Java's stack to stderr; the same error arrives as an exception.
logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)
logging.getLogger("DataFrameQueryContextLogger").setLevel(logging.CRITICAL + 1)
# py4j logs the traceback of each call that the end of the JVM cut off, partly to the root; EngineError says what it means.
logging.getLogger("py4j").setLevel(logging.CRITICAL + 1)
logging.getLogger().addFilter(lambda record: Path(record.pathname).parent.name != "py4j")

_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
_CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_EXTENSIONS = "spark.sql.extensions"
_MASTER = "spark.master"
_PAGE = "spark.ui.enabled"
_DEFAULT_MASTER = "local[*]"
_MOST_SMALL_PARTITIONS = 8
_is_shared = False
"""Whether the session of this process is in the Spark of another."""
LAUNCHER_OPTIONS = "SPARK_LAUNCHER_OPTS"
"""The variable that gives Spark's launcher its options."""
LOCAL_LOG_STORE_SETTING = "spark.delta.logStore.file.impl"
S3_LOG_STORE_SETTING = "spark.delta.logStore.s3a.impl"
LOG_STORES = {
    LOCAL_LOG_STORE_SETTING: "reconciler.LocalConditionalLogStore",
    S3_LOG_STORE_SETTING: "reconciler.S3ConditionalLogStore",
}
"""By setting, what commits to Delta tables on a disk and on S3."""

# Names what commits everywhere. Delta refuses to work where it and another are there.
_ONE_LOG_STORE = "spark.delta.logStore.class"
_JARS_OF_OTHERS = frozenset({"spark.jars", "spark.jars.packages", "spark.driver.extraClassPath"})
# Spark remembers its last jobs and queries for its web page, even when that is off; a run makes them without end.
_WITHOUT_PAGE = {
    _PAGE: "false",
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.ui.retainedTasks": "200",
    "spark.sql.ui.retainedExecutions": "10",
    "spark.sql.ui.explainMode": "simple",
}
# Classes that load the native code of a codec: Snappy (Parquet files) and Zstandard (each shuffle).
_CODECS = ("org.xerial.snappy.Snappy", "com.github.luben.zstd.Zstd")
# What a JVM that runs already can't be told any more.
_OF_THE_JVM = frozenset({"spark.driver.memory", "spark.driver.extraClassPath", _JAVA_OPTIONS, "spark.jars"})


def start(settings: Mapping[str, str] | None = None, needs_s3: bool = False, lives_long: bool = False) -> SparkSession:
    """The process's session. Raises SetUpMissing (Java, jars) or EngineError (the JVM does not start).

    Spark allows one driver a process: a second call without `stop` in between returns the session that runs.
    """
    remember_credentials(settings or {})
    session = running_session()
    if session is not None:
        return session
    if _is_submitted():
        return _join(settings or {}, needs_s3)
    java = find_java()
    place = installation()
    place.require_jars()
    given = set(settings or {})
    if needs_s3 and not (_JARS_OF_OTHERS & given and {S3_LOG_STORE_SETTING, _ONE_LOG_STORE} & given):
        place.require_s3()
    offer = sharing.offered()
    if offer is not None:
        # The server's Spark lives long, whatever it is asked for.
        wanted = session_settings(settings or {}, place, java, lives_long=True)
        different = sharing.differing(offer, wanted, os.environ)
        shared = None if different else _share(offer, java, wanted)
        if shared is not None:
            return shared
        if different:
            sharing.refuse(different)
    configuration = session_settings(settings or {}, place, java, lives_long)
    _prepare_environment(java, configuration)
    return _launch(configuration)


def start_shared(settings: Mapping[str, str] | None = None, needs_s3: bool = False) -> tuple[SparkSession, dict[str, str]]:
    """A session for others to share, and the settings that they must want to do so. Their jobs share the cores fairly."""
    java, place = find_java(), installation()
    place.require_jars()
    if needs_s3:
        place.require_s3()
    remember_credentials(settings or {})
    wanted = session_settings(settings or {}, place, java, lives_long=True)
    _prepare_environment(java, wanted)
    return _launch({"spark.scheduler.mode": "FAIR", **wanted}), wanted


def _share(offer: sharing.Offer, java: Java, configuration: Mapping[str, str]) -> SparkSession | None:
    """A session of its own in the Spark of another process. None: that Spark has ended since it was offered."""
    global _is_shared
    _prepare_environment(java, configuration)
    os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"] = str(offer.port), offer.secret
    # The context takes Ctrl-C for its own, and would cancel everybody's jobs.
    before = signal.getsignal(signal.SIGINT)
    try:
        launch: Any = launch_gateway
        gateway = launch()
        jvm = gateway.jvm
        theirs = jvm.SparkSession.getDefaultSession().get()
        context: Any = SparkContext
        made = context(
            conf=SparkConf(_jconf=theirs.sparkContext().conf()),
            gateway=gateway,
            jsc=jvm.JavaSparkContext.fromSparkContext(theirs.sparkContext()),
        )
        session = SparkSession(made, theirs.newSession())
        jvm.SparkSession.setDefaultSession(theirs)
    except JVM_GONE:
        SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
        return None
    finally:
        del os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"]
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)
    _is_shared = True
    return session


def running_session() -> SparkSession | None:
    """The process's session, whichever thread started it; Spark's own "active session" is that of a thread."""
    session: SparkSession | None = SparkSession._instantiatedSession
    context = SparkContext._active_spark_context
    return session if session is not None and context is not None and session._sc is context else None


def interrupt(session: SparkSession) -> None:
    """Cancel the jobs of this process."""
    if _is_shared:
        sharing.cancel()
    else:
        session.sparkContext.cancelAllJobs()


def stop(session: SparkSession) -> None:
    """Stop the process's session. A JVM that is gone is no error; the next `start` launches another.

    A JVM of our own on this machine is told to end, and not waited for: it stops its context and cleans up while it ends,
    and nobody needs that to go on. On a cluster the executors are given back before this returns. The Spark of another
    process goes on.
    """
    global _is_shared
    if _is_shared:
        _is_shared = False
        # To end its server takes a moment, and it ends with this process.
        context: Any = session.sparkContext
        context._accumulatorServer = None
        _forget(session.sparkContext)
        return
    process = getattr(SparkContext._gateway, "proc", None)
    if process is not None and is_local(str(session.sparkContext.master)):
        server: Any = session.sparkContext._accumulatorServer
        if server is not None:
            # It listens to Java until that ends, and would print the end of the connection as an error.
            server.handle_error = lambda request, address: None
        # Java ends where nobody is left to write to it.
        process.stdin.close()
        _forget(session.sparkContext)
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            session.stop()
    except JVM_GONE:
        _forget(session.sparkContext)


def _forget(context: Any) -> None:
    """Of what belongs to a JVM: pyspark keeps it in class attributes, and would hand it out again."""
    context._jsc = None
    if context._accumulatorServer is not None:
        context._accumulatorServer.shutdown()
        context._accumulatorServer = None
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None


_IN_UTC = {"spark.sql.session.timeZone": "UTC"}
_FETCHED = ("spark.jars", "spark.files", "spark.archives", "spark.submit.pyFiles", "spark.jars.repositories")
_FOR_CONTEXTS = ("spark.hadoop.", "spark.ssl.", "spark.executorEnv.", "spark.executor.")
"""Settings that Spark's process has no use for before there is a context."""


def session_settings(
    settings: Mapping[str, str], place: Installation, java: Java, lives_long: bool = False
) -> dict[str, str]:
    """The whole configuration of a session: the defaults, then `settings` over them."""
    given = {name: text for name, text in settings.items() if name.startswith("spark.")}
    master = given.get(_MASTER, _DEFAULT_MASTER)
    defaults = _defaults(master, given)
    if is_local(master):
        defaults |= _local_defaults(given, place, java, lives_long)
    chosen = defaults | given | _IN_UTC
    chosen[_EXTENSIONS] = _joined(",", _EXTENSION, given.get(_EXTENSIONS))
    # What serves S3 is no part of the class-data archive, so its jars stand on no class path that has to agree with one.
    jars = place.jars_for_s3
    chosen |= _log_stores(given, LOG_STORES if jars else [LOCAL_LOG_STORE_SETTING])
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
    settings: Mapping[str, str], told: Mapping[str, str], log_stores: Collection[str] = ()
) -> dict[str, str]:
    """The configuration under `spark-submit`, which was told some on its command line; `log_stores`: the settings of those
    LOG_STORES that are among its jars."""
    given = {name: text for name, text in settings.items() if name.startswith("spark.") and name not in _OF_THE_JVM}
    master = told.get(_MASTER) or given.get(_MASTER, _DEFAULT_MASTER)
    ours = _log_stores({**given, **told}, log_stores)
    # Inputs and outputs read and write moments without a zone in UTC, whatever the session was told.
    chosen = {**_defaults(master, {**given, **told}), **ours, **given, **told, **_IN_UTC}
    chosen[_EXTENSIONS] = _joined(",", _joined(",", _EXTENSION, given.get(_EXTENSIONS)), told.get(_EXTENSIONS))
    return chosen


def _defaults(master: str, given: Mapping[str, str]) -> dict[str, str]:
    settings: dict[str, str] = {
        _MASTER: master,
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
        # A step of a few relations has more than the 100 compiled queries that Spark would keep: the next one compiles them
        # all again. Many more would only fill memory: Delta asks for each table version in a query of its own.
        "spark.sql.codegen.cache.maxEntries": "400",
        # Delta refuses to read what was replaced a week ago (delta.deletedFileRetentionDuration), be its files there or not.
        # How long that is readable is the pipeline's to say.
        "spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration": "false",
    }
    if given.get(_PAGE) != "true":
        settings |= _WITHOUT_PAGE
    return settings | hadoop_settings(os.environ)


def _local_defaults(given: Mapping[str, str], place: Installation, java: Java, lives_long: bool) -> dict[str, str]:
    partitions = max(2, min(_cores(given.get(_MASTER, _DEFAULT_MASTER)), _MOST_SMALL_PARTITIONS))
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


def _prepare_environment(java: Java, configuration: Mapping[str, str]) -> None:
    # pyspark takes these from the environment only.
    os.environ["JAVA_HOME"] = str(java.home)
    python = configuration.get("spark.pyspark.python")
    if python:
        os.environ["PYSPARK_PYTHON"] = python
    if is_local(configuration[_MASTER]):
        os.environ["SPARK_HOME"] = str(spark_home())
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
        os.environ.setdefault(LAUNCHER_OPTIONS, _launcher_options(installation().launcher_archive(java)))
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)


def _launcher_options(archive: Path) -> str:
    # Spark's script splits them at blanks.
    is_usable = archive.is_file() and not any(map(str.isspace, str(archive)))
    return f"{LAUNCHER_JAVA_OPTIONS} -XX:SharedArchiveFile={archive} -Xshare:auto" if is_usable else LAUNCHER_JAVA_OPTIONS


def bare_java() -> Any:
    """A JVM with Spark's classes but without a session (py4j's view of it)."""
    _prepare_environment(find_java(), {_MASTER: _DEFAULT_MASTER})
    return _gateway(SparkConf(loadDefaults=False)).jvm


def _is_submitted() -> bool:
    """Whether `spark-submit` started this process, beside a JVM that is to be used."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def _log_stores(given: Collection[str], at_hand: Collection[str]) -> dict[str, str]:
    """Of ours that are at hand, those in whose place nothing is named."""
    return {name: LOG_STORES[name] for name in at_hand if not {name, _ONE_LOG_STORE} & set(given)}


def _join(settings: Mapping[str, str], needs_s3: bool) -> SparkSession:
    gateway = SparkContext._gateway or _gateway(SparkConf(loadDefaults=False))
    told: dict[str, str] = dict(SparkConf(_jvm=gateway.jvm).getAll())
    if not has_class(gateway, _EXTENSION):
        hint = 'add them: spark-submit --jars "$(reconcile setup --jars)" …'
        raise SetUpMissing("U803", "spark-submit was started without the jars for Delta", hint)
    at_hand = [name for name, store in LOG_STORES.items() if has_class(gateway, store)]
    missing = set(_log_stores({*settings, *told}, LOG_STORES)) - set(at_hand)
    if needs_s3 and S3_LOG_STORE_SETTING in missing:
        hint = 'add it: spark-submit --jars "$(reconcile setup --jars --s3)" …'
        raise SetUpMissing("U807", "spark-submit was started without the jar that commits to S3 safely", hint)
    if LOCAL_LOG_STORE_SETTING in missing:
        hint = 'add it: spark-submit --jars "$(reconcile setup --jars)" …'
        raise SetUpMissing("U803", "spark-submit was started without the jar that commits to disks safely", hint)
    return _session(submitted_settings(settings, told, at_hand), gateway)


def has_class(gateway: Any, name: str) -> bool:
    """Whether Spark's driver has a class of this name."""
    loader = gateway.jvm.java.lang.Thread.currentThread().getContextClassLoader()
    try:
        gateway.jvm.java.lang.Class.forName(name, False, loader)
    except Py4JJavaError:
        return False
    return True


def _launch(configuration: Mapping[str, str]) -> SparkSession:
    conf = SparkConf(loadDefaults=False).setAll(list(settings_of_start(configuration).items()))
    return _session(configuration, SparkContext._gateway or _gateway(conf))


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


def _session(configuration: Mapping[str, str], gateway: Any) -> SparkSession:
    conf = SparkConf(loadDefaults=False).setAll(list(configuration.items()))
    try:
        session = SparkSession(SparkContext(conf=conf, gateway=gateway))
    except Exception as error:
        raise EngineError("X702", f"Spark did not start: {_first_line(error)}") from error
    _load_codecs(session)
    return session


def _load_codecs(session: SparkSession) -> None:
    """Load the native code of Spark's codecs.

    A codec copies its code to the temporary folder when it is first used. If that fails, for want of room say, this JVM can
    never use the codec again: no later step of a live run could be carried out. So each is used when Spark starts.
    """
    java: Any = session._jvm
    loader = java.java.lang.Thread.currentThread().getContextClassLoader()
    try:
        for name in _CODECS:
            java.java.lang.Class.forName(name, True, loader)
    except Py4JJavaError as error:
        message = f"Spark can't load its codecs: {_first_line(error)}"
        stop(session)
        hint = "make room in Java's temporary folder (java.io.tmpdir, usually /tmp), or let files there be executed"
        raise EngineError("X702", message, hint) from error


def _gateway(conf: SparkConf) -> Any:
    with _java_output() as output:
        try:
            launch: Any = launch_gateway
            return launch(conf, {"stdout": output, "stderr": subprocess.STDOUT})
        except PySparkRuntimeError as error:
            raise EngineError(
                "X702", f"Spark did not start: {_last_lines(output)}", "see docs/errors/execution.md"
            ) from error


def _java_output() -> IO[bytes]:
    path = os.environ.get("RECONCILE_SPARK_LOG")
    return open(path, "ab+") if path else tempfile.TemporaryFile()


def _last_lines(output: IO[bytes]) -> str:
    output.seek(0)
    lines = [line for line in output.read().decode("utf-8", "replace").splitlines() if line.strip()]
    return " / ".join(lines[-3:]) or "its JVM ended without a message"


def _first_line(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if line.strip() and not line.startswith("py4j")]
    # py4j's first line only says that a call failed; Java's exception stands on the second.
    line = lines[1] if len(lines) > 1 and lines[0].startswith("An error occurred") else (lines or [repr(error)])[0]
    return line.removeprefix(": ")
