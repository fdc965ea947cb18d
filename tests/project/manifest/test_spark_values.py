"""Which settings of Spark and Hadoop are credentials, and which only speak of one: each that is defined, by name."""

import re
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pyspark
import pytest

from reconciler.project.manifest.spark_values import is_credential, is_plain, may_be_credential
from reconciler.project.program.settings import is_recorded, sealed_environment

LISTED = (Path(__file__).parent / "secret_words.txt").read_text("utf-8").splitlines()
"""`C name` is a credential; `P name` is not: it is recorded, and its change is planned."""
KINDS = {name: kind for kind, _, name in (line.partition(" ") for line in LISTED if line and not line.startswith("#"))}
_WORDS = re.compile(
    r"passw|passphrase|secret|token|credential|signature|(^|[._-])(sas|sig|pwd|pw)($|[._-])"
    r"|(private|account|master|customer|encryption|api|shared|access)[._-]?key($|[._-])",
    re.IGNORECASE,
)
_IN_CLASSES = re.compile(rb"\x01..((?:spark|fs|hadoop|dfs|yarn|mapreduce|ipc)\.[A-Za-z0-9._-]{4,90})")
_CLASSES = re.compile(r"/(fs|conf|crypto|security|deploy)/|config|Conf|Constants|Keys")
_DEFAULTS = re.compile(r"(core|hdfs|yarn|mapred)-default\.xml$")


@pytest.mark.parametrize("name", KINDS)
def test_each_that_speaks_of_a_secret_is_what_it_is_listed_as(name: str) -> None:
    assert is_credential(name) is (KINDS[name] == "C")
    assert is_recorded(name) is (KINDS[name] == "P")
    assert not is_plain(name, "x1")
    if KINDS[name] == "P":
        before, after = (sealed_environment({name: text}) for text in ("org.one.Class", "org.other.Class"))
        assert before.keys() == after.keys() == {name}
        assert before != after


def test_every_one_that_this_spark_and_this_hadoop_define_is_listed() -> None:
    """The net for the next version: look at what is new, and list it."""
    found: set[str] = set()
    for jar in (Path(pyspark.__file__).parent / "jars").glob("*.jar"):
        if re.search(r"hadoop-client-api|^spark-", jar.name):
            with zipfile.ZipFile(jar) as files:
                found |= _defined(files)
    assert len(found) > 80
    assert sorted(found - KINDS.keys()) == []


def test_what_may_be_a_credential_is_hidden_though_it_is_recorded() -> None:
    for name in ("spark.executorEnv.API_TOKEN", "spark.yarn.appMasterEnv.X_SECRET", "spark.hadoop.nobody.knows.secret.key"):
        assert may_be_credential(name)
        assert is_recorded(name)


def _defined(files: zipfile.ZipFile) -> set[str]:
    found: set[str] = set()
    for name in files.namelist():
        if _DEFAULTS.search(name):
            texts = [one.text or "" for one in ElementTree.fromstring(files.read(name)).iter("name")]
        elif name.endswith(".class") and _CLASSES.search(name):
            texts = [one.decode() for one in _IN_CLASSES.findall(files.read(name))]
        else:
            continue
        found |= {_full(text.strip()) for text in texts if _WORDS.search(text)}
    return found


def _full(name: str) -> str:
    """As it is set for Spark; a name that is a beginning, with something behind it."""
    whole = name if name.startswith("spark.") else f"spark.hadoop.{name}"
    return f"{whole}x" if whole.endswith(".") else whole
