"""What a pipeline may use (`spec.runtime`), and the environment's settings, as the process that serves it has to know before
its Spark starts.

Who runs or asks goes by what is applied, as in everything else; who applies goes by the files, since bootstrapping is
the work that the new values are meant for, unless it has to finish what was left open: that was approved as it is recorded.
Nothing is compiled for it. Whatever can't be read asks for nothing: whoever reads it next, to work with it, says what is
wrong.
"""

from collections.abc import Mapping
from typing import Any

from reconciler.base.errors import ReconcileError
from reconciler.engine.resources import Resources
from reconciler.environment.source import files_of, pipeline_folder
from reconciler.environment.target import Target
from reconciler.project.manifest.read import read_manifest
from reconciler.registry.model import Head


def applied_resources(target: Target, pipeline: str) -> Resources:
    """What the applied pipeline may use."""
    try:
        head = target.registry.head(pipeline)
        return _recorded(target, pipeline, _applied(head.value) if head is not None else None)
    except ReconcileError:
        return Resources()


def desired_resources(target: Target, pipeline: str) -> Resources:
    """What the pipeline of the files may use; the applied one where there are no files, and what is recorded of an apply or
    a step that was left open."""
    try:
        head = target.registry.head(pipeline)
        if head is not None and head.value.journal is not None:
            return _recorded(target, pipeline, head.value.journal.record or _applied(head.value))
        if head is not None and head.value.intent is not None:
            return _recorded(target, pipeline, _applied(head.value))
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


def _applied(head: Head) -> str | None:
    return head.applied.record if head.applied is not None else None


def _recorded(target: Target, pipeline: str, record: str | None) -> Resources:
    objects = () if record is None else target.registry.snapshot(pipeline, record)
    settings: Mapping[str, Any] = next((item["definition"] for item in objects if item["kind"] == "settings"), {})
    asked = {name: settings.get(name) for name in ("workers", "memory", "driver_memory", "environment")}
    return Resources(**asked, settings=settings.get("spark", {}), sealed=settings.get("sealed", {}))
