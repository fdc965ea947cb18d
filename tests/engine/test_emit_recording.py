"""The recording engine's sinks keep the contract of sinks."""

from tests.engine.emit_contract import EmitContract
from tests.engine.engines import OnRecording


class TestRecordingEngine(OnRecording, EmitContract):
    pass
