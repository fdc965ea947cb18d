"""Which Spark of another process serves, and what happens where it has ended since it was offered."""

import socket
import subprocess
import sys

import pytest

from reconciler.engine.spark.sharing import Offer, differing, known_to_java

_OFFER = Offer(1, "secret", {"spark.master": "local[2]", "spark.x": "1"}, known_to_java({"TZ": "UTC", "TERM": "dumb"}))


@pytest.mark.parametrize(
    ("settings", "environment", "names"),
    [
        ({}, {}, []),
        ({"spark.x": "2"}, {}, ["spark.x"]),
        ({"spark.y": "1"}, {}, ["spark.y"]),
        ({}, {"TZ": "Asia/Tokyo"}, ["TZ"]),
        ({}, {"AWS_PROFILE": "other"}, ["AWS_PROFILE"]),
        ({}, {"TERM": "xterm", "PWD": "/", "GITHUB_ACTION": "1", "RECONCILE_CACHE": "/c", "PATH": "/bin"}, []),
        ({"spark.x": "2"}, {"UNKNOWN": "1"}, ["spark.x", "UNKNOWN"]),
    ],
)
def test_settings_and_variables_that_may_mean_something_are_the_same(
    settings: dict[str, str], environment: dict[str, str], names: list[str]
) -> None:
    assert differing(_OFFER, {**_OFFER.settings, **settings}, {"TZ": "UTC", **environment}) == names


def test_a_setting_or_variable_that_is_gone_is_another() -> None:
    assert differing(_OFFER, {"spark.master": "local[2]"}, {}) == ["spark.x", "TZ"]


_PROGRAM = """
import os, sys
from reconciler.engine.spark import sharing
from reconciler.engine.spark.installation import installation
from reconciler.engine.spark.java import find_java
from reconciler.engine.spark.session import start, stop
from reconciler.engine.spark.starting_settings import session_settings

wanted = session_settings({}, installation(), find_java(), lives_long=True)
offer = sharing.Offer(int(sys.argv[1]), "none", wanted, sharing.known_to_java(os.environ))
sharing.ask_first(lambda: offer, print, lambda: None)
session = start()
print(session.sql("SELECT 1 AS one").collect())
stop(session)
"""


@pytest.mark.slow
@pytest.mark.spark
def test_a_spark_that_has_ended_is_replaced_by_one_of_its_own() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        done = subprocess.run(
            [sys.executable, "-c", _PROGRAM, str(closed.getsockname()[1])],
            capture_output=True,
            text=True,
            check=False,
            timeout=200,
        )
    assert (done.returncode, done.stdout) == (0, "[Row(one=1)]\n"), done.stderr
