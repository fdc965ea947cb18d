"""Boundaries: the named points between effects at which a process may die, so that tests can make it die there.

The shell calls a boundary with a name such as `bootstrap_view:effected`; in production it does nothing. A rule stops the
process or raises at the n-th occurrence of a name. `RECONCILE_CRASH_AT=name[#n]` gives the command line a rule, for tests
with real kills; it has no other use.
"""

import os
import signal
from collections.abc import Callable, Mapping
from typing import TypeAlias

Boundary: TypeAlias = Callable[[str], None]

BEFORE, INTENDED, EFFECTED, RECORDED = "before", "intended", "effected", "recorded"


def no_boundary(name: str) -> None:
    """The boundary of production."""


def stop_at(name: str, occurrence: int, stop: Callable[[str], None]) -> Boundary:
    """Call `stop` at the n-th occurrence of a name."""
    reached = 0

    def boundary(current: str) -> None:
        nonlocal reached
        if current == name:
            reached += 1
            if reached == occurrence:
                stop(current)

    return boundary


def boundary_from_environment(environment: Mapping[str, str]) -> Boundary:
    """The boundary of a command: kill this process, as `kill -9` does, at what RECONCILE_CRASH_AT names, else none."""
    rule = environment.get("RECONCILE_CRASH_AT")
    if not rule:
        return no_boundary
    name, _, occurrence = rule.partition("#")
    return stop_at(name, int(occurrence or "1"), lambda reached: os.kill(os.getpid(), signal.SIGKILL))
