"""Small ranges that are brought in without Spark: the contracts, as far as no Spark is needed for them.

Where an engine would have to start Spark, the rest of a test is skipped: what is left to Spark is its contract's to show.
"""

from typing import NoReturn

import pytest

from reconciler.delta.arrow_rows import plain_table
from reconciler.engine.by_size import EngineBySize
from reconciler.engine.protocol import Engine, Ingestion, Written
from reconciler.engine.spark.engine import SparkEngine
from tests.delta.known_changes import are_as_the_files_say
from tests.engine.changes_contract import ChangesContract
from tests.engine.delta_input_contract import DeltaInputContract
from tests.engine.engines import DeltaStorage
from tests.engine.ingest_contract import IngestContract


def no_spark() -> NoReturn:
    pytest.skip("this is Spark's to do")


class Telling(EngineBySize):
    """Of what it writes to a table it is known which rows changed."""

    def ingest(self, ingestion: Ingestion) -> Written:
        before = plain_table(ingestion.target.location)
        written = super().ingest(ingestion)
        if before is not None and not written.reused and written.version == before.version + 1:
            assert are_as_the_files_say(ingestion.target.location, before.version, written.version)
        return written


class OnArrow:
    @pytest.fixture
    def storage(self) -> DeltaStorage:
        return DeltaStorage()

    @pytest.fixture
    def engine(self) -> Engine:
        return Telling(SparkEngine(no_spark), dict)


class TestSmallRanges(OnArrow, IngestContract):
    pass


class TestSmallChanges(OnArrow, ChangesContract):
    pass


class TestSmallDeltaTables(OnArrow, DeltaInputContract):
    pass
