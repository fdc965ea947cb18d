"""The cluster of this folder's tests, one for all."""

from collections.abc import Iterator

import pytest

from tests.cluster.standalone import Cluster, running


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    yield from running(tmp_path_factory.mktemp("cluster"))
