"""What tests share: one Spark session for the whole run, started by the first test that asks for it."""

from collections.abc import Iterator

import pytest

from reconciler.engine.protocol import Engine

_SETTINGS = {
    "spark.master": "local[2]",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.coalescePartitions.initialPartitionNum": "2",
}


@pytest.fixture(scope="session")
def spark_engine() -> Iterator[Engine]:
    """The engine on Spark; mark tests that use it with `spark`. Its JVM starts with the first call that needs it."""
    from reconciler.engine.spark.engine import spark_engine as new_engine

    engine = new_engine(_SETTINGS)
    yield engine
    engine.close()
