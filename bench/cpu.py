"""The CPU seconds of a benchmark: those of this process and of all that it started, Java's among them (Linux).

The kernel has them to the nanosecond, by a clock for each process. `/proc/PID/stat` counts in hundredths of a second, which
is much beside a view that takes five of them. Which processes there are is looked up once a second: that takes milliseconds,
and would be counted as well.
"""

import os
import time
from pathlib import Path
from typing import Final

_LOOKED_UP_EVERY: Final = 1.0
_CPU_CLOCK_OF_A_PROCESS: Final = 2

_found: tuple[float, tuple[int, ...]] = (-_LOOKED_UP_EVERY, ())


def cpu_seconds() -> float:
    """All until now."""
    return sum(map(process_seconds, _processes()))


def process_seconds(process: int) -> float:
    """Those of one process; none where it is gone."""
    try:
        return time.clock_gettime((~process << 3) | _CPU_CLOCK_OF_A_PROCESS)
    except OSError:
        return 0.0


def _processes() -> tuple[int, ...]:
    global _found
    now = time.monotonic()
    if now - _found[0] >= _LOOKED_UP_EVERY:
        _found = now, processes_below(os.getpid())
    return _found[1]


def processes_below(own: int) -> tuple[int, ...]:
    """A process, and those below it."""
    parents = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name of the program, in parentheses, may hold anything.
            parents[int(file.parent.name)] = int(file.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found: list[int] = []
    for process in parents:
        ancestor = process
        while ancestor != own and ancestor in parents:
            ancestor = parents[ancestor]
        found += [process] if ancestor == own else []
    return tuple(found)
