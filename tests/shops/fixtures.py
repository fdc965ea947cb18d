"""What tests of runs share: the pipeline of lineitem.py and its commands, the shop of sea.py."""

from pathlib import Path

import pytest

from tests.shops.lineitem import make
from tests.shops.runs import Reconcile, commands
from tests.shops.sea import Sea


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make(tmp_path / "shop")


@pytest.fixture
def reconcile(root: Path, capsys: pytest.CaptureFixture[str]) -> Reconcile:
    return commands(root, capsys)


@pytest.fixture
def sea(tmp_path: Path) -> Sea:
    return Sea(tmp_path)
