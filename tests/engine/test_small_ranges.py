"""Small ranges that are brought in without Spark: the contracts, as far as no Spark is needed for them.

Where an engine would have to start Spark, the rest of a test is skipped: what is left to Spark is its contract's to show.
"""

from typing import NoReturn

import pytest

from reconciler.engine.by_size import EngineBySize
from reconciler.engine.protocol import Engine
from reconciler.engine.spark.engine import SparkEngine
from tests.engine.changes_contract import ChangesContract
from tests.engine.delta_input_contract import DeltaInputContract
from tests.engine.engines import DeltaStorage
from tests.engine.ingest_contract import IngestContract


def no_spark() -> NoReturn:
    pytest.skip("this is Spark's to do")


class OnArrow:
    @pytest.fixture
    def storage(self) -> DeltaStorage:
        return DeltaStorage()

    @pytest.fixture
    def engine(self) -> Engine:
        return EngineBySize(SparkEngine(no_spark), dict)


class TestSmallRanges(OnArrow, IngestContract):
    pass


class TestSmallChanges(OnArrow, ChangesContract):
    pass


class TestSmallDeltaTables(OnArrow, DeltaInputContract):
    pass
