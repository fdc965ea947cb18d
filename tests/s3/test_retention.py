"""The contract of retention on S3."""

import pytest

from tests.delta.lakes import Lake
from tests.delta.retention_contract import RetentionContract, ten_versions
from tests.s3.lake import S3Lake
from tests.s3.server import Bucket


class TestOnS3(RetentionContract):
    @pytest.fixture
    def lake(self, bucket: Bucket) -> Lake:
        return S3Lake(bucket)

    @pytest.fixture
    def place(self, lake: Lake) -> str:
        return ten_versions(lake.location("with a space and ü"))
