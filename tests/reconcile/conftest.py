"""What tests of runs share: the pipeline of lineitem.py, and its commands."""

from pathlib import Path

import pytest

from tests.reconcile.lineitem import make
from tests.reconcile.runs import Reconcile, commands


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make(tmp_path / "shop")


@pytest.fixture
def reconcile(root: Path, capsys: pytest.CaptureFixture[str]) -> Reconcile:
    return commands(root, capsys)
