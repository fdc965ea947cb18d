"""Spark's own materialised views (declarative pipelines, `spark-pipelines run`) over the tables of one of our pipelines.

Spark truncates each and computes it anew on every run. It runs as its page says, in an environment of its own under
bench/.environments, with the pinned jars of Delta Lake beside its own, on as many cores, with the same number of
partitions for few rows. Each run is a process: what it takes to start, read its files and stop is measured by a pipeline of
one view of one row, and not counted.

The catalog of such a process is gone with it, and so are its views before the next run: they are written anew in any case.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from bench.cpu import process_seconds, processes_below
from bench.peers import PeerUnavailable, environment_of
from reconciler.engine.spark.installation import installation

_SAMPLED_EVERY: Final = 0.1
_OF_DELTA: Final = ("delta-", "unitycatalog-", "commons-pool2-")
_SPECIFICATION: Final = """\
name: views
storage: file://{folder}/storage
libraries:
  - glob:
      include: definitions/**
"""
_SETTINGS: Final = """\
spark.sql.extensions io.delta.sql.DeltaSparkSessionExtension
spark.sql.catalog.spark_catalog org.apache.spark.sql.delta.catalog.DeltaCatalog
spark.sql.warehouse.dir {folder}/views
spark.sql.shuffle.partitions {cores}
spark.ui.enabled false
spark.driver.memory 6g
"""
_TABLES: Final = """\
from pyspark import pipelines
from pyspark.sql import SparkSession

session = SparkSession.active()


def give(name, place):
    @pipelines.temporary_view(name=name)
    def read():
        return session.read.format("delta").load(place)


for name, place in {tables!r}.items():
    give(name, place)
"""


class SparkViews:
    """Materialised views over tables, by the folders of these. Raises PeerUnavailable."""

    def __init__(self, folder: Path, tables: Mapping[str, Path], tell: Callable[[str], None]) -> None:
        self._python = environment_of("spark-pipelines", tell)
        self._folder = folder
        self._cores = len(os.sched_getaffinity(0))
        self._tables = {name: str(place) for name, place in tables.items()}
        self._put_jars()

    def seconds(self, queries: Mapping[str, str]) -> float:
        """The CPU seconds of computing all of them, without what a run takes besides. Raises PeerUnavailable."""
        besides = self._run({"nothing": "SELECT 1 AS one"})
        return max(0.0, self._run(queries) - besides)

    def _put_jars(self) -> None:
        own = self._home / "jars"
        for jar in installation().fetched_jars:
            if jar.name.startswith(_OF_DELTA) and not (own / jar.name).exists():
                shutil.copy(jar, own)

    @property
    def _home(self) -> Path:
        (found,) = self._python.parent.parent.glob("lib/python*/site-packages/pyspark")
        return found

    def _run(self, queries: Mapping[str, str]) -> float:
        """One run in a new folder: all of its CPU seconds."""
        shutil.rmtree(self._folder, ignore_errors=True)
        definitions, settings = self._folder / "definitions", self._folder / "settings"
        definitions.mkdir(parents=True)
        settings.mkdir()
        (self._folder / "spark-pipeline.yml").write_text(_SPECIFICATION.format(folder=self._folder))
        (settings / "spark-defaults.conf").write_text(_SETTINGS.format(folder=self._folder, cores=self._cores))
        (definitions / "tables.py").write_text(_TABLES.format(tables=self._tables))
        for name, query in queries.items():
            (definitions / f"{name}.sql").write_text(f"CREATE MATERIALIZED VIEW {name} AS\n{query};\n")
        command = [str(self._python.parent / "spark-pipelines"), "--remote", f"local[{self._cores}]", "run"]
        variables = {
            "PATH": f"{self._python.parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": "",
            "SPARK_HOME": str(self._home),
            "SPARK_CONF_DIR": str(settings),
            "PYSPARK_PYTHON": str(self._python),
        }
        # What our own Spark was started with is none of theirs.
        others = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
        words, surroundings = self._folder / "words", {**others, **variables}
        with words.open("wb") as file:
            process = subprocess.Popen(command, cwd=self._folder, env=surroundings, stdout=file, stderr=file)
            found = _cpu_until_it_ends(process)
        made = {path.name for path in (self._folder / "views").glob("*")}
        if process.returncode or not made >= queries.keys():
            raise PeerUnavailable(f"spark-pipelines ended with {process.returncode}\n{words.read_text()[-1500:]}")
        return found


def _cpu_until_it_ends(process: "subprocess.Popen[bytes]") -> float:
    """The CPU seconds of a process and all below it: Java is waited for by nobody, so it is looked at while it runs."""
    seconds: dict[int, float] = {}
    while process.poll() is None:
        for one in processes_below(process.pid):
            seconds[one] = max(seconds.get(one, 0.0), process_seconds(one))
        time.sleep(_SAMPLED_EVERY)
    return sum(seconds.values())
