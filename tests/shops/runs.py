"""What tests of runs of the pipeline in lineitem.py look at, and its commands as a user gives them."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.service.status_model import PipelineStatus
from tests.acceptance.shop import stored_rows
from tests.shops.lineitem import opened

Reconcile = Callable[..., str]

COMMAND = (sys.executable, "-c", "from reconciler.cli.main import main; main()")
"""The command line in a process of its own; arguments follow."""


def commands(root: Path, capsys: pytest.CaptureFixture[str]) -> Reconcile:
    """A command on the repository; what it printed. Fails when the command does."""

    def call(*arguments: str, code: int = 0) -> str:
        capsys.readouterr()
        assert run([*arguments, "--repo", str(root)]) == code, capsys.readouterr().err
        printed = capsys.readouterr()
        return printed.out + printed.err if code else printed.out

    return call


def status(root: Path) -> PipelineStatus:
    """The status, with everything read anew."""
    return opened(root).status()


def state(root: Path) -> str:
    """The state alone."""
    return status(root).state.value


def rows(root: Path, relation: str = "lineitem") -> list[tuple[object, ...]]:
    """What another reader finds there; nothing, too, where there is no table."""
    return stored_rows(root, relation) or []
