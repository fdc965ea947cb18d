"""What whoever works on a pipeline is given besides its target: engine, clock, whom to tell, and where to die in tests."""

import time
from collections.abc import Callable
from dataclasses import field

from reconciler.base.boundaries import Boundary, no_boundary
from reconciler.base.dataclass import dataclass
from reconciler.engine.protocol import Check, Engine, unchecked
from reconciler.environment.given_up import GivenUp
from reconciler.environment.progress import Progress
from reconciler.incremental.choice import CHEAPEST, Choice


@dataclass(frozen=True, slots=True)
class Session:
    """See the module. `tell` takes lines for people, `report` the progress of an apply's steps. `clock` gives seconds, of
    which only differences count. `check` raises when this process has lost the pipeline: it is asked before each effect, and
    does nothing where no lease is held. `choice` says which way a step takes with a view that may follow what changed,
    `given_up` which ones could not."""

    engine: Engine
    tell: Callable[[str], None] = lambda message: None
    boundary: Boundary = no_boundary
    report: Callable[[Progress], None] = lambda progress: None
    clock: Callable[[], float] = time.monotonic
    check: Check = unchecked
    choice: Choice = CHEAPEST
    given_up: GivenUp = field(default_factory=GivenUp)
