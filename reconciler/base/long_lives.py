"""A process that lives for long and does the same again and again stays as small as it was.

- Each step leaves circles of values behind, and some of them hold what is Java's. Python looks for circles after so many
  new values; a short command has it look for none (`cli.main`), which is faster.
- deltalake allocates by jemalloc, which has a share of memory for each core four times over, and keeps for ten seconds what
  was freed. Here it has one share for all threads, and keeps what was freed for a second. A pipeline's process takes less
  memory by that and no more time (bench/README.md, Load). jemalloc reads its setting when deltalake is loaded. Where the
  user has set one, that counts.
"""

import gc
import importlib
import os
from typing import Final

_LOOKS: Final = (10_000, 10, 1)
"""After so many new values, and how often the old ones are looked through with them."""

_JEMALLOC: Final = "_RJEM_MALLOC_CONF"
_ONE_SHARE: Final = "narenas:1,dirty_decay_ms:1000"


def look_for_circles() -> None:
    """Have this process, and those that it forks, look for circles of values that nobody refers to."""
    gc.set_threshold(*_LOOKS)


def load_deltalake() -> None:
    """Import deltalake as a process does that lives for long. The environment is left as it was."""
    is_said = _JEMALLOC in os.environ
    os.environ.setdefault(_JEMALLOC, _ONE_SHARE)
    try:
        importlib.import_module("deltalake")
    finally:
        if not is_said:
            del os.environ[_JEMALLOC]
