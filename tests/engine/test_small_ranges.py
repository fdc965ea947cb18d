"""Small ranges that are brought in without Spark: the contracts, as far as no Spark is needed for them.

Where an engine would have to start Spark, the rest of a test is skipped: what is left to Spark is its contract's to show.
"""

from typing import NoReturn

import pytest

from reconciler.engine.arrow.ingest import ingest
from reconciler.engine.protocol import Engine, Ingestion, Written
from reconciler.engine.spark.engine import SparkEngine
from tests.engine.changes_contract import ChangesContract
from tests.engine.engines import DeltaStorage
from tests.engine.ingest_contract import IngestContract


def no_spark() -> NoReturn:
    pytest.skip("this is Spark's to do")


class Small(SparkEngine):
    """Without Spark where that is possible."""

    def ingest(self, ingestion: Ingestion) -> Written:
        written = ingest(ingestion)
        return super().ingest(ingestion) if written is None else written


class OnArrow:
    @pytest.fixture
    def storage(self) -> DeltaStorage:
        return DeltaStorage()

    @pytest.fixture
    def engine(self) -> Engine:
        return Small(no_spark)


class TestSmallRanges(OnArrow, IngestContract):
    pass


class TestSmallChanges(OnArrow, ChangesContract):
    pass
