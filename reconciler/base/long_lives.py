"""A process that lives for long and does the same again and again stays as small as it was.

- Each step leaves values behind that refer to each other in a circle. Some of them hold objects of Java. Python looks for
  such circles after so many new values. A short command turns that off, because it ends faster so (`cli.main`).
- deltalake allocates memory by jemalloc, which by itself has four arenas for each core, and gives freed memory back after
  ten seconds. Here it has one arena, and gives memory back after a second: a pipeline's process takes less memory, and no
  more time (bench/README.md, Load). jemalloc reads its setting when deltalake is loaded. A setting of the user's own counts.
"""

import gc
import importlib
import os
from typing import Final

_LOOKS: Final = (10_000, 10, 1)
"""Thresholds of Python's three generations: after so many new values it looks through these, after ten such looks through
somewhat older ones, and with every second of those through all."""

_JEMALLOC: Final = "_RJEM_MALLOC_CONF"
_ONE_ARENA: Final = "narenas:1,dirty_decay_ms:1000"


def look_for_circles() -> None:
    """Have this process, and those that it forks, look for circles of values that nobody refers to."""
    gc.set_threshold(*_LOOKS)


def load_deltalake() -> None:
    """Import deltalake as a process does that lives for long. The environment is left as it was."""
    is_said = _JEMALLOC in os.environ
    os.environ.setdefault(_JEMALLOC, _ONE_ARENA)
    try:
        importlib.import_module("deltalake")
    finally:
        if not is_said:
            del os.environ[_JEMALLOC]
