"""The repository and the warehouse that every cell is copied from are made once."""

from pathlib import Path

import pytest

from tests.consent.cell import Cell, copy_base, make_base


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("consent") / "base"
    home.mkdir()
    make_base(home)
    return home


@pytest.fixture
def cell(base: Path, tmp_path: Path) -> Cell:
    return copy_base(base, tmp_path / "cell")
