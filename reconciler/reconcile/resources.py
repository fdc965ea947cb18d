"""What a pipeline may use (`spec.runtime`), as the process that serves it has to know before its Spark starts.

Who runs or asks goes by what is applied, as in everything else; who applies goes by the files, since bootstrapping is
the work that the new values are meant for. Nothing is compiled for it. Whatever can't be read asks for nothing: whoever
reads it next, to work with it, says what is wrong.
"""

from collections.abc import Mapping
from typing import Any

from reconciler.engine.resources import Resources
from reconciler.errors import ReconcileError
from reconciler.manifest.read import read_manifest
from reconciler.reconcile.source import files_of, pipeline_folder
from reconciler.reconcile.target import Target


def applied_resources(target: Target, pipeline: str) -> Resources:
    """What the applied pipeline may use."""
    try:
        head = target.registry.head(pipeline)
        record = None if head is None or head.value.applied is None else head.value.applied.record
        objects = () if record is None else target.registry.snapshot(pipeline, record)
    except ReconcileError:
        return Resources()
    settings: Mapping[str, Any] = next((item["definition"] for item in objects if item["kind"] == "settings"), {})
    asked = {name: settings.get(name) for name in ("workers", "memory", "driver_memory")}
    return Resources(**asked, settings=settings.get("spark", {}))


def desired_resources(target: Target, pipeline: str) -> Resources:
    """What the pipeline of the files may use; the applied one where there are no files."""
    try:
        files = files_of(target.root, pipeline)
    except ReconcileError:
        return Resources()
    if files is None:
        return applied_resources(target, pipeline)
    manifest = read_manifest(pipeline_folder(pipeline), files, target.variables, target.cache).manifest
    if manifest is None:
        return Resources()
    settings = manifest.settings
    return Resources(settings.workers, settings.memory, settings.driver_memory, settings.spark)
