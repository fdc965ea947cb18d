"""A live run warms the engine before it takes the pipeline, so that its first step costs about what the next ones do.

Spark's first queries cost several times what the same queries cost later: Java loads classes, compiles them, and Spark
compiles each query. So the queries of the stored views are asked once over what is published, and their rows dropped.

Rules:
- Nothing is written, and the lease is not taken. Where somebody else has it, or the pipeline is paused, nothing is asked.
- Only views whose sources are small are asked for, few of them, and not for long: the input that waits matters more. What is
  compiled for one view serves most of the others.
- Nothing depends on it. Where the engine refuses or the registry is away, the run goes on and meets that by itself.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final

from reconciler.base.errors import ReconcileError
from reconciler.base.names import fold
from reconciler.engine.protocol import Selection, ViewBuild
from reconciler.engine.sources import StoredSource
from reconciler.environment.session import Session
from reconciler.environment.target import Target
from reconciler.materialize.view_builds import view_build
from reconciler.query.reading import published_place
from reconciler.registry.placements import foreign_placements
from reconciler.run.recovering import program_in_force
from reconciler.state.controls import read_controls
from reconciler.state.lease import somebody_holds

MOST_BYTES: Final = 4 * 1024 * 1024
"""What a view may read to be asked for, as Delta's log tells it."""
_MOST_SECONDS: Final = 5.0
_MOST_ROWS: Final = 100


def warm_up(target: Target, pipeline: str, session: Session, stop: Callable[[], bool]) -> None:
    """Ask for views of the pipeline once, as long as nobody wants the run to stop; see the module."""
    with suppress(ReconcileError, OSError):
        if somebody_holds(target.registry, pipeline) or read_controls(target.registry, pipeline).paused:
            return
        until = time.monotonic() + _MOST_SECONDS
        for build in _small_builds(target, pipeline):
            if stop():
                return
            with suppress(ReconcileError):
                sql = f"SELECT * FROM (\n{build.query}\n) LIMIT {_MOST_ROWS}"
                session.engine.select(Selection(sql, build.sources, build.settings, build.functions))
            if time.monotonic() >= until:
                return


def _small_builds(target: Target, pipeline: str) -> Iterator[ViewBuild]:
    stored, program = program_in_force(target, pipeline)
    published = stored.value.published
    if published is None or stored.value.journal is not None or stored.value.intent is not None:
        return
    place = published_place(program, target.warehouse, {**published.relations, **foreign_placements(published.foreign)})
    # What another pipeline has is not known here, and counts as large.
    bytes_of = {key: placement.bytes for key, placement in published.relations.items() if placement.bytes is not None}
    for key in program.order:
        view = program.views.get(key)
        if view is None or not view.is_stored:
            continue
        build = view_build(program, view, place, staging="")
        read = (fold(source.name) for source in build.sources if isinstance(source, StoredSource))
        if sum(bytes_of.get(key, MOST_BYTES + 1) for key in read) <= MOST_BYTES:
            yield build
