"""Whether anything changed at all: the outline of a pipeline's files from the cache, without compiling anything."""

import json
from collections.abc import Mapping
from hashlib import sha256

from reconciler.base.json_objects import from_json
from reconciler.delta.opening import is_local, join_location
from reconciler.delta.standing import Recorded, faults_of
from reconciler.environment.target import Target
from reconciler.project.snapshot.outline import Outline
from reconciler.registry.protocol import Glance


def files_key(target: Target, pipeline: str, files: Mapping[str, str]) -> str:
    """The key of everything that a pipeline's snapshot depends on: its files, and what the environment adds."""
    environment = target.environment
    added = [sorted(environment.variables.items()), sorted(environment.spark.items()), target.spark_version]
    known = sha256(json.dumps([pipeline, *added]).encode())
    for path in sorted(files):
        # Lengths keep one file's end from passing for another's beginning.
        content = files[path].encode("utf-8", "surrogatepass")
        known.update(f"\0{len(path.encode())} {len(content)}\0{path}".encode())
        known.update(content)
    return f"outline:{known.hexdigest()}"


def recall_outline(target: Target, pipeline: str, files: Mapping[str, str]) -> Outline | None:
    """The outline of the snapshot of these files, if they were compiled before."""
    kept = target.cache.recall(files_key(target, pipeline, files))
    return None if kept is None else from_json(Outline, json.loads(kept))


def find_unchanged(target: Target, pipeline: str, files: Mapping[str, str] | None) -> tuple[Outline, Glance] | None:
    """The outline of a pipeline's files and the glance at its head, if the files are known to be those that are applied, to
    the letter, and nothing is staged, nor any table gone, of which a plan would tell. `files` is None for a pipeline without
    any. Raises RegistryError when what is applied can't be told."""
    outline = recall_outline(target, pipeline, files) if files is not None else None
    if outline is None:
        return None
    glance = target.registry.glance(pipeline)
    if glance is None or glance.is_open or glance.follows is None or glance.record != outline.record:
        return None
    if glance.has_staged or not _stands(target, glance):
        return None
    return outline, glance


def _stands(target: Target, glance: Glance) -> bool:
    """Whether the tables stand as they were recorded, as far as a plan looks (`materialize.standing_tables`)."""
    if not is_local(target.warehouse):
        return True
    places = ((join_location(target.warehouse, location), version, known) for location, version, known in glance.stands)
    return next(faults_of(Recorded(*place) for place in places), None) is None
