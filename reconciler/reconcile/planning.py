"""Planning: desired from the files, applied from the registry, and the plan between them.

Safety rules: "never applied" is believed only if the registry can be read, does not know the name, and nothing is stored
where the pipeline's relations would stand (A505). Anything else is an error, never an everything-is-new plan.
"""

from dataclasses import dataclass, replace

from reconciler.delta.tables import is_vacant
from reconciler.diagnostics import Diagnostic, errors_among, in_order
from reconciler.diff.model import Action
from reconciler.errors import ManifestInvalid, ReconcileError, RegistryError
from reconciler.manifest.model import BootstrapPolicy, Manifest
from reconciler.manifest.read import read_manifest
from reconciler.names import fold
from reconciler.plan.make import make_plan
from reconciler.plan.model import Plan, Policies
from reconciler.program.compile import compile_program
from reconciler.program.model import Program
from reconciler.program.settings import meaning_settings
from reconciler.reconcile.source import pipeline_folder, pipeline_names, read_pipeline_files, require_pipeline
from reconciler.reconcile.target import Target
from reconciler.registry.model import Head, Stored
from reconciler.snapshot.codec import decode_program
from reconciler.snapshot.model import Snapshot, take_snapshot

_STRICTNESS = (BootstrapPolicy.ALLOW, BootstrapPolicy.AWAIT_APPROVAL, BootstrapPolicy.REJECT)


@dataclass(frozen=True, slots=True)
class Validated:
    """A pipeline's files as compiled, with everything that is to be said of them. `program` is None only when the
    files could not even be read as a manifest."""

    program: Program | None
    diagnostics: tuple[Diagnostic, ...]


@dataclass(frozen=True, slots=True)
class AppliedState:
    """What the registry says: the head (None: never applied) and the snapshot in force (None: nothing is applied)."""

    head: Stored[Head] | None
    snapshot: Snapshot | None


def validate_pipeline(target: Target, pipeline: str) -> Validated:
    """Read and compile a pipeline's files. Never raises for what they say."""
    files = read_pipeline_files(target.root, pipeline)
    read = read_manifest(pipeline_folder(pipeline), files, target.variables)
    if read.manifest is None:
        return Validated(None, in_order(read.diagnostics))
    manifest = _with_environment_settings(read.manifest, target)
    compiled = compile_program(manifest, complete=read.complete)
    return Validated(compiled.program, in_order((*read.diagnostics, *compiled.diagnostics)))


def _with_environment_settings(manifest: Manifest, target: Target) -> Manifest:
    """Settings of the environment that decide results are part of what the pipeline means there: they are planned,
    approved and recorded with it, and the engine gets them from what is applied only."""
    inherited = meaning_settings(target.environment.spark)
    spark = dict(sorted({**inherited, **manifest.settings.spark}.items()))
    return replace(manifest, settings=replace(manifest.settings, spark=spark)) if inherited else manifest


def read_desired(target: Target, pipeline: str) -> Snapshot | None:
    """The desired snapshot, or None when the pipeline's folder is gone. Raises ManifestInvalid with every error."""
    if pipeline not in pipeline_names(target.root):
        return None
    validated = validate_pipeline(target, pipeline)
    errors = errors_among(validated.diagnostics)
    if errors or validated.program is None:
        raise ManifestInvalid(errors)
    return take_snapshot(validated.program)


def read_applied(target: Target, pipeline: str) -> AppliedState:
    """What is applied. Raises RegistryError when that can't be told."""
    stored = target.registry.head(pipeline)
    if stored is None or stored.value.applied is None or stored.value.applied.record is None:
        return AppliedState(stored, None)
    return AppliedState(stored, read_snapshot(target, pipeline, stored.value.applied.record))


def read_snapshot(target: Target, pipeline: str, record: str) -> Snapshot:
    """A snapshot by its record digest. Raises RegistryError when it is missing or damaged."""
    objects = target.registry.snapshot(pipeline, record)
    try:
        return take_snapshot(decode_program(objects))
    except (KeyError, TypeError, ValueError) as error:
        raise RegistryError("G602", f"the applied definitions {record} of {pipeline!r} are damaged: {error!r}") from error


def plan_between(target: Target, pipeline: str, applied: AppliedState, desired: Snapshot | None) -> Plan:
    """The plan from what is applied to what is desired, in this environment.

    The policy in force is the stricter of applied and desired: a change may not loosen the policy that it is judged by.
    """
    if desired is None and applied.snapshot is None:
        raise ReconcileError("U812", f"pipeline {pipeline!r} has neither files nor anything applied")
    snapshots = [snapshot for snapshot in (applied.snapshot, desired) if snapshot is not None]
    policies = Policies(
        bootstrap=max((s.program.settings.bootstrap_policy for s in snapshots), key=_STRICTNESS.index),
        approve_first_apply=target.environment.first_apply == "await_approval",
    )
    last = applied.head.value.applied if applied.head is not None else None
    plan = make_plan(pipeline, target.environment.name, applied.snapshot, desired, policies, last.follows if last else None)
    _require_vacant(target, plan, applied)
    return plan


def plan_pipeline(target: Target, pipeline: str) -> Plan:
    """Read both sides and plan. Needs no JVM; starts no process but git."""
    require_known(target, pipeline)
    desired = read_desired(target, pipeline)
    return plan_between(target, pipeline, read_applied(target, pipeline), desired)


def require_known(target: Target, pipeline: str) -> None:
    """Raises NotFound (U812) when neither files nor registry know the pipeline. Looks at this one only: damage to another
    pipeline's part of the registry is none of its business."""
    if pipeline not in pipeline_names(target.root) and not _is_held(target, pipeline):
        require_pipeline(pipeline, tuple(sorted({*pipeline_names(target.root), *target.registry.pipelines()} - {pipeline})))


def known_pipelines(target: Target) -> tuple[str, ...]:
    """Pipelines that have files, or that were applied and not removed, sorted. One whose head can't be read is among
    them: whoever looks at it is told why."""
    found = set(pipeline_names(target.root))
    for pipeline in target.registry.pipelines():
        try:
            if _is_held(target, pipeline):
                found.add(pipeline)
        except RegistryError:
            found.add(pipeline)
    return tuple(sorted(found))


def _is_held(target: Target, pipeline: str) -> bool:
    """Whether something of the pipeline is applied, or an apply of it is open."""
    stored = target.registry.head(pipeline)
    return stored is not None and (_is_applied(stored.value) or stored.value.journal is not None)


def _is_applied(head: Head) -> bool:
    return head.applied is not None and head.applied.record is not None


def _require_vacant(target: Target, plan: Plan, applied: AppliedState) -> None:
    head = applied.head.value if applied.head else None
    ours = set(head.published.relations) if head and head.published else set()
    if head is not None and head.journal is not None:
        # An apply under way has made some of them; it knows which.
        return
    for change in plan.diff.relations:
        if change.action is Action.ADDED and fold(change.name) not in ours:
            location = target.location(plan.pipeline, change.name)
            if not is_vacant(location):
                raise ReconcileError(
                    "A505",
                    f"{location} holds data already, but the registry does not know {plan.pipeline}.{change.name}",
                    "was the registry moved or lost? Restore it, or move that folder away if it is not needed",
                )
