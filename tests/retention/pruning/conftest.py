"""The pipeline of shop.py, with three versions, built once for all tests."""

import shutil
from pathlib import Path

import pytest

from tests.retention.pruning.shop import FIRST, SECOND, THIRD, Shop


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """total v0 was active until step 2, v1 until step 4, v2 is; dear v0 until step 4, v1 is."""
    root = tmp_path_factory.mktemp("built")
    shop = Shop(root)
    shop.apply(FIRST)
    shop.insert(1)
    shop.apply(SECOND)
    shop.insert(2)
    shop.apply(THIRD)
    shop.insert(3)
    return root


@pytest.fixture
def shop(built: Path, tmp_path: Path) -> Shop:
    root = tmp_path / "shop"
    shutil.copytree(built, root)
    return Shop(root)
