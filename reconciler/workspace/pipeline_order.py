"""The order in which pipelines are applied: each after those that it reads.

What its files read counts, and what it read when it was applied last: a relation that goes together with its last read is
removed first, as its plan said, and the reader follows. Where the two together make a circle, what the files read decides.
Pipelines that have nothing to do with each other go by name.

Cheap where nothing reads anything: files that were compiled before and read nothing are known to be such.
"""

from collections.abc import Iterable

from reconciler.base.errors import ReconcileError
from reconciler.environment.source import files_of, pipeline_folder
from reconciler.environment.target import Target
from reconciler.project.manifest.read import read_manifest
from reconciler.project.program.compile import foreign_names
from reconciler.project.program.order import cycles, topological
from reconciler.workspace.outlines import recall_outline


def apply_order(target: Target, pipelines: Iterable[str]) -> tuple[str, ...]:
    """These pipelines in the order in which they are to be applied."""
    names = sorted(set(pipelines))
    if len(names) < 2:
        return tuple(names)
    desired = {name: _read_by_files(target, name) for name in names}
    both = {name: tuple(sorted({*desired[name], *_read_as_applied(target, name)})) for name in names}
    return topological(desired if cycles(both) else both)


def _read_by_files(target: Target, pipeline: str) -> tuple[str, ...]:
    """The pipelines that the files of one read; whatever is wrong with them, others will say."""
    try:
        files = files_of(target.root, pipeline)
        if files is None or recall_outline(target, pipeline, files) is not None:
            return ()
        manifest = read_manifest(pipeline_folder(pipeline), files, target.variables, target.cache).manifest
    except ReconcileError:
        return ()
    found = foreign_names(manifest, target.cache) if manifest is not None else ()
    return tuple(sorted({name.partition(".")[0] for name in found}))


def _read_as_applied(target: Target, pipeline: str) -> tuple[str, ...]:
    try:
        glance = target.registry.glance(pipeline)
    except ReconcileError:
        return ()
    return glance.reads if glance is not None else ()
