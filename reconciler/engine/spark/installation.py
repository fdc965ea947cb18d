"""What lies on the machine for Spark: its jars and the class-data archive, in one folder.

The folder is `$RECONCILE_HOME`, or `share/reconcile` of the Python environment, then `spark-<version>`. The jars are those
of jars.txt beside this file, and where S3 is used those of jars-s3.txt, checked by SHA-256 when they are installed. What
commits to Delta tables is compiled at set-up, of LocalConditionalLogStore.java, and for S3 of S3ConditionalLogStore.java;
so is what brings few rows to Spark and back, of SmallRows.java, what runs a query over such rows again, of SmallQuery.java,
what writes the rows of a query to files, of AnswerFiles.java, and what lets other processes in, of Gateways.java. Such a
jar's name carries a digest of that text, and of the text that it is compiled against.

The archive holds Java's classes ready to use and halves a cold start; it belongs to one Java and one folder of Spark, so its
name carries a digest of both. A small archive beside it does the same for the Java process with which Spark's scripts work
out their command line. A missing archive is no error. This module looks; `setup` changes.
"""

import os
import sys
from functools import cached_property
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import digest_json, digest_text, short
from reconciler.base.errors import SetUpMissing
from reconciler.engine.spark.java import Java

# With one compiler Java reserves only 48 MB for compiled code. Spark compiles classes for every query: a driver that lives
# for an hour fills them, and then spends its time on throwing compiled methods away and compiling them anew.
#
# The text of the driver's Java options takes part in the archive's name: an archive serves only a JVM that is started alike.
_JAVA_OPTIONS = "-XX:+UseSerialGC -XX:ReservedCodeCacheSize=256m"
SMALL_WORK_JAVA_OPTIONS = f"-XX:TieredStopAtLevel=1 {_JAVA_OPTIONS}"
"""The second compiler pays after minutes, not before: it is left out where a process starts for one thing."""

# After how much of each a method is compiled once more: four times Java's own numbers. Java of another make may not know
# these names.
_LATER = {"Invocation": 20_000, "MinInvocation": 2_400, "Compile": 60_000, "BackEdge": 160_000}
LONG_WORK_JAVA_OPTIONS = " ".join(
    (
        _JAVA_OPTIONS,
        "-XX:+IgnoreUnrecognizedVMOptions",
        *(f"-XX:Tier4{name}Threshold={count}" for name, count in _LATER.items()),
    )
)
"""The second compiler compiles what runs often. Of what Spark runs in its first minutes, most does not: those minutes cost a
tenth less where Java waits longer before it compiles a method once more."""


LAUNCHER_JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Of the Java process that works out Spark's command line, and ends."""

LOCAL_LOG_STORE = Path(__file__).parent / "LocalConditionalLogStore.java"
"""What commits to Delta tables on a disk."""

S3_LOG_STORE = Path(__file__).parent / "S3ConditionalLogStore.java"
"""What commits to Delta tables on S3."""

SMALL_ROWS = Path(__file__).parent / "SmallRows.java"
"""What brings few rows to Spark and back."""

SMALL_QUERY = Path(__file__).parent / "SmallQuery.java"
"""What runs a query over few rows again. It is compiled against SMALL_ROWS."""

ANSWER_FILES = Path(__file__).parent / "AnswerFiles.java"
"""What writes the rows of a query to files."""

GATEWAYS = Path(__file__).parent / "Gateways.java"
"""What lets other processes use a Spark."""


@dataclass(frozen=True, slots=True)
class Jar:
    """One jar by its Maven coordinates (`group:artifact:version`) and the SHA-256 of its bytes."""

    coordinates: str
    sha256: str

    @property
    def file_name(self) -> str:
        _, artifact, version = self.coordinates.split(":")
        return f"{artifact}-{version}.jar"


def pinned_jars() -> tuple[Jar, ...]:
    """The jars of jars.txt, in its order, which is the order of the class path."""
    return _listed("jars.txt")


def pinned_s3_jars() -> tuple[Jar, ...]:
    """The jars of jars-s3.txt."""
    return _listed("jars-s3.txt")


def _listed(file: str) -> tuple[Jar, ...]:
    lines = (Path(__file__).parent / file).read_text("utf-8").splitlines()
    entries = (line.split() for line in lines if line and not line.startswith("#"))
    return tuple(Jar(coordinates, sha256) for coordinates, sha256 in entries)


