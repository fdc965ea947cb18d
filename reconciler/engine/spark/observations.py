"""What Spark counts on the way while it writes rows."""

import time
from collections.abc import Mapping
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark.sql import Observation

_PATIENCE: Final = 10.0


def observed(observation: Observation) -> Mapping[str, Any]:
    """What was observed. Nothing, where Spark found that there was nothing to compute and left the observation out."""
    java: Any = observation._jo
    future = java.future()  # `get` waits without end
    until = time.monotonic() + _PATIENCE
    while not future.isCompleted() and time.monotonic() < until:
        time.sleep(0.005)
    try:
        return observation.get if future.isCompleted() else {}
    except Py4JError:
        return {}
