"""When a connector that failed is tried again."""

from datetime import UTC, datetime

from reconciler.base.errors import EngineError
from reconciler.run.failures import Failures


def test_waits_double_and_a_resume_cuts_them_short() -> None:
    now = [0.0]
    failures = Failures(lambda: now[0], lambda: datetime.fromtimestamp(now[0], UTC))
    error = EngineError("X740", "the brokers can't be reached")
    for _ in range(4):
        failures.add("t.live", error)
    failures.add("t.other", error)
    now[0] = 1.0
    assert failures.waiting(once=False) == {"t.live"}
    failures.try_now(["t.live", "t.unknown"])
    assert failures.waiting(once=False) == set()
    # It goes on from there: who fails again waits twice as long as before.
    again = failures.add("t.live", error)
    assert (again.attempts, again.retry - now[0]) == (5, 16.0)
    assert failures.of("t.unknown") is None
    assert failures.forget("t.live")
