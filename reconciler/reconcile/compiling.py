"""A pipeline's files, compiled; through the cache. What the registry stores of a program: `snapshots`.

Three things are kept under digests of all that they depend on, so that what did not change is not looked at again:
- of a pipeline's files as a whole, with what the environment adds: the outline of their snapshot;
- of each file, its declarations (`manifest.sql_files`); of each query, what is known of it (`program.analysis`).

Nothing that has an error is kept: a broken file is reported anew with all that is wrong beside it.

What a program reads of other pipelines is looked up on the way (`foreign`), only where it names any. As that may change
without these files, the outline of such a program is not kept.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from reconciler.diagnostics import Diagnostic, errors_among, in_order
from reconciler.errors import ManifestInvalid
from reconciler.manifest.model import ConnectorDeclaration, Manifest
from reconciler.manifest.read import read_manifest
from reconciler.manifest.spark_values import is_plain
from reconciler.program.compile import Compiled, compile_program
from reconciler.program.model import Program
from reconciler.program.settings import (
    before_environments,
    comparable_value,
    is_of_a_call,
    recorded_environment,
    sealed_environment,
)
from reconciler.reconcile.cache_store import flush
from reconciler.reconcile.outlines import files_key
from reconciler.reconcile.output_places import misplaced_outputs, shared_outputs
from reconciler.reconcile.source import files_of, pipeline_folder, read_pipeline_files
from reconciler.reconcile.target import Target
from reconciler.snapshot.model import Snapshot, take_snapshot
from reconciler.snapshot.outline import outline_of, outline_to_json


@dataclass(frozen=True, slots=True)
class Validated:
    """A pipeline's files as compiled, with everything that is to be said of them. `program` is None only when the
    files could not even be read as a manifest. `connectors` are as declared, where the manifest has no error."""

    program: Program | None
    diagnostics: tuple[Diagnostic, ...]
    connectors: tuple[ConnectorDeclaration, ...] = ()


@dataclass(frozen=True, slots=True)
class Visit:
    """The way from one pipeline through those that it reads: `chain` are the pipelines whose files are being compiled,
    `known` what was found of others on the way, so that each is compiled once."""

    chain: tuple[str, ...]
    known: dict[str, Snapshot | Diagnostic] = field(default_factory=dict)

    def below(self, pipeline: str) -> "Visit":
        """One pipeline further."""
        return Visit((*self.chain, pipeline), self.known)


def validate_pipeline(
    target: Target, pipeline: str, files: Mapping[str, str] | None = None, visit: Visit | None = None
) -> Validated:
    """Read and compile a pipeline's files. Never raises for what they say. `visit`: what was looked up of other pipelines
    already, by whoever reads this one."""
    if files is None:
        files = read_pipeline_files(target.root, pipeline)
    read = read_manifest(pipeline_folder(pipeline), files, target.variables, target.cache)
    if read.manifest is None:
        return Validated(None, in_order(read.diagnostics))
    manifest = _with_environment_settings(read.manifest, target)
    compiled = compile_manifest(target, manifest, complete=read.complete, visit=visit, limited=True)
    flush(target.cache)
    connectors = () if errors_among(read.diagnostics) else manifest.connectors
    misplaced = misplaced_outputs(target, connectors)
    shared = (problem for _, problem in shared_outputs(target, {pipeline: connectors}))
    found = in_order((*read.diagnostics, *compiled.diagnostics, *misplaced, *shared))
    return Validated(compiled.program, found, tuple(connectors))


def validate_pipelines(target: Target, pipelines: Iterable[str]) -> dict[str, tuple[Diagnostic, ...]]:
    """What is to be said of pipelines, each by itself, and of outputs of several that write to one place."""
    validated = {name: validate_pipeline(target, name) for name in pipelines}
    found = {name: list(one.diagnostics) for name, one in validated.items()}
    for name, problem in shared_outputs(target, {name: one.connectors for name, one in validated.items()}):
        found[name].append(problem)
    return {name: in_order(problems) for name, problems in found.items()}


def compile_manifest(
    target: Target, manifest: Manifest, *, complete: bool = True, visit: Visit | None = None, limited: bool = False
) -> Compiled:
    """Compile a manifest, with what it reads of other pipelines as it is now. `limited`: it is of files only, with nothing
    that the registry holds."""
    compiled = compile_program(manifest, complete=complete, cache=target.cache, limited=limited)
    if not compiled.missing:
        return compiled
    from reconciler.reconcile.foreign import look_up

    found = look_up(target, manifest, compiled.missing, visit or Visit((manifest.settings.name,)))
    return compile_program(
        replace(manifest, foreign=(*manifest.foreign, *found.relations)),
        complete=complete,
        cache=target.cache,
        refused=found.refused,
        limited=limited,
    )


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
    target: Target,
    pipeline: str,
    files: Mapping[str, str] | None,
    visit: Visit | None = None,
    applied: Snapshot | None = None,
) -> Snapshot | None:
    """The snapshot of files that were read (`source.files_of`), with what is rolled back. Raises ManifestInvalid with every
    error; of pins what `pinned_objects` says, of rollbacks `held_objects`, of versions kept up to date `maintained`.
    `visit` as for `validate_pipeline`, `applied` as for `read_desired`."""
    if files is None:
        return None
    visit = visit or Visit((pipeline,))
    validated = validate_pipeline(target, pipeline, files, visit)
    errors = errors_among(validated.diagnostics)
    if errors or validated.program is None:
        raise ManifestInvalid(errors)
    program = validated.program
    if program.settings.pins or program.settings.function_pins:
        # Few pipelines have any.
        from reconciler.reconcile.versions.pinned_objects import with_pinned_objects

        program = with_pinned_objects(target, program)
    from_files = program
    if applied is None or applied.program.settings.held:
        from reconciler.reconcile.versions.held_objects import with_held_objects

        program = with_held_objects(target, program, applied)
    if program.settings.maintained:
        from reconciler.reconcile.versions.maintained import with_maintained_versions

        program = with_maintained_versions(target, program)
    if program.foreign:
        from reconciler.reconcile.foreign import with_settled_foreign

        program = with_settled_foreign(target, program, visit)
    snapshot = take_snapshot(program)
    if applied is not None and applied.program.settings.environment is None:
        snapshot = _as_recorded_before(snapshot, applied)
    pinned = program.settings.pins or program.settings.function_pins
    if program is from_files and not pinned and not program.foreign:
        # What these stand for is in the registry, which is another one elsewhere.
        target.cache.remember(files_key(target, pipeline, files), json.dumps(outline_to_json(outline_of(snapshot))))
    flush(target.cache)
    return snapshot


def _as_recorded_before(desired: Snapshot, applied: Snapshot) -> Snapshot:
    """What was applied before environments were recorded is not recorded again for that alone: the next apply of anything
    else does it. So the desired snapshot is the applied one where nothing else differs."""
    program = desired.program
    former = take_snapshot(replace(program, settings=before_environments(program.settings)))
    return former if former.record == applied.record else desired
