"""The contract of retention on a disk, where folders that nothing is left in go, too."""

from pathlib import Path

import pytest

from reconciler.delta.unneeded_files import remove_empty_folders
from tests.delta.lakes import Lake, LocalLake
from tests.delta.retention_contract import RetentionContract, ten_versions


class TestOnADisk(RetentionContract):
    @pytest.fixture
    def lake(self, tmp_path: Path) -> Lake:
        return LocalLake(tmp_path)

    @pytest.fixture(params=["t", "with a space and ü"])
    def place(self, lake: Lake, request: pytest.FixtureRequest) -> str:
        return ten_versions(lake.location(request.param))


def test_folders_in_which_nothing_is_left_go(tmp_path: Path) -> None:
    for name in ("gone/_delta_log/_staged_commits", "some"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "some" / "x").write_text("rows")
    remove_empty_folders(str(tmp_path), ["gone/_delta_log/0.json", "gone/a.parquet", "some/b.parquet", "own.parquet"])
    assert [path.name for path in tmp_path.iterdir()] == ["some"]
