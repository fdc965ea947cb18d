"""How much memory this machine has, for those who hold rows in it."""

import os


def machine_memory() -> int:
    """The bytes of this machine's memory; where that can't be told, few."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return 1 << 30
