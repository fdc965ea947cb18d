"""Controls: what people ask of a pipeline while somebody else holds its lease.

Each change is one compare-and-set of a document of its own (registry/model.py, `Controls`), made again on the newest
contents when somebody else was faster, so no two wishes overwrite each other. Rules:
- A pause holds until someone resumes the pipeline, over every restart and every stop.
- A wish to stop is for the run that lives when it is made. That run takes it away as it ends; one that a run finds at its
  start was for another, and is taken away. It stands beside a pause, and neither takes the other back.
- What is said of a connector holds until something else is said; a seek until a run has carried it out.
"""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from reconciler.base.moments import this_moment
from reconciler.base.names import fold
from reconciler.registry.changing import change_document
from reconciler.registry.model import Controls, Seek
from reconciler.registry.protocol import Registry


def read_controls(registry: Registry, pipeline: str) -> Controls:
    """What is asked of a pipeline; of one of which nobody ever asked anything: that it runs."""
    found = registry.document(pipeline, Controls)
    return Controls() if found is None else found.value


def pause(registry: Registry, pipeline: str, by: str) -> None:
    """Have the pipeline take no input until it is resumed."""
    _change(registry, pipeline, lambda now: replace(now, paused=True, by=by, at=this_moment()))


def resume(registry: Registry, pipeline: str, by: str) -> bool:
    """Have the pipeline take input again. False: it was not paused."""
    return _change(
        registry, pipeline, lambda now: replace(now, paused=False, by=by, at=this_moment()) if now.paused else now
    )


def ask_to_stop(registry: Registry, pipeline: str, by: str, *, forced: bool = False) -> None:
    """Have the live run end; `forced`: without finishing the step under way."""
    _change(registry, pipeline, lambda now: replace(now, stops=True, forced=forced, by=by, at=this_moment()))


def take_away_stop(registry: Registry, pipeline: str) -> None:
    """Take a wish to stop away, if there is one."""
    _change(
        registry,
        pipeline,
        lambda now: replace(now, stops=False, forced=False) if now.stops else now,
    )


def say_of_connector(registry: Registry, pipeline: str, connector: str, paused: bool, by: str) -> None:
    """Pause or resume one connector (its qualified name)."""
    _change(
        registry,
        pipeline,
        lambda now: replace(
            now, connectors=dict(sorted({**now.connectors, fold(connector): paused}.items())), by=by, at=this_moment()
        ),
    )


def forget(registry: Registry, pipeline: str) -> None:
    """Have nothing asked of a pipeline of which nothing is stored any more."""
    _change(registry, pipeline, lambda now: Controls())


def seek_connector(registry: Registry, pipeline: str, connector: str, to: Any, by: str) -> None:
    """Ask that a connector reads on from `to`."""
    seek = Seek(str(uuid.uuid4()), to, this_moment(), by)
    _change(registry, pipeline, lambda now: replace(now, seeks=dict(sorted({**now.seeks, fold(connector): seek}.items()))))


def take_away_seeks(registry: Registry, pipeline: str, done: Mapping[str, Seek]) -> None:
    """Take seeks away that were carried out, unless another was asked for since."""
    ids = {seek.id for seek in done.values()}
    _change(
        registry,
        pipeline,
        lambda now: replace(now, seeks={key: seek for key, seek in now.seeks.items() if seek.id not in ids}),
    )


def _change(registry: Registry, pipeline: str, change: Callable[[Controls], Controls]) -> bool:
    """Whether anything is another now."""
    has_changed = False

    def changed(before: Controls | None) -> Controls | None:
        nonlocal has_changed
        now = before or Controls()
        after = change(now)
        has_changed = after != now
        return after if has_changed else None

    change_document(registry, pipeline, Controls, changed)
    return has_changed
