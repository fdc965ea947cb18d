"""The S3 server of this folder's tests, one for all, and a bucket for each."""

from collections.abc import Iterator

import pytest

from tests.s3.server import Bucket, Server, running


@pytest.fixture(scope="session")
def s3_server() -> Iterator[Server]:
    yield from running()


@pytest.fixture
def bucket(s3_server: Server, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    """A bucket; this process's environment leads to it."""
    for name, value in s3_server.variables.items():
        monkeypatch.setenv(name, value)
    return s3_server.new_bucket()
