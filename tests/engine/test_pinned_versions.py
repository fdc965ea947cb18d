"""What is pinned in several places is pinned to one version: Delta's package and its jars, Spark's and those built for it.

No module imports delta-spark. It is required because it says, for pip, which pyspark this Delta is made for; the jars
that a session loads are those of jars.txt. Were the two raised one without the other, nothing else would notice.
"""

import re
from importlib.metadata import requires, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from reconciler.engine.spark.installation import pinned_jars

ROOT = Path(__file__).parents[2]
PINS = ("pyproject.toml", "requirements/runtime.in", "requirements/runtime.txt", "requirements/development.txt")


def pinned(package: str, file: str) -> set[str]:
    """Every exact version that a file pins a package to."""
    return set(re.findall(rf"(?m)^\W*{package}==([\w.]+)", (ROOT / file).read_text("utf-8")))


def jars(group: str) -> dict[str, str]:
    """Versions by artifact, of the jars of a group."""
    found = [jar.coordinates.split(":") for jar in pinned_jars()]
    return {artifact: version for owner, artifact, version in found if owner == group}


@pytest.mark.parametrize("package", ["delta-spark", "pyspark"])
def test_a_package_has_one_version_wherever_it_is_pinned(package: str) -> None:
    assert {file: pinned(package, file) for file in PINS} == {file: {version(package)} for file in PINS}


def test_deltas_jars_have_the_version_of_its_package() -> None:
    found = jars("io.delta")
    assert found
    assert set(found.values()) == {version("delta-spark")}


def test_jars_are_built_for_the_spark_that_is_installed() -> None:
    spark = version("pyspark")
    minor = spark.rpartition(".")[0]
    assert f"delta-spark_{minor}_2.13" in jars("io.delta")
    assert jars("org.apache.spark")["spark-sql-kafka-0-10_2.13"] == spark


def test_delta_is_made_for_the_spark_that_is_pinned() -> None:
    (needed,) = [one for one in map(Requirement, requires("delta-spark") or []) if one.name == "pyspark"]
    assert needed.specifier.contains(Version(version("pyspark")))
