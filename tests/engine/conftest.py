"""What tests of engines share: the engine on Spark, and its tables as somebody else sees them."""

import pytest

from reconciler.engine.protocol import Engine
from tests.engine.engines import DeltaStorage


@pytest.fixture
def storage() -> DeltaStorage:
    return DeltaStorage()


@pytest.fixture
def engine(spark_engine: Engine) -> Engine:
    return spark_engine
