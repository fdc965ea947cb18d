"""The contract of objects on a disk."""

from pathlib import Path

import pytest

from reconciler.base.errors import RegistryError
from reconciler.delta.objects import can_be_listed, stored_objects
from tests.delta.lakes import Lake, LocalLake
from tests.delta.objects_contract import ObjectsContract


class TestOnADisk(ObjectsContract):
    @pytest.fixture
    def lake(self, tmp_path: Path) -> Lake:
        return LocalLake(tmp_path)


def test_a_place_may_be_a_uri(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("some")
    assert [one.path for one in stored_objects(f"file://{tmp_path}")] == ["a"]


def test_a_folder_that_may_not_be_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / ("n" * 200)).mkdir()
    with pytest.raises(RegistryError) as raised:
        list(stored_objects(str(tmp_path), "n" * 300))
    assert raised.value.code == "G602"


def test_other_stores_are_not_looked_at() -> None:
    assert [can_be_listed(place) for place in ("s3://b/t", "s3a://b/t", "gs://b/t", "hdfs://n/t")] == [
        True,
        True,
        False,
        False,
    ]
