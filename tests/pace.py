"""How fast the machine is right now, for tests that say how much work something is at most."""

import time

_TURNS = 2_000_000
_USUAL_SECONDS = 0.1
"""What the loop takes on a processor of 2.1 GHz that nobody else uses."""


def at_usual_pace(seconds: float) -> float:
    """CPU seconds of this process or of a child's, as they would be on a machine that nobody else uses. A core
    that is shared takes up to twice as many of them for the same work, also where one only shares its other thread."""
    began, total = time.process_time(), 0
    for turn in range(_TURNS):
        total += turn
    return seconds / max(1.0, (time.process_time() - began) / _USUAL_SECONDS)
