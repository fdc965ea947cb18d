"""Start Spark: one JVM and one session for the process, quiet, with Delta.

`settings` are Spark's own (`spark.…`); `starting_settings` says with which others it starts. `spark.master` chooses where
the work is done (default `local[*]`); the same process drives a cluster unchanged:

- under `spark-submit` (see `reconciler.job`) the JVM is there already, and what it was told on its command line wins over
  `settings`. Jars, memory and Java flags are then its business; that Delta is among the jars is checked.
- beside a server (`reconciler.server`) the Spark that it keeps is used, where it is the one that would be started here
  (`sharing`).

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
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from reconciler.base.errors import EngineError, SetUpMissing
from reconciler.engine.resources import is_local
from reconciler.engine.secrets import remember_credentials
from reconciler.engine.spark import sharing
from reconciler.engine.spark.installation import LAUNCHER_JAVA_OPTIONS, installation, spark_home
from reconciler.engine.spark.java import Java, find_java
from reconciler.engine.spark.starting_settings import (
    DEFAULT_MASTER,
    EXTENSION,
    JARS_OF_OTHERS,
    LOCAL_LOG_STORE_SETTING,
    LOG_STORES,
    MASTER,
    ONE_LOG_STORE,
    S3_LOG_STORE_SETTING,
    log_stores,
    session_settings,
    settings_of_start,
    submitted_settings,
)

with warnings.catch_warnings():
    # pyspark warns of versions of packages that this project does not use through it.
    warnings.simplefilter("ignore")
    from py4j.protocol import Py4JJavaError
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    from reconciler.engine.spark.failures import JVM_GONE
    from reconciler.engine.spark.java_names import know_names

# pyspark logs each refused query with Java's stack to stderr; the same error arrives as an exception.
logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)
logging.getLogger("DataFrameQueryContextLogger").setLevel(logging.CRITICAL + 1)
# py4j logs the traceback of each call that the end of the JVM cut off, partly to the root; EngineError says what it means.
logging.getLogger("py4j").setLevel(logging.CRITICAL + 1)
logging.getLogger().addFilter(lambda record: Path(record.pathname).parent.name != "py4j")

LAUNCHER_OPTIONS = "SPARK_LAUNCHER_OPTS"
"""The variable that gives Spark's launcher its options."""
# Classes that load the native code of a codec: Snappy (Parquet files) and Zstandard (each shuffle).
_CODECS = ("org.xerial.snappy.Snappy", "com.github.luben.zstd.Zstd")
_is_shared = False
"""Whether the session of this process is in the Spark of another."""


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
    if needs_s3 and not (JARS_OF_OTHERS & given and {S3_LOG_STORE_SETTING, ONE_LOG_STORE} & given):
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
        know_names(jvm)
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


def _prepare_environment(java: Java, configuration: Mapping[str, str]) -> None:
    # pyspark takes these from the environment only.
    os.environ["JAVA_HOME"] = str(java.home)
    python = configuration.get("spark.pyspark.python")
    if python:
        os.environ["PYSPARK_PYTHON"] = python
    if is_local(configuration[MASTER]):
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
    _prepare_environment(find_java(), {MASTER: DEFAULT_MASTER})
    return _gateway(SparkConf(loadDefaults=False)).jvm


def _is_submitted() -> bool:
    """Whether `spark-submit` started this process, beside a JVM that is to be used."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def _join(settings: Mapping[str, str], needs_s3: bool) -> SparkSession:
    gateway = SparkContext._gateway or _gateway(SparkConf(loadDefaults=False))
    told: dict[str, str] = dict(SparkConf(_jvm=gateway.jvm).getAll())
    if not has_class(gateway, EXTENSION):
        hint = 'add them: spark-submit --jars "$(reconcile setup --jars)" …'
        raise SetUpMissing("U803", "spark-submit was started without the jars for Delta", hint)
    at_hand = [name for name, store in LOG_STORES.items() if has_class(gateway, store)]
    missing = set(log_stores({*settings, *told}, LOG_STORES)) - set(at_hand)
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
            gateway = launch(conf, {"stdout": output, "stderr": subprocess.STDOUT})
        except PySparkRuntimeError as error:
            raise EngineError(
                "X702", f"Spark did not start: {_last_lines(output)}", "see docs/errors/execution.md"
            ) from error
    know_names(gateway.jvm)
    return gateway


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
