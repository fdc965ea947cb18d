"""Desired: a pipeline's files, compiled; through the cache. What the registry stores of a program: `snapshots`.

Three things are kept under digests of all that they depend on, so that what did not change is not looked at again:
- of a pipeline's files as a whole, with what the environment adds: the outline of their snapshot;
- of each file, its declarations (`manifest.sql_files`); of each query, what is known of it (`program.analysis`).

Nothing that has an error is kept: a broken file is reported anew with all that is wrong beside it.

What a program reads of other pipelines is looked up on the way (`foreign`), only where it names any. As that may change
without these files, the outline of such a program is not kept.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace

from reconciler.base.dataclass import dataclass
from reconciler.base.declarations import ConnectorDeclaration, Manifest
from reconciler.base.diagnostics import Diagnostic, errors_among, in_order
from reconciler.base.errors import ManifestInvalid
from reconciler.base.json_objects import to_json
from reconciler.environment.cache_store import flush
from reconciler.environment.source import files_of, pipeline_folder, read_pipeline_files
from reconciler.environment.target import Target
from reconciler.project.manifest.read import read_manifest
from reconciler.project.manifest.spark_values import is_plain
from reconciler.project.program.model import Program
from reconciler.project.program.settings import (
    before_environments,
    comparable_value,
    is_of_a_call,
    recorded_environment,
    sealed_environment,
)
from reconciler.project.snapshot.model import Snapshot, take_snapshot
from reconciler.project.snapshot.outline import outline_of
from reconciler.workspace.compiling import compile_manifest
from reconciler.workspace.outlines import files_key
from reconciler.workspace.output_places import misplaced_outputs, shared_outputs
from reconciler.workspace.visits import Visit


@dataclass(frozen=True, slots=True)
class Validated:
    """A pipeline's files as compiled, with everything that is to be said of them. `program` is None only when the
    files could not even be read as a manifest. `connectors` are as declared, where the manifest has no error."""

    program: Program | None
    diagnostics: tuple[Diagnostic, ...]
    connectors: tuple[ConnectorDeclaration, ...] = ()


def validate_pipeline(target: Target, pipeline: str) -> Validated:
    """Read and compile a pipeline's files. Never raises for what they say."""
    return validate_files(begin_visit(target, pipeline), read_pipeline_files(target.root, pipeline))


def validate_pipelines(target: Target, pipelines: Iterable[str]) -> dict[str, tuple[Diagnostic, ...]]:
    """What is to be said of pipelines, each by itself, and of outputs of several that write to one place."""
    validated = {name: validate_pipeline(target, name) for name in pipelines}
    found = {name: list(one.diagnostics) for name, one in validated.items()}
    for name, problem in shared_outputs(target, {name: one.connectors for name, one in validated.items()}):
        found[name].append(problem)
    return {name: in_order(problems) for name, problems in found.items()}


def begin_visit(target: Target, pipeline: str) -> Visit:
    """The visit that begins with a pipeline, and has looked at no other yet."""
    return Visit(target, (pipeline,), _compile_visited)


def validate_files(visit: Visit, files: Mapping[str, str]) -> Validated:
    """Compile the files of the pipeline that a visit is at. Never raises for what they say."""
    target, pipeline = visit.target, visit.chain[-1]
    read = read_manifest(pipeline_folder(pipeline), files, target.variables, target.cache)
    if read.manifest is None:
        return Validated(None, in_order(read.diagnostics))
    manifest = _with_environment_settings(read.manifest, target)
    compiled = compile_manifest(visit, manifest, complete=read.complete, limited=True)
    flush(target.cache)
    connectors = () if errors_among(read.diagnostics) else manifest.connectors
    misplaced = misplaced_outputs(target, connectors)
    shared = (problem for _, problem in shared_outputs(target, {pipeline: connectors}))
    found = in_order((*read.diagnostics, *compiled.diagnostics, *misplaced, *shared))
    return Validated(compiled.program, found, tuple(connectors))


def _with_environment_settings(manifest: Manifest, target: Target) -> Manifest:
    """What the environment adds is part of what the pipeline means there: it is planned, approved and recorded with it, and
    the engine gets it from what is applied only. Settings that belong to queries stand beside the pipeline's own."""
    spark = target.environment.spark
    called = {name: text for name, text in spark.items() if is_of_a_call(name) and is_plain(name, text)}
    inherited = {name: comparable_value(name, text) for name, text in called.items()}
    settings = replace(
        manifest.settings,
        spark=dict(sorted({**inherited, **manifest.settings.spark}.items())),
        environment=recorded_environment(spark),
        sealed=sealed_environment(spark),
        spark_version=target.spark_version,
    )
    return replace(manifest, settings=settings)


def read_desired(target: Target, pipeline: str, applied: Snapshot | None = None) -> Snapshot | None:
    """The desired snapshot, or None when the pipeline's folder is gone. Raises ManifestInvalid with every error.
    `applied`: what is applied, if that was read already."""
    return compile_desired(target, pipeline, files_of(target.root, pipeline), applied=applied)


def compile_desired(
    target: Target, pipeline: str, files: Mapping[str, str] | None, applied: Snapshot | None = None
) -> Snapshot | None:
    """The snapshot of files that were read (`source.files_of`), with what is rolled back. Raises ManifestInvalid with every
    error; of pins what `pinned_objects` says, of rollbacks `held_objects`, of versions kept up to date `maintained`.
    `applied` as for `read_desired`."""
    visit = begin_visit(target, pipeline)
    return None if files is None else settle_desired(visit, files, validate_files(visit, files), applied)


def _compile_visited(visit: Visit) -> Snapshot | None:
    files = files_of(visit.target.root, visit.chain[-1])
    return None if files is None else settle_desired(visit, files, validate_files(visit, files), None)


def settle_desired(visit: Visit, files: Mapping[str, str], validated: Validated, applied: Snapshot | None) -> Snapshot:
    """The second half of `compile_desired`, which takes what is applied. `validated` are the files, by `validate_files`."""
    target, pipeline = visit.target, visit.chain[-1]
    errors = errors_among(validated.diagnostics)
    if errors or validated.program is None:
        raise ManifestInvalid(errors)
    program = validated.program
    if program.settings.pins or program.settings.function_pins:
        # Few pipelines have any.
        from reconciler.workspace.pinned_objects import with_pinned_objects

        program = with_pinned_objects(visit, program)
    from_files = program
    if applied is None or applied.program.settings.held:
        from reconciler.workspace.held_objects import with_held_objects

        program = with_held_objects(visit, program, applied)
    if program.settings.maintained:
        from reconciler.workspace.maintained import with_maintained_versions

        program = with_maintained_versions(visit, program)
    if program.foreign:
        from reconciler.workspace.foreign import with_settled_foreign

        program = with_settled_foreign(visit, program)
    snapshot = take_snapshot(program)
    if applied is not None and applied.program.settings.environment is None:
        snapshot = _as_recorded_before(snapshot, applied)
    pinned = program.settings.pins or program.settings.function_pins
    if program is from_files and not pinned and not program.foreign:
        # What these stand for is in the registry, which is another one elsewhere.
        target.cache.remember(files_key(target, pipeline, files), json.dumps(to_json(outline_of(snapshot))))
    flush(target.cache)
    return snapshot


def _as_recorded_before(desired: Snapshot, applied: Snapshot) -> Snapshot:
    """What was applied before environments were recorded is not recorded again for that alone: the next apply of anything
    else does it. So the desired snapshot is the applied one where nothing else differs."""
    program = desired.program
    former = take_snapshot(replace(program, settings=before_environments(program.settings)))
    return former if former.record == applied.record else desired
