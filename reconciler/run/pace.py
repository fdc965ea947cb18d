"""How long a run goes on, how often it looks for new input, what makes it end, and what it has done beside its steps."""

from collections.abc import Callable

from reconciler.base.dataclass import dataclass
from reconciler.run.upkeep import Upkeep


@dataclass(frozen=True, slots=True)
class Pace:
    """`once`: the run ends when nothing is new. Otherwise it ends when `stop` says so, which is asked between two steps, or
    when somebody asks for it by a command. It looks for new input every `interval_seconds` at most, while there is none.
    `abandon` ends the process at once, for somebody who can't wait for the end of a step. It is given the sentence that says
    why, and must not return. `upkeep` is done beside the steps of a run that goes on. `warmed` is called once, before the
    pipeline is taken: the engine is warm then."""

    once: bool
    interval_seconds: float = 1.0
    stop: Callable[[], bool] = lambda: False
    abandon: Callable[[str], None] | None = None
    upkeep: Upkeep | None = None
    warmed: Callable[[], None] = lambda: None
