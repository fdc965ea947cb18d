"""The contract of objects on S3, and what is peculiar to it."""

import pytest

from reconciler.base.errors import RegistryError
from reconciler.delta.objects import read_objects, stored_objects
from tests.delta.lakes import Lake
from tests.delta.objects_contract import ObjectsContract
from tests.s3.lake import S3Lake
from tests.s3.server import Bucket


class TestOnS3(ObjectsContract):
    @pytest.fixture
    def lake(self, bucket: Bucket) -> Lake:
        return S3Lake(bucket)


def test_what_hadoop_marks_folders_by_is_not_told(bucket: Bucket) -> None:
    for key in ("t/", "t/v-1/", "t/v-1/_delta_log/"):
        bucket.put(key, "")
    bucket.put("t/v-1/a", "some")
    assert [one.path for one in stored_objects(f"s3://{bucket.name}/t")] == ["v-1/a"]


def test_one_place_has_two_names(bucket: Bucket) -> None:
    bucket.put("t/a", "some")
    assert [one.path for one in stored_objects(f"s3a://{bucket.name}/t/")] == ["a"]
    assert list(read_objects(f"s3a://{bucket.name}/t", ["a"])) == [b"some"]
    assert [one.path for one in stored_objects(f"s3://{bucket.name}")] == ["t/a"]


def test_a_bucket_that_is_not_there_is_an_error(bucket: Bucket) -> None:
    with pytest.raises(RegistryError, match="no-such-bucket-here") as raised:
        list(stored_objects("s3://no-such-bucket-here/t"))
    assert (raised.value.code, "\x1b" in raised.value.message) == ("G602", False)


def test_a_store_that_is_out_of_reach_is_an_error(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "something")
    monkeypatch.setenv("AWS_ALLOW_HTTP", "false")
    with pytest.raises(RegistryError) as raised:
        list(stored_objects(f"s3://{bucket.name}/t"))
    assert raised.value.code == "G602"
