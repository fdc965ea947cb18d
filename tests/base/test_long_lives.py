"""What processes do that live for long."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import gc, os, sys
from reconciler.base.long_lives import load_deltalake, look_for_circles
before = dict(os.environ)
load_deltalake()
look_for_circles()

class Circle:
    gone = 0
    def __init__(self): self.me = self
    def __del__(self): Circle.gone += 1

for _ in range(50_000): Circle()
print("deltalake" in sys.modules, os.environ == before, Circle.gone > 0)
"""


@pytest.mark.parametrize("own", [{}, {"_RJEM_MALLOC_CONF": "narenas:2"}], ids=["nothing said", "a setting of the user's"])
def test_circles_go_and_the_environment_is_left_as_it_was(own: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env={**os.environ, **own}, capture_output=True, text=True, check=True
    )

    assert done.stdout.split() == ["True"] * 3
    assert "Invalid conf" not in done.stderr


def test_deltalake_reads_the_setting() -> None:
    """Under another name nobody would notice that it does nothing."""
    wrong = {**os.environ, "_RJEM_MALLOC_CONF": "nonsense:1"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=wrong, capture_output=True, text=True, check=True)

    assert "Invalid conf pair: nonsense:1" in done.stderr
