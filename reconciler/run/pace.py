"""How long a run goes on, how often it looks for new input, and what makes it end."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pace:
    """`once`: the run ends when nothing is new. Otherwise it ends when `stop` says so, which is asked between two steps, or
    when somebody asks for it by a command. It looks for new input every `interval_seconds` at most, while there is none.
    `abandon` ends the process at once, for somebody who can't wait for the end of a step. It is given the sentence that says
    why, and must not return."""

    once: bool
    interval_seconds: float = 1.0
    stop: Callable[[], bool] = lambda: False
    abandon: Callable[[str], None] | None = None
