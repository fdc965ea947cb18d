"""The pipeline of numbered.py, applied once for all tests."""

import shutil
from pathlib import Path

import pytest

from tests.versions.objects.numbered import EVOLVE, apply, numbers, open_shop


@pytest.fixture(scope="session")
def applied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("applied")
    assert apply(root, more=EVOLVE) == numbers()
    open_shop(root).execute("INSERT INTO t VALUES (1, 10)")
    return root


@pytest.fixture
def shop(applied: Path, tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    shutil.copytree(applied, root)
    return root