@dataclass(frozen=True)
class Installation:
    """The folder of one Spark version on this machine."""

    folder: Path

    @cached_property
    def jars(self) -> tuple[Path, ...]:
        """Where the jars are or will be, in the order of the class path."""
        small = (self.small_rows_jar, self.small_query_jar)
        return (*self.fetched_jars, self.local_log_store_jar, *small, self.answer_files_jar, self.gateways_jar)

    @cached_property
    def fetched_jars(self) -> tuple[Path, ...]:
        """Where those of the jars are or will be that are fetched."""
        return tuple(self.folder / "jars" / jar.file_name for jar in pinned_jars())

    @cached_property
    def local_log_store_jar(self) -> Path:
        """Where the compiled LOCAL_LOG_STORE is or will be."""
        return self._compiled("local-log-store", LOCAL_LOG_STORE)

    @cached_property
    def small_rows_jar(self) -> Path:
        """Where the compiled SMALL_ROWS is or will be."""
        return self._compiled("small-rows", SMALL_ROWS)

    @cached_property
    def small_query_jar(self) -> Path:
        """Where the compiled SMALL_QUERY is or will be."""
        return self._compiled("small-query", SMALL_QUERY, SMALL_ROWS)

    @cached_property
    def answer_files_jar(self) -> Path:
        """Where the compiled ANSWER_FILES is or will be."""
        return self._compiled("answer-files", ANSWER_FILES)

    @cached_property
    def gateways_jar(self) -> Path:
        """Where the compiled GATEWAYS is or will be."""
        return self._compiled("gateways", GATEWAYS)

    @cached_property
    def s3_jars(self) -> tuple[Path, ...]:
        """Where the jars for S3 are or will be."""
        return tuple(self.folder / "jars" / jar.file_name for jar in pinned_s3_jars())

    @cached_property
    def s3_log_store_jar(self) -> Path:
        """Where the compiled S3_LOG_STORE is or will be."""
        return self._compiled("s3-log-store", S3_LOG_STORE)

    @property
    def has_s3(self) -> bool:
        """Whether all that S3 needs is there."""
        return self.s3_log_store_jar.is_file() and all(jar.is_file() for jar in self.s3_jars)

    @property
    def jars_for_s3(self) -> tuple[Path, ...]:
        """All that S3 needs, where it is there."""
        return (*self.s3_jars, self.s3_log_store_jar) if self.has_s3 else ()

    @property
    def class_path(self) -> str:
        """The jars as a Java class path."""
        return os.pathsep.join(str(jar) for jar in self.jars)

    def archive(self, java: Java) -> Path:
        """Where the class-data archive for this Java is or will be."""
        return self.folder / f"classes-{self._key(java)}.jsa"

    def launcher_archive(self, java: Java) -> Path:
        """Where the archive for this Java is or will be that serves Spark's launcher."""
        return self.folder / f"launcher-{self._key(java)}.jsa"

    def _key(self, java: Java) -> str:
        options = [SMALL_WORK_JAVA_OPTIONS, LAUNCHER_JAVA_OPTIONS]
        return short(digest_json([str(java.home), java.version, str(spark_home()), self.class_path, *options]))

    def _compiled(self, name: str, *sources: Path) -> Path:
        text = "".join(source.read_text("utf-8") for source in sources)
        return self.folder / "jars" / f"{name}-{short(digest_text(text))}.jar"

    def require_jars(self) -> None:
        """Raise SetUpMissing unless every jar is there."""
        missing = [jar.name for jar in self.jars if not jar.is_file()]
        if missing:
            raise SetUpMissing(
                "U803", f"{len(missing)} jar(s) that Spark needs are not in {self.folder / 'jars'}", "run: reconcile setup"
            )

    def require_s3(self) -> None:
        """Raise SetUpMissing unless every jar for S3 is there."""
        if not self.has_s3:
            message = f"the jars that Spark needs for S3 are not in {self.folder / 'jars'}"
            raise SetUpMissing("U807", message, "run: reconcile setup --s3")


def installation() -> Installation:
    """This machine's installation, whether or not it is complete."""
    configured = os.environ.get("RECONCILE_HOME")
    base = Path(configured).absolute() if configured else Path(sys.prefix) / "share" / "reconcile"
    return Installation(base / f"spark-{spark_version()}")


def spark_version() -> str:
    """The version of the pyspark package, without importing it."""
    return _pyspark().version


def spark_home() -> Path:
    """The folder of the pyspark package, which is a whole Spark, without importing it."""
    return Path(str(_pyspark().locate_file("pyspark"))).resolve()


def _pyspark() -> Distribution:
    try:
        return distribution("pyspark")
    except PackageNotFoundError:
        raise SetUpMissing("U804", "the Python package pyspark is not installed", "run: make setup") from None
