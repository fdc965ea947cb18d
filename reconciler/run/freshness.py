"""How fresh what a run publishes is.

The freshness of a step is how old the oldest change that it brought was when the step was published: from when that change
could first be seen at its source (the time of a file, of a record of Kafka, of a commit of Delta) to the publication that
lets readers see it. What a source does not tell is not known, and never taken for zero; what is known of only some inputs of
a step is not known of the step. Steps that bring nothing from an input have none.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import field
from statistics import median
from typing import Final

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject

LAST_STEPS: Final = 100
"""So many steps count for the median and the highest."""


@dataclass(slots=True)
class Freshness:
    """The freshness of the last steps of a run, in seconds."""

    _steps: deque[float | None] = field(default_factory=lambda: deque(maxlen=LAST_STEPS))

    def add(self, by_connector: Mapping[str, float | None]) -> None:
        """Another step, by the freshness of what each of its inputs brought."""
        if by_connector:
            known = [one for one in by_connector.values() if one is not None]
            self._steps.append(max(known) if len(known) == len(by_connector) else None)

    def to_json(self) -> JsonObject:
        """The freshness of the last step that brought something; of the last steps of which it is known, how many they are,
        the median and the highest."""
        known = [one for one in self._steps if one is not None]
        last = self._steps[-1] if self._steps else None
        return {
            "last": last,
            "median": round(median(known), 3) if known else None,
            "highest": max(known, default=None),
            "steps": len(known),
        }
