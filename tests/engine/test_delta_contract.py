"""Other Delta tables as inputs, on Spark."""

import pytest

from tests.engine.delta_input_contract import DeltaInputContract


@pytest.mark.spark
class TestSparkDeltaTables(DeltaInputContract):
    pass
