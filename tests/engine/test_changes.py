"""Changes, one by one and many at once, on both engines."""

import pytest

from tests.engine.changes_contract import ChangesContract
from tests.engine.engines import OnRecording


class TestRecordingChanges(OnRecording, ChangesContract):
    pass


@pytest.mark.spark
class TestSparkChanges(ChangesContract):
    pass
