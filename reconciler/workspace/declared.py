"""Errors of the engine about a view or function say where that is declared: file, line and column.

The place is looked up in the pipeline's files as they are now, and only when there is an error: what is applied holds none.
Where the files are gone, can't be read or do not have it any more, the error stays as it is.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from reconciler.base.diagnostics import Location
from reconciler.base.errors import Declared, EngineError, ReconcileError
from reconciler.base.names import fold
from reconciler.environment.source import files_of, pipeline_folder
from reconciler.environment.target import Target
from reconciler.project.manifest.read import read_manifest

# What a change of the definition can mend. A full disk, or the end of Spark's process, is no matter of it.
_OF_DEFINITIONS: Final = frozenset({"X700", "X703", "X704", "X705", "X706", "X708"})


@contextmanager
def places_told(target: Target, pipeline: str) -> Iterator[None]:
    """Errors of the engine that are raised inside begin with the place of what they are about."""
    try:
        yield
    except EngineError as error:
        about = error.about if error.code in _OF_DEFINITIONS else None
        place = None if about is None else _place(target, pipeline, about)
        if place is not None:
            # Told once, however many ask for it on the way up.
            error.about = None
            error.message = f"{place}: {error.message}"
            error.args = (error.message,)
        raise


def _place(target: Target, pipeline: str, about: Declared) -> Location | None:
    try:
        files = files_of(target.root, pipeline)
    except ReconcileError:
        return None
    if files is None:
        return None
    manifest = read_manifest(pipeline_folder(pipeline), files, target.variables, target.cache).manifest
    if manifest is None:
        return None
    declared = manifest.views if about.kind == "view" else manifest.functions
    return next((one.location for one in declared if fold(one.name) == fold(about.name)), None)
