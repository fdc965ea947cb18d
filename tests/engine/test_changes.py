"""Changes, one by one and many at once, on both engines."""

import pytest

from reconciler.engine.protocol import Engine
from reconciler.engine.recording import RecordingEngine
from tests.engine.changes_contract import ChangesContract
from tests.engine.test_recording import Memory
from tests.engine.test_spark import DeltaStorage


class TestRecordingChanges(ChangesContract):
    @pytest.fixture
    def storage(self) -> Memory:
        return Memory()

    @pytest.fixture
    def engine(self, storage: Memory) -> RecordingEngine:
        return RecordingEngine(storage.writer)


@pytest.mark.spark
class TestSparkChanges(ChangesContract):
    @pytest.fixture
    def storage(self) -> DeltaStorage:
        return DeltaStorage()

    @pytest.fixture
    def engine(self, spark_engine: Engine) -> Engine:
        return spark_engine
