"""Object versions where the registry is on S3: what is settled by a file that a local disk makes once, a conditional request
settles there."""

from pathlib import Path

import pytest

from tests.s3.server import Bucket
from tests.versions.test_object_versions_concurrent import every_definition_that_landed_is_one_version


@pytest.mark.slow
def test_every_definition_that_landed_is_one_version(bucket: Bucket, tmp_path: Path) -> None:
    every_definition_that_landed_is_one_version(tmp_path, f"s3://{bucket.name}/warehouse", 0.5)
