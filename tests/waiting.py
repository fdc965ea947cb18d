"""Waiting for what somebody else does."""

import time
from collections.abc import Callable

PATIENCE_SECONDS = 180
"""No test is about how fast the machine is, so whoever waits gives up late."""


def wait_until(is_so: Callable[[], object], seconds: float = PATIENCE_SECONDS) -> None:
    """Wait for something; fail when it does not come. Looking takes a quarter of the time at most: the rest is for who is
    waited for."""
    until = time.monotonic() + seconds
    while True:
        looked = time.monotonic()
        if is_so():
            return
        assert looked < until, "it did not come"
        time.sleep(max(0.05, min(1.0, 3 * (time.monotonic() - looked))))
