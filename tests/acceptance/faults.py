"""What can happen to a process at a call of the engine, a write of the registry or a boundary: it dies before, it dies after
(the effect is kept, its answer is lost with the process), or it lives and gets an error though the effect is kept.

Nothing here replaces anything: the calls go to a real engine and a real registry. A process that has died calls neither any
more; only its lease is let go, as if somebody had waited for its end.
"""

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from reconciler.base.errors import EngineError, RegistryError
from reconciler.engine.protocol import Engine
from reconciler.environment.session import Session
from reconciler.environment.target import open_target
from reconciler.incremental.choice import CHEAPEST, Choice
from reconciler.registry.model import Controls
from reconciler.run.pace import Pace
from reconciler.run.running import run_pipeline
from reconciler.testing.crashes import Crash

EFFECTS = ("build_view", "ingest", "compact", "change_rows", "emit", "remove")
WRITES = ("replace_head", "replace_document", "replace_report", "write_snapshot", "record", "append")


class Style(StrEnum):
    """How it goes wrong."""

    BEFORE = "dies before"
    AFTER = "dies after"
    LOST = "answer lost"


@dataclass(frozen=True, slots=True)
class Fault:
    """At the n-th call of that name."""

    name: str
    occurrence: int
    style: Style

    def __str__(self) -> str:
        return f"{self.name}#{self.occurrence} {self.style}"


@dataclass(slots=True)
class Faults:
    """Counts what it lets through, and makes one fault happen. `reached` is everything, in order."""

    fault: Fault | None = None
    reached: list[tuple[str, int]] = field(default_factory=list)
    has_struck: bool = False
    _counts: Counter[str] = field(default_factory=Counter)
    _is_dead: bool = False

    def boundary(self, name: str) -> None:
        """A boundary of the shell."""
        self.call(name, lambda: None, RuntimeError)

    def call(self, name: str, effect: Callable[[], Any], error: Callable[[], Exception]) -> Any:
        """A call, in whatever way it goes; `error` makes what it raises when its answer is lost."""
        if threading.current_thread() is not threading.main_thread():
            return effect()
        if self._is_dead:
            raise Crash(name)
        self._counts[name] += 1
        place = (name, self._counts[name])
        self.reached.append(place)
        if self.fault is None or place != (self.fault.name, self.fault.occurrence):
            return effect()
        self.has_struck = True
        match self.fault.style:
            case Style.BEFORE:
                self._is_dead = True
                raise Crash(name)
            case Style.AFTER:
                effect()
                self._is_dead = True
                raise Crash(name)
            case Style.LOST:
                effect()
                raise error()


class Faulty:
    """An engine or a registry whose calls of these names may go wrong."""

    def __init__(self, inner: Any, names: tuple[str, ...], faults: Faults, error: Callable[[], Exception]) -> None:
        self._inner = inner
        self._names = names
        self._faults = faults
        self._error = error

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name not in self._names:
            return found

        def call(*arguments: Any, **named: Any) -> Any:
            return self._faults.call(name, lambda: found(*arguments, **named), self._error)

        def replace_document(pipeline: str, token: int | None, document: Any, write_id: str) -> Any:
            # Leases are renewed by the clock: which call of them is the n-th says nothing.
            return (call if isinstance(document, Controls) else found)(pipeline, token, document, write_id)

        return replace_document if name == "replace_document" else call


def run_with(root: Path, pipeline: str, engine: Engine, faults: Faults, choice: Choice = CHEAPEST) -> None:
    """`run --once` where something may go wrong. Raises what it raises, or Crash."""
    target = open_target(root, None)
    registry: Any = Faulty(target.registry, WRITES, faults, lambda: RegistryError("G603", "the answer was lost"))
    faulty: Any = Faulty(engine, EFFECTS, faults, lambda: EngineError("X700", "the answer was lost"))
    target = replace(target, registry=registry)
    run_pipeline(target, pipeline, Session(faulty, boundary=faults.boundary, choice=choice), Pace(once=True))
