"""Stops that can't wait: a run that is told so drops the step under way. What it dropped is replayed by the next run.

A thread looks at the controls, because the run itself is busy then. It is started only where there is a way to end the
process: in a program of somebody else's, a run ends between two steps.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from reconciler.base.errors import RegistryError
from reconciler.registry.protocol import Registry
from reconciler.state.controls import read_controls

REPLAYED: Final = "the next run replays an unfinished step"
"""What becomes of what is dropped."""

_LOOK_EVERY_SECONDS = 0.5


@contextmanager
def watching_for_force(registry: Registry, pipeline: str, abandon: Callable[[str], None] | None) -> Iterator[None]:
    """While the body runs, call `abandon` as soon as somebody wants the pipeline to stop by force, with a sentence that
    says so."""
    if abandon is None:
        yield
        return
    over = threading.Event()

    def watch() -> None:
        while not over.wait(_LOOK_EVERY_SECONDS):
            with suppress(RegistryError, OSError):
                controls = read_controls(registry, pipeline)
                if controls.stops and controls.forced:
                    abandon(f"{controls.by} stopped {pipeline} by force; {REPLAYED}")
                    return

    threading.Thread(target=watch, name="forced stops", daemon=True).start()
    try:
        yield
    finally:
        over.set()
