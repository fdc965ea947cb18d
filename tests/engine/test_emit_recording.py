"""The recording engine's sinks keep the contract of sinks."""

import pytest

from reconciler.engine.recording import RecordingEngine
from tests.engine.emit_contract import EmitContract
from tests.engine.test_recording import Memory


@pytest.fixture
def storage() -> Memory:
    return Memory()


@pytest.fixture
def engine(storage: Memory) -> RecordingEngine:
    return RecordingEngine(storage.writer)


class TestRecordingEngine(EmitContract):
    pass
