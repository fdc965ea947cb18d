"""Views that could not follow what changed, step after step.

Where what changed did not surely give the same, or would have cost too much, a step works twice: by what changed, and
from the view's query. After the nth such step in a row, 2^(n-1) - 1 steps compute the view from its query at once, and at
most 63. Then one tries again.
"""

from typing import Final, TypeAlias

ViewPlace: TypeAlias = tuple[str, str]
"""The folder of a view, and its query."""

_MOST_DOUBLED: Final = 6


class GivenUp:
    """See the module. It is remembered for as long as a process runs. Of one view, one thread asks."""

    def __init__(self) -> None:
        self._known: dict[ViewPlace, tuple[int, int]] = {}

    def waits(self, view: ViewPlace) -> bool:
        """Whether this step leaves a view to its query. Each step asks once."""
        times, left = self._known.get(view, (0, 0))
        if left:
            self._known[view] = times, left - 1
        return left > 0

    def note(self, view: ViewPlace, *, gave_up: bool) -> None:
        """What became of a view that a step tried."""
        if not gave_up:
            self._known.pop(view, None)
            return
        times = self._known.get(view, (0, 0))[0] + 1
        self._known[view] = times, 2 ** min(times - 1, _MOST_DOUBLED) - 1
