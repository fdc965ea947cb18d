"""The jars of a Kafka broker on this machine: fetched once, by the Ivy in Spark, into the installation's folder.

jars.txt pins them; what Spark has as well (Scala, Jackson, logging, compression) is taken from Spark.
"""

import fcntl
import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from reconciler.engine.spark.installation import Jar, installation, spark_home

_FROM_SPARK = (
    "jackson-annotations",
    "jackson-core",
    "jackson-databind",
    "jackson-dataformat-yaml",
    "log4j-api",
    "log4j-core",
    "log4j-slf4j2-impl",
    "lz4-java",
    "scala-library",
    "scala-reflect",
    "slf4j-api",
    "snakeyaml",
    "snappy-java",
    "zstd-jni",
)


def broker_class_path() -> str:
    """Everything that a broker needs, as a Java class path; the first call on a machine fetches it."""
    lines = (Path(__file__).parent / "jars.txt").read_text("utf-8").splitlines()
    pinned = [Jar(*line.split()) for line in lines if not line.startswith("#")]
    (version,) = {jar.coordinates.split(":")[2] for jar in pinned if ":kafka_2.13:" in jar.coordinates}
    folder = installation().folder.parent / f"kafka-{version}"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        missing = [jar for jar in pinned if not (folder / jar.file_name).is_file()]
        if missing:
            _fetch(missing, folder)
    found = [path for name in _FROM_SPARK for path in (spark_home() / "jars").glob(f"{name}*.jar") if _is(path, name)]
    assert len(found) == len(_FROM_SPARK), "Spark has other jars than this broker was put together with"
    return os.pathsep.join(map(str, [*(folder / jar.file_name for jar in pinned), *found]))


def _is(path: Path, artifact: str) -> bool:
    rest = path.name.removeprefix(artifact).removeprefix("_2.13")
    return rest[0] == "-" and rest[1].isdigit()


def _fetch(jars: list[Jar], folder: Path) -> None:
    with tempfile.TemporaryDirectory(prefix=".partial-", dir=folder) as partial:
        command = [sys.executable, "-W", "ignore", "-m", "reconciler.engine.spark.fetch", partial]
        coordinates = [jar.coordinates for jar in jars]
        answer = subprocess.run([*command, *coordinates], capture_output=True, text=True, timeout=600, check=False)
        if answer.returncode != 0:
            raise RuntimeError(f"the broker's jars can't be fetched: {answer.stderr[-2000:]}")
        fetched = dict(line.split("\t", 1) for line in answer.stdout.splitlines() if "\t" in line)
        for jar in jars:
            source = Path(fetched[jar.coordinates])
            digest = hashlib.sha256(source.read_bytes()).hexdigest()
            if digest != jar.sha256:
                raise RuntimeError(f"{jar.coordinates} has SHA-256 {digest}, another than jars.txt pins")
            os.replace(source, folder / jar.file_name)
