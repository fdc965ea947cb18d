"""A Spark standalone cluster on loopback: a master and two workers, each a process of its own, from pyspark's own jars.

Executors are further processes, started by the workers when a driver comes. Each part is the leader of a group of
processes, and the group ends with the process of the tests, however that ends. A worker offers one core and 1 GB.
"""

import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from reconciler.engine.spark.installation import spark_home
from reconciler.engine.spark.java import find_java

_LONGEST_START = 180
_MASTER = re.compile(r"Starting Spark master at (spark://127\.0\.0\.1:\d+)")

# Standard input is at its end when the tests' process is gone; then all of the group goes.
_GUARD = """exec 3<&0
"$@" </dev/null 3<&- &
part=$!
(cat <&3 >/dev/null; kill -9 0) &
wait $part
"""


@dataclass(frozen=True, slots=True)
class Cluster:
    """`master` is what drivers are told; executors leave their logs in the workers' folders."""

    master: str
    folder: Path

    def executors(self) -> dict[str, list[Path]]:
        """The logs of the executors of each application, those of the oldest one first."""
        found: dict[str, list[Path]] = {}
        for log in sorted(self.folder.glob("worker-*/app-*/*/stderr"), key=lambda log: log.parts[-3:]):
            found.setdefault(log.parts[-3], []).append(log)
        return found


def running(folder: Path) -> Iterator[Cluster]:
    """A cluster while the fixture is in use."""
    parts: list[subprocess.Popen[bytes]] = []
    try:
        parts.append(_start(folder, "master", "org.apache.spark.deploy.master.Master", "--port", "0"))
        master = _said(folder / "master.log", _MASTER, parts)[0]
        for number in (1, 2):
            arguments = ["--cores", "1", "--memory", "1g", "--work-dir", str(folder / f"worker-{number}"), master]
            parts.append(_start(folder, f"worker-{number}", "org.apache.spark.deploy.worker.Worker", *arguments))
        for number in (1, 2):
            _said(folder / f"worker-{number}.log", re.compile("Successfully registered with (master)"), parts)
        yield Cluster(master, folder)
    finally:
        for part in reversed(parts):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(part.pid, signal.SIGKILL)
            part.wait()


def _start(folder: Path, name: str, kind: str, *arguments: str) -> "subprocess.Popen[bytes]":
    spark_class = str(spark_home() / "bin" / "spark-class")
    command = ["sh", "-c", _GUARD, "sh", spark_class, kind, "--host", "127.0.0.1", "--webui-port", "0", *arguments]
    with (folder / f"{name}.log").open("wb") as log:
        return subprocess.Popen(
            command, env=_environment(), stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True
        )


def _environment() -> Mapping[str, str]:
    spark = ("PYSPARK_", "SPARK_", "PYTHONPATH")
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(spark)},
        "JAVA_HOME": str(find_java().home),
        "SPARK_HOME": str(spark_home()),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }


def _said(log: Path, wanted: "re.Pattern[str]", parts: "list[subprocess.Popen[bytes]]") -> tuple[str, ...]:
    deadline = time.monotonic() + _LONGEST_START
    while time.monotonic() < deadline:
        text = log.read_text("utf-8", "replace")
        found = wanted.search(text)
        if found is not None:
            return found.groups()
        assert all(part.poll() is None for part in parts), f"a part of the cluster ended by itself: {text[-2000:]}"
        time.sleep(0.2)
    raise AssertionError(f"the cluster did not start: {text[-2000:]}")
